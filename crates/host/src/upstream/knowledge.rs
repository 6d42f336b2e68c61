//! What is known of a server, whichever connection found it out: which eras it
//! has, what carries messages to it, whether its clients take turns, and whose
//! lists were news last. It outlives connections, and by `memory.rs` the program.

use super::{link::Carrier, turns::NeedsTurns};
use crate::catalog::{Catalogs, note_change};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock};
use switchboard_wire::Era;

/// What is known of one server.
#[derive(Debug)]
pub(super) struct Knowledge {
    found: Mutex<Found>,
    /// Whether a question of its could not be told apart of late. Every call looks
    /// at this one, so it has no lock.
    needs_turns: Arc<NeedsTurns>,
    /// What was written down by the last run.
    recalled: OnceLock<Catalogs>,
}

#[derive(Debug, Default)]
struct Found {
    traits: Traits,
    /// Whose lists were news last: these are written down.
    latest: Option<Arc<Catalogs>>,
}

/// What a server turned out to be. `None` is what nobody has tried.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traits {
    /// Whether it has the handshake era.
    pub(super) legacy: Option<bool>,
    /// Whether it has the modern era.
    pub(super) modern: Option<bool>,
    /// How an HTTP address turned out to be served.
    pub(super) carrier: Carrier,
}

impl Traits {
    fn has(&mut self, era: Era) -> &mut Option<bool> {
        match era {
            Era::Legacy => &mut self.legacy,
            Era::Modern => &mut self.modern,
        }
    }
}

impl Knowledge {
    /// Of a server that nobody has met yet, except that it cannot be modern where
    /// `modern` says so.
    pub(super) fn new(modern: Option<bool>) -> Self {
        let traits = Traits {
            modern,
            ..Traits::default()
        };
        Self {
            found: Mutex::new(Found {
                traits,
                latest: None,
            }),
            needs_turns: Arc::default(),
            recalled: OnceLock::new(),
        }
    }

    /// What it turned out to be.
    pub(super) fn traits(&self) -> Traits {
        self.found.lock().traits
    }

    /// Whether it is known not to have this era.
    pub(super) fn lacks(&self, era: Era) -> bool {
        *self.traits().has(era) == Some(false)
    }

    /// Whether it is known to have both eras.
    pub(super) fn has_both_eras(&self) -> bool {
        let traits = self.traits();
        traits.legacy == Some(true) && traits.modern == Some(true)
    }

    /// It was met in this era.
    pub(super) fn note_has(&self, era: Era) {
        let before = self.found.lock().traits.has(era).replace(true);
        if before != Some(true) {
            note_change();
        }
    }

    /// It would not be met in this era. It has one of the two: what was thought of
    /// the other is out of date.
    pub(super) fn note_lacks(&self, era: Era) {
        let mut found = self.found.lock();
        *found.traits.has(era) = Some(false);
        let other = found.traits.has(other(era));
        *other = other.filter(|has| *has);
        drop(found);
        note_change();
    }

    /// What carries messages to an HTTP address, as far as that is known.
    pub(super) fn carrier(&self) -> Carrier {
        self.traits().carrier
    }

    /// Its address turned out to speak HTTP+SSE, which the modern era does not have.
    pub(super) fn note_sse(&self) {
        let mut found = self.found.lock();
        found.traits.carrier = Carrier::Sse;
        found.traits.modern = Some(false);
        drop(found);
        note_change();
    }

    /// It may have been replaced by one that speaks the newer way.
    pub(super) fn doubt_sse(&self) {
        let mut found = self.found.lock();
        found.traits.carrier = Carrier::Streamable;
        found.traits.modern = None;
        drop(found);
        note_change();
    }

    /// Whether a question of its could not be told apart of late: clients take turns.
    pub(super) fn needs_turns(&self) -> &Arc<NeedsTurns> {
        &self.needs_turns
    }

    /// These lists are news.
    pub(super) fn note_lists(&self, catalogs: Arc<Catalogs>) {
        self.found.lock().latest = Some(catalogs);
    }

    /// These are the lists that are known, unless others are.
    pub(super) fn note_first_lists(&self, catalogs: &Arc<Catalogs>) {
        let mut found = self.found.lock();
        found.latest.get_or_insert_with(|| catalogs.clone());
    }

    /// Whose lists were news last, in this run.
    pub(super) fn latest(&self) -> Option<Arc<Catalogs>> {
        self.found.lock().latest.clone()
    }

    /// What was written down by the last run.
    pub(super) fn recalled(&self) -> Option<&Catalogs> {
        self.recalled.get()
    }

    /// Begins with what was known last time, where nothing is known yet.
    pub(super) fn recall(&self, last: Traits, needs_turns: bool, catalogs: Catalogs) {
        let mut found = self.found.lock();
        let traits = &mut found.traits;
        traits.legacy = traits.legacy.or(last.legacy);
        traits.modern = traits.modern.or(last.modern);
        traits.carrier = last.carrier;
        drop(found);
        if needs_turns {
            self.needs_turns.arise();
        }
        let _ = self.recalled.set(catalogs);
        note_change();
    }
}

/// The other of the two.
pub(super) fn other(era: Era) -> Era {
    match era {
        Era::Legacy => Era::Modern,
        Era::Modern => Era::Legacy,
    }
}
