//! How a client is told, once, what those who come in are told.

pub use switchboard_host::Announcement;
use switchboard_host::LOG_LEVELS;
use switchboard_wire::{Message, Method, Payload, json};

/// How severe it is.
pub(crate) const LEVEL: &str = "warning";

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
