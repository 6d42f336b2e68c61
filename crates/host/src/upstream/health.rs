//! How a server is doing, as far as anybody has tried it.

use super::connection::Connection;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use tokio::{sync::watch, time::Instant};

/// How a server is doing.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ServerState {
    /// Nobody has needed it yet.
    #[default]
    Idle,
    /// Being started.
    Pending,
    /// At least one connection works.
    Connected,
    /// It could not be reached; why.
    Failed(String),
    /// It wants us to sign in.
    NeedsAuth,
}

/// The state of one server, with what has been begun and has not ended yet.
#[derive(Debug, Default)]
pub(super) struct Health {
    state: watch::Sender<ServerState>,
    /// What was opened last: if it never says anything, its stderr may.
    opened: Mutex<Weak<Connection>>,
    /// Since when it has been starting.
    starting: Mutex<Option<Instant>>,
}

impl Health {
    /// The state, now and from now on.
    pub(super) fn subscribe(&self) -> watch::Receiver<ServerState> {
        self.state.subscribe()
    }

    /// Whether this is the state now.
    pub(super) fn is(&self, state: &ServerState) -> bool {
        *self.state.borrow() == *state
    }

    /// Changes the state. `tell` hears it in the order of the changes, also where
    /// it is what it was.
    pub(super) fn set(&self, state: ServerState, tell: impl FnOnce(&ServerState)) {
        self.state.send_if_modified(|now| {
            let changed = *now != state;
            *now = state;
            tell(now);
            changed
        });
    }

    /// It is being started, as far as it does not work already.
    pub(super) fn begin_start(&self, tell: impl FnOnce(&ServerState)) {
        self.state.send_if_modified(|state| {
            let changed = *state != ServerState::Connected && *state != ServerState::Pending;
            if changed {
                *state = ServerState::Pending;
                tell(state);
            }
            changed
        });
        self.starting.lock().get_or_insert_with(Instant::now);
    }

    /// It is not being started any more, whatever came of it.
    pub(super) fn end_start(&self) {
        *self.starting.lock() = None;
    }

    /// Since when it has been starting, if it is.
    pub(super) fn starting_since(&self) -> Option<Instant> {
        *self.starting.lock()
    }

    /// Notes what was opened last.
    pub(super) fn note_opened(&self, connection: &Arc<Connection>) {
        *self.opened.lock() = Arc::downgrade(connection);
    }

    /// What was opened last, if it is still there.
    pub(super) fn opened_last(&self) -> Option<Arc<Connection>> {
        self.opened.lock().upgrade()
    }
}
