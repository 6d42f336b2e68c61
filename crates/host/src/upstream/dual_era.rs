//! Two copies for the same clients: a program that speaks both eras has a process
//! for each that is in use. The one that nobody uses any more ends, as long as there
//! is the other.

use super::{
    connection::Connection,
    server::Server,
    slot::{Content, Slot},
    slots::Key,
};
use std::sync::Arc;
use switchboard_tasks as tasks;
use tokio::time::sleep;

impl Server {
    /// Looks at a copy from time to time. Whether it was used in between is told by
    /// the number of its next request, so that a call has nothing to note.
    pub(super) fn end_when_superfluous(&self, key: Key, slot: &Arc<Slot>) {
        let (server, slot) = (self.weak(), Arc::downgrade(slot));
        let pause = self.spec.timeouts.unused_era;
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
                let count = connection.calls().begun();
                let is_unused = before.replace(count) == Some(count);
                if is_unused
                    && connection.is_unused()
                    && server.slots().remove_other_era(&key, &slot)
                {
                    let why = "nobody uses it, and there is one of the other era";
                    return connection.close_because(why).await;
                }
            }
        });
    }
}

impl Connection {
    /// Whether nobody has anything to do with it, nor has left anything with it.
    fn is_unused(&self) -> bool {
        let audience = self.audience();
        self.is_idle()
            && audience.subscriptions().topics().is_empty()
            && audience.tasks().is_empty()
    }
}
