//! Event streams of legacy sessions: numbered, kept for a while, and resumed
//! by whoever shows the number of the last event it has seen.

use super::event_stream::MESSAGE;
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
    time::{Duration, Instant},
};
use switchboard_transport::http::sse::encode_event;
use switchboard_wire::Payload;

/// The events of one stream, and who reads them.
pub(super) struct EventLog {
    number: u64,
    state: Mutex<State>,
    waker: AtomicWaker,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    /// The number of the next event.
    next: u64,
    /// Events below this have been handed to a reader.
    sent: u64,
    bytes: usize,
    /// Counts readers; only the newest one is served.
    readers: u64,
    /// How many of them have not gone yet.
    reading: usize,
    /// Since when nobody reads, where somebody has.
    left: Option<Instant>,
    finished: Option<Instant>,
}

struct Event {
    number: u64,
    payload: Payload,
    weight: Weight,
}

impl EventLog {
    pub(super) fn new(number: u64) -> Arc<Self> {
        let state = State {
            next: 1,
            ..State::default()
        };
        Arc::new(Self {
            number,
            state: Mutex::new(state),
            waker: AtomicWaker::new(),
        })
    }

    /// Its number within the session.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Ends the stream once everything in it has been read.
    pub(super) fn finish(&self) {
        self.state.lock().finished.get_or_insert_with(Instant::now);
        self.waker.wake();
    }

    /// Since when nothing more comes.
    pub(super) fn finished(&self) -> Option<Instant> {
        self.state.lock().finished
    }

    /// Waits until its reader has been gone for so long that it will not come back.
    pub(super) async fn deserted(&self, patience: Duration) {
        loop {
            let left = self.state.lock().left;
            let until = left.unwrap_or_else(Instant::now) + patience;
            if left.is_some() && Instant::now() >= until {
                return;
            }
            tokio::time::sleep_until(until.into()).await;
        }
    }

    /// Waits for the first event.
    pub(super) async fn begun(&self) {
        std::future::poll_fn(|context| {
            self.waker.register(context.waker());
            if self.has_begun() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// Whether somebody reads it just now.
    pub(super) fn is_read(&self) -> bool {
        self.state.lock().reading > 0
    }

    /// Whether there is an event already.
    pub(super) fn has_begun(&self) -> bool {
        !self.state.lock().events.is_empty()
    }

    /// A reader of everything after `last`, or of what nobody has read yet;
    /// whoever read before is sent away.
    /// `prime` begins with an event that only has a number.
    pub(super) fn read(self: &Arc<Self>, last: Option<u64>, prime: bool) -> Reader {
        let (reader, unread) = {
            let mut state = self.state.lock();
            state.readers += 1;
            state.reading += 1;
            state.left = None;
            (state.readers, state.sent.saturating_sub(1))
        };
        self.waker.wake();
        Reader {
            log: self.clone(),
            reader,
            after: last.unwrap_or(unread),
            prime,
        }
    }
}

impl Outlet for EventLog {
    fn send(&self, payload: Payload, weight: Weight) {
        let mut state = self.state.lock();
        if state.finished.is_some() {
            return;
        }
        state.make_room(payload.len());
        let full = state.events.len() >= limits::STREAM_EVENTS
            || state.bytes + payload.len() > limits::STREAM_BYTES;
        if full && weight <= Weight::Notice {
            return;
        }
        let number = state.next;
        state.next += 1;
        state.bytes += payload.len();
        state.events.push_back(Event {
            number,
            payload,
            weight,
        });
        drop(state);
        self.waker.wake();
    }
}

impl State {
    /// Forgets what has been sent already, oldest first, then notices that have not.
    fn make_room(&mut self, needed: usize) {
        let over = |state: &Self| {
            state.events.len() >= limits::STREAM_EVENTS
                || state.bytes + needed > limits::STREAM_BYTES
        };
        while over(self)
            && self
                .events
                .front()
                .is_some_and(|event| event.number < self.sent)
        {
            self.forget(0);
        }
        while over(self)
            && let Some(at) = self
                .events
                .iter()
                .position(|event| event.weight <= Weight::Notice)
        {
            self.forget(at);
        }
    }

    /// What is large is not kept for a reader that might come again once it has all been read.
    fn forget_large(&mut self) {
        self.events
            .retain(|event| event.payload.len() < limits::KEPT_EVENT);
        self.bytes = self.events.iter().map(|event| event.payload.len()).sum();
    }

    fn forget(&mut self, at: usize) {
        if let Some(event) = self.events.remove(at) {
            self.bytes -= event.payload.len();
        }
    }
}

/// The body of one response that reads a log.
pub(super) struct Reader {
    log: Arc<EventLog>,
    reader: u64,
    after: u64,
    prime: bool,
}

impl Stream for Reader {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        let this = &mut *self;
        let stream = this.log.number;
        if std::mem::take(&mut this.prime) {
            let text = format!(
                "id: {stream}_{}\nretry: {}\ndata: \n\n",
                this.after,
                limits::RETRY_MS
            );
            return Poll::Ready(Some(Ok(Bytes::from(text))));
        }
        this.log.waker.register(context.waker());
        {
            let mut state = this.log.state.lock();
            if state.readers != this.reader {
                return Poll::Ready(None);
            }
            let after = this.after;
            if let Some(event) = state.events.iter().find(|event| event.number > after) {
                let (number, payload) = (event.number, event.payload.clone());
                state.sent = state.sent.max(number + 1);
                this.after = number;
                let id = format!("{stream}_{number}");
                return Poll::Ready(Some(Ok(
                    encode_event(Some(&id), Some(MESSAGE), payload).into_bytes()
                )));
            }
            if state.finished.is_some() {
                state.forget_large();
                return Poll::Ready(None);
            }
        }
        Poll::Pending
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.log.state.lock();
        state.reading -= 1;
        if state.readers == self.reader {
            state.left = Some(Instant::now());
        }
    }
}

/// Reads an event id of ours: which stream, and how far.
pub(super) fn parse_event_id(text: &str) -> Option<(u64, u64)> {
    let (stream, number) = text.split_once('_')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn a_log_is_deserted_once_its_reader_is_gone_for_long() {
        let log = EventLog::new(1);
        let (first, second) = (log.read(None, false), log.read(None, false));
        // Whoever read before was sent away, and is not missed.
        drop(first);
        let waited = tokio::time::timeout(3 * SHORT, log.deserted(SHORT)).await;
        assert!(waited.is_err(), "somebody reads");
        drop(second);
        log.deserted(SHORT).await;
        let _back = log.read(None, false);
        let waited = tokio::time::timeout(3 * SHORT, log.deserted(SHORT)).await;
        assert!(waited.is_err(), "somebody reads again");
    }
}
