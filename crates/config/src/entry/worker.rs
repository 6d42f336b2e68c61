//! A server that a worker of the cluster runs.

use super::Entry;
use crate::limits;
use serde_json::Value;

/// What an entry of type `worker` says: which workers of the cluster run the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerOptions {
    /// `server`: what it is called there; the entry's own name where nothing is said.
    pub server: Option<String>,
    /// `workers`: which may run it, by their names, with `*`; any where none is named.
    pub workers: Vec<String>,
    /// `labels`: what those workers say of themselves.
    pub labels: Vec<(String, String)>,
    /// `copies`: on how many of them it may run at a time; on any number where nothing is
    /// said.
    pub copies: Option<u32>,
    /// `runs`: what such a worker starts, as it is written; what the worker's own settings
    /// say where nothing is said.
    pub runs: Option<Value>,
}

impl WorkerOptions {
    /// The keys.
    pub const KEYS: [&str; 5] = ["server", "workers", "labels", "copies", "runs"];
    /// What `runs` can say: a program, and nothing that reads the worker's files or is let
    /// in somewhere in its name.
    pub const RUNS: [&str; 9] = [
        "type",
        "command",
        "args",
        "env",
        "cwd",
        "limits",
        "timeout",
        "idleTimeout",
        "era",
    ];
    /// How many copies can be asked for.
    pub const COPIES: u32 = limits::WORKER_COPIES;
}

impl Entry {
    /// The server of a worker that it means.
    pub fn worker_server(&self) -> &str {
        self.worker.server.as_deref().unwrap_or(&self.name)
    }
}
