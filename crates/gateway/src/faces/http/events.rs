//! Event streams of legacy sessions: numbered, kept for a while, and resumed
//! by whoever shows the number of the last event it has seen.

use super::event_stream::MESSAGE;
use crate::{
    kept::{Hold, Stored},
    limits,
    session::{Outlet, Weight},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
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
use switchboard_transport::{GivesWay, Pass, Share, http::sse::encode_event, limits::QUEUE_STEP};
use switchboard_wire::Payload;

/// The events of one stream, and who reads them.
pub(super) struct EventLog {
    number: u64,
    /// Where what it holds is counted: all of it, whatever the size of one event.
    share: Share,
    state: Mutex<State>,
    waker: AtomicWaker,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    /// The number of the next event.
    next: u64,
    /// The number of the first that was added here; others have been recalled.
    first: u64,
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
    /// What writes its events down, where they are kept.
    recorder: Option<Arc<Hold>>,
    /// An event from this number on is being written down, and nobody sees it before.
    held_back: Option<u64>,
    /// What its ids say besides, where nobody else could know it.
    owed: Option<Box<str>>,
}

impl State {
    /// The id of an event of this stream.
    fn id(&self, stream: u64, number: u64) -> String {
        let owed = self.owed.as_deref().unwrap_or_default();
        format!("{stream}_{number}{owed}")
    }
}

struct Event {
    number: u64,
    payload: Payload,
    weight: Weight,
}

impl EventLog {
    pub(super) fn new(number: u64, share: Share) -> Arc<Self> {
        Self::starting(number, 1, share)
    }

    /// One whose events are numbered from `next` on.
    pub(super) fn starting(number: u64, next: u64, share: Share) -> Arc<Self> {
        let state = State {
            next,
            first: next,
            sent: next,
            ..State::default()
        };
        Arc::new(Self {
            number,
            share,
            state: Mutex::new(state),
            waker: AtomicWaker::new(),
        })
    }

    /// One that another process has written, as far as it came. Events that are added
    /// are numbered from `next` on.
    pub(super) fn restored(number: u64, next: u64, share: Share, stored: Stored) -> Arc<Self> {
        let log = Self::starting(number, next, share);
        log.take_over(stored, 0);
        log
    }

    /// Adds what another process has written behind event `after`; the last of it.
    pub(super) fn take_over(&self, stored: Stored, after: u64) -> u64 {
        let mut state = self.state.lock();
        let mut last = after;
        for (number, text) in stored.events {
            if number > after {
                let event = self.written(&mut state, number, text, Weight::Reply);
                state.events.push_back(event);
                last = last.max(number);
            }
        }
        if stored.is_whole {
            state.finished.get_or_insert_with(Instant::now);
        }
        drop(state);
        self.waker.wake();
        last
    }

    /// Puts back what an earlier life has written of it, before all that it has.
    pub(super) fn recall(&self, stored: Stored) {
        // Asked for before it is locked: it may have to give way itself.
        if !self.share.has_room() {
            return;
        }
        let mut state = self.state.lock();
        let oldest = state.events.front().map_or(state.first, |it| it.number);
        let oldest = oldest.min(state.first);
        let earlier = stored.events.into_iter().rev();
        for (number, text) in earlier.filter(|(number, _)| *number < oldest) {
            if state.events.len() >= limits::STREAM_EVENTS
                || state.bytes + text.len() > limits::STREAM_BYTES
            {
                break;
            }
            let event = self.written(&mut state, number, text, Weight::Notice);
            state.events.push_front(event);
        }
        drop(state);
        self.waker.wake();
    }

    /// An event that somebody else has written, counted as one of ours.
    fn written(&self, state: &mut State, number: u64, text: String, weight: Weight) -> Event {
        let payload = self.share.queue(Payload::from(text));
        state.bytes += payload.len();
        Event {
            number,
            payload,
            weight,
        }
    }

    /// Whether an event of this number would be of an earlier life.
    pub(super) fn is_earlier(&self, number: u64) -> bool {
        number.saturating_add(1) < self.state.lock().first
    }

    /// From now on its events are written down, and those that it has.
    pub(super) fn record(&self, recorder: &Arc<Hold>) {
        let mut state = self.state.lock();
        if state.recorder.is_some() {
            return;
        }
        let is_over = state.finished.is_some();
        let last = state.events.back().map(|event| event.number);
        let first = state.first;
        let kept = |event: &&Event| event.number >= first && is_kept(&event.payload);
        for event in state.events.iter().filter(kept) {
            let text = text_of(&event.payload);
            if is_over && Some(event.number) == last {
                recorder.last(self.number, event.number, text);
            } else {
                recorder.event(self.number, event.number, text);
            }
        }
        state.recorder = Some(recorder.clone());
    }

    /// Writes none of its events down any more.
    pub(super) fn is_not_kept(&self) {
        let mut state = self.state.lock();
        (state.recorder, state.held_back) = (None, None);
        drop(state);
        self.waker.wake();
    }

    /// Sends the answer. Where events are kept, it is on disk before anybody sees it.
    pub(super) async fn send_last(&self, payload: Payload) {
        let recorder = self.state.lock().recorder.clone();
        let Some(recorder) = recorder.filter(|_| is_kept(&payload)) else {
            return self.send(payload, Weight::Reply);
        };
        {
            let mut state = self.state.lock();
            let number = state.next;
            state.held_back = Some(number);
            recorder.last(self.number, number, text_of(&payload));
            state.recorder = None;
        }
        self.send(payload, Weight::Reply);
        recorder.written().await;
        self.state.lock().held_back = None;
        self.waker.wake();
    }

    /// Has its ids say whose answers are owed on it, since that could not be kept: whoever is
    /// shown one after the end of this process can tell what became of them.
    pub(super) fn owes(&self, owed: &[String]) {
        let text = serde_json::to_vec(owed).unwrap_or_default();
        if text.len() <= limits::OWED_BYTES {
            let said = format!("_{}", URL_SAFE_NO_PAD.encode(text));
            self.state.lock().owed = Some(said.into());
        }
    }

    /// Its number within the session.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Ends the stream once everything in it has been read.
    pub(super) fn finish(&self) {
        self.state.lock().finished.get_or_insert_with(Instant::now);
        self.waker.wake();
        self.share.can_give_way();
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
        // Asked for before it is locked: it may have to give way itself.
        let is_crowded = weight <= Weight::Notice && !self.share.has_room();
        let mut state = self.state.lock();
        if state.finished.is_some() || (is_crowded && state.bytes > QUEUE_STEP) {
            return;
        }
        let payload = self.share.queue(payload);
        state.make_room(payload.len());
        let full = state.events.len() >= limits::STREAM_EVENTS
            || state.bytes + payload.len() > limits::STREAM_BYTES;
        if full && weight <= Weight::Notice {
            return;
        }
        let number = state.next;
        state.next += 1;
        state.bytes += payload.len();
        if let Some(recorder) = state.recorder.as_ref().filter(|_| is_kept(&payload)) {
            recorder.event(self.number, number, text_of(&payload));
        }
        state.events.push_back(Event {
            number,
            payload,
            weight,
        });
        drop(state);
        self.waker.wake();
    }

    fn is_heard(&self) -> bool {
        self.is_read()
    }
}

impl GivesWay for EventLog {
    fn give_way(&self, pass: Pass) -> bool {
        let mut state = self.state.lock();
        let (sent, is_over) = (state.sent, state.finished.is_some());
        match pass {
            Pass::Read if is_over && sent >= state.next => state.keep_only(|_| false),
            Pass::Read => {}
            Pass::Sent => state.keep_only(|event| event.number >= sent),
            // Not where its first reader is on the way.
            Pass::Left if state.left.is_none() => {}
            Pass::Left => state.keep_only(|event| !is_over && event.weight > Weight::Notice),
            Pass::Behind => state.keep_only(|event| event.weight > Weight::Notice),
        }
        !is_over || !state.events.is_empty()
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
        self.keep_only(|event| event.payload.len() < limits::KEPT_EVENT);
    }

    fn keep_only(&mut self, stays: impl Fn(&Event) -> bool) {
        let before = self.events.len();
        self.events.retain(stays);
        if self.events.len() < before {
            self.events.shrink_to_fit();
        }
        self.bytes = self.events.iter().map(|event| event.payload.len()).sum();
    }

    fn forget(&mut self, at: usize) {
        if let Some(event) = self.events.remove(at) {
            self.bytes -= event.payload.len();
        }
    }
}

/// Whether a message is written down. One that is large is not: whoever comes back for it
/// after a crash is told that its outcome is not known.
fn is_kept(payload: &Payload) -> bool {
    payload.len() <= limits::KEPT_EVENT
}

/// A message as it is written down.
fn text_of(payload: &Payload) -> String {
    String::from_utf8_lossy(&payload.clone().into_bytes()).into_owned()
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
            let id = this.log.state.lock().id(stream, this.after);
            let text = format!("id: {id}\nretry: {}\ndata: \n\n", limits::RETRY_MS);
            return Poll::Ready(Some(Ok(Bytes::from(text))));
        }
        {
            let mut state = this.log.state.lock();
            if state.readers != this.reader {
                return Poll::Ready(None);
            }
            // Not before: whoever was sent away would be woken in the place of the newest.
            this.log.waker.register(context.waker());
            let after = this.after;
            let until = state.held_back.unwrap_or(u64::MAX);
            let next = |event: &&Event| event.number > after && event.number < until;
            if let Some(event) = state.events.iter().find(next) {
                let (number, payload) = (event.number, event.payload.clone());
                state.sent = state.sent.max(number + 1);
                this.after = number;
                let id = state.id(stream, number);
                return Poll::Ready(Some(Ok(
                    encode_event(Some(&id), Some(MESSAGE), payload).into_bytes()
                )));
            }
            if state.finished.is_none() || state.held_back.is_some() {
                return Poll::Pending;
            }
            state.forget_large();
        }
        this.log.share.can_give_way();
        Poll::Ready(None)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.log.state.lock();
        state.reading -= 1;
        if state.readers == self.reader {
            state.left = Some(Instant::now());
        }
        drop(state);
        self.log.share.can_give_way();
    }
}

/// What an event's id says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// Which stream.
    pub stream: u64,
    /// How far.
    pub number: u64,
    /// Whose answers are owed on it, where only its client could keep that.
    pub owed: Vec<String>,
}

/// Reads an event id of ours.
pub(super) fn parse_event_id(text: &str) -> Option<Seen> {
    let mut parts = text.splitn(3, '_');
    let (stream, number) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let owed = parts.next().and_then(|owed| {
        let text = URL_SAFE_NO_PAD.decode(owed).ok()?;
        serde_json::from_slice(&text).ok()
    });
    Some(Seen {
        stream,
        number,
        owed: owed.unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests;
