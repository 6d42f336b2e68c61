//! Whose clients are served by a stand-in, since the server wants a sign-in. What
//! one owner's connection was refused says nothing about another's.

use super::slots::Owner;
use crate::{catalog::note_change, limits};
use parking_lot::Mutex;
use std::{
    collections::HashSet,
    sync::atomic::{AtomicBool, Ordering},
};

/// The owners for whom one stands in.
#[derive(Debug, Default)]
pub(super) struct StandIns {
    /// Whether there is any: most servers never have one, and calls ask.
    any: AtomicBool,
    owners: Mutex<HashSet<Owner>>,
}

impl StandIns {
    /// Whether there is one for anybody.
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// Whether there is one for this owner.
    pub(super) fn serve(&self, owner: &Owner) -> bool {
        self.any() && self.owners.lock().contains(owner)
    }

    /// Notes whether there is one for this owner.
    pub(super) fn note(&self, owner: &Owner, stands_in: bool) {
        if !stands_in && !self.any() {
            return;
        }
        let mut owners = self.owners.lock();
        if owners.len() >= limits::CATALOGS {
            // Whoever is still refused will be noted again.
            owners.clear();
        }
        match stands_in {
            true => owners.insert(owner.clone()),
            false => owners.remove(owner),
        };
        self.any.store(!owners.is_empty(), Ordering::Release);
        drop(owners);
        note_change();
    }

    /// Nobody needs one any more.
    pub(super) fn end(&self) {
        let mut owners = self.owners.lock();
        owners.clear();
        self.any.store(false, Ordering::Release);
        drop(owners);
        note_change();
    }
}
