//! A resumable event stream of a legacy HTTP session: a log of messages that a
//! reader can leave and another can take up at any event id.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::lock;
use crate::rpc::is_response;

/// Older events are dropped past this; a client that comes back later than
/// that has lost them.
const MAX_EVENTS: usize = 1_024;

/// The log. Event ids are `{stream}_{number}`, numbers start at 1.
pub(crate) struct EventStream {
    pub(crate) name: String,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    events: VecDeque<(u64, Value)>,
    last: u64,
    ended: bool,
    /// Only the newest reader is served: a client that reconnects must not
    /// share its messages with its own dead connection.
    reader: u64,
}

/// What a legacy POST is answered with.
pub(crate) enum Answer {
    /// All responses are there and nothing else was sent: plain JSON will do.
    Plain(Vec<Value>),
    Stream,
}

impl EventStream {
    pub(crate) fn new(name: String) -> Self {
        Self {
            name,
            state: Mutex::default(),
            changed: Notify::new(),
        }
    }

    pub(crate) fn append(&self, message: Value) {
        let mut state = lock(&self.state);
        if state.ended {
            return;
        }
        state.last += 1;
        let number = state.last;
        state.events.push_back((number, message));
        if state.events.len() > MAX_EVENTS {
            state.events.pop_front();
        }
        drop(state);
        self.changed.notify_waiters();
    }

    /// No more messages will come.
    pub(crate) fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_waiters();
    }

    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.state).ended
    }

    /// The number of the newest event so far.
    pub(crate) fn last(&self) -> u64 {
        lock(&self.state).last
    }

    /// Becomes the one reader; the previous one's connection ends.
    pub(crate) fn attach(&self) -> u64 {
        let mut state = lock(&self.state);
        state.reader += 1;
        let reader = state.reader;
        drop(state);
        self.changed.notify_waiters();
        reader
    }

    /// Ends the present connection but not the stream: the client is to come
    /// back for the rest.
    pub(crate) fn disconnect(&self) {
        self.attach();
    }

    /// The first event after number `after`, or None when `reader` is done.
    pub(crate) async fn next(&self, reader: u64, after: u64) -> Option<(u64, Value)> {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            {
                let state = lock(&self.state);
                if state.reader != reader {
                    return None;
                }
                if let Some(event) = state.events.iter().find(|(number, _)| *number > after) {
                    return Some(event.clone());
                }
                if state.ended {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Waits a moment for the stream to be over, to see whether it is needed.
    pub(crate) async fn answer_within(&self, patience: Duration) -> Answer {
        let decided = timeout(patience, async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                {
                    let state = lock(&self.state);
                    if state.reader > 1 || !state.events.iter().all(|(_, m)| is_response(m)) {
                        return Answer::Stream;
                    }
                    if state.ended {
                        return Answer::Plain(
                            state.events.iter().map(|(_, m)| m.clone()).collect(),
                        );
                    }
                }
                changed.await;
            }
        });
        decided.await.unwrap_or(Answer::Stream)
    }
}
