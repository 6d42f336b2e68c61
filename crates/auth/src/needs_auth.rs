//! Which servers were found to need a sign-in, for 15 minutes, in Claude Code's
//! format (`{"name":{"timestamp":ms}}`), so that every start does not ask again.

use crate::clock;
use serde_json::{Map, Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};
use switchboard_local::private;

pub use crate::limits::REMEMBERED;

/// The cache file.
#[derive(Clone, Debug)]
pub struct NeedsAuth {
    path: PathBuf,
}

impl NeedsAuth {
    /// The cache in `folder`.
    pub fn open(folder: &Path) -> Self {
        Self {
            path: folder.join("mcp-needs-auth-cache.json"),
        }
    }

    /// Whether the server was found to need a sign-in lately, with this
    /// configuration. An entry that does not say which counts for all.
    pub fn is_known(&self, server: &str, config: &str) -> bool {
        let now = clock::millis();
        let entries = self.read();
        entries
            .get(server)
            .filter(|entry| entry["config"].as_str().is_none_or(|of| of == config))
            .and_then(|entry| entry["timestamp"].as_u64())
            // A time in the future is a clock that was wrong; it must not last.
            .is_some_and(|at| at <= now && now - at < REMEMBERED.as_millis() as u64)
    }

    /// Remembers that the server needs a sign-in.
    pub fn note(&self, server: &str, config: &str) {
        self.change(|entries| {
            let entry = json!({"timestamp": clock::millis(), "config": config});
            entries.insert(server.to_owned(), entry);
        });
    }

    /// Forgets it: somebody signed in.
    pub fn clear(&self, server: &str) {
        if self.read().contains_key(server) {
            self.change(|entries| {
                entries.shift_remove(server);
            });
        }
    }

    fn read(&self) -> Map<String, Value> {
        fs::read(&self.path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }

    /// A cache: what cannot be written is found out again, so faults are not told.
    fn change(&self, change: impl FnOnce(&mut Map<String, Value>)) {
        let write = || -> std::io::Result<()> {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            private::folder(folder)?;
            let _lock = private::Lock::wait(&self.path.with_extension("lock"))?;
            let mut entries = self.read();
            let now = clock::millis();
            entries.retain(|_, entry| {
                let at = entry["timestamp"].as_u64().unwrap_or(0);
                now.saturating_sub(at) < REMEMBERED.as_millis() as u64
            });
            change(&mut entries);
            private::write(&self.path, &serde_json::to_vec(&entries)?)
        };
        if let Err(fault) = write() {
            tracing::debug!(%fault, "the needs-auth cache was not written");
        }
    }
}
