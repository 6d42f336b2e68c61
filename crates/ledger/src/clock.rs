//! The time by which entries live: that of the wall, since it goes on between processes.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Milliseconds since 1970. Clones go alike.
#[derive(Clone, Default)]
pub struct Clock(Option<Arc<AtomicU64>>);

impl Clock {
    /// That of the machine.
    pub fn wall() -> Self {
        Self(None)
    }

    /// One that goes on only when it is told to.
    pub fn by_hand() -> Self {
        Self(Some(Arc::new(AtomicU64::new(1))))
    }

    /// Lets time pass, where that is done by hand.
    pub fn pass(&self, time: Duration) {
        if let Some(now) = &self.0 {
            now.fetch_add(millis(time), Ordering::Relaxed);
        }
    }

    /// Now.
    pub(crate) fn now(&self) -> u64 {
        match &self.0 {
            Some(now) => now.load(Ordering::Relaxed),
            None => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH);
                since.map_or(0, millis)
            }
        }
    }

    /// The moment when this much has passed.
    pub(crate) fn after(&self, life: Duration) -> u64 {
        self.now().saturating_add(millis(life))
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX >> 2)
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}
