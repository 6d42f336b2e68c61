//! The places of a server's connections: one for each owner, era and revision in
//! use. Who shares a connection, who has a copy of the server for itself, and how
//! many of those there may be.

use super::{
    connection::Connection,
    server::Server,
    slot::{Content, Slot},
    spec::Target,
};
use crate::{
    catalog::note_move,
    client::ClientId,
    error::CallError,
    limits,
    quota::{Full, Held, HeldBy, Whose},
};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
};
use switchboard_wire::{Era, Revision};

/// Which connection it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) owner: Owner,
    pub(super) era: Era,
    /// Over HTTP there is one legacy session per revision; a process has the newest it offers.
    pub(super) revision: Option<Revision>,
}

/// Who shares a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Principal(Arc<str>),
    Client(Arc<str>, ClientId),
    /// A modern client that gave a key, by its principal and identity.
    Keyed(Arc<str>, u64),
}

impl HeldBy for Key {
    fn held_by(&self) -> &str {
        self.owner.principal()
    }
}

impl Owner {
    /// On whose behalf.
    pub(super) fn principal(&self) -> &Arc<str> {
        match self {
            Self::Principal(principal) | Self::Client(principal, _) | Self::Keyed(principal, _) => {
                principal
            }
        }
    }

    /// Whether one client alone has it.
    pub(super) fn is_one(&self) -> bool {
        !matches!(self, Self::Principal(_))
    }

    fn is_keyed(&self) -> bool {
        matches!(self, Self::Keyed(..))
    }
}

/// All places of one server.
#[derive(Debug, Default)]
pub(super) struct Slots(Mutex<HashMap<Key, Arc<Slot>>>);

impl Slots {
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Slot>> {
        self.0.lock().get(key).cloned()
    }

    /// The place under this key, made if it is not there.
    pub(super) fn place(&self, key: &Key) -> Arc<Slot> {
        self.place_or_new(key).0
    }

    /// The same, and whether it is new.
    fn place_or_new(&self, key: &Key) -> (Arc<Slot>, bool) {
        match self.0.lock().entry(key.clone()) {
            Entry::Occupied(slot) => (slot.get().clone(), false),
            Entry::Vacant(place) => (place.insert(Arc::default()).clone(), true),
        }
    }

    /// The place of a copy for one client, where there may be one more, and the one
    /// that had to give way for it.
    fn place_of_copy(&self, key: &Key, elsewhere: Held) -> Result<Copy, Full> {
        let mut slots = self.0.lock();
        if let Some(slot) = slots.get(key) {
            return Ok(Copy {
                slot: slot.clone(),
                is_new: false,
                evicted: None,
            });
        }
        let evicted = match full(&slots, key, elsewhere) {
            None => None,
            Some(full) => Some(make_room(&mut slots, key, &full).ok_or(full)?),
        };
        let slot = slots.entry(key.clone()).or_default().clone();
        Ok(Copy {
            slot,
            is_new: true,
            evicted,
        })
    }

    /// All of them, as they are now.
    pub(super) fn all(&self) -> Vec<(Key, Arc<Slot>)> {
        let slots = self.0.lock();
        let all = slots.iter().map(|(key, slot)| (key.clone(), slot.clone()));
        all.collect()
    }

    /// Takes all away.
    pub(super) fn drain(&self) -> Vec<(Key, Arc<Slot>)> {
        let all = self.0.lock().drain().collect();
        note_move();
        all
    }

    /// Puts one back, unless there is another by now.
    pub(super) fn put_back(&self, key: Key, slot: Arc<Slot>) {
        self.0.lock().entry(key).or_insert(slot);
        note_move();
    }

    pub(super) fn remove(&self, key: &Key) {
        self.0.lock().remove(key);
        note_move();
    }

    /// Takes away those of one owner.
    pub(super) fn remove_of(&self, owner: &Owner) -> Vec<Arc<Slot>> {
        let mut slots = self.0.lock();
        let theirs = slots.extract_if(|key, _| key.owner == *owner);
        let theirs = theirs.map(|(_, slot)| slot).collect();
        drop(slots);
        note_move();
        theirs
    }

    /// Whether this is the place under this key still.
    pub(super) fn has(&self, key: &Key, slot: &Arc<Slot>) -> bool {
        is_there(&self.0.lock(), key, slot)
    }

    /// Takes one away if it is there still and nobody has used it of late. `None`
    /// where it is not there.
    pub(super) fn remove_unused(&self, key: &Key, slot: &Arc<Slot>) -> Option<bool> {
        let mut slots = self.0.lock();
        if !is_there(&slots, key, slot) {
            return None;
        }
        let idle =
            slot.is_idle() && slot.used() + limits::KEYED_IDLE <= tokio::time::Instant::now();
        if idle {
            slots.remove(key);
            note_move();
        }
        Some(idle)
    }

