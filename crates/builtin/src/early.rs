//! What a subscription must know from before it was acknowledged.
//!
//! rmcp asks what is accepted, tells the client, and only then lets the server
//! begin. A change right after the acknowledgement would be missed, so what
//! there was before is noted when rmcp asks, and picked up at the beginning.

use crate::limits;
use parking_lot::Mutex;
use std::collections::VecDeque;

/// Notes from before, oldest first.
#[derive(Debug)]
pub(crate) struct Early<T>(Mutex<VecDeque<T>>);

impl<T> Default for Early<T> {
    fn default() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }
}

impl<T> Early<T> {
    pub(crate) fn note(&self, what: T) {
        let mut notes = self.0.lock();
        // One that never began.
        if notes.len() == limits::EARLY_CALLS {
            notes.pop_front();
        }
        notes.push_back(what);
    }

    /// The oldest note that fits.
    pub(crate) fn take(&self, fits: impl Fn(&T) -> bool) -> Option<T> {
        let mut notes = self.0.lock();
        let at = notes.iter().position(fits)?;
        notes.remove(at)
    }
}
