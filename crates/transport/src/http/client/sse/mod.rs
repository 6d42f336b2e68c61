//! Server-sent events: an incremental decoder and an encoder.
//!
//! The decoder takes chunks as they come and never looks at a byte twice. An
//! event that lies in one chunk with one `data` line shares that chunk's
//! memory; comments take no memory at all, however many or long they are.

mod decode;
mod encode;
#[cfg(test)]
mod tests;

pub use decode::{Decoder, Event, TooLarge};
pub use encode::{encode_comment, encode_event, encode_priming};
