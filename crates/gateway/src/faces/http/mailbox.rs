//! What waits to be written on one event stream that cannot be resumed: bounded,
//! and closed when its reader does not keep up.

use crate::{
    limits,
    session::{Outlet, Weight},
};
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
use switchboard_transport::http::sse::encode_event;
use switchboard_wire::Payload;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tokio_util::sync::DropGuard;

/// The events of one stream that have not been written.
#[derive(Default)]
pub(super) struct Mailbox {
    state: Mutex<State>,
    waker: AtomicWaker,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<Bytes>,
    bytes: usize,
    finished: bool,
}

impl Mailbox {
    /// Adds an event. One that finds no room ends the stream: its reader does not read.
    pub(super) fn push(&self, event: Payload) {
        let mut state = self.state.lock();
        if state.finished {
            return;
        }
        if state.bytes + event.len() > limits::MAILBOX_BYTES {
            *state = State {
                finished: true,
                ..State::default()
            };
        } else {
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

    /// The body that writes it, with `comment` while there is nothing to write.
    /// `guard` goes with the body, so that whoever holds its token learns of the end.
    pub(super) fn read(self: &Arc<Self>, comment: &'static str, guard: DropGuard) -> Reader {
        let mut alive = interval(limits::KEEP_ALIVE);
        alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        alive.reset();
        Reader {
            mailbox: self.clone(),
            comment,
            alive,
            _guard: guard,
        }
    }
}

impl Outlet for Mailbox {
    fn send(&self, payload: Payload, weight: Weight) {
        // While the client does not read, what it can do without goes first.
        if weight <= Weight::Notice && self.state.lock().bytes > limits::STREAM_BYTES {
            return;
        }
        self.push(encode_event(None, Some("message"), payload));
    }
}

/// The body of the response.
pub(super) struct Reader {
    mailbox: Arc<Mailbox>,
    comment: &'static str,
    alive: Interval,
    _guard: DropGuard,
}

impl Stream for Reader {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        let this = &mut *self;
        this.mailbox.waker.register(context.waker());
        {
            let mut state = this.mailbox.state.lock();
            if let Some(piece) = state.pieces.pop_front() {
                state.bytes = state.bytes.saturating_sub(piece.len());
                this.alive.reset();
                return Poll::Ready(Some(Ok(piece)));
            }
            if state.finished {
                return Poll::Ready(None);
            }
        }
        match this.alive.poll_tick(context) {
            Poll::Ready(_) => Poll::Ready(Some(Ok(Bytes::from_static(this.comment.as_bytes())))),
            Poll::Pending => Poll::Pending,
        }
    }
}
