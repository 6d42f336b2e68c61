//! What was applied to the whole cluster: kept in the ledger, the newest beside those before
//! it, and followed by every replica that knows whose signature counts. NATS decides
//! nothing: what is unsigned, altered, or older than what holds is refused, and said.

use super::{
    keys::ClusterKeys,
    news::News,
    part::{APPLIED, NOW, Part},
    signed::{ApplyKeys, NotApplied, Signed},
};
use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::Arc;
use switchboard_ledger::{Key, Ledger, LedgerError, Revision};
use tokio::sync::watch;

/// What a replica or an outpost follows.
#[derive(Debug)]
pub struct Applied {
    part: Part,
    ledger: Arc<dyn Ledger>,
    keys: Arc<ClusterKeys>,
    signers: Option<ApplyKeys>,
    newest: watch::Sender<Option<Arc<Signed>>>,
    runs: Mutex<Runs>,
    /// What was looked at last.
    seen: Mutex<Option<Revision>>,
}

/// What becomes of it there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// The version that it runs.
    pub version: Option<u64>,
    /// A newer one that it cannot use.
    pub unusable: Option<u64>,
}

fn key(name: &str) -> Key {
    Key::new(APPLIED, name)
}

/// The name of a version that is not the newest any more.
fn past(version: u64) -> String {
    format!("v{version:020}")
}

/// The same for the versions before the newest.
fn sealed(keys: &ClusterKeys, name: &str, bytes: &[u8]) -> Option<Bytes> {
    let hidden = keys.hide(bytes, &format!("{APPLIED} {name}"));
    hidden.map(Bytes::from)
}

fn opened(keys: &ClusterKeys, name: &str, sealed: &[u8]) -> Result<Vec<u8>, NotApplied> {
    let opened = keys.reveal(sealed, &format!("{APPLIED} {name}"));
    opened.ok_or(NotApplied::Altered)
}

impl Applied {
    /// With no `signers` nothing is followed. `kept` is what was followed here before, which
    /// is looked at as sceptically as everything else.
    pub(super) fn new(
        part: Part,
        ledger: Arc<dyn Ledger>,
        keys: Arc<ClusterKeys>,
        signers: Option<ApplyKeys>,
        kept: &[Vec<u8>],
    ) -> Self {
        let known = signers.iter().flat_map(|signers| {
            let known = kept.iter().filter_map(|bytes| {
                let opened = signers.open(part, bytes);
                opened
                    .inspect_err(|why| {
                        tracing::warn!(%why, "what was followed here before does not count any more");
                    })
                    .ok()
            });
            known.collect::<Vec<_>>()
        });
        let newest = known.max_by_key(|signed| signed.statement.version);
        let (newest, _) = watch::channel(newest.map(Arc::new));
        Self {
            part,
            ledger,
            keys,
            signers,
            newest,
            runs: Mutex::default(),
            seen: Mutex::default(),
        }
    }

    /// Whether anything is followed.
    pub fn is_followed(&self) -> bool {
        self.signers.is_some()
    }

    /// The newest that counts, now and whenever there is a newer one.
    pub fn newest(&self) -> watch::Receiver<Option<Arc<Signed>>> {
        self.newest.subscribe()
    }

    /// The version of the newest that counts.
    pub fn version(&self) -> Option<u64> {
        let newest = self.newest.borrow();
        newest.as_ref().map(|signed| signed.statement.version)
    }

    /// What became of it here.
    pub fn runs(&self) -> Runs {
        *self.runs.lock()
    }

    /// It runs this one from now on, or cannot.
    pub fn is_run(&self, version: u64, can: bool) {
        let mut runs = self.runs.lock();
        match can {
            true => {
                *runs = Runs {
                    version: Some(version),
                    unusable: None,
                };
            }
            false => runs.unusable = Some(version),
        }
    }

