//! What clients are told once, when they have come in: not about a request of their
//! own, but about where they are.

use parking_lot::Mutex;
use std::sync::Arc;

/// A text for every client that comes in from now on, if there is one. It can
/// be changed while the gateway serves.
#[derive(Clone, Debug, Default)]
pub struct Announcement(Arc<Mutex<Option<Arc<str>>>>);

impl Announcement {
    /// Says something else from now on, or nothing.
    pub fn set(&self, text: Option<String>) {
        *self.0.lock() = text.map(Into::into);
    }

    /// What is said.
    pub fn get(&self) -> Option<Arc<str>> {
        self.0.lock().clone()
    }
}
