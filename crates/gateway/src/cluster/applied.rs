//! What was applied to the whole cluster: kept in the ledger, the newest beside those before
//! it, and followed by every replica that knows whose signature counts. NATS decides
//! nothing: what is unsigned, altered, or older than what holds is refused, and said.

use super::{
    keys::ClusterKeys,
    news::News,
    signed::{ApplyKeys, NotApplied, Signed},
};
use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::Arc;
use switchboard_ledger::{Key, Ledger, LedgerError, Revision};
use tokio::sync::watch;

/// The space of what was applied.
const APPLIED: &str = "applied";
/// The newest.
const NOW: &str = "now";

/// What a replica follows.
#[derive(Debug)]
pub struct Applied {
    ledger: Arc<dyn Ledger>,
    keys: Arc<ClusterKeys>,
    signers: Option<ApplyKeys>,
    newest: watch::Sender<Option<Arc<Signed>>>,
    runs: Mutex<Runs>,
    /// What was looked at last.
    seen: Mutex<Option<Revision>>,
}

/// What a replica makes of it.
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

fn sealed(keys: &ClusterKeys, name: &str, bytes: &[u8]) -> Option<Bytes> {
    let hidden = keys.hide(bytes, &format!("{APPLIED} {name}"));
    hidden.map(Bytes::from)
}

fn opened(keys: &ClusterKeys, name: &str, sealed: &[u8]) -> Result<Vec<u8>, NotApplied> {
    let opened = keys.reveal(sealed, &format!("{APPLIED} {name}"));
    opened.ok_or(NotApplied::Altered)
}

