//! The caps of what is assembled here, in one place.

/// Calls that one connection to a server of one's own may have in flight.
pub const CALLS: usize = 1024;
/// Chunks of stdin that such a server reads ahead.
pub const READ_AHEAD: usize = 8;
/// The size of one, in bytes.
pub const CHUNK: usize = 16 * 1024;

/// Bytes between a client on our own streams and servers of its own before the writer
/// waits.
pub const PIPE_BYTES: usize = 64 * 1024;
