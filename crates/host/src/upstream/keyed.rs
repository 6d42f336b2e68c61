//! Copies of a server that modern clients have for themselves, by the key that
//! they give. Nothing tells when such a client has gone, so a copy that nobody
//! uses any more is ended after a while, and there are only so many.

use super::{
    server::{Key, Owner, Server},
    slot::{Content, Slot},
};
use crate::{client::Client, error::CallError, limits};
use std::sync::Arc;
use switchboard_tasks as tasks;
use tokio::time::{Instant, sleep_until};

impl Server {
    /// The place of a connection; made if it is not there and may be.
    pub(super) fn slot(&self, key: &Key) -> Result<Arc<Slot>, CallError> {
        if !matches!(key.owner, Owner::Keyed(_)) {
            return Ok(self.slots.lock().entry(key.clone()).or_default().clone());
        }
        let (slot, evicted) = {
            let mut slots = self.slots.lock();
            if let Some(slot) = slots.get(key) {
                slot.touch();
                return Ok(slot.clone());
            }
            let copies = slots
                .iter()
                .filter(|(key, _)| matches!(key.owner, Owner::Keyed(_)));
            let mut evicted = None;
            if copies.clone().count() >= limits::KEYED_COPIES {
                let idle = copies.filter(|(_, slot)| slot.is_idle());
                let oldest = idle.min_by_key(|(_, slot)| slot.used());
                let oldest = oldest.map(|(key, _)| key.clone());
                let oldest = oldest.ok_or_else(|| CallError::Busy {
                    server: self.spec.name.to_string(),
                    reason: format!(
                        "{} clients have a copy of their own, and all of them use it",
                        limits::KEYED_COPIES
                    ),
                })?;
                evicted = slots.remove(&oldest);
            }
            (slots.entry(key.clone()).or_default().clone(), evicted)
        };
        if let Some(evicted) = evicted {
            end(&evicted, "another client needs the room");
        }
        self.end_when_idle(key.clone(), &slot);
        Ok(slot)
    }

    /// Ends the copies of a modern client whose connection to us has ended.
    pub(crate) fn end_keyed(&self, client: &Client) {
        let owner = Owner::Keyed(client.identity);
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
            end(&slot, "its client has gone");
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
                    return end(&slot, "nobody has used it for a while");
                }
            }
        });
    }
}

fn end(slot: &Slot, why: &'static str) {
    if let Content::Ready(connection) = slot.content() {
        tasks::spawn(tasks::Kind::Errand, async move {
            connection.close_because(why).await;
        });
    }
}
