//! The bytes of a client's message that has not arrived in full: tungstenite
//! keeps them to itself until then, so they are counted where they are read.

use crate::{
    budget::{Charge, Share},
    full::Full,
    limits,
};
use bytes::Bytes;
use parking_lot::Mutex;
use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, ready},
    time::Instant,
};

/// A control frame besides what it carries: two bytes, and four of a mask.
// tidy: what the protocol says, not a choice of ours
const CONTROL_HEAD: usize = 6;

/// What has arrived of a message; known to the stream that reads it and to
/// whoever takes it when it is whole.
#[derive(Clone)]
pub(super) struct Arriving(Arc<State>);

struct State {
    /// Bytes since the last whole message.
    bytes: AtomicUsize,
    /// They count from [`limits::COUNTED_BYTES`] on.
    counted: Mutex<Counted>,
}

struct Counted {
    charge: Charge,
    waiting: Option<Waiting>,
}

struct Waiting {
    since: Instant,
    freed: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Arriving {
    pub(super) fn new(share: &Share) -> Self {
        Self(Arc::new(State {
            bytes: AtomicUsize::new(0),
            counted: Mutex::new(Counted {
                charge: share.charge(),
                waiting: None,
            }),
        }))
    }

    /// Waits until more of the message may be read.
    pub(super) fn poll_room(&self, context: &mut Context<'_>) -> Poll<Result<(), Full>> {
        let bytes = self.0.bytes.load(Ordering::Relaxed);
        if bytes < limits::COUNTED_BYTES {
            return Poll::Ready(Ok(()));
        }
        let mut counted = self.0.counted.lock();
        let Counted { charge, waiting } = &mut *counted;
        while !charge.try_grow_to(bytes) {
            let share = charge.share().clone();
            let waited = waiting.get_or_insert_with(|| Waiting {
                since: Instant::now(),
                freed: Box::pin(std::future::ready(())),
            });
            if waited.since.elapsed() >= limits::ROOM_WAIT {
                return Poll::Ready(Err(share.full()));
            }
            ready!(waited.freed.as_mut().poll(context));
            waited.freed = Box::pin(async move { share.freed().await });
        }
        *waiting = None;
        Poll::Ready(Ok(()))
    }

    /// So many more have arrived.
    pub(super) fn add(&self, bytes: usize) {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A control frame was among them, which is gone again.
    pub(super) fn skip(&self, control: &[u8]) {
        let frame = control.len() + CONTROL_HEAD;
        let less = |bytes: usize| Some(bytes.saturating_sub(frame));
        let _ = self
            .0
            .bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    /// The message is whole: it takes along what was counted for it.
    pub(super) async fn whole(&self, message: Bytes) -> Result<Bytes, Full> {
        let arrived = self.0.bytes.swap(0, Ordering::Relaxed);
        if arrived.max(message.len()) < limits::COUNTED_BYTES {
            return Ok(message);
        }
        let mut charge = {
            let mut counted = self.0.counted.lock();
            let next = counted.charge.share().charge();
            std::mem::replace(&mut counted.charge, next)
        };
        if message.len() < limits::COUNTED_BYTES {
            return Ok(message);
        }
        charge.grow_to(message.len()).await?;
        Ok(charge.hold(Vec::from(message)))
    }
}

impl fmt::Debug for Arriving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Arriving").field(&self.0.bytes).finish()
    }
}
