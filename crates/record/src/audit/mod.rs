//! A record of what somebody is asked about later: who called what, whether that was
//! permitted and by which rule, how it ended; and what was changed in between.
//!
//! Records are lines of JSON in files of the user's alone. Each has a number and the
//! hash of the one before, and how far they go is kept apart and signed, so that a line
//! that is altered, moved or missing shows. Several programs may append.

mod batch;
mod calls;
mod chain;
mod folder;
mod follow;
mod head;
mod pen;
mod queue;
mod said;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub use chain::{Record, hash, redact, redact_record};
pub use folder::{Appender, Keep};
pub use follow::{Follower, Piece};
pub use verify::{Checking, Problem, Verified, read, verify};
pub use writer::{OnFailure, Sync};

use queue::Queue;
use serde_json::Value;
use std::{io, sync::Arc};

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Where and how long records are kept.
    pub keep: Keep,
    /// When they are on disk.
    pub sync: Sync,
    /// What happens when they cannot be written.
    pub on_failure: OnFailure,
    /// Whether the arguments of calls are recorded too, without what looks like a secret.
    pub arguments: bool,
}

/// The record of one gateway.
#[derive(Debug)]
pub struct Audit {
    queue: Arc<Queue>,
    arguments: bool,
}

impl Audit {
    /// Opens it, and begins the task that writes it.
    pub fn begin(wanted: &Wanted) -> io::Result<Arc<Self>> {
        let queue = Queue::begin(wanted.keep.clone(), wanted.sync, wanted.on_failure)?;
        Ok(Arc::new(Self {
            queue,
            arguments: wanted.arguments,
        }))
    }

    /// Records something besides calls.
    pub fn record(&self, record: Record) {
        self.queue.add_later(&record);
    }

    /// Waits until all that was recorded is on disk.
    pub async fn flush(&self) {
        self.queue.flush().await;
    }
}

/// What a record says under a key, where that is a text.
pub fn said<'a>(record: &'a Value, key: &str) -> Option<&'a str> {
    record.get(key).and_then(Value::as_str)
}
