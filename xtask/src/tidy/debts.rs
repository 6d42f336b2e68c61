//! What does not hold yet, with the reason. Nothing is ever added here.

/// A file or folder in which a rule does not hold so far.
pub struct Debt {
    /// The rule.
    pub rule: &'static str,
    /// The file, or what the paths of all of them begin with.
    pub path: &'static str,
    /// In how many places.
    pub most: usize,
    /// What stands in the way.
    pub why: &'static str,
}

/// All of them. The first that fits a place counts.
pub const DEBTS: &[Debt] = &[
    debt(
        "eras",
        "crates/host/src/permission/guard.rs",
        1,
        "whether headers are mirrored depends on the eras of both sides",
    ),
    debt(
        "eras",
        "crates/agent/",
        1,
        "what speaks to a server as a client of our own is an adapter, but not in one file yet",
    ),
    debt("eras", "crates/host/", 1, "asked between the adapters"),
    debt(
        "functions",
        "crates/cli/src/commands/approve.rs",
        1,
        "longer than it should be; split when it is next changed",
    ),
    debt(
        "functions",
        "crates/config/src/load/gather.rs",
        1,
        "longer than it should be; split when it is next changed",
    ),
    debt(
        "functions",
        "crates/config/src/settings/permissions.rs",
        1,
        "longer than it should be; split when it is next changed",
    ),
    debt(
        "functions",
        "crates/gateway/src/faces/http/mod.rs",
        1,
        "longer than it should be; split when it is next changed",
    ),
    debt(
        "functions",
        "crates/gateway/src/faces/stdio.rs",
        1,
        "longer than it should be; split when it is next changed",
    ),
    debt(
        "functions",
        "crates/model/src/shape/large.rs",
        1,
        "longer than it should be; split when it is next changed",
    ),
    debt(
        "functions",
        "crates/switchboard/src/relay/mod.rs",
        1,
        "longer than it should be; split when it is next changed",
    ),
    debt(
        "caps",
        "crates/host/src/pins/",
        5,
        "named and documented where they are used, not moved yet",
    ),
];

const fn debt(rule: &'static str, path: &'static str, most: usize, why: &'static str) -> Debt {
    Debt {
        rule,
        path,
        most,
        why,
    }
}
