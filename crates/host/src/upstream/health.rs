//! How a server is doing, as far as anybody has tried it.

use super::{connection::Connection, signs::Signs};
use parking_lot::Mutex;
use std::sync::{
    Arc, Weak,
    atomic::{AtomicU64, Ordering},
};
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
    /// It was ended since nobody used it, and starts when it is needed.
    Asleep,
    /// It could not be reached; why.
    Failed(String),
    /// It wants us to sign in.
    NeedsAuth,
}

/// What became of a server's connections since it was configured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were made, or processes that were started.
    pub made: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Those of the first that took the place of one that was lost.
    pub restarts: u64,
    /// Connections that are left alone after a row of failures.
    pub left_alone: usize,
    /// Calls that wait for their turn.
    pub waiting: usize,
}

/// The same as it is counted.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) made: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) restarts: AtomicU64,
}

impl Counted {
    /// Notes what came of an attempt.
    pub(super) fn note(&self, made: bool, again: bool) {
        let one = if made { &self.made } else { &self.failed };
        one.fetch_add(1, Ordering::Relaxed);
        if made && again {
            self.restarts.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The state of one server, with what has been begun and has not ended yet.
#[derive(Debug, Default)]
pub(super) struct Health {
    state: watch::Sender<ServerState>,
    /// What was opened last: if it never says anything, its stderr may.
    opened: Mutex<Weak<Connection>>,
    /// Since when it has been starting.
    starting: Mutex<Option<Instant>>,
    /// What became of its connections.
    pub(super) counts: Counted,
    /// When it last gave a sign of life, as far as anybody looked.
    signs: Signs,
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

    /// When it last gave a sign of life.
    pub(super) fn signs(&self) -> &Signs {
        &self.signs
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