impl Applied {
    /// With no `signers` nothing is followed. `kept` is what this replica followed before,
    /// which is looked at as sceptically as everything else.
    pub(super) fn new(
        ledger: Arc<dyn Ledger>,
        keys: Arc<ClusterKeys>,
        signers: Option<ApplyKeys>,
        kept: &[Vec<u8>],
    ) -> Self {
        let known = signers.iter().flat_map(|signers| {
            let known = kept.iter().filter_map(|bytes| {
                let opened = signers.open(bytes);
                opened
                    .inspect_err(|why| {
                        tracing::warn!(%why, "what this replica followed before does not count any more");
                    })
                    .ok()
            });
            known.collect::<Vec<_>>()
        });
        let newest = known.max_by_key(|signed| signed.statement.version);
        let (newest, _) = watch::channel(newest.map(Arc::new));
        Self {
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

    /// What this replica makes of it.
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
        let Some(entry) = self.ledger.read(&key(NOW)).await? else {
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
            Err(why) => {
                tracing::warn!(%why, "what was to be applied to the cluster is refused; what holds goes on");
            }
        }
        Ok(())
    }

    /// What is newer than what holds; nothing where it is the same.
    fn judged(&self, value: &[u8], signers: &ApplyKeys) -> Result<Option<Signed>, NotApplied> {
        let new = signers.open(&opened(&self.keys, NOW, value)?)?;
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

    fn page(&self, name: &str, entry: &switchboard_ledger::Entry, signers: &ApplyKeys) -> Page {
        let bytes = opened(&self.keys, name, &entry.value);
        Page {
            revision: entry.revision,
            signed: bytes.and_then(|bytes| signers.open(&bytes)),
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
        if new.bytes.len() > limits::APPLIED {
            return Err(ApplyError::TooLarge(new.bytes.len()));
        }
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
mod tests {
    use super::*;
    use crate::cluster::signed::{ApplyKey, Statement};
    use switchboard_ledger::{Clock, Memory};

    struct Fleet {
        ledger: Arc<Memory>,
        cluster: String,
        key: ApplyKey,
        follower: Applied,
        book: AppliedBook,
    }

    fn keys(text: &str) -> ClusterKeys {
        ClusterKeys::read(text).unwrap()
    }

    fn signed(key: &ApplyKey, version: u64) -> Signed {
        let statement = Statement {
            version,
            ..Statement::default()
        };
        key.public().open(&key.sign(&statement)).unwrap()
    }

    impl Fleet {
        fn new() -> Self {
            let ledger = Arc::new(Memory::new(Clock::by_hand()));
            let cluster = ClusterKeys::make().unwrap();
            let (secret, _) = ApplyKey::make().unwrap();
            let key = ApplyKey::read(&secret).unwrap();
            Self {
                follower: Applied::new(
                    ledger.clone(),
                    Arc::new(keys(&cluster)),
                    Some(key.public()),
                    &[],
                ),
                book: AppliedBook::of(ledger.clone(), keys(&cluster)),
                ledger,
                cluster,
                key,
            }
        }

        async fn apply(&self, version: u64, key: &ApplyKey) {
            let now = self.book.now(&self.key.public()).await.unwrap();
            let put = self.book.put(now.as_ref(), &signed(key, version)).await;
            put.unwrap();
        }

        /// Puts something there that whoever runs NATS, or has a replica's key, could.
        async fn plant(&self, value: Bytes) {
            let found = self.ledger.read(&key(NOW)).await.unwrap().unwrap();
            let set = self
                .ledger
                .compare_and_set(&key(NOW), found.revision, value, None);
            set.await.unwrap().unwrap();
        }

        fn seal(&self, bytes: &[u8]) -> Bytes {
            sealed(&keys(&self.cluster), NOW, bytes).unwrap()
        }

        async fn holds(&self) -> Option<u64> {
            self.follower.look().await.unwrap();
            let newest = self.follower.newest();
            let newest = newest.borrow();
            newest.as_ref().map(|signed| signed.statement.version)
        }

        fn why(&self, value: &[u8]) -> NotApplied {
            let judged = self.follower.judged(value, &self.key.public());
            judged.unwrap_err()
        }
    }

    #[tokio::test]
    async fn only_what_is_signed_and_newer_is_followed() {
        let fleet = Fleet::new();
        assert_eq!(fleet.holds().await, None);
        fleet.apply(1, &fleet.key).await;
        assert_eq!(fleet.holds().await, Some(1));
        let first = fleet.ledger.read(&key(NOW)).await.unwrap().unwrap().value;
        fleet.apply(2, &fleet.key).await;
        assert_eq!(fleet.holds().await, Some(2));
        // An older one, as it was.
        let older = NotApplied::Older {
            version: 1,
            known: 2,
        };
        assert_eq!(fleet.why(&first), older);
        fleet.plant(first).await;
        assert_eq!(fleet.holds().await, Some(2));
        let three = Statement {
            version: 3,
            ..Statement::default()
        };
        let good = fleet.key.sign(&three);
        // Not sealed.
        assert_eq!(fleet.why(&good), NotApplied::Altered);
        // Sealed, and unsigned, altered, or signed by somebody else.
        let mut unsigned = good.clone();
        unsigned[33..97].fill(0);
        assert_eq!(fleet.why(&fleet.seal(&unsigned)), NotApplied::Unsigned);
        let mut altered = good.clone();
        let last = altered.len() - 3;
        altered[last] ^= 1;
        assert_eq!(fleet.why(&fleet.seal(&altered)), NotApplied::Forged);
        let (other, _) = ApplyKey::make().unwrap();
        let other = ApplyKey::read(&other).unwrap();
        let strange = fleet.seal(&other.sign(&three));
        assert!(matches!(fleet.why(&strange), NotApplied::Stranger(_)));
        let twice = Statement {
            version: 2,
            note: "another".into(),
            ..Statement::default()
        };
        let twice = fleet.seal(&fleet.key.sign(&twice));
        assert_eq!(fleet.why(&twice), NotApplied::Twice(2));
        for value in [unsigned, altered] {
            fleet.plant(fleet.seal(&value)).await;
            assert_eq!(fleet.holds().await, Some(2));
        }
        fleet.plant(fleet.seal(&good)).await;
        assert_eq!(fleet.holds().await, Some(3));
    }

    #[tokio::test]
    async fn a_replica_that_starts_again_knows_what_it_followed() {
        let fleet = Fleet::new();
        fleet.apply(1, &fleet.key).await;
        let first = fleet.ledger.read(&key(NOW)).await.unwrap().unwrap().value;
        fleet.apply(2, &fleet.key).await;
        assert_eq!(fleet.holds().await, Some(2));
        let kept = fleet.follower.newest().borrow().clone().unwrap();
        fleet.plant(first).await;
        let again = |signers| {
            let keys = Arc::new(keys(&fleet.cluster));
            let kept = [kept.bytes.clone()];
            Applied::new(fleet.ledger.clone(), keys, signers, &kept)
        };
        let replica = again(Some(fleet.key.public()));
        replica.look().await.unwrap();
        let version = |of: &Applied| {
            let newest = of.newest();
            let newest = newest.borrow();
            newest.as_ref().map(|signed| signed.statement.version)
        };
        assert_eq!(version(&replica), Some(2));
        // Who follows nobody follows nothing, whatever is there.
        let nobody = again(None);
        nobody.look().await.unwrap();
        assert_eq!(version(&nobody), None);
    }

    #[tokio::test]
    async fn so_many_are_kept_and_one_of_two_is_first() {
        let fleet = Fleet::new();
        let most = limits::APPLIED_KEPT as u64;
        for version in 1..=most + 5 {
            fleet.apply(version, &fleet.key).await;
        }
        let all = fleet.book.all(&fleet.key.public()).await.unwrap();
        let versions: Vec<u64> = all.iter().map(|one| one.statement.version).collect();
        let wanted: Vec<u64> = (6..=most + 5).rev().collect();
        assert_eq!(versions, wanted);
        let before = fleet.book.now(&fleet.key.public()).await.unwrap();
        fleet.apply(most + 6, &fleet.key).await;
        let mut late = signed(&fleet.key, most + 6);
        let put = fleet.book.put(before.as_ref(), &late).await;
        assert_eq!(put, Err(ApplyError::Overtaken));
        late.bytes = vec![0; limits::APPLIED + 1];
        let put = fleet.book.put(before.as_ref(), &late).await;
        assert!(matches!(put, Err(ApplyError::TooLarge(_))));
        // What somebody without a good key puts in its place loses nothing.
        let (other, _) = ApplyKey::make().unwrap();
        fleet
            .apply(most + 7, &ApplyKey::read(&other).unwrap())
            .await;
        let all = fleet.book.all(&fleet.key.public()).await.unwrap();
        assert_eq!(all[0].statement.version, most + 6);
        // Nor does it take a number away.
        fleet.apply(most + 7, &fleet.key).await;
        fleet.apply(most + 8, &fleet.key).await;
        let all = fleet.book.all(&fleet.key.public()).await.unwrap();
        assert_eq!(all[1].statement.version, most + 7);
    }
}
