//! Copies of a server that single clients have for themselves: sessions, and modern
//! clients by the key that they give. Nothing tells when one of the latter has gone,
//! so a copy that nobody uses any more is ended after a while. How many there may be
//! is in `slots.rs`.

use super::{
    server::Server,
    slot::{Content, Slot},
    slots::{Key, Owner},
};
use crate::{client::Client, limits, quota::Held};
use std::sync::Arc;
use switchboard_tasks as tasks;
use tokio::time::{Instant, sleep_until};

impl Server {
    /// Copies of other servers that single clients have: all, and this principal's.
    pub(super) fn copies_elsewhere(&self, principal: &Arc<str>) -> Held {
        let Some(host) = self.host() else {
            return Held::default();
        };
        let mut held = Held::default();
        for server in host.servers().iter() {
            if !std::ptr::eq(&**server, self) {
                server.slots().count_copies(&mut held, principal);
            }
        }
        held.several |= host.has_several_principals();
        held
    }

    /// Ends the copies of a modern client whose connection to us has ended.
    pub(crate) fn end_keyed(&self, client: &Client) {
        let owner = Owner::Keyed(client.principal.clone(), client.identity);
        for slot in self.slots().remove_of(&owner) {
            self.end_copy(&slot, "its client has gone");
        }
    }

    /// Ends a copy whose place has been taken away.
    pub(super) fn end_copy(&self, slot: &Slot, why: &'static str) {
        if let Content::Ready(connection) = slot.content() {
            tasks::spawn_in(
                self.retirement().tasks(),
                tasks::Kind::Background,
                async move {
                    connection.close_because(why).await;
                },
            );
        }
    }

    /// Looks at a copy from time to time, until nobody has used it for a while.
    pub(super) fn end_when_idle(&self, key: Key, slot: &Arc<Slot>) {
        let (server, slot) = (self.weak(), Arc::downgrade(slot));
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
                match server.slots().remove_unused(&key, &slot) {
                    None => return,
                    Some(true) => return server.end_copy(&slot, "nobody has used it for a while"),
                    Some(false) => {}
                }
            }
        });
    }
}
