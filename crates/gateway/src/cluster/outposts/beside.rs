//! What an outpost does beside serving links: it says that it is there, and which rights it
//! holds.

use super::{
    announced::{Announced, Entry},
    serving::Outpost,
};
use crate::{gateway::Gateway, limits};
use parking_lot::Mutex;
use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use switchboard_tasks as tasks;
use tokio::task::JoinHandle;

impl Outpost {
    /// Says in the ledger that it is there, for whoever looks.
    pub(super) fn announces(self: &Arc<Self>, gateway: &Arc<Gateway>) -> JoinHandle<()> {
        let (me, gateway) = (self.clone(), gateway.clone());
        let entry = Arc::new(Mutex::new(Some(self.entry())));
        tasks::keep(tasks::Kind::Upkeep, move || {
            let (me, gateway, entry) = (me.clone(), gateway.clone(), entry.clone());
            async move {
                let mut entry = entry.lock().take().unwrap_or_else(|| me.entry());
                let mut what = me.announced();
                loop {
                    what.says(me.said(&gateway));
                    if let Err(fault) = entry.say(&what, limits::NODE_LIFE).await {
                        tracing::debug!(%fault, "it cannot be said that this worker is there");
                    }
                    tokio::time::sleep(limits::NODE_BEAT).await;
                }
            }
        })
    }

    fn entry(&self) -> Entry {
        Entry {
            ledger: self.ledger.clone(),
            keys: self.pass.keys.clone(),
            name: self.pass.name.clone(),
            revision: None,
        }
    }

    fn announced(&self) -> Announced {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Announced {
            id: self.pass.id.clone(),
            name: self.pass.name.clone(),
            version: self.version.clone(),
            since: since.map_or(0, |since| since.as_secs()),
            ..Announced::default()
        }
    }

    /// It is there for a moment longer.
    pub(super) async fn forgets(&self, gateway: &Gateway) {
        let mut what = self.announced();
        what.says(self.said(gateway));
        let entry = self.entry();
        let saying = entry.ends(&what, limits::PLACE_OVER);
        let _ = tokio::time::timeout(limits::LINK_CONNECT, saying).await;
    }

    /// Says again and again which servers it runs whose copies are counted, and ends those
    /// that another may run by now.
    pub(super) fn keeps_rights(self: &Arc<Self>, gateway: &Arc<Gateway>) -> JoinHandle<()> {
        let (me, gateway) = (self.clone(), gateway.clone());
        tasks::keep(tasks::Kind::Upkeep, move || {
            let (me, gateway) = (me.clone(), gateway.clone());
            async move {
                loop {
                    for server in me.rights.renew().await {
                        tracing::warn!(
                            server,
                            "another worker may run this server by now: it is ended here"
                        );
                        if let Some(server) = gateway.host().servers().named(&server) {
                            server.reconnect().await;
                        }
                    }
                    tokio::time::sleep(limits::OUTPOST_AGAIN).await;
                }
            }
        })
    }
}
