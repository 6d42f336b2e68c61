//! One entry that changes whenever something does that all replicas have, so that they
//! look at one and not at all of them. It says nothing, and so needs no seal: whoever
//! changes it makes replicas look, and one that is not changed only makes them look later.

use crate::limits;
use bytes::Bytes;
use std::{sync::Arc, time::Instant};
use switchboard_ledger::{Key, Ledger, LedgerError, Revision};
use switchboard_local::random;

/// That entry.
#[derive(Clone, Debug)]
pub(super) struct News {
    ledger: Arc<dyn Ledger>,
    key: Key,
}

impl News {
    pub(super) fn new(ledger: Arc<dyn Ledger>) -> Self {
        let key = Key::new("news", "all");
        Self { ledger, key }
    }

    /// Something has changed. Where another says so at the same time that is enough: it
    /// says so after what we have written.
    pub(super) async fn tell(&self) {
        let told = async {
            let value = random::bytes::<16>().unwrap_or_default();
            let value = Bytes::copy_from_slice(&value);
            match self.revision().await? {
                Some(before) => {
                    let set = self.ledger.compare_and_set(&self.key, before, value, None);
                    set.await
                }
                None => self.ledger.create(&self.key, value, None).await,
            }
        };
        if let Err(fault) = told.await {
            tracing::debug!(%fault, "other replicas hear of a change a little later");
        }
    }

    async fn revision(&self) -> Result<Option<Revision>, LedgerError> {
        let entry = self.ledger.read(&self.key).await?;
        Ok(entry.map(|entry| entry.revision))
    }

    /// What to note once all has been looked at, where that is due: whenever there is
    /// something new, and now and then all the same.
    pub(super) async fn due(&self, seen: Option<&Seen>) -> Option<Seen> {
        let now = self.revision().await.ok()?;
        let is_due =
            seen.is_none_or(|seen| seen.revision != now || seen.at.elapsed() > limits::NEWS_ALL);
        is_due.then(|| Seen {
            revision: now,
            at: Instant::now(),
        })
    }
}

/// What was seen last.
#[derive(Debug)]
pub(super) struct Seen {
    revision: Option<Revision>,
    at: Instant,
}
