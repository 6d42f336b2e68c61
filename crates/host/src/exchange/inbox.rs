//! Where a connection leaves the events of one exchange.
//!
//! The connection's reader serves many exchanges and never waits for one of
//! them: when an inbox is full, notifications give way, newest kept.

use super::{Event, Notice, Outcome};
use crate::limits;
use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use std::{collections::VecDeque, fmt, future::poll_fn, task::Poll};
use switchboard_wire::Method;

/// The events of one exchange that have not been looked at yet.
pub struct Inbox {
    state: Mutex<State>,
    waker: AtomicWaker,
}

#[derive(Default)]
struct State {
    queue: VecDeque<Event>,
    outcome: Option<Outcome>,
    finished: bool,
}

impl Inbox {
    /// An empty inbox.
    pub fn new() -> Self {
        Self {
            state: Mutex::default(),
            waker: AtomicWaker::new(),
        }
    }

    /// Adds a notification; if too many wait, the newest of them gives way.
    pub fn notice(&self, notice: Notice) {
        let mut state = self.state.lock();
        if state.finished {
            return;
        }
        if state.queue.len() >= limits::EXCHANGE_EVENTS
            && let Some(last @ Event::Notice(_)) = state.queue.back_mut()
        {
            *last = Event::Notice(notice);
            return;
        }
        if state.queue.len() < 2 * limits::EXCHANGE_EVENTS {
            state.queue.push_back(Event::Notice(notice));
        }
        drop(state);
        self.waker.wake();
    }

    /// Of the progress that waits, keeps the newest: whoever comes back wants to
    /// know how far it is, and not how it got there.
    pub(super) fn keep_newest_progress(&self) {
        let is_progress = |event: &Event| matches!(event, Event::Notice(notice) if notice.method == Method::Progress);
        let mut state = self.state.lock();
        let newest = state.queue.iter().rposition(is_progress);
        let mut at = 0;
        state.queue.retain(|event| {
            at += 1;
            !is_progress(event) || Some(at - 1) == newest
        });
    }

    /// Adds a question. Questions are few (the connection counts them) and never dropped.
    pub fn input(&self, input: super::Input) {
        let mut state = self.state.lock();
        if !state.finished {
            state.queue.push_back(Event::Input(input));
            drop(state);
            self.waker.wake();
        }
    }

    /// Ends the exchange. The first outcome counts.
    pub fn finish(&self, outcome: Outcome) {
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
    pub async fn next(&self) -> Event {
        poll_fn(|context| {
            self.waker.register(context.waker());
            let mut state = self.state.lock();
            if let Some(event) = state.queue.pop_front() {
                return Poll::Ready(event);
            }
            match state.outcome.take() {
                Some(outcome) => Poll::Ready(Event::Outcome(outcome)),
                None => Poll::Pending,
            }
        })
        .await
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
