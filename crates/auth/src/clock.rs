//! The wall clock. Expiry has to survive a restart, so it is kept as wall time.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970.
pub(crate) fn millis() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
}

/// Seconds since 1970.
pub(crate) fn seconds() -> u64 {
    millis() / 1000
}
