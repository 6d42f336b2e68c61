//! What waits for a client that carries everything on one channel.

use crate::{
    limits,
    session::{Outlet, Weight},
};
use std::sync::Arc;
use switchboard_host::Full;
use switchboard_transport::{Share, in_process::Sender, limits::QUEUE_STEP, stdio::LineWriter};
use switchboard_wire::Payload;

/// Where messages wait until the client reads them. It has a cap of its own, and
/// says by itself what becomes of a client that reaches it.
pub(crate) trait Queue: Send + Sync {
    /// How many bytes wait.
    fn queued(&self) -> usize;

    /// Adds a message, counted in this share while it waits, if there is one.
    fn push(&self, message: Payload, share: Option<&Share>);

    /// Ends: too much waits here, and elsewhere.
    fn end(&self, full: &Full);
}

/// A queue as an outlet: while the client does not read, what it can do without
/// goes first. What waits counts in its principal's share.
pub(crate) struct Backlog<Q> {
    queue: Q,
    share: Share,
}

impl<Q: Queue + 'static> Backlog<Q> {
    /// Whatever is sent waits here.
    pub(crate) fn of(queue: Q, share: &Share) -> Arc<dyn Outlet> {
        let share = share.clone();
        Arc::new(Self { queue, share })
    }
}

impl<Q: Queue> Outlet for Backlog<Q> {
    fn send(&self, payload: Payload, weight: Weight) {
        let queued = self.queue.queued();
        if queued <= QUEUE_STEP {
            return self.queue.push(payload, None);
        }
        let is_full = || queued > limits::STREAM_BYTES || !self.share.has_room();
        if weight <= Weight::Notice && is_full() {
            return;
        }
        match self.share.overcrowded() {
            Some(full) => self.queue.end(&full),
            None => self.queue.push(payload, Some(&self.share)),
        }
    }
}

/// A message as it waits.
pub(crate) fn counted(message: Payload, share: Option<&Share>) -> Payload {
    match share {
        Some(share) => share.queue(message),
        None => message,
    }
}

impl Queue for LineWriter {
    fn queued(&self) -> usize {
        self.queued()
    }

    fn push(&self, message: Payload, share: Option<&Share>) {
        // One that takes nothing any more is found out by whoever reads.
        let _ = self.send_counted(message, share);
    }

    fn end(&self, full: &Full) {
        tracing::info!(%full, "a client on lines does not read");
        self.close();
    }
}

impl Queue for Sender {
    fn queued(&self) -> usize {
        self.queued()
    }

    fn push(&self, message: Payload, share: Option<&Share>) {
        let _ = self.send(counted(message, share));
    }

    fn end(&self, full: &Full) {
        tracing::info!(%full, "a client in this process does not read");
        self.close();
    }
}
