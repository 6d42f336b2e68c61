//! Changes, one at a time, and counted: what was known before one is looked up
//! anew after it, by every server of this program.

use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicU64, Ordering};

static MADE: AtomicU64 = AtomicU64::new(0);

/// How many changes have been made so far.
pub(crate) fn count() -> u64 {
    MADE.load(Ordering::Acquire)
}

/// What was known of files is no longer so.
pub(crate) fn made() {
    MADE.fetch_add(1, Ordering::AcqRel);
}

/// Lets one change after the other be made, so that none is lost in another.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<()>);

/// A change that is being made.
pub(crate) struct Change<'c> {
    _one_at_a_time: MutexGuard<'c, ()>,
}

impl Changes {
    pub(crate) fn begin(&self) -> Change<'_> {
        Change {
            _one_at_a_time: self.0.lock(),
        }
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        made();
    }
}