    /// Looks whether there is a newer one.
    ///
    /// # Errors
    /// When it cannot be looked.
    pub async fn look(&self) -> Result<(), LedgerError> {
        let Some(signers) = &self.signers else {
            return Ok(());
        };
        let Some(entry) = self.ledger.read(&self.part.key()).await? else {
            return Ok(());
        };
        if self.seen.lock().replace(entry.revision) == Some(entry.revision) {
            return Ok(());
        }
        match self.judged(&entry.value, signers) {
            Ok(Some(new)) => {
                let (version, signer) = (new.statement.version, &new.signer);
                tracing::info!(version, signer, "a version was applied to the cluster");
                self.newest.send_replace(Some(Arc::new(new)));
            }
            Ok(None) => {}
            Err(why) => match self.part {
                Part::Replicas => {
                    tracing::warn!(%why, "what was to be applied to the cluster is refused; what holds goes on");
                }
                Part::Outposts => {
                    tracing::warn!(%why, "what workers were to run is refused, and nothing of it is started; what runs goes on");
                }
            },
        }
        Ok(())
    }

    /// What is newer than what holds; nothing where it is the same.
    fn judged(&self, value: &[u8], signers: &ApplyKeys) -> Result<Option<Signed>, NotApplied> {
        let bytes = self.part.opened(&self.keys, value);
        let new = signers.open(self.part, &bytes.ok_or(NotApplied::Altered)?)?;
        let version = new.statement.version;
        match &*self.newest.borrow() {
            Some(known) if known.bytes == new.bytes => Ok(None),
            Some(known) if known.statement.version == version => Err(NotApplied::Twice(version)),
            Some(known) if known.statement.version > version => Err(NotApplied::Older {
                version,
                known: known.statement.version,
            }),
            _ => Ok(Some(new)),
        }
    }
}

/// The same for commands: what holds, what held before, and putting a newer one there.
#[derive(Debug)]
pub struct AppliedBook {
    ledger: Arc<dyn Ledger>,
    keys: Arc<ClusterKeys>,
    news: News,
}

/// What is kept in one place, if anything of it can be believed.
#[derive(Debug)]
pub struct Page {
    revision: Revision,
    /// What it says, or why that does not count.
    pub signed: Result<Signed, NotApplied>,
}

/// Why nothing was applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The ledger.
    #[error("{0}")]
    Ledger(#[from] LedgerError),
    /// Somebody else was faster.
    #[error("somebody else has applied something meanwhile")]
    Overtaken,
    /// It would not fit.
    #[error("it has {} bytes, and {} is the most that can be applied", .0, limits::APPLIED)]
    TooLarge(usize),
    /// Too much for one worker.
    #[error("it has {} servers for workers, and {} is the most that can be applied", .0, limits::HIRES)]
    TooMany(usize),
    /// The key is a worker's.
    #[error("a worker's key cannot apply anything")]
    Workers,
}

impl AppliedBook {
    /// That of a ledger.
    pub fn of(ledger: Arc<dyn Ledger>, keys: ClusterKeys) -> Self {
        Self {
            news: News::new(ledger.clone()),
            ledger,
            keys: Arc::new(keys),
        }
    }