    /// Takes one away if the same clients have another, of the other era, that works.
    pub(super) fn remove_other_era(&self, key: &Key, slot: &Arc<Slot>) -> bool {
        let mut slots = self.0.lock();
        let is_other_era = |(other, slot): (&Key, &Arc<Slot>)| {
            other.owner == key.owner && other.era != key.era && slot.working().is_some()
        };
        let superfluous = is_there(&slots, key, slot) && slots.iter().any(is_other_era);
        if superfluous {
            slots.remove(key);
            note_move();
        }
        superfluous
    }

    /// What could not be connected before is tried anew when it is next needed.
    pub(super) fn forget_failures(&self) {
        let mut slots = self.0.lock();
        slots.retain(|_, slot| !matches!(slot.content(), Content::Failed { .. }));
        note_move();
    }

    /// The connections there are, ended or not.
    pub(super) fn connections(&self) -> Vec<Arc<Connection>> {
        let slots: Vec<Arc<Slot>> = self.0.lock().values().cloned().collect();
        let ready = slots.iter().filter_map(|slot| match slot.content() {
            Content::Ready(connection) => Some(connection),
            _ => None,
        });
        ready.collect()
    }

    /// How many of them work and have the server itself behind them, leaving out
    /// those of this owner.
    pub(super) fn working(&self, without: Option<&Owner>) -> usize {
        let slots = self.0.lock();
        let is_server = |slot: &Arc<Slot>| slot.working().is_some_and(|at| !at.is_stand_in());
        let others = slots.iter().filter(|(key, _)| without != Some(&key.owner));
        others.filter(|(_, slot)| is_server(slot)).count()
    }

    /// Counts the copies that single clients have.
    pub(super) fn count_copies(&self, held: &mut Held, principal: &str) {
        let slots = self.0.lock();
        held.count(slots.keys().filter(|key| key.owner.is_one()), principal);
    }
}

/// The place of a copy for one client.
struct Copy {
    slot: Arc<Slot>,
    is_new: bool,
    evicted: Option<Arc<Slot>>,
}

impl Server {
    /// The place of a connection; made if it is not there and may be.
    pub(super) fn slot(&self, key: &Key) -> Result<Arc<Slot>, CallError> {
        if !key.owner.is_one() {
            let (slot, is_new) = self.slots().place_or_new(key);
            if is_new && matches!(self.spec.target, Target::Stdio(_)) {
                self.end_when_superfluous(key.clone(), &slot);
            }
            return Ok(slot);
        }
        if let Some(slot) = self.slots().get(key) {
            if key.owner.is_keyed() {
                slot.touch();
            }
            return Ok(slot);
        }
        let elsewhere = self.copies_elsewhere(key.owner.principal());
        let copy = self.slots().place_of_copy(key, elsewhere);
        let copy = copy.map_err(|full| CallError::Busy {
            server: self.spec.name.to_string(),
            reason: full.to_string(),
        })?;
        if let Some(evicted) = copy.evicted {
            self.end_copy(&evicted, "another client needs the room");
        }
        if copy.is_new && key.owner.is_keyed() {
            self.end_when_idle(key.clone(), &copy.slot);
        }
        Ok(copy.slot)
    }
}

fn is_there(slots: &HashMap<Key, Arc<Slot>>, key: &Key, slot: &Arc<Slot>) -> bool {
    slots.get(key).is_some_and(|now| Arc::ptr_eq(now, slot))
}

/// Takes the place of the copy that a key's client has not used for longest.
/// A session's copy is used as long as its session lasts.
fn make_room(slots: &mut HashMap<Key, Arc<Slot>>, key: &Key, full: &Full) -> Option<Arc<Slot>> {
    let principal = key.owner.principal();
    // Where single sessions have too many, those of keys are not in the way.
    let helps = key.owner.is_keyed() || full.what == ALL_COPIES;
    let gives_way = slots.iter().filter(|(other, slot)| {
        other.owner.is_keyed()
            && helps
            && slot.is_idle()
            && (full.whose == Whose::All || other.owner.principal() == principal)
    });
    let oldest = gives_way.min_by_key(|(_, slot)| slot.used());
    let oldest = oldest.map(|(key, _)| key.clone());
    let oldest = oldest.and_then(|oldest| slots.remove(&oldest));
    note_move();
    oldest
}

/// What the cap over all servers counts.
const ALL_COPIES: &str = "copies of servers for single clients";

/// What stands in the way of one more copy for this owner, if anything.
fn full(slots: &HashMap<Key, Arc<Slot>>, key: &Key, elsewhere: Held) -> Option<Full> {
    let is_keyed = key.owner.is_keyed();
    let principal = key.owner.principal();
    let mut held = Held {
        several: elsewhere.several,
        ..Held::default()
    };
    let own = slots.keys().filter(|other| other.owner.is_one());
    let alike = own
        .clone()
        .filter(|other| other.owner.is_keyed() == is_keyed);
    held.count(alike, principal);
    let (what, most) = match is_keyed {
        true => (
            "copies of this server for clients with a key",
            limits::KEYED_COPIES,
        ),
        false => (
            "copies of this server for single sessions",
            limits::SESSION_COPIES,
        ),
    };
    let mut all = elsewhere;
    all.count(own, principal);
    held.full(what, most)
        .or_else(|| all.full(ALL_COPIES, limits::COPIES))
}
