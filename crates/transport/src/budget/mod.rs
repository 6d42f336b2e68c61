//! How many bytes of large messages are in memory, all links together, and how
//! many of them are whose.
//!
//! The count is exact without anybody having to remember to give bytes back: a
//! counted buffer owns its part, which ends with the last reference to it.

mod gives_way;
mod queued;
mod share;
mod spare;

pub use gives_way::{GivesWay, Pass};
pub(crate) use share::Charge;
pub use share::{InFlight, Share};

use crate::limits::{BUDGET_BYTES, COUNTED_BYTES, READ_CHUNK, SPARE_FROM};
use bytes::Bytes;
use parking_lot::Mutex;
use share::Own;
use spare::Spare;
use std::{
    collections::HashMap,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering},
    },
};
use tokio::sync::Notify;

/// A shared count of bytes with a cap.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// With a sign, since part of what one principal holds is taken out again
    /// (see [`Share`]).
    used: AtomicIsize,
    cap: usize,
    freed: Notify,
    /// Bytes of small messages that wait in queues.
    waiting: AtomicUsize,
    /// Calls in flight, of all principals.
    calls: AtomicUsize,
    /// Whether more than one principal is known.
    several: AtomicBool,
    /// The principals that hold anything, or could.
    owners: Mutex<HashMap<Arc<str>, Weak<Own>>>,
    /// Buffers for the next large messages.
    spare: Spare,
}

impl Budget {
    /// A budget that counts as full from `cap` bytes on.
    pub fn new(cap: usize) -> Self {
        Self(Arc::new(Shared {
            used: AtomicIsize::new(0),
            cap,
            freed: Notify::new(),
            waiting: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            several: AtomicBool::new(false),
            owners: Mutex::default(),
            spare: Spare::default(),
        }))
    }

    /// What one principal holds. `several` says whether more than one is known;
    /// one that holds something makes itself known by that.
    pub fn share_of(&self, principal: &Arc<str>, several: bool) -> Share {
        let mut owners = self.0.owners.lock();
        let known = owners.get(principal).and_then(Weak::upgrade);
        let own = known.unwrap_or_else(|| {
            // Those that hold nothing any more; there are no more of them than
            // there were principals at once.
            owners.retain(|_, own| own.strong_count() > 0);
            let own = Arc::new(Own::new(self.0.clone()));
            owners.insert(principal.clone(), Arc::downgrade(&own));
            own
        });
        let several = several || owners.len() > 1;
        self.0.several.store(several, Ordering::Relaxed);
        Share(own)
    }

    /// An empty buffer for a message of so many bytes. A large one may have been used before.
    pub fn buffer(&self, bytes: usize) -> Vec<u8> {
        if bytes < SPARE_FROM {
            return Vec::with_capacity(bytes);
        }
        // In steps, so that those of messages that are about as long fit each other.
        let bytes = bytes.next_multiple_of(READ_CHUNK);
        let spare = self.0.spare.take(bytes);
        spare.unwrap_or_else(|| Vec::with_capacity(bytes))
    }

    /// Takes back a buffer whose bytes nobody needs.
    pub(crate) fn reuse(&self, buffer: Vec<u8>) {
        self.0.keep_spare(buffer);
    }

    /// Turns a buffer into bytes that are counted for as long as any of them are referenced.
    pub fn hold(&self, buffer: Vec<u8>) -> Bytes {
        if buffer.len() < COUNTED_BYTES {
            return Bytes::from(buffer);
        }
        self.0.add(buffer.capacity() as isize);
        Bytes::from_owner(Counted {
            buffer,
            budget: self.0.clone(),
        })
    }

    /// Waits until the budget is not full, then counts `bytes` that are about to
    /// be read. For what is larger than [`COUNTED_BYTES`] this comes first: many
    /// large answers at once then wait in their sockets, not in memory.
    pub async fn reserve(&self, bytes: usize) -> Reserved {
        loop {
            let counted = self
                .0
                .used
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                    (used < self.0.cap as isize).then_some(used + bytes as isize)
                });
            if counted.is_ok() {
                self.0.wake_next();
                return Reserved {
                    bytes,
                    budget: self.0.clone(),
                };
            }
            if !self.0.make_room(&|| !self.0.is_full()) {
                self.0.freed.notified().await;
            }
        }
    }

    /// Bytes in memory now.
    pub fn used(&self) -> usize {
        self.0.used()
    }

    /// How many bytes there may be.
    pub fn cap(&self) -> usize {
        self.0.cap
    }

    /// Bytes of small messages that wait in queues.
    pub fn queued(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }

    /// Calls in flight, of all principals.
    pub fn calls(&self) -> usize {
        self.0.calls.load(Ordering::Relaxed)
    }

    /// Whether the cap is reached.
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }

    /// Waits until the budget is not full.
    pub async fn room(&self) {
        while self.is_full() && !self.0.make_room(&|| !self.0.is_full()) {
            self.0.freed.notified().await;
        }
        self.0.wake_next();
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(BUDGET_BYTES)
    }
}

impl Shared {
    fn used(&self) -> usize {
        usize::try_from(self.used.load(Ordering::Relaxed)).unwrap_or(0)
    }

    fn is_full(&self) -> bool {
        self.used() >= self.cap
    }

    fn add(&self, bytes: isize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    fn release(&self, bytes: isize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        if before >= self.cap as isize {
            self.freed.notify_one();
        }
    }

    /// They wait in turn, and one is woken at a time: who finds room wakes the
    /// next, so that hundreds do not wake for the bytes of one.
    fn wake_next(&self) {
        if !self.is_full() {
            self.freed.notify_one();
        }
    }
}

/// Bytes that are counted until this is dropped.
#[derive(Debug)]
pub struct Reserved {
    bytes: usize,
    budget: Arc<Shared>,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.budget.release(self.bytes as isize);
    }
}

struct Counted {
    buffer: Vec<u8>,
    budget: Arc<Shared>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.budget.release(buffer.capacity() as isize);
        self.budget.keep_spare(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A hundred wait for room for one: each gets its turn, and none is forgotten.
    #[tokio::test]
    async fn all_who_wait_get_their_turn() {
        let budget = Budget::new(10);
        let first = budget.reserve(10).await;
        let mut waiting = tokio::task::JoinSet::new();
        for n in 0..100 {
            let budget = budget.clone();
            waiting.spawn(async move {
                if n % 3 == 0 {
                    budget.room().await;
                } else {
                    let reserved = budget.reserve(10).await;
                    tokio::task::yield_now().await;
                    drop(reserved);
                }
            });
        }
        // Some give up while they wait.
        let impatient = tokio::time::timeout(Duration::from_millis(1), budget.reserve(1)).await;
        assert!(impatient.is_err());
        drop(first);
        let all = tokio::time::timeout(Duration::from_secs(10), waiting.join_all()).await;
        assert!(all.is_ok(), "some wait for ever");
        assert_eq!(budget.used(), 0);
    }
}
