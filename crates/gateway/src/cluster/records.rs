//! What replicas have recorded of calls, kept where all of them have it: pieces of each one's
//! chain as it wrote them, and how far that chain has come. Whoever cuts or alters the record
//! of one machine cannot do the same here without being seen by the others.

use super::keys::ClusterKeys;
use crate::{forms::RECORD_HEAD as FORM, limits};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use switchboard_ledger::{Key, Ledger, LedgerError, Revision};

/// The space of how far chains have come.
const HEADS: &str = "audits";
/// What stands before the names of chains where their pieces are.
const PIECES: &str = "audit/";

/// How far a chain has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordHead {
    /// The form of this.
    form: u8,
    /// Which replica wrote it last.
    pub replica: String,
    /// The number of the last record.
    pub count: u64,
    /// Its hash.
    pub hash: String,
    /// When this was written, in seconds since 1970.
    pub time: u64,
    /// Bytes of its records that are kept, about.
    #[serde(default)]
    bytes: u64,
}

/// A chain of records as it is kept here: whose it is, and which time it began. One that is
/// not what it was here begins anew under another name, so that what it was stays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chain {
    /// What the chain is called.
    pub name: String,
    /// Which time it began.
    pub time: u32,
}

impl Chain {
    fn of(text: &str) -> Option<Self> {
        let (name, time) = text.rsplit_once('-')?;
        Some(Self {
            name: name.to_owned(),
            time: time.parse().ok()?,
        })
    }

    /// The same, begun anew.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self {
            name: self.name.clone(),
            time: self.time.saturating_add(1),
        }
    }

    fn pieces(&self) -> String {
        format!("{PIECES}{self}")
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.name, self.time)
    }
}

/// Some records of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPiece {
    /// The number of the first.
    pub from: u64,
    /// The number of the last.
    pub to: u64,
    /// The hash of the last.
    pub hash: String,
    /// Their lines.
    pub text: Vec<u8>,
}

/// Where a chain is, for whoever adds to it.
#[derive(Clone, Debug, Default)]
pub struct RecordPlace {
    revision: Option<Revision>,
    /// What is said of it; nothing where it begins, or nobody of ours has written it.
    pub head: Option<RecordHead>,
}

/// What was recorded, in the ledger that replicas share.
#[derive(Clone, Debug)]
pub struct Records {
    ledger: Arc<dyn Ledger>,
    keys: Arc<ClusterKeys>,
    replica: String,
    /// Bytes of a chain that are kept.
    room: u64,
}

/// How a chain is not what it was when it was last looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortened {
    /// Which.
    pub chain: Chain,
    /// The replica that wrote it last.
    pub replica: String,
    /// How far it was.
    pub was: u64,
    /// How far it is; nothing where it is gone.
    pub is: Option<u64>,
}

impl Records {
    pub(super) fn new(ledger: Arc<dyn Ledger>, keys: Arc<ClusterKeys>, replica: &str) -> Self {
        let replica = replica.to_owned();
        Self {
            ledger,
            keys,
            replica,
            room: limits::RECORDS_BYTES,
        }
    }

    /// The same for a command.
    pub fn of(ledger: Arc<dyn Ledger>, keys: ClusterKeys) -> Self {
        Self::new(ledger, Arc::new(keys), "a command")
    }

