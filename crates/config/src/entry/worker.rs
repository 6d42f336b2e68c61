//! A server that a worker of the cluster runs.

use super::Entry;
use crate::limits;

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
}

impl WorkerOptions {
    /// The keys.
    pub const KEYS: [&str; 4] = ["server", "workers", "labels", "copies"];
    /// How many copies can be asked for.
    pub const COPIES: u32 = limits::WORKER_COPIES;
}

impl Entry {
    /// The server of a worker that it means.
    pub fn worker_server(&self) -> &str {
        self.worker.server.as_deref().unwrap_or(&self.name)
    }
}
