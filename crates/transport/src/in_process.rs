//! Two ends in the same process: each message is handed over as the bytes it
//! is, without framing and without being written or read again.

use crate::{
    inbox::{Batches, deliver_during},
    limits,
    link::{Closed, Receive, SendError},
};
use bytes::Bytes;
use futures_util::{Stream, task::AtomicWaker};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use switchboard_tasks as tasks;
use switchboard_wire::{Payload, Revision, limits::MESSAGE_BYTES};
use tokio::task::AbortHandle;
use tracing::Instrument;

/// One end of a linked pair.
#[derive(Debug)]
pub struct End {
    /// To the other end.
    pub sender: Sender,
    /// From the other end.
    pub receiver: Receiver,
}

/// Two ends: what one sends the other receives.
pub fn pair() -> (End, End) {
    let (there, back) = (Arc::<Lane>::default(), Arc::<Lane>::default());
    let end = |out: &Arc<Lane>, back: &Arc<Lane>| End {
        sender: Sender(Arc::new(Sending(out.clone()))),
        receiver: Receiver(back.clone()),
    };
    (end(&there, &back), end(&back, &there))
}

/// One direction.
#[derive(Default)]
struct Lane {
    state: Mutex<State>,
    waker: AtomicWaker,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(Bytes, Option<u64>)>,
    bytes: usize,
    closed: bool,
}

impl Lane {
    fn close(&self) {
        self.state.lock().closed = true;
        self.waker.wake();
    }
}

/// The sending half. Cheap to clone; the other end has reached its end when the
/// last clone is gone.
#[derive(Clone)]
pub struct Sender(Arc<Sending>);

struct Sending(Arc<Lane>);

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Sender {
    /// Hands one message over. Never waits.
    pub fn send(&self, payload: Payload) -> Result<(), SendError> {
        self.push(payload, None)
    }

    /// The same, and says which request of the other end's it belongs to, as a
    /// stream of its own does over HTTP.
    pub fn send_during(&self, payload: Payload, request: u64) -> Result<(), SendError> {
        self.push(payload, Some(request))
    }

    fn push(&self, payload: Payload, during: Option<u64>) -> Result<(), SendError> {
        let lane = &self.0.0;
        let bytes = payload.into_bytes();
        let mut state = lane.state.lock();
        if state.closed {
            return Err(SendError::Closed);
        }
        if bytes.len() > MESSAGE_BYTES || state.bytes + bytes.len() > limits::SEND_QUEUE_BYTES {
            return Err(SendError::Full(state.bytes));
        }
        state.bytes += bytes.len();
        state.waiting.push_back((bytes, during));
        drop(state);
        lane.waker.wake();
        Ok(())
    }

    /// Bytes that the other end has not taken yet.
    pub fn queued(&self) -> usize {
        self.0.0.state.lock().bytes
    }

    /// Nothing more is sent. What was sent is still received.
    pub fn close(&self) {
        self.0.0.close();
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender")
            .field("queued", &self.queued())
            .finish()
    }
}

/// The receiving half: a stream of messages.
pub struct Receiver(Arc<Lane>);

impl Stream for Receiver {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let next = self.poll_one(context);
        next.map(|next| next.map(|(bytes, _)| bytes))
    }
}

impl Receiver {
    fn poll_one(&self, context: &mut Context<'_>) -> Poll<Option<(Bytes, Option<u64>)>> {
        self.0.waker.register(context.waker());
        let mut state = self.0.state.lock();
        match state.waiting.pop_front() {
            Some((bytes, during)) => {
                state.bytes -= bytes.len();
                Poll::Ready(Some((bytes, during)))
            }
            None if state.closed => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    /// The next message, and the request that it belongs to where that was said.
    async fn next_of(&mut self) -> Option<(Bytes, Option<u64>)> {
        poll_fn(|context| self.poll_one(context)).await
    }

    /// The next message; `None` when the other end is gone.
    pub async fn next(&mut self) -> Option<Bytes> {
        futures_util::StreamExt::next(self).await
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

/// The link to a server in the same process.
#[derive(Clone, Debug)]
pub struct InProcessLink(Arc<Owner>);

#[derive(Debug)]
struct Owner {
    sender: Sender,
    batches: Arc<Batches>,
    task: AbortHandle,
}

impl InProcessLink {
    /// Speaks with whoever holds the other end.
    pub fn new(end: End, receive: Arc<dyn Receive>) -> Self {
        let End {
            sender,
            mut receiver,
        } = end;
        let batches = Arc::new(Batches::default());
        let known = batches.clone();
        let told = receive.clone();
        let reading = async move {
            while let Some((bytes, during)) = receiver.next_of().await {
                deliver_during(&*receive, &known, bytes, during);
            }
            receive.closed(Closed::ByPeer("the server ended".into()));
        };
        let task = tasks::spawn_or(tasks::Kind::Reader, reading.in_current_span(), move || {
            told.closed(Closed::faulty());
        });
        Self(Arc::new(Owner {
            sender,
            batches,
            task: task.abort_handle(),
        }))
    }

    /// Says which revision is spoken from now on: it decides about batches.
    pub fn speak(&self, revision: Revision) {
        self.0.batches.speak(revision);
    }

    /// Hands a message over. Never waits.
    pub fn send(&self, payload: Payload) -> Result<(), SendError> {
        self.0.sender.send(payload)
    }

    /// Ends the link; the other end sees its end.
    pub fn close(&self) {
        self.0.sender.close();
        self.0.task.abort();
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.task.abort();
    }
}
