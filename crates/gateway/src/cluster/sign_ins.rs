//! Sign-ins that all replicas have: sealed with what workers do not have, and changed by
//! one replica at a time. What is written carries the number of its writer's turn, so that
//! one that was paused in the middle of its turn overwrites nothing that came after it.

use super::{
    keys::ClusterKeys,
    news::News,
    turns::{NoTurn, Turns},
};
use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc, time::Duration};
use switchboard_auth::{Awaited, Fleet, FleetError, Turn, Versioned};
use switchboard_ledger::{Key, Ledger, LedgerError, Revision};
use zeroize::Zeroizing;

/// The space of sign-ins.
const SIGN_INS: &str = "sign-ins";

/// The form of what is kept: one byte for it, eight for the number of the writer's turn,
/// and the sign-in, or nothing where somebody has signed out.
const FORM: u8 = 1;

/// The sign-ins of a cluster.
#[derive(Clone, Debug)]
pub struct SignIns(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    ledger: Arc<dyn Ledger>,
    keys: Arc<ClusterKeys>,
    turns: Arc<Turns>,
    news: News,
    heard: Mutex<Heard>,
}

/// What was heard of, sealed as it is.
#[derive(Debug, Default)]
struct Heard {
    listens: bool,
    all: HashMap<String, (Bytes, Revision)>,
    /// Altered ones that were told of.
    told: HashMap<String, Revision>,
}

/// What is kept of one.
struct Kept {
    turn: Revision,
    text: Option<Zeroizing<Vec<u8>>>,
}

impl SignIns {
    /// Those that a ledger has, for whoever is no replica.
    pub fn of(ledger: Arc<dyn Ledger>, keys: ClusterKeys, holder: &str) -> Self {
        Self::new(ledger, Arc::new(keys), holder)
    }

    pub(super) fn new(ledger: Arc<dyn Ledger>, keys: Arc<ClusterKeys>, holder: &str) -> Self {
        Self(Arc::new(Shared {
            turns: Turns::new(ledger.clone(), keys.clone(), holder),
            news: News::new(ledger.clone()),
            ledger,
            keys,
            heard: Mutex::default(),
        }))
    }

    /// Looks at all of them.
    pub(super) async fn look(&self) -> Result<(), LedgerError> {
        let all = self.0.ledger.entries(SIGN_INS, limits::SIGN_INS).await?;
        for (name, entry) in &all {
            let _ = self.0.read(name, &entry.value, entry.revision);
        }
        let mut heard = self.0.heard.lock();
        heard.listens = true;
        heard
            .told
            .retain(|name, _| all.iter().any(|(known, _)| known == name));
        for (name, entry) in all {
            heard.note(name, entry.value, entry.revision);
        }
        Ok(())
    }

    /// Waits until nothing of it is under way.
    pub async fn settle(&self) {
        self.0.turns.settle().await;
    }
}

impl Heard {
    /// What is newer counts, in whatever order it is heard of.
    fn note(&mut self, name: String, value: Bytes, revision: Revision) {
        if self.all.len() >= limits::SIGN_INS && !self.all.contains_key(&name) {
            return;
        }
        let known = self.all.entry(name).or_insert((Bytes::new(), 0));
        if known.1 < revision {
            *known = (value, revision);
        }
    }
}

/// The name of a place; the place itself says which servers there are.
fn named(place: &str) -> String {
    let digest = crate::session::seal::digest_of([place.as_bytes()]);
    switchboard_local::hex(&digest.as_ref()[..16])
}

impl Shared {
    fn opened(&self, name: &str, sealed: &[u8]) -> Result<Kept, FleetError> {
        let opened = self.keys.reveal(sealed, &format!("{SIGN_INS} {name}"));
        let opened = Zeroizing::new(opened.ok_or(FleetError::Altered)?);
        let (form, rest) = opened.split_first().ok_or(FleetError::Altered)?;
        if *form != FORM {
            return Err(FleetError::Newer(*form));
        }
        let (turn, text) = rest.split_first_chunk().ok_or(FleetError::Altered)?;
        Ok(Kept {
            turn: Revision::from_be_bytes(*turn),
            text: (!text.is_empty()).then(|| Zeroizing::new(text.to_vec())),
        })
    }

    fn sealed(&self, name: &str, kept: &Kept) -> Result<Bytes, FleetError> {
        let text = kept.text.as_ref().map_or(&[][..], |text| text);
        let turn = kept.turn.to_be_bytes();
        let whole = Zeroizing::new([&[FORM][..], &turn, text].concat());
        let hidden = self.keys.hide(&whole, &format!("{SIGN_INS} {name}"));
        hidden.map(Bytes::from).ok_or(FleetError::NoKey)
    }

    fn note(&self, name: &str, value: Bytes, revision: Revision) {
        self.heard.lock().note(name.to_owned(), value, revision);
    }

