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
    debt("methods", "crates/", 12, "not moved yet"),
    debt("codes", "crates/", 7, "not moved yet"),
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
    debt("bans", "crates/", 2, "not said yet"),
    debt(
        "caps",
        "crates/agent/",
        1,
        "named and documented where they are used, not moved yet",
    ),
    debt(
        "caps",
        "crates/auth/",
        21,
        "named and documented where they are used, not moved yet",
    ),
    debt(
        "caps",
        "crates/builtin/",
        3,
        "named and documented where they are used, not moved yet",
    ),
    debt(
        "caps",
        "crates/cli/",
        16,
        "named and documented where they are used, not moved yet",
    ),
    debt(
        "caps",
        "crates/gateway/",
        7,
        "named and documented where they are used, not moved yet",
    ),
    debt(
        "caps",
        "crates/host/",
        17,
        "named and documented where they are used, not moved yet",
    ),
    debt(
        "caps",
        "crates/local/",
        5,
        "named and documented where they are used, not moved yet",
    ),
    debt(
        "caps",
        "crates/model/",
        14,
        "named and documented where they are used, not moved yet",
    ),
    debt(
        "caps",
        "crates/process/",
        17,
        "named and documented where they are used, not moved yet",
    ),
    debt(
        "caps",
        "crates/switchboard/",
        30,
        "named and documented where they are used, not moved yet",
    ),
    debt(
        "caps",
        "crates/tasks/",
        1,
        "named and documented where they are used, not moved yet",
    ),
    debt(
        "caps",
        "crates/transport/",
        33,
        "named and documented where they are used, not moved yet",
    ),
    debt(
        "caps",
        "crates/wire/",
        5,
        "named and documented where they are used, not moved yet",
    ),
    debt(
        "waits",
        "crates/auth/",
        12,
        "pauses and defaults in the middle of code, not moved yet",
    ),
    debt(
        "waits",
        "crates/builtin/",
        2,
        "pauses and defaults in the middle of code, not moved yet",
    ),
    debt(
        "waits",
        "crates/cli/",
        1,
        "pauses and defaults in the middle of code, not moved yet",
    ),
    debt(
        "waits",
        "crates/gateway/",
        1,
        "pauses and defaults in the middle of code, not moved yet",
    ),
    debt(
        "waits",
        "crates/host/",
        2,
        "pauses and defaults in the middle of code, not moved yet",
    ),
    debt(
        "waits",
        "crates/process/",
        11,
        "pauses and defaults in the middle of code, not moved yet",
    ),
    debt(
        "waits",
        "crates/switchboard/",
        2,
        "pauses and defaults in the middle of code, not moved yet",
    ),
    debt(
        "waits",
        "crates/transport/",
        11,
        "pauses and defaults in the middle of code, not moved yet",
    ),
    debt(
        "files",
        "crates/builtin/src/files/roots.rs",
        1,
        "longer than it should be; split when it is next changed",
    ),
    debt(
        "files",
        "crates/host/src/catalog/fetch.rs",
        1,
        "longer than it should be; split when it is next changed",
    ),
    debt(
        "files",
        "crates/host/src/permission/decide.rs",
        1,
        "longer than it should be; split when it is next changed",
    ),
    debt(
        "functions",
        "crates/cli/src/commands/add.rs",
        1,
        "longer than it should be; split when it is next changed",
    ),
    debt(
        "functions",
        "crates/cli/src/commands/approve.rs",
        1,
        "longer than it should be; split when it is next changed",
    ),
    debt(
        "functions",
        "crates/config/src/expand.rs",
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
        "crates/gateway/src/faces/http/handshake_era.rs",
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
        "functions",
        "crates/wire/src/message.rs",
        1,
        "longer than it should be; split when it is next changed",
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
