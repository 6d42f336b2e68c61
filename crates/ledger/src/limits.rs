//! The caps and times of this crate, in one place.

use std::time::Duration;

/// Bytes of one value.
pub const VALUE: usize = 64 * 1024 * 1024;
/// Requests to a ledger in a file that wait for their turn.
pub const WAITING: usize = 65_536;
/// Requests that are written together at most.
pub const TOGETHER: usize = 1024;
/// How long a file is waited for that another process writes.
pub const FILE_BUSY: Duration = Duration::from_secs(5);
/// Entries and streams that are swept away at once at most.
pub const SWEPT: usize = 1000;
/// How often a space that is watched is looked through for changes of other processes.
pub const WATCH_LOOK: Duration = Duration::from_millis(200);
/// Entries of a space that can be watched.
pub const WATCHED: usize = 10_000;
