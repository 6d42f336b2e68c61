//! What is looked at from time to time, for all servers at once: whether anybody uses
//! their processes, and whether those use more than they may.

use super::Host;
use crate::{client::Client, limits, upstream::end_those_over};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use switchboard_tasks as tasks;
use tokio::time::sleep;

impl Host {
    /// Begins to look after the servers. Once; nothing is to be done before the first
    /// process is started.
    pub(crate) fn look_after(self: &Arc<Self>) {
        if self.looked_after.swap(true, Ordering::AcqRel) {
            return;
        }
        let host = Arc::downgrade(self);
        tasks::spawn(tasks::Kind::Upkeep, async move {
            while let Some(pause) = host.upgrade().map(|host| host.next_look()) {
                sleep(pause).await;
                if let Some(host) = host.upgrade() {
                    end_those_over(&host.servers()).await;
                    host.rest();
                }
            }
        });
    }

    /// Ends processes that nobody uses.
    fn rest(&self) {
        for server in self.servers().iter() {
            server.rest(|identity| self.present.lock().contains(&identity));
        }
    }

    /// When it is worth looking again.
    fn next_look(&self) -> Duration {
        let servers = self.servers();
        let soonest = servers
            .iter()
            .filter_map(|server| server.rests_after())
            .min();
        let look = soonest.map_or(limits::LONGEST_IDLE_LOOK, |idle| idle / limits::IDLE_LOOKS);
        let longest = match servers.iter().any(|server| server.is_capped()) {
            true => limits::CAPS_LOOK,
            false => limits::LONGEST_IDLE_LOOK,
        };
        look.clamp(limits::IDLE_LOOK, longest)
    }

    /// A client has come on a channel of its own, and comes anew with each request on
    /// it. It is there until it is released.
    pub fn arrive(&self, client: &Client) {
        self.present.lock().insert(client.identity);
    }
}
