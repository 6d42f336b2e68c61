//! Hearing of changes: at once of our own, soon of other processes'. Between two looks
//! several changes of one entry are one.

use crate::{Ledger, LedgerError, Revision, limits};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

/// The entries of a space, as they change.
#[derive(Debug)]
pub struct Watch {
    ledger: Arc<dyn Ledger>,
    space: String,
    seen: BTreeMap<String, Revision>,
    news: VecDeque<Change>,
}

/// What has become of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which.
    pub name: String,
    /// Its revision now; nothing where it is gone.
    pub revision: Option<Revision>,
}

impl Watch {
    /// Of this space; what is there already is told first.
    pub fn new(ledger: Arc<dyn Ledger>, space: impl Into<String>) -> Self {
        Self {
            ledger,
            space: space.into(),
            seen: BTreeMap::new(),
            news: VecDeque::new(),
        }
    }

    /// The next change, whenever there is one.
    pub async fn next(&mut self) -> Result<Change, LedgerError> {
        loop {
            if let Some(change) = self.news.pop_front() {
                return Ok(change);
            }
            let ledger = self.ledger.clone();
            let changed = ledger.changed().notified();
            tokio::pin!(changed);
            // Before it is looked at, so that what changes meanwhile is not missed.
            changed.as_mut().enable();
            self.look().await?;
            if self.news.is_empty() {
                let _ = tokio::time::timeout(limits::WATCH_LOOK, changed).await;
            }
        }
    }

    async fn look(&mut self) -> Result<(), LedgerError> {
        let listed = self.ledger.list(&self.space, "", limits::WATCHED).await?;
        let now: BTreeMap<String, Revision> = listed.into_iter().collect();
        for (name, revision) in &now {
            if self.seen.get(name) != Some(revision) {
                self.news.push_back(Change {
                    name: name.clone(),
                    revision: Some(*revision),
                });
            }
        }
        for name in self.seen.keys().filter(|name| !now.contains_key(*name)) {
            self.news.push_back(Change {
                name: name.clone(),
                revision: None,
            });
        }
        self.seen = now;
        Ok(())
    }
}
