//! What the page's files may cost.

/// The largest file that is read from a folder, in bytes.
pub const LARGEST_FILE: u64 = 4 * 1024 * 1024;
