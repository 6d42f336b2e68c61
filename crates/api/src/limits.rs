//! The caps of this crate, in one place.

/// Words of a filter of calls.
pub const FILTER_WORDS: usize = 64;
/// Bytes of a filter of calls.
pub const FILTER_BYTES: usize = 4096;
/// Texts in a filter of calls that messages are searched for.
pub const FILTER_TEXTS: usize = 4;
