//! The caps of this crate, in one place.

/// Bytes of a body under `/api/v1/`, unless its route says that it takes more.
pub const BODY: usize = 16 * 1024;
/// Bytes of a body that has a call's arguments or its answer in it, or a schema.
pub const BODY_ARGUMENTS: usize = 1024 * 1024;
/// Bytes of a body that has an entry in it, or the names of many tools.
pub const BODY_ENTRY: usize = 160 * 1024;
/// Bytes of a body that has a text in it which somebody pasted.
pub const BODY_SNIPPET: usize = 512 * 1024;
/// Words of a filter of calls.
pub const FILTER_WORDS: usize = 64;
/// Bytes of a filter of calls.
pub const FILTER_BYTES: usize = 4096;
/// Texts in a filter of calls that messages are searched for.
pub const FILTER_TEXTS: usize = 4;
