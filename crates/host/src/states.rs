//! How all servers are doing, as one stream of events.
//!
//! A listener first hears the present state of every server, then each change
//! in the order in which it happened. One that falls behind hears the present
//! states once more, and misses only what has been superseded.

use crate::{limits, upstream::ServerState};
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::Arc,
};
use tokio::sync::broadcast::{self, error::RecvError};

/// The state of something that is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nobody has needed it yet.
    Idle,
    /// Being started.
    Pending,
    /// At least one connection works.
    Connected,
    /// It was ended since nobody used it, and starts when it is needed.
    Asleep,
    /// It could not be reached, or cannot work as it is written; why.
    Failed(String),
    /// It wants us to sign in.
    NeedsAuth,
    /// It is switched off.
    Disabled,
    /// Nobody has approved it as it is written.
    PendingApproval,
    /// It is not used for another reason; which.
    Unused(String),
    /// It is not configured any more.
    Gone,
}

impl State {
    /// The word for it, as `list --json` has it.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Idle => "not-connected",
            Self::Pending => "pending",
            Self::Connected => "connected",
            Self::Asleep => "asleep",
            Self::Failed(_) => "failed",
            Self::NeedsAuth => "needs-auth",
            Self::Disabled => "disabled",
            Self::PendingApproval => "pending-approval",
            Self::Unused(_) => "unused",
            Self::Gone => "gone",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) | Self::Unused(why) => write!(f, "{}: {why}", self.word()),
            other => f.write_str(other.word()),
        }
    }
}

impl From<&ServerState> for State {
    fn from(state: &ServerState) -> Self {
        match state {
            ServerState::Idle => Self::Idle,
            ServerState::Pending => Self::Pending,
            ServerState::Connected => Self::Connected,
            ServerState::Asleep => Self::Asleep,
            ServerState::Failed(why) => Self::Failed(why.clone()),
            ServerState::NeedsAuth => Self::NeedsAuth,
        }
    }
}

/// A server is doing otherwise than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateEvent {
    /// Its configured name.
    pub server: Arc<str>,
    /// How it is doing now.
    pub state: State,
}

/// The present states, and who listens to changes.
#[derive(Debug)]
pub(crate) struct States {
    now: Mutex<BTreeMap<Arc<str>, State>>,
    changes: broadcast::Sender<StateEvent>,
}

impl Default for States {
    fn default() -> Self {
        Self {
            now: Mutex::default(),
            changes: broadcast::Sender::new(limits::STATE_EVENTS),
        }
    }
}

impl States {
    /// Notes how a server is doing, and tells it if that is news.
    pub(crate) fn set(&self, server: &Arc<str>, state: State) {
        let mut now = self.now.lock();
        if now.get(server) == Some(&state) {
            return;
        }
        if state == State::Gone {
            if now.remove(server).is_none() {
                return;
            }
        } else {
            now.insert(server.clone(), state.clone());
        }
        // Under the lock, so that events are told in the order of the states.
        let server = server.clone();
        let _ = self.changes.send(StateEvent { server, state });
    }

    /// The names that are known now.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        self.now.lock().keys().cloned().collect()
    }

    pub(crate) fn listen(self: &Arc<Self>) -> StateEvents {
        let now = self.now.lock();
        StateEvents {
            changes: self.changes.subscribe(),
            waiting: present(&now),
            states: self.clone(),
        }
    }
}

fn present(now: &BTreeMap<Arc<str>, State>) -> VecDeque<StateEvent> {
    let event = |(server, state): (&Arc<str>, &State)| StateEvent {
        server: server.clone(),
        state: state.clone(),
    };
    now.iter().map(event).collect()
}

/// The events, one after the other.
#[derive(Debug)]
pub struct StateEvents {
    states: Arc<States>,
    waiting: VecDeque<StateEvent>,
    changes: broadcast::Receiver<StateEvent>,
}

impl StateEvents {
    /// The next event. Waits for one; there is always a next as long as the
    /// host is there, and nothing is lost if the wait is given up.
    pub async fn next(&mut self) -> Option<StateEvent> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            match self.changes.recv().await {
                Ok(event) => return Some(event),
                Err(RecvError::Closed) => return None,
                Err(RecvError::Lagged(_)) => {
                    // The present states say all that was missed and still holds.
                    let now = self.states.now.lock();
                    self.changes = self.changes.resubscribe();
                    self.waiting = present(&now);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(events: &mut StateEvents, count: usize) -> Vec<String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let mut next = async || {
            let mut told = Vec::new();
            for _ in 0..count {
                let event = events.next().await.expect("an event");
                told.push(format!("{} {}", event.server, event.state));
            }
            told
        };
        runtime.expect("a runtime").block_on(next())
    }

    #[test]
    fn first_what_is_then_what_changes() {
        let states = Arc::new(States::default());
        let (one, two): (Arc<str>, Arc<str>) = ("one".into(), "two".into());
        states.set(&two, State::Disabled);
        states.set(&one, State::Idle);
        let mut events = states.listen();
        states.set(&one, State::Pending);
        states.set(&one, State::Pending);
        states.set(&one, State::Failed("no".into()));
        states.set(&two, State::Gone);
        states.set(&two, State::Gone);
        states.set(&two, State::PendingApproval);
        let told = said(&mut events, 6);
        let all = [
            "one not-connected",
            "two disabled",
            "one pending",
            "one failed: no",
            "two gone",
            "two pending-approval",
        ];
        assert_eq!(told, all);
    }

    #[test]
    fn who_falls_behind_hears_how_things_are() {
        let states = Arc::new(States::default());
        let (one, two): (Arc<str>, Arc<str>) = ("one".into(), "two".into());
        states.set(&one, State::Idle);
        let mut events = states.listen();
        for n in 0..2 * limits::STATE_EVENTS {
            states.set(&one, State::Failed(n.to_string()));
        }
        states.set(&two, State::Connected);
        let last = format!("one failed: {}", 2 * limits::STATE_EVENTS - 1);
        let told = said(&mut events, 3);
        assert_eq!(told, ["one not-connected", last.as_str(), "two connected"]);
        states.set(&two, State::NeedsAuth);
        assert_eq!(said(&mut events, 1), ["two needs-auth"]);
    }
}
