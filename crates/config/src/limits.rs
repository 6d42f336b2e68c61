//! The caps of this crate, in one place.

/// Bytes of one configuration file. The largest seen in the wild (a client's
/// own state file with its history) is well below this.
pub const FILE_BYTES: u64 = 32 * 1024 * 1024;
