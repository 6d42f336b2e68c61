//! Copies of a server that single clients have for themselves: sessions, and modern
//! clients by the key that they give. Nothing tells when one of the latter has gone,
//! so a copy that nobody uses any more is ended after a while. There are only so
//! many, in all and for one principal.

use super::{
    server::{Key, Owner, Server},
    slot::{Content, Slot},
};
use crate::{
    client::Client,
    error::CallError,
    limits,
    quota::{Full, Held, Whose},
};
use std::{collections::HashMap, sync::Arc};
use switchboard_tasks as tasks;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::TaskTracker;

impl Server {
    /// The place of a connection; made if it is not there and may be.
    pub(super) fn slot(&self, key: &Key) -> Result<Arc<Slot>, CallError> {
        if !key.owner.is_one() {
            return Ok(self.shared_slot(key));
        }
        if let Some(slot) = self.slots.lock().get(key) {
            if matches!(key.owner, Owner::Keyed(..)) {
                slot.touch();
            }
            return Ok(slot.clone());
        }
        let elsewhere = self.copies_elsewhere(key.owner.principal());
        let (slot, evicted) = {
            let mut slots = self.slots.lock();
            if let Some(slot) = slots.get(key) {
                return Ok(slot.clone());
            }
            let evicted = match full(&slots, key, elsewhere) {
                None => None,
                Some(full) => Some(self.make_room(&mut slots, key, &full)?),
            };
            (slots.entry(key.clone()).or_default().clone(), evicted)
        };
        if let Some(evicted) = evicted {
            end(&self.busy, &evicted, "another client needs the room");
        }
        if matches!(key.owner, Owner::Keyed(..)) {
            self.end_when_idle(key.clone(), &slot);
        }
        Ok(slot)
    }

    /// Takes the place of the copy that a key's client has not used for longest.
    /// A session's copy is used as long as its session lasts.
    fn make_room(
        &self,
        slots: &mut HashMap<Key, Arc<Slot>>,
        key: &Key,
        full: &Full,
    ) -> Result<Arc<Slot>, CallError> {
        let principal = key.owner.principal();
        // Where single sessions have too many, those of keys are not in the way.
        let helps = matches!(key.owner, Owner::Keyed(..)) || full.what == ALL_COPIES;
        let gives_way = slots.iter().filter(|(other, slot)| {
            matches!(other.owner, Owner::Keyed(..))
                && helps
                && slot.is_idle()
                && (full.whose == Whose::All || other.owner.principal() == principal)
        });
        let oldest = gives_way.min_by_key(|(_, slot)| slot.used());
        let oldest = oldest.map(|(key, _)| key.clone());
        let evicted = oldest.and_then(|oldest| slots.remove(&oldest));
        evicted.ok_or_else(|| CallError::Busy {
            server: self.spec.name.to_string(),
            reason: full.to_string(),
        })
    }

    /// Copies of other servers that single clients have: all, and this principal's.
    fn copies_elsewhere(&self, principal: &Arc<str>) -> Held {
        let host = self.host.get().and_then(std::sync::Weak::upgrade);
        let Some(host) = host else {
            return Held::default();
        };
        let mut held = Held::default();
        for server in host.servers().iter() {
            if !std::ptr::eq(&**server, self) {
                let slots = server.slots.lock();
                held.count(slots.keys().filter(|key| key.owner.is_one()), principal);
            }
        }
        held.several |= host.has_several_principals();
        held
    }

    /// Ends the copies of a modern client whose connection to us has ended.
    pub(crate) fn end_keyed(&self, client: &Client) {
        let owner = Owner::Keyed(client.principal.clone(), client.identity);
        let ended: Vec<Arc<Slot>> = {
            let mut slots = self.slots.lock();
            let theirs: Vec<Key> = slots
                .keys()
                .filter(|key| key.owner == owner)
                .cloned()
                .collect();
            theirs.iter().filter_map(|key| slots.remove(key)).collect()
        };
        for slot in ended {
            end(&self.busy, &slot, "its client has gone");
        }
    }

    fn end_when_idle(&self, key: Key, slot: &Arc<Slot>) {
        let (server, slot) = (self.me.clone(), Arc::downgrade(slot));
        tasks::spawn(tasks::Kind::Upkeep, async move {
            loop {
                let Some(used) = slot.upgrade().map(|slot| slot.used()) else {
                    return;
                };
                sleep_until((used + limits::KEYED_IDLE).max(Instant::now() + limits::KEYED_PAUSE))
                    .await;
                let (Some(server), Some(slot)) = (server.upgrade(), slot.upgrade()) else {
                    return;
                };
                let mut slots = server.slots.lock();
                if !slots.get(&key).is_some_and(|now| Arc::ptr_eq(now, &slot)) {
                    return;
                }
                if slot.is_idle() && slot.used() + limits::KEYED_IDLE <= Instant::now() {
                    slots.remove(&key);
                    drop(slots);
                    return end(&server.busy, &slot, "nobody has used it for a while");
                }
            }
        });
    }
}

fn end(busy: &TaskTracker, slot: &Slot, why: &'static str) {
    if let Content::Ready(connection) = slot.content() {
        tasks::spawn_in(busy, tasks::Kind::Errand, async move {
            connection.close_because(why).await;
        });
    }
}

/// What the cap over all servers counts.
const ALL_COPIES: &str = "copies of servers for single clients";

/// What stands in the way of one more copy for this owner, if anything.
fn full(slots: &HashMap<Key, Arc<Slot>>, key: &Key, elsewhere: Held) -> Option<Full> {
    let is_keyed = |key: &&Key| matches!(key.owner, Owner::Keyed(..));
    let principal = key.owner.principal();
    let mut held = Held {
        several: elsewhere.several,
        ..Held::default()
    };
    let own = slots.keys().filter(|other| other.owner.is_one());
    held.count(
        own.clone()
            .filter(|other| is_keyed(other) == is_keyed(&key)),
        principal,
    );
    let (what, most) = if is_keyed(&key) {
        (
            "copies of this server for clients with a key",
            limits::KEYED_COPIES,
        )
    } else {
        (
            "copies of this server for single sessions",
            limits::SESSION_COPIES,
        )
    };
    let mut all = elsewhere;
    all.count(own, principal);
    held.full(what, most)
        .or_else(|| all.full(ALL_COPIES, limits::COPIES))
}
