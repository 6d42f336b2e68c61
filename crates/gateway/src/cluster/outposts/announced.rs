//! What an outpost says of itself to whoever looks, in the ledger: replicas hear it from
//! the outpost itself.

use super::frames::Said;
use crate::{cluster::keys::ClusterKeys, limits};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};
use switchboard_ledger::{Key, Ledger, LedgerError, Revision};

/// The space of outposts.
const OUTPOSTS: &str = "outposts";

/// What an outpost says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Announced {
    /// Its name.
    pub name: String,
    /// The version of its program.
    pub version: String,
    /// The servers that it runs for others.
    pub offers: Vec<String>,
    /// What it is like.
    pub labels: BTreeMap<String, String>,
    /// How many links it has.
    pub links: usize,
    /// How many it takes.
    pub room: usize,
    /// Whether it ends, and takes no more.
    pub draining: bool,
    /// When it was started, in seconds since 1970.
    pub since: u64,
}

impl Announced {
    /// The outposts that a ledger knows.
    pub(crate) async fn look(
        ledger: &Arc<dyn Ledger>,
        keys: &ClusterKeys,
    ) -> Result<Vec<(String, Self)>, LedgerError> {
        let all = ledger.entries(OUTPOSTS, limits::OUTPOSTS).await?;
        let opened = all.into_iter().filter_map(|(id, entry)| {
            let text = keys.open(&entry.value, &named(&id))?;
            Some((id, serde_json::from_slice(&text).ok()?))
        });
        Ok(opened.collect())
    }

    pub(super) fn says(&mut self, said: Said) {
        Said {
            offers: self.offers,
            labels: self.labels,
            links: self.links,
            room: self.room,
            draining: self.draining,
        } = said;
    }
}

fn named(id: &str) -> String {
    format!("{OUTPOSTS} {id}")
}

/// The entry of one outpost.
pub(super) struct Entry {
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) keys: Arc<ClusterKeys>,
    pub(super) id: String,
    pub(super) revision: Option<Revision>,
}

impl Entry {
    /// Says it, for as long as it lives then.
    pub(super) async fn say(
        &mut self,
        what: &Announced,
        life: std::time::Duration,
    ) -> Result<(), LedgerError> {
        let text = serde_json::to_vec(what).unwrap_or_default();
        let value = Bytes::from(self.keys.close(&text, &named(&self.id)));
        let (key, life) = (Key::new(OUTPOSTS, &self.id), Some(life));
        if let Some(before) = self.revision {
            let set = self
                .ledger
                .compare_and_set(&key, before, value.clone(), life);
            self.revision = set.await?;
        }
        if self.revision.is_none() {
            self.revision = match self.ledger.create(&key, value, life).await? {
                Some(made) => Some(made),
                // Written, and the answer was lost: an id is never anybody else's.
                None => self.ledger.read(&key).await?.map(|entry| entry.revision),
            };
        }
        Ok(())
    }
}
