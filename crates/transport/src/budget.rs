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
            let freed = self.0.freed.notified();
            let counted = self
                .0
                .used
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                    (used < self.0.cap).then_some(used + bytes)
                });
            if counted.is_ok() {
                return Reserved {
                    bytes,
                    budget: self.0.clone(),
                };
            }
            freed.await;
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
        loop {
            let freed = self.0.freed.notified();
            if !self.is_full() {
                return;
            }
            freed.await;
        }
    }
}

impl Default for Budget {
    /// 48 MiB: room for a few large results, small beside any machine's memory.
    fn default() -> Self {
        Self::new(48 * 1024 * 1024)
    }
}

impl Shared {
    fn release(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        if before >= self.cap {
            self.freed.notify_waiters();
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
