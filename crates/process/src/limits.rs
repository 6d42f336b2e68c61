//! The caps of this crate, in one place.

use std::time::Duration;

/// How long one look for those who start others while they are killed may take.
pub const NEW_FACES: Duration = Duration::from_millis(50);
/// Directories of servers that were killed that are removed when one is made.
pub const ROOMS_TIDIED: usize = 256;
/// How often another name is tried for an empty directory.
pub const ROOM_TRIES: usize = 16;

/// Bytes of what one server writes to stderr that are kept on disk, in two files.
pub const STDERR_KEPT: u64 = 64 * 1024 * 1024;
/// The same of all servers together; the oldest files go first.
pub const STDERR_KEPT_ALL: u64 = 1024 * 1024 * 1024;
/// Files of that kind; the oldest go first.
pub const STDERR_FILES: usize = 500;