    /// How far all chains have come. Nothing is known of one that nobody of ours has written.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn heads(&self) -> Result<Vec<(Chain, Option<RecordHead>)>, LedgerError> {
        let all = self.ledger.entries(HEADS, limits::RECORD_CHAINS).await?;
        let all = all.into_iter().filter_map(|(name, entry)| {
            let head = self.opened(&name, &entry.value).ok()?;
            Some((Chain::of(&name)?, head))
        });
        Ok(all.collect())
    }

    /// Where one is.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn place(&self, chain: &Chain) -> Result<RecordPlace, LedgerError> {
        let name = chain.to_string();
        let found = self.ledger.read(&Key::new(HEADS, &name)).await?;
        let Some(entry) = found else {
            return Ok(RecordPlace::default());
        };
        Ok(RecordPlace {
            revision: Some(entry.revision),
            head: self.opened(&name, &entry.value)?,
        })
    }

    /// Adds to a chain what comes next. Nothing where somebody else did meanwhile.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn add(
        &self,
        chain: &Chain,
        place: &RecordPlace,
        piece: &RecordPiece,
    ) -> Result<Option<RecordPlace>, LedgerError> {
        let name = numbered(piece.from);
        let key = Key::new(chain.pieces(), &name);
        let sealed = self.keys.hide(&piece.text, &bound(chain, &name));
        let sealed = Bytes::from(sealed.ok_or(LedgerError::Gone)?);
        let life = Some(limits::RECORDS_LIFE);
        let made = self.ledger.create(&key, sealed.clone(), life).await?;
        if made.is_none() {
            // Written before, by somebody who ended before the head was.
            if let Some(found) = self.ledger.read(&key).await? {
                let set = self
                    .ledger
                    .compare_and_set(&key, found.revision, sealed, life);
                set.await?;
            }
        }
        let kept = place.head.as_ref().map_or(0, |head| head.bytes);
        let kept = kept.saturating_add(piece.text.len() as u64);
        let head = RecordHead {
            count: piece.to,
            hash: piece.hash.clone(),
            bytes: self.make_room(chain, kept).await?,
            ..RecordHead::default()
        };
        self.say(chain, place, head).await
    }

    /// Of a chain that has grown too large the oldest go, so that nobody's record fills what
    /// sessions need as well; how many bytes it has then.
    async fn make_room(&self, chain: &Chain, mut kept: u64) -> Result<u64, LedgerError> {
        if kept <= self.room {
            return Ok(kept);
        }
        for from in self.pieces(chain, 0).await? {
            // More at once, so that it need not be done for each.
            if kept <= self.room / 4 * 3 {
                break;
            }
            let key = Key::new(chain.pieces(), numbered(from));
            if let Some(found) = self.ledger.read(&key).await? {
                self.ledger.remove(&key, Some(found.revision)).await?;
                kept = kept.saturating_sub(found.value.len() as u64);
            }
        }
        Ok(kept)
    }

    /// Says again how far a chain has come, so that it is kept.
    ///
    /// # Errors
    /// When it cannot be written.
    pub async fn say_again(
        &self,
        chain: &Chain,
        place: &RecordPlace,
    ) -> Result<Option<RecordPlace>, LedgerError> {
        match place.head.clone() {
            Some(head) => self.say(chain, place, head).await,
            None => Ok(None),
        }
    }

    async fn say(
        &self,
        chain: &Chain,
        place: &RecordPlace,
        head: RecordHead,
    ) -> Result<Option<RecordPlace>, LedgerError> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let head = RecordHead {
            form: FORM,
            replica: self.replica.clone(),
            time: since.map_or(0, |since| since.as_secs()),
            ..head
        };
        let name = chain.to_string();
        let text = serde_json::to_vec(&head).unwrap_or_default();
        let sealed = self.keys.hide(&text, &format!("{HEADS} {name}"));
        let sealed = Bytes::from(sealed.ok_or(LedgerError::Gone)?);
        let (key, life) = (Key::new(HEADS, &name), Some(limits::RECORDS_LIFE));
        let revision = match place.revision {
            Some(before) => {
                let set = self.ledger.compare_and_set(&key, before, sealed, life);
                set.await?
            }
            None => self.ledger.create(&key, sealed, life).await?,
        };
        Ok(revision.map(|revision| RecordPlace {
            revision: Some(revision),
            head: Some(head),
        }))
    }

    /// What is said of a chain; nothing where nobody of ours has said it. What a newer version
    /// says is left alone.
    fn opened(&self, name: &str, value: &[u8]) -> Result<Option<RecordHead>, LedgerError> {
        #[derive(Deserialize)]
        struct Form {
            form: u8,
        }
        let text = self.keys.reveal(value, &format!("{HEADS} {name}"));
        let Some(text) = text else { return Ok(None) };
        match serde_json::from_slice::<Form>(&text) {
            Ok(Form { form }) if form > FORM => {
                let why = "a newer version has written it, which this one does not understand";
                Err(LedgerError::Storage(why.to_owned()))
            }
            _ => Ok(serde_json::from_slice(&text).ok()),
        }
    }

    /// The first numbers of the pieces of a chain that are kept, from this one on.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn pieces(&self, chain: &Chain, from: u64) -> Result<Vec<u64>, LedgerError> {
        let after = from.checked_sub(1).map(numbered).unwrap_or_default();
        let listed = self
            .ledger
            .list(&chain.pieces(), &after, limits::RECORD_PIECES);
        let listed = listed.await?.into_iter();
        Ok(listed.filter_map(|(name, _)| name.parse().ok()).collect())
    }

    /// The lines of one; nothing where it is gone, or nobody of ours has written it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn piece(&self, chain: &Chain, from: u64) -> Result<Option<Vec<u8>>, LedgerError> {
        let name = numbered(from);
        let found = self.ledger.read(&Key::new(chain.pieces(), &name)).await?;
        Ok(found.and_then(|entry| self.keys.reveal(&entry.value, &bound(chain, &name))))
    }

    /// Looks how far all chains are, and says of which that is less than it was, or something
    /// else.
    ///
    /// # Errors
    /// When they cannot be read.
    pub async fn shortened(
        &self,
        known: &mut HashMap<Chain, RecordHead>,
    ) -> Result<Vec<Shortened>, LedgerError> {
        let now: HashMap<Chain, Option<RecordHead>> = self.heads().await?.into_iter().collect();
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.map_or(0, |since| since.as_secs());
        let mut found = Vec::new();
        for (chain, was) in &*known {
            let is = now.get(chain).and_then(Option::as_ref);
            let is_shorter = match is {
                Some(is) => is.count < was.count || (is.count == was.count && is.hash != was.hash),
                // What nobody has said again for so long has ended by itself.
                None => since.saturating_sub(was.time) < limits::RECORDS_LIFE.as_secs(),
            };
            if is_shorter {
                found.push(Shortened {
                    chain: chain.clone(),
                    replica: was.replica.clone(),
                    was: was.count,
                    is: is.map(|is| is.count),
                });
            }
        }
        let now = now
            .into_iter()
            .filter_map(|(chain, head)| Some((chain, head?)));
        *known = now.collect();
        Ok(found)
    }
}

