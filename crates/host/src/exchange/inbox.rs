//! Where a connection leaves the events of one exchange.
//!
//! The connection's reader serves many exchanges and never waits for one of
//! them: what nobody fetches is capped in number and in bytes, and notifications
//! give way. Of progress the newest stays.

use super::{Event, Input, Notice, Outcome};
use crate::limits;
use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    task::{Context, Poll},
};
use switchboard_transport::{Driving, limits::QUEUE_STEP};
use switchboard_wire::{ErrorObject, Method, code};

/// The events of one exchange that have not been looked at yet.
pub(crate) struct Inbox {
    state: Mutex<State>,
    waker: AtomicWaker,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Event>,
    /// Bytes of all that is queued.
    bytes: usize,
    outcome: Option<Outcome>,
    finished: bool,
}

impl Inbox {
    /// An empty inbox.
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::default(),
            waker: AtomicWaker::new(),
        }
    }

    /// Adds a notification, or does without one.
    pub(crate) fn notice(&self, notice: Notice) {
        let mut state = self.state.lock();
        if state.finished {
            return;
        }
        state.take(notice);
        drop(state);
        self.waker.wake();
    }

    /// Whether more waits than comes at once by chance.
    pub(crate) fn is_behind(&self) -> bool {
        self.state.lock().bytes > QUEUE_STEP
    }

    /// Does without the notifications that wait.
    pub(crate) fn forget_notices(&self) {
        let mut state = self.state.lock();
        state
            .queue
            .retain(|event| !matches!(event, Event::Notice(_)));
        state.bytes = state.queue.iter().map(size).sum();
    }

    /// Of the progress that waits, keeps the newest: whoever comes back wants to
    /// know how far it is, and not how it got there.
    pub(super) fn keep_newest_progress(&self) {
        let mut state = self.state.lock();
        let newest = state.queue.iter().rposition(is_progress);
        state.forget_progress(newest);
    }

    /// Adds a question. Questions are few (the connection counts them) and never
    /// dropped; one that would not fit is refused, and its server told.
    pub(crate) fn input(&self, input: Input) {
        let mut state = self.state.lock();
        if state.finished {
            return;
        }
        let size = input.message().raw().len();
        if !state.queue.is_empty() && state.bytes + size > limits::EXCHANGE_BYTES {
            drop(state);
            let text = "the client is behind with reading, and this question is too large to wait";
            return input.refuse(&ErrorObject::new(code::INTERNAL, text));
        }
        state.push(Event::Input(input));
        drop(state);
        self.waker.wake();
    }

    /// Ends the exchange. The first outcome counts.
    pub(crate) fn finish(&self, outcome: Outcome) {
        let mut state = self.state.lock();
        if state.finished {
            return;
        }
        state.finished = true;
        state.outcome = Some(outcome);
        drop(state);
        self.waker.wake();
    }

    /// The next event, the outcome last of all. One caller at a time.
    pub(crate) async fn next(&self) -> Event {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The same, of a request that its waiter drives: what comes of it is found here right
    /// after, so that nobody has to be woken for it.
    pub(super) async fn next_driven(&self, driving: &mut Driving) -> Event {
        poll_fn(|context| {
            self.waker.take();
            if driving.poll(context).is_ready()
                && let Some(event) = self.state.lock().next()
            {
                return Poll::Ready(event);
            }
            self.poll_next(context)
        })
        .await
    }

    fn poll_next(&self, context: &Context<'_>) -> Poll<Event> {
        self.waker.register(context.waker());
        match self.state.lock().next() {
            Some(event) => Poll::Ready(event),
            None => Poll::Pending,
        }
    }
}

impl State {
    fn next(&mut self) -> Option<Event> {
        if let Some(event) = self.queue.pop_front() {
            self.bytes = self.bytes.saturating_sub(size(&event));
            return Some(event);
        }
        self.outcome.take().map(Event::Outcome)
    }

    /// Finds room for a notification, or drops it.
    fn take(&mut self, notice: Notice) {
        let length = notice.message.raw().len();
        let is_large = length > limits::LARGE_NOTICE;
        let is_behind =
            self.queue.len() >= limits::BURST_EVENTS || self.bytes > limits::LARGE_NOTICE;
        // A few that come at once are no sign that nobody reads. Beyond that each
        // step takes the place of the one before.
        if notice.method == Method::Progress && (is_behind || is_large) {
            self.forget_progress(None);
        }
        if is_large && !self.queue.is_empty() {
            return;
        }
        while !self.queue.is_empty() && self.bytes + length > limits::EXCHANGE_BYTES {
            if !self.forget_oldest_notice() {
                return;
            }
        }
        if self.queue.len() >= limits::EXCHANGE_EVENTS {
            match self.queue.pop_back() {
                Some(last @ Event::Notice(_)) => self.bytes -= size(&last),
                Some(other) => self.queue.push_back(other),
                None => {}
            }
        }
        if self.queue.len() < 2 * limits::EXCHANGE_EVENTS {
            self.push(Event::Notice(notice));
        }
    }

    fn push(&mut self, event: Event) {
        self.bytes += size(&event);
        self.queue.push_back(event);
    }

    /// Forgets the progress that waits, except for what is at this place.
    fn forget_progress(&mut self, except: Option<usize>) {
        let mut at = 0;
        let mut forgotten = 0;
        self.queue.retain(|event| {
            at += 1;
            let stays = !is_progress(event) || Some(at - 1) == except;
            forgotten += if stays { 0 } else { size(event) };
            stays
        });
        self.bytes -= forgotten;
    }

    /// Whether there was one.
    fn forget_oldest_notice(&mut self) -> bool {
        let is_notice = |event: &Event| matches!(event, Event::Notice(_));
        let oldest = self.queue.iter().position(is_notice);
        match oldest.and_then(|at| self.queue.remove(at)) {
            Some(event) => {
                self.bytes -= size(&event);
                true
            }
            None => false,
        }
    }
}

fn is_progress(event: &Event) -> bool {
    matches!(event, Event::Notice(notice) if notice.method == Method::Progress)
}

fn size(event: &Event) -> usize {
    match event {
        Event::Notice(notice) => notice.message.raw().len(),
        Event::Input(input) => input.message().raw().len(),
        Event::Outcome(_) => 0,
    }
}

impl Default for Inbox {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox")
            .field("queued", &self.state.lock().queue.len())
            .finish()
    }
}

#[cfg(test)]
mod tests;
