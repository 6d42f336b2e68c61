//! What an outpost says of itself to whoever looks, in the ledger: replicas hear it from
//! the outpost itself.

use super::{frames::Said, hiring::Hiring};
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
    /// Its id: another each time it starts.
    #[serde(default)]
    pub id: String,
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
    /// The servers that were signed for outposts, as it has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hires: Vec<Hiring>,
    /// The version of what was signed that it goes by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<u64>,
}

impl Announced {
    /// The outposts that a ledger knows.
    pub(crate) async fn look(
        ledger: &Arc<dyn Ledger>,
        keys: &ClusterKeys,
    ) -> Result<Vec<(String, Self)>, LedgerError> {
        let all = ledger.entries(OUTPOSTS, limits::OUTPOSTS).await?;
        let opened = all.into_iter().filter_map(|(name, entry)| {
            let text = keys.open(&entry.value, &named(&name))?;
            let said: Self = serde_json::from_slice(&text).ok()?;
            // An older version has its entry under its id.
            let id = match said.id.is_empty() {
                true => name,
                false => said.id.clone(),
            };
            Some((id, said))
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
            hires: self.hires,
            applied: self.applied,
        } = said;
    }
}

fn named(name: &str) -> String {
    format!("{OUTPOSTS} {name}")
}

/// The entry of one outpost. It is under its name, so that NATS can be told that nobody else
/// may write it; one that starts again has it from the one before.
pub(super) struct Entry {
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) keys: Arc<ClusterKeys>,
    pub(super) name: String,
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
        let value = Bytes::from(self.keys.close(&text, &named(&self.name)));
        let (key, life) = (Key::new(OUTPOSTS, &self.name), Some(life));
        if let Some(before) = self.revision {
            let set = self
                .ledger
                .compare_and_set(&key, before, value.clone(), life);
            self.revision = set.await?;
        }
        if self.revision.is_none() {
            self.revision = self.ledger.create(&key, value.clone(), life).await?;
        }
        // Written, and the answer was lost, or by the one before.
        if self.revision.is_none()
            && let Some(found) = self.ledger.read(&key).await?
        {
            let set = self
                .ledger
                .compare_and_set(&key, found.revision, value, life);
            self.revision = set.await?;
        }
        Ok(())
    }

    /// Says it for the last time, unless another of its name has come meanwhile.
    pub(super) async fn ends(
        &self,
        what: &Announced,
        life: std::time::Duration,
    ) -> Result<(), LedgerError> {
        let key = Key::new(OUTPOSTS, &self.name);
        let Some(found) = self.ledger.read(&key).await? else {
            return Ok(());
        };
        let said = self.keys.open(&found.value, &named(&self.name));
        let said = said.and_then(|text| serde_json::from_slice::<Announced>(&text).ok());
        if said.is_some_and(|said| said.id == what.id) {
            let text = serde_json::to_vec(what).unwrap_or_default();
            let value = Bytes::from(self.keys.close(&text, &named(&self.name)));
            let set = self
                .ledger
                .compare_and_set(&key, found.revision, value, Some(life));
            set.await?;
        }
        Ok(())
    }
}