    /// Whether something can be put there at all.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn fits(new: &Signed) -> Result<(), ApplyError> {
        if new.bytes.len() > limits::APPLIED {
            return Err(ApplyError::TooLarge(new.bytes.len()));
        }
        match new.statement.hires.len() {
            0..=limits::HIRES => Ok(()),
            many => Err(ApplyError::TooMany(many)),
        }
    }

    fn page(&self, name: &str, entry: &switchboard_ledger::Entry, signers: &ApplyKeys) -> Page {
        let bytes = opened(&self.keys, name, &entry.value);
        Page {
            revision: entry.revision,
            signed: bytes.and_then(|bytes| signers.open(Part::Replicas, &bytes)),
        }
    }

    /// The newest.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn now(&self, signers: &ApplyKeys) -> Result<Option<Page>, LedgerError> {
        let found = self.ledger.read(&key(NOW)).await?;
        Ok(found.map(|entry| self.page(NOW, &entry, signers)))
    }

    /// All that are kept and count, the newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn all(&self, signers: &ApplyKeys) -> Result<Vec<Signed>, LedgerError> {
        let most = limits::APPLIED_KEPT * 2;
        let found = self.ledger.entries(APPLIED, most).await?;
        let pages = found
            .iter()
            .map(|(name, entry)| self.page(name, entry, signers));
        let mut all: Vec<Signed> = pages.filter_map(|page| page.signed.ok()).collect();
        all.sort_by_key(|signed| std::cmp::Reverse(signed.statement.version));
        all.dedup_by_key(|signed| signed.statement.version);
        Ok(all)
    }

    /// Puts something newer in the place of what was there. All of them are kept behind it,
    /// so that whoever overwrites the newest loses none.
    ///
    /// # Errors
    /// When it could not be put there.
    pub async fn put(&self, before: Option<&Page>, new: &Signed) -> Result<(), ApplyError> {
        Self::fits(new)?;
        // Again, where whoever put it there broke off before.
        if let Some(signed) = before.and_then(|page| page.signed.as_ref().ok()) {
            self.keep(signed).await?;
        }
        let value = sealed(&self.keys, NOW, &new.bytes).ok_or(ApplyError::Workers)?;
        let put = match before {
            Some(page) => {
                let set = self
                    .ledger
                    .compare_and_set(&key(NOW), page.revision, value, None);
                set.await?
            }
            None => self.ledger.create(&key(NOW), value, None).await?,
        };
        put.ok_or(ApplyError::Overtaken)?;
        self.news.tell().await;
        // It holds, whatever becomes of this.
        if self.keep(new).await.is_ok() {
            self.forget_old().await;
        }
        Ok(())
    }

    /// Whether outposts are told this version.
    ///
    /// # Errors
    /// When it cannot be looked.
    pub async fn is_told(&self, version: u64, signers: &ApplyKeys) -> Result<bool, LedgerError> {
        let found = self.ledger.read(&Part::Outposts.key()).await?;
        let told = found.and_then(|entry| self.told(&entry.value, signers));
        Ok(told == Some(version))
    }

    /// The version that outposts are told, if that counts.
    fn told(&self, value: &[u8], signers: &ApplyKeys) -> Option<u64> {
        let bytes = Part::Outposts.opened(&self.keys, value)?;
        let signed = signers.open(Part::Outposts, &bytes).ok()?;
        Some(signed.statement.version)
    }

    /// Tells outposts what they are to run, unless they were told something newer.
    ///
    /// # Errors
    /// When they could not be told.
    pub async fn tell(&self, new: &Signed, signers: &ApplyKeys) -> Result<(), ApplyError> {
        Self::fits(new)?;
        let (part, version) = (Part::Outposts, new.statement.version);
        let value = part.sealed(&self.keys, &new.bytes);
        let value = value.ok_or(ApplyError::Workers)?;
        for _ in 0..limits::APPLY_TRIES {
            let put = match self.ledger.read(&part.key()).await? {
                Some(entry) => {
                    let told = self.told(&entry.value, signers);
                    if told.is_some_and(|told| told > version) {
                        return Ok(());
                    }
                    let before = entry.revision;
                    let set = self
                        .ledger
                        .compare_and_set(&part.key(), before, value.clone(), None);
                    set.await?
                }
                None => self.ledger.create(&part.key(), value.clone(), None).await?,
            };
            if put.is_some() {
                return Ok(());
            }
        }
        Err(ApplyError::Overtaken)
    }

    async fn keep(&self, signed: &Signed) -> Result<(), ApplyError> {
        let name = past(signed.statement.version);
        let value = sealed(&self.keys, &name, &signed.bytes).ok_or(ApplyError::Workers)?;
        let place = key(&name);
        let made = self.ledger.create(&place, value.clone(), None).await?;
        if made.is_some() {
            return Ok(());
        }
        // Somebody who may not sign may have taken the number first.
        if let Some(found) = self.ledger.read(&place).await?
            && opened(&self.keys, &name, &found.value).ok().as_ref() != Some(&signed.bytes)
        {
            let set = self
                .ledger
                .compare_and_set(&place, found.revision, value, None);
            set.await?;
        }
        Ok(())
    }

    /// Leaves as many as are kept. What cannot be removed now is the next time.
    async fn forget_old(&self) {
        let listed = self.ledger.list(APPLIED, NOW, limits::APPLIED_KEPT * 2);
        let Ok(listed) = listed.await else { return };
        let too_many = listed.len().saturating_sub(limits::APPLIED_KEPT);
        for (name, revision) in listed.iter().take(too_many) {
            let _ = self.ledger.remove(&key(name), Some(*revision)).await;
        }
    }
}

#[cfg(test)]
mod tests;
