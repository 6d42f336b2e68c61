//! What waits to be written on one event stream that cannot be resumed: bounded,
//! and closed when its reader does not keep up.

use super::event_stream::MESSAGE;
use crate::{faces::backlog::Queue, limits};
use bytes::Bytes;
use futures_util::{Stream, task::AtomicWaker};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use switchboard_host::Full;
use switchboard_transport::{Share, http::sse::encode_event, limits::QUEUE_STEP};
use switchboard_wire::Payload;
use tokio_util::sync::DropGuard;

/// The events of one stream that have not been written.
pub(super) struct Mailbox {
    state: Mutex<State>,
    /// Where what waits is counted.
    share: Share,
    waker: AtomicWaker,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<Bytes>,
    bytes: usize,
    finished: bool,
}

impl Mailbox {
    /// An empty one of this principal's.
    pub(super) fn new(share: &Share) -> Self {
        Self {
            state: Mutex::default(),
            share: share.clone(),
            waker: AtomicWaker::new(),
        }
    }

    /// Adds an event. One that finds no room ends the stream: its reader does not read.
    pub(super) fn add(&self, event: Payload) {
        let mut state = self.state.lock();
        if state.finished {
            return;
        }
        let is_behind = state.bytes > QUEUE_STEP;
        if state.bytes + event.len() > limits::MAILBOX_BYTES
            || (is_behind && self.share.overcrowded().is_some())
        {
            state.break_off();
        } else {
            let event = match is_behind {
                true => self.share.queue(event),
                false => event,
            };
            state.bytes += event.len();
            state.pieces.extend(event.into_pieces());
        }
        drop(state);
        self.waker.wake();
    }

    /// Ends the stream once everything in it has been written.
    pub(super) fn finish(&self) {
        self.state.lock().finished = true;
        self.waker.wake();
    }

    /// The stream that writes it. `guard` goes with it, so that whoever holds its
    /// token learns of the end.
    pub(super) fn read(self: &Arc<Self>, guard: DropGuard) -> Reader {
        Reader {
            mailbox: self.clone(),
            _guard: guard,
        }
    }
}

impl State {
    /// Ends the stream without what waits.
    fn break_off(&mut self) {
        *self = Self {
            finished: true,
            ..Self::default()
        };
    }
}

impl Queue for Arc<Mailbox> {
    fn queued(&self) -> usize {
        self.state.lock().bytes
    }

    fn push(&self, message: Payload, _: Option<&Share>) {
        self.add(encode_event(None, Some(MESSAGE), message));
    }

    fn end(&self, full: &Full) {
        tracing::info!(%full, "the client of an event stream does not read");
        self.state.lock().break_off();
        self.waker.wake();
    }
}

/// What is in it, as it comes.
pub(super) struct Reader {
    mailbox: Arc<Mailbox>,
    _guard: DropGuard,
}

impl Stream for Reader {
    type Item = io::Result<Bytes>;

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        self.mailbox.waker.register(context.waker());
        {
            let mut state = self.mailbox.state.lock();
            if let Some(piece) = state.pieces.pop_front() {
                state.bytes = state.bytes.saturating_sub(piece.len());
                return Poll::Ready(Some(Ok(piece)));
            }
            if state.finished {
                return Poll::Ready(None);
            }
        }
        Poll::Pending
    }
}