/// A number as a name: names are in the order of their numbers.
fn numbered(from: u64) -> String {
    format!("{from:020}")
}

fn bound(chain: &Chain, name: &str) -> String {
    format!("{PIECES}{chain} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_ledger::{Clock, Memory};

    fn piece(from: u64, to: u64) -> RecordPiece {
        let lines = (from..=to).map(|n| format!("{{\"n\":{n}}}\n"));
        RecordPiece {
            from,
            to,
            hash: format!("hash of {to}"),
            text: lines.collect::<String>().into_bytes(),
        }
    }

    #[tokio::test]
    async fn what_was_added_is_there_and_a_cut_is_noticed_by_others() {
        let ledger = Arc::new(Memory::new(Clock::by_hand()));
        let key = ClusterKeys::make().unwrap();
        let keys = || Arc::new(ClusterKeys::read(&key).unwrap());
        let one = Records::new(ledger.clone(), keys(), "r1");
        let two = Records::new(ledger.clone(), keys(), "r2");
        let chain = Chain {
            name: "ab12".into(),
            time: 0,
        };
        let mut known = HashMap::new();
        let start = one.place(&chain).await.unwrap();
        assert!(start.head.is_none());
        let next = one.add(&chain, &start, &piece(1, 3)).await.unwrap();
        // Whoever is behind is told.
        let late = two.add(&chain, &start, &piece(1, 2)).await.unwrap();
        assert!(late.is_none());
        let next = next.unwrap();
        one.add(&chain, &next, &piece(4, 9)).await.unwrap().unwrap();
        assert!(two.shortened(&mut known).await.unwrap().is_empty());
        assert_eq!(two.pieces(&chain, 0).await.unwrap(), [1, 4]);
        assert_eq!(two.pieces(&chain, 2).await.unwrap(), [4]);
        let text = two.piece(&chain, 4).await.unwrap().unwrap();
        assert_eq!(text, piece(4, 9).text);
        // Somebody with the cluster's key puts it back; the others remember.
        let place = one.place(&chain).await.unwrap();
        assert_eq!(place.head.as_ref().unwrap().count, 9);
        one.add(&chain, &place, &piece(4, 5)).await.unwrap();
        let found = two.shortened(&mut known).await.unwrap();
        assert_eq!((found[0].was, found[0].is), (9, Some(5)));
        assert_eq!(found[0].replica, "r1");
        assert!(two.shortened(&mut known).await.unwrap().is_empty(), "once");
        // Or takes it away.
        let name = Key::new(HEADS, chain.to_string());
        ledger.remove(&name, None).await.unwrap();
        let found = two.shortened(&mut known).await.unwrap();
        assert_eq!((found[0].was, found[0].is), (5, None));
        // What nobody of ours has written says nothing.
        let place = Key::new(chain.pieces(), numbered(4));
        let there = ledger.read(&place).await.unwrap().unwrap();
        let set = ledger.compare_and_set(&place, there.revision, "x".into(), None);
        set.await.unwrap();
        assert_eq!(two.piece(&chain, 4).await.unwrap(), None);
        // What a newer version has said is left alone, by whoever looks and by whoever adds.
        let place = one.place(&chain).await.unwrap();
        let newer = format!(r#"{{"form":{},"count":"many"}}"#, FORM + 1);
        let name = chain.to_string();
        let newer = one.keys.hide(newer.as_bytes(), &format!("{HEADS} {name}"));
        let head = Key::new(HEADS, &name);
        let made = ledger.create(&head, newer.unwrap().into(), None);
        made.await.unwrap().unwrap();
        assert!(two.heads().await.unwrap().is_empty());
        assert!(two.place(&chain).await.is_err());
        let added = two.add(&chain, &place, &piece(10, 11)).await;
        assert!(added.unwrap().is_none());
        // A worker can neither read nor write it.
        let theirs = ClusterKeys::for_workers(&key).unwrap();
        let theirs = Records::of(ledger.clone(), ClusterKeys::read(&theirs).unwrap());
        assert_eq!(theirs.piece(&chain, 1).await.unwrap(), None);
        assert!(theirs.add(&chain, &start, &piece(1, 1)).await.is_err());
    }

    #[tokio::test]
    async fn the_oldest_give_way_where_a_chain_grows_too_large() {
        let ledger = Arc::new(Memory::new(Clock::by_hand()));
        let keys = ClusterKeys::read(&ClusterKeys::make().unwrap()).unwrap();
        let mut records = Records::of(ledger, keys);
        records.room = 8000;
        let chain = Chain {
            name: "ab12".into(),
            time: 0,
        };
        let mut place = RecordPlace::default();
        for number in 1..=20 {
            let piece = RecordPiece {
                text: vec![b' '; 1000],
                ..piece(number, number)
            };
            let added = records.add(&chain, &place, &piece).await.unwrap();
            place = added.unwrap();
            let kept = records.pieces(&chain, 0).await.unwrap();
            assert!(kept.len() <= 9, "{kept:?}");
            assert_eq!(kept.last(), Some(&number), "the newest stays");
        }
        assert_eq!(place.head.unwrap().count, 20);
    }
}
