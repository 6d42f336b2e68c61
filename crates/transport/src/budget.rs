//! How many bytes of large messages are in memory, all links together.
//!
//! The count is exact without anybody having to remember to give bytes back: a
//! counted buffer owns its share, and the share ends with the last reference to it.

use crate::limits::COUNTED_BYTES;
use bytes::Bytes;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::sync::Notify;

/// A shared count of bytes with a cap.
#[derive(Clone, Debug)]
pub struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    used: AtomicUsize,
    cap: usize,
    freed: Notify,
}

impl Budget {
    /// A budget that counts as full from `cap` bytes on.
    pub fn new(cap: usize) -> Self {
        Self(Arc::new(Shared {
            used: AtomicUsize::new(0),
            cap,
            freed: Notify::new(),
        }))
    }

    /// Turns a buffer into bytes that are counted for as long as any of them are referenced.
    pub fn hold(&self, buffer: Vec<u8>) -> Bytes {
        if buffer.len() < COUNTED_BYTES {
            return Bytes::from(buffer);
        }
        self.0.used.fetch_add(buffer.capacity(), Ordering::Relaxed);
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
                    (used < self.0.cap).then_some(used + bytes)
                });
            if counted.is_ok() {
                self.0.wake_next();
                return Reserved {
                    bytes,
                    budget: self.0.clone(),
                };
            }
            self.0.freed.notified().await;
        }
    }

    /// Bytes in memory now.
    pub fn used(&self) -> usize {
        self.0.used.load(Ordering::Relaxed)
    }

    /// Whether the cap is reached.
    pub fn is_full(&self) -> bool {
        self.used() >= self.0.cap
    }

    /// Waits until the budget is not full.
    pub async fn room(&self) {
        while self.is_full() {
            self.0.freed.notified().await;
        }
        self.0.wake_next();
    }
}

impl Default for Budget {
    /// 32 MiB: room for a few large results, small beside any machine's memory.
    fn default() -> Self {
        Self::new(32 * 1024 * 1024)
    }
}

impl Shared {
    fn release(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        if before >= self.cap {
            self.freed.notify_one();
        }
    }

    /// They wait in turn, and one is woken at a time: who finds room wakes the
    /// next, so that hundreds do not wake for the bytes of one.
    fn wake_next(&self) {
        if self.used.load(Ordering::Relaxed) < self.cap {
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
        self.budget.release(self.bytes);
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
        self.budget.release(self.buffer.capacity());
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
