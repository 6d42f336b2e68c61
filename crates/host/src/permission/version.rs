//! Counts what can change a decision, and wakes those who wait for that.

use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

/// The state of all that decisions depend on, as a number.
#[derive(Debug, Default)]
pub(super) struct Version {
    count: AtomicU64,
    /// The same without what is about one server alone, which that one counts.
    of_all: AtomicU64,
    changes: Notify,
}

impl Version {
    /// As it is now.
    pub(super) fn now(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// The state of what may concern any server.
    pub(super) fn of_all(&self) -> u64 {
        self.of_all.load(Ordering::Acquire)
    }

    /// Something has changed, for whatever server.
    pub(super) fn next(&self) {
        self.of_all.fetch_add(1, Ordering::AcqRel);
        self.next_of_one();
    }

    /// Something has changed that is about one server.
    pub(super) fn next_of_one(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
        self.changes.notify_waiters();
    }

    /// Waits until it is another than this.
    pub(super) async fn is_past(&self, version: u64) {
        loop {
            let changed = self.changes.notified();
            if self.now() != version {
                return;
            }
            changed.await;
        }
    }
}
