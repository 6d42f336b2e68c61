//! What waits for a client that carries everything on one channel.

use crate::{
    limits,
    session::{Outlet, Weight},
};
use std::sync::Arc;
use switchboard_transport::{in_process::Sender, stdio::LineWriter};
use switchboard_wire::Payload;

/// Where messages wait until the client reads them. It has a cap of its own, and
/// says by itself what becomes of a client that reaches it.
pub(crate) trait Queue: Send + Sync {
    /// How many bytes wait.
    fn queued(&self) -> usize;

    /// Adds a message.
    fn push(&self, message: Payload);
}

/// A queue as an outlet: while the client does not read, what it can do without
/// goes first.
pub(crate) struct Backlog<Q>(Q);

impl<Q: Queue + 'static> Backlog<Q> {
    /// Whatever is sent waits here.
    pub(crate) fn of(queue: Q) -> Arc<dyn Outlet> {
        Arc::new(Self(queue))
    }
}

impl<Q: Queue> Outlet for Backlog<Q> {
    fn send(&self, payload: Payload, weight: Weight) {
        if weight <= Weight::Notice && self.0.queued() > limits::STREAM_BYTES {
            return;
        }
        self.0.push(payload);
    }
}

impl Queue for LineWriter {
    fn queued(&self) -> usize {
        self.queued()
    }

    fn push(&self, message: Payload) {
        // One that takes nothing any more is found out by whoever reads.
        let _ = self.send(message);
    }
}

impl Queue for Sender {
    fn queued(&self) -> usize {
        self.queued()
    }

    fn push(&self, message: Payload) {
        let _ = self.send(message);
    }
}
