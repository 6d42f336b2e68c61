//! Two copies for the same clients: a program that speaks both eras has a process
//! for each that is in use. The one that nobody uses any more ends, as long as there
//! is the other.

use super::{
    connection::Connection,
    server::{Key, Server},
    slot::{Content, Slot},
    spec::Target,
};
use std::{
    collections::hash_map::Entry,
    sync::{Arc, atomic::Ordering},
};
use switchboard_tasks as tasks;
use tokio::time::sleep;

impl Server {
    /// The place of a connection that several clients share.
    pub(super) fn shared_slot(&self, key: &Key) -> Arc<Slot> {
        let mut slots = self.slots.lock();
        let slot = match slots.entry(key.clone()) {
            Entry::Occupied(slot) => return slot.get().clone(),
            Entry::Vacant(place) => place.insert(Arc::default()).clone(),
        };
        drop(slots);
        if matches!(self.spec.target, Target::Stdio(_)) {
            self.end_when_superfluous(key.clone(), &slot);
        }
        slot
    }

    /// Looks at a copy from time to time. Whether it was used in between is told by
    /// the number of its next request, so that a call has nothing to note.
    fn end_when_superfluous(&self, key: Key, slot: &Arc<Slot>) {
        let (server, slot) = (self.me.clone(), Arc::downgrade(slot));
        let pause = self.spec.timeouts.twin;
        tasks::spawn(tasks::Kind::Upkeep, async move {
            let mut before = None;
            loop {
                sleep(pause).await;
                let (Some(server), Some(slot)) = (server.upgrade(), slot.upgrade()) else {
                    return;
                };
                let Content::Ready(connection) = slot.content() else {
                    before = None;
                    continue;
                };
                let count = connection.next.load(Ordering::Relaxed);
                let is_unused = before.replace(count) == Some(count);
                if is_unused && connection.is_unused() && server.take_out(&key, &slot) {
                    let why = "nobody uses it, and there is one of the other era";
                    return connection.close_because(why).await;
                }
            }
        });
    }

    /// Takes the place away if the same clients have another that works.
    fn take_out(&self, key: &Key, slot: &Arc<Slot>) -> bool {
        let mut slots = self.slots.lock();
        let is_twin = |(other, slot): (&Key, &Arc<Slot>)| {
            other.owner == key.owner
                && other.era != key.era
                && matches!(slot.content(), Content::Ready(twin) if twin.closed().is_none())
        };
        let is_there = slots.get(key).is_some_and(|now| Arc::ptr_eq(now, slot));
        if is_there && slots.iter().any(is_twin) {
            slots.remove(key);
            return true;
        }
        false
    }
}

impl Connection {
    /// Whether nobody has anything to do with it, nor has left anything with it.
    fn is_unused(&self) -> bool {
        self.is_idle() && self.subscriptions.topics().is_empty() && self.owned.tasks.is_empty()
    }
}
