//! Whether a connection is used: how often anything was done on it, so that it can be
//! told whether that was so since somebody last looked, and by whom it ever was.

use crate::limits;
use std::{
    collections::HashSet,
    sync::atomic::{AtomicU64, Ordering},
};
use switchboard_transport::ByNumber;

/// Says that nothing is done any more, beside the count of what was.
const OVER: u64 = 1 << 63;

/// How often anything was done. Without a lock, since every call counts here.
#[derive(Debug, Default)]
pub(super) struct Uses(AtomicU64);

impl Uses {
    /// Counts one more. False where it is over.
    pub(super) fn note(&self) -> bool {
        self.0.fetch_add(1, Ordering::AcqRel) & OVER == 0
    }

    /// How often it was.
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// From now on nothing is done any more, if nothing was since this count.
    pub(super) fn end_at(&self, count: u64) -> bool {
        let ended =
            self.0
                .compare_exchange(count, count | OVER, Ordering::AcqRel, Ordering::Acquire);
        count & OVER == 0 && ended.is_ok()
    }
}

/// Who had anything done, by their identities.
#[derive(Clone, Debug, Default)]
pub(super) struct Callers {
    identities: HashSet<u64, ByNumber>,
    /// There were more than are told apart.
    are_many: bool,
}

impl Callers {
    pub(super) fn add(&mut self, identity: u64) {
        if self.identities.contains(&identity) {
            return;
        }
        match self.identities.len() < limits::CALLERS {
            true => drop(self.identities.insert(identity)),
            false => self.are_many = true,
        }
    }

    pub(super) fn add_all(&mut self, others: Self) {
        self.are_many |= others.are_many;
        for identity in others.identities {
            self.add(identity);
        }
    }

    /// Whether this one did, or may have.
    pub(super) fn has(&self, identity: u64) -> bool {
        self.are_many || self.identities.contains(&identity)
    }

    /// Those who did.
    pub(super) fn iter(&self) -> impl Iterator<Item = u64> {
        self.identities.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_over_only_where_nothing_was_done_meanwhile() {
        let uses = Uses::default();
        assert!(uses.note());
        let seen = uses.count();
        assert!(uses.note());
        assert!(!uses.end_at(seen), "it was used since");
        assert!(uses.end_at(uses.count()));
        assert!(!uses.note(), "it is over");
        assert!(!uses.end_at(uses.count()), "once");
    }

    #[test]
    fn who_cannot_be_told_apart_any_more_counts() {
        let mut callers = Callers::default();
        for identity in 0..limits::CALLERS as u64 {
            callers.add(identity);
        }
        assert!(callers.has(0) && !callers.has(u64::MAX));
        callers.add(u64::MAX - 1);
        assert!(callers.has(u64::MAX));
        let mut next = Callers::default();
        next.add_all(callers);
        assert!(next.has(7) && next.has(u64::MAX));
    }
}
