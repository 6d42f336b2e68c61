//! What a client is told once, when it has come in: not about a request of its
//! own, but about where it is.

use parking_lot::Mutex;
use std::sync::Arc;
use switchboard_host::client::LOG_LEVELS;
use switchboard_wire::{Message, Method, Payload, json};

/// How severe it is.
const LEVEL: &str = "warning";

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

/// The log message that says it.
pub(crate) fn message(text: &str) -> Payload {
    let text = json::quote(text);
    let params = format!("{{\"level\":\"{LEVEL}\",\"logger\":\"switchboard\",\"data\":{text}}}");
    Message::notification(Method::LogMessage, &params).payload()
}

/// Whether a client that wants this level, an index into [`LOG_LEVELS`], hears it.
pub(crate) fn is_heard(level: u8) -> bool {
    let rank = LOG_LEVELS.iter().position(|known| *known == LEVEL);
    rank.is_some_and(|rank| rank >= usize::from(level))
}
