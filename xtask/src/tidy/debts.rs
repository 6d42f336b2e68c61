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
];

const fn debt(rule: &'static str, path: &'static str, most: usize, why: &'static str) -> Debt {
    Debt {
        rule,
        path,
        most,
        why,
    }
}
