//! What happened, and whether it may have: every request of every client, every effect
//! at a server and every event that was heard is noted while a gateway is killed, paused
//! and started again; afterwards it is decided which promises were broken.
//!
//! - `check.rs`: the promises, decided from the notes alone
//! - `caller.rs`: a client that asks, comes back for its answers, and notes all of it
//! - `lanes.rs`: several of them at the same time
//! - `nemesis.rs`: a gateway that is killed, paused and started again at its address
//! - `doctor.rs`: notes that are made wrong, so that it is known that each fault is found

mod caller;
mod check;
mod doctor;
mod lanes;
mod nemesis;

pub use caller::{Caller, Work};
pub use check::{Violation, check};
pub use doctor::{Fault, doctored};
pub use lanes::Lanes;
pub use nemesis::{Life, Nemesis};

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A request, by a number that nothing else has.
pub type Op = u64;

/// A client, likewise.
pub type Who = u64;

/// Notes of what happened, in the order in which it was seen. Clones share them.
#[derive(Clone, Debug)]
pub struct History {
    begun: Instant,
    notes: Arc<Mutex<Vec<Note>>>,
}

/// One note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Since the history began; nothing for an effect, which is read from a file.
    pub at: Option<Duration>,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A client sent a request that must not be carried out twice, and that makes so
    /// many steps known on its way.
    Asked {
        /// Which.
        op: Op,
        /// Who.
        who: Who,
        /// How many steps it is told of.
        steps: u64,
    },
    /// A client got a result, which names the request that it is for.
    Answered {
        /// The request that the client waited for.
        op: Op,
        /// Who got it.
        who: Who,
        /// The request that the result names.
        names: Op,
    },
    /// A client was told that a request has failed, or that nobody knows.
    Told {
        /// Which.
        op: Op,
        /// Who.
        who: Who,
        /// What was said.
        text: String,
    },
    /// The connection broke before anything by which the client could come back.
    Broke {
        /// Which.
        op: Op,
        /// Who.
        who: Who,
    },
    /// A client heard how far a request is.
    Heard {
        /// Which.
        op: Op,
        /// Who.
        who: Who,
        /// The step.
        step: u64,
    },
    /// A client was told that its session is not known.
    Unknown {
        /// Who.
        who: Who,
    },
    /// A client ended its session.
    Ended {
        /// Who.
        who: Who,
    },
    /// A server carried a request out.
    Did {
        /// Which.
        op: Op,
    },
    /// Somebody began to hurt the gateway.
    Hurt,
    /// From now on it is well.
    Well,
}

impl Default for History {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            notes: Arc::default(),
        }
    }
}

impl History {
    /// Notes that this has happened just now.
    pub fn note(&self, what: What) {
        let at = Some(self.begun.elapsed());
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push(Note { at, what });
    }

    /// All notes, with the effects that a server has written to this file, a line each.
    ///
    /// # Panics
    /// When the file has anything else.
    pub fn with_effects(&self, file: &Path) -> Vec<Note> {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let effects = text.lines().map(|line| Note {
            at: None,
            what: What::Did {
                op: line.parse().expect("an effect is the number of a request"),
            },
        });
        let notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.iter().cloned().chain(effects).collect()
    }
}
