//! The caps and times of this crate, as far as they are in one place yet.

use std::time::Duration;

/// How long a gateway that was told to stop may take: its servers have their time, too.
pub const ENDING: Duration = Duration::from_secs(60);
/// How often it is looked whether it has ended.
pub const ENDING_LOOK: Duration = Duration::from_millis(20);
/// Bytes of what is kept of the last `up`.
pub const REMEMBERED: u64 = 64 * 1024;
/// So many servers nobody has to be told the sum of.
pub const FEW_SERVERS: usize = 3;