    /// What an entry says. One that nobody of ours has written says nothing.
    fn read(
        &self,
        name: &str,
        sealed: &[u8],
        version: Revision,
    ) -> Result<Option<Versioned>, FleetError> {
        match self.opened(name, sealed) {
            Ok(kept) => Ok(kept.text.map(|text| (text, version))),
            Err(FleetError::Altered) => {
                let before = self.heard.lock().told.insert(name.to_owned(), version);
                if before != Some(version) {
                    tracing::warn!(
                        entry = name,
                        "what is kept of a sign-in was not written by a replica of this cluster: it is not believed"
                    );
                }
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }

    async fn save(
        &self,
        name: &str,
        text: Option<Zeroizing<Vec<u8>>>,
    ) -> Result<Revision, FleetError> {
        let turn = self.turns.number(name).ok_or(FleetError::Overtaken)?;
        let key = Key::new(SIGN_INS, name);
        let life = text.is_none().then_some(limits::SIGNED_OUT);
        let value = self.sealed(name, &Kept { turn, text })?;
        for _ in 0..limits::TURN_TRIES {
            let found = self.ledger.read(&key).await.map_err(unreached)?;
            let set = match found {
                None => self.ledger.create(&key, value.clone(), life),
                Some(entry) => {
                    match self.opened(name, &entry.value) {
                        Ok(kept) if kept.turn > turn => return Err(FleetError::Overtaken),
                        Ok(_) | Err(FleetError::Altered) => {}
                        Err(other) => return Err(other),
                    }
                    self.ledger
                        .compare_and_set(&key, entry.revision, value.clone(), life)
                }
            };
            if let Some(revision) = set.await.map_err(unreached)? {
                self.note(name, value, revision);
                self.news.tell().await;
                return Ok(revision);
            }
        }
        Err(FleetError::Overtaken)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is mapped over")]
fn unreached(fault: LedgerError) -> FleetError {
    FleetError::Store(fault.to_string())
}

impl Fleet for SignIns {
    fn load(&self, place: &str) -> Awaited<Option<Versioned>> {
        let (shared, name) = (self.0.clone(), named(place));
        Box::pin(async move {
            let found = shared.ledger.read(&Key::new(SIGN_INS, &name)).await;
            match found.map_err(unreached)? {
                Some(entry) => shared.read(&name, &entry.value, entry.revision),
                None => Ok(None),
            }
        })
    }

    fn heard(&self, place: &str) -> Option<Result<Option<Versioned>, FleetError>> {
        let name = named(place);
        let (value, revision) = {
            let heard = self.0.heard.lock();
            match heard.all.get(&name) {
                Some(found) => found.clone(),
                None => return heard.listens.then_some(Ok(None)),
            }
        };
        Some(self.0.read(&name, &value, revision))
    }

    fn version(&self, place: &str) -> Option<u64> {
        let heard = self.0.heard.lock();
        heard.all.get(&named(place)).map(|(_, revision)| *revision)
    }

    fn save(&self, place: &str, text: Option<Zeroizing<Vec<u8>>>) -> Awaited<u64> {
        let (shared, name) = (self.0.clone(), named(place));
        Box::pin(async move { shared.save(&name, text).await })
    }

    fn turn(&self, place: &str, limit: Duration) -> Awaited<Box<dyn Turn>> {
        let (turns, name) = (self.0.turns.clone(), named(place));
        Box::pin(async move {
            match turns.take(&name, limit).await {
                Ok(turn) => Ok(Box::new(turn) as Box<dyn Turn>),
                Err(NoTurn::Busy) => Err(FleetError::Busy(limit)),
                Err(NoTurn::Unknown(fault)) => Err(unreached(fault)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_auth::{FleetWay, TokenStore, Vault, VaultKey};
    use switchboard_ledger::{Clock, Faulty, Memory};

    const SOON: Duration = Duration::ZERO;

    fn text(said: &str) -> Option<Zeroizing<Vec<u8>>> {
        Some(Zeroizing::new(said.as_bytes().to_vec()))
    }

    fn said(found: Option<Versioned>) -> Option<String> {
        found.map(|(text, _)| String::from_utf8(text.to_vec()).unwrap())
    }

    fn of(ledger: &Arc<Memory>, key: &str, holder: &str) -> SignIns {
        SignIns::of(ledger.clone(), ClusterKeys::read(key).unwrap(), holder)
    }

    #[tokio::test]
    async fn one_at_a_time_changes_a_sign_in_and_one_that_was_away_changes_nothing_later() {
        let clock = Clock::by_hand();
        let ledger = Arc::new(Memory::new(clock.clone()));
        let key = ClusterKeys::make().unwrap();
        let (one, two) = (of(&ledger, &key, "one"), of(&ledger, &key, "two"));
        assert_eq!(
            one.save("docs", text("a")).await,
            Err(FleetError::Overtaken)
        );
        let first = one.turn("docs", SOON).await.unwrap();
        assert!(first.is_good());
        let version = one.save("docs", text("a")).await.unwrap();
        assert_eq!(one.version("docs"), Some(version));
        assert_eq!(
            two.turn("docs", SOON).await.unwrap_err(),
            FleetError::Busy(SOON)
        );
        assert_eq!(said(two.load("docs").await.unwrap()).as_deref(), Some("a"));
        // The first is away for longer than its turn lasts.
        clock.pass(limits::TURN_LIFE * 2);
        let second = two.turn("docs", SOON).await.unwrap();
        // Nobody has changed anything since: what it has is the newest.
        one.save("docs", text("b")).await.unwrap();
        two.save("docs", None).await.unwrap();
        let late = one.save("docs", text("c")).await;
        assert_eq!(late, Err(FleetError::Overtaken), "it was signed out of");
        assert_eq!(two.load("docs").await, Ok(None));
        one.look().await.unwrap();
        assert_eq!(one.heard("docs"), Some(Ok(None)));
        assert!(one.version("docs") > Some(version));
        drop((first, second));
        two.settle().await;
        assert!(two.turn("docs", SOON).await.is_ok());
    }

    /// Reading goes on with what was heard last. Whoever renews needs what is there now: an
    /// older refresh token is never shown again.
    #[tokio::test]
    async fn where_the_ledger_is_away_what_was_heard_is_read_and_nothing_is_renewed() {
        let memory = Arc::new(Memory::new(Clock::by_hand()));
        let ledger = Arc::new(Faulty::new(memory.clone()));
        let key = ClusterKeys::make().unwrap();
        let ours = SignIns::of(ledger.clone(), ClusterKeys::read(&key).unwrap(), "one");
        let folder = tempfile::tempdir().unwrap();
        let way = FleetWay::default();
        way.set(Arc::new(ours.clone()));
        let vault = Vault::open(folder.path(), TokenStore::File).shared(way);
        let place = VaultKey::server("docs", "");
        let turn = vault.lock(&place, SOON).await.unwrap();
        let record = switchboard_auth::Record {
            server: "docs".into(),
            ..Default::default()
        };
        vault.save(&place, &record).await.unwrap();
        ours.look().await.unwrap();
        ledger.is_away(true);
        let seen = |found: Option<switchboard_auth::Record>| found.map(|record| record.server);
        assert!(vault.load(&place).await.is_err());
        assert!(vault.lock(&place, SOON).await.is_err());
        for found in [vault.look(&place).await, vault.glance(&place).await] {
            assert_eq!(seen(found.unwrap()).as_deref(), Some("docs"));
        }
        // One that has heard of nothing yet reaches servers all the same.
        let deaf = SignIns::of(ledger.clone(), ClusterKeys::read(&key).unwrap(), "two");
        let way = FleetWay::default();
        way.set(Arc::new(deaf));
        let other = Vault::open(folder.path(), TokenStore::File).shared(way);
        assert_eq!(seen(other.glance(&place).await.unwrap()), None);
        assert!(other.load(&place).await.is_err());
        ledger.is_away(false);
        assert_eq!(
            seen(vault.load(&place).await.unwrap()).as_deref(),
            Some("docs")
        );
        drop(turn);
    }

    #[tokio::test]
    async fn what_no_replica_wrote_is_not_believed_and_a_newer_form_is_left_alone() {
        let ledger = Arc::new(Memory::new(Clock::by_hand()));
        let key = ClusterKeys::make().unwrap();
        let ours = of(&ledger, &key, "one");
        let turn = ours.turn("docs", SOON).await.unwrap();
        let version = ours.save("docs", text("a")).await.unwrap();
        let place = Key::new(SIGN_INS, named("docs"));
        let written = ledger.read(&place).await.unwrap().unwrap().value;
        assert!(!written.windows(4).any(|part| part == b"docs"));
        // A worker's key opens none.
        let workers = ClusterKeys::for_workers(&key).unwrap();
        let worker = of(&ledger, &workers, "worker");
        assert_eq!(worker.load("docs").await, Ok(None));
        // One that was put in the place of another is none.
        let other = Key::new(SIGN_INS, named("mail"));
        ledger.create(&other, written, None).await.unwrap();
        assert_eq!(ours.load("mail").await, Ok(None));
        // What a newer version wrote is neither read nor overwritten.
        let next = ours
            .0
            .keys
            .hide(&[2; 20], &format!("{SIGN_INS} {}", named("docs")));
        let next = Bytes::from(next.unwrap());
        ledger
            .compare_and_set(&place, version, next, None)
            .await
            .unwrap();
        assert_eq!(ours.load("docs").await, Err(FleetError::Newer(2)));
        let late = ours.save("docs", text("b")).await;
        assert_eq!(late, Err(FleetError::Newer(2)));
        drop(turn);
    }
}
