//! What all replicas have recorded, for commands: read in the order of time, and checked.

use super::{ClusterError, Store, whole_keys};
use std::{collections::VecDeque, path::Path, sync::Arc};
use switchboard_gateway::{RecordChain, RecordHead, Records};
use switchboard_ledger::{Joining, LedgerError, Nats};
use switchboard_record::audit::{Checking, Verified};

/// What was recorded by all replicas.
#[derive(Debug)]
pub struct Recorded {
    records: Records,
    ledger: Arc<Nats>,
}

/// One chain, and what was found.
#[derive(Debug)]
pub struct Checked {
    /// Which.
    pub chain: String,
    /// The replica that wrote it last; nothing where nobody of ours has said how far it goes.
    pub replica: Option<String>,
    /// Whether it was begun anew since, because it was not what it had been.
    pub was_left: bool,
    /// Pieces of it that nobody of ours has written.
    pub foreign: u64,
    /// What was found.
    pub verified: Verified,
}

impl Checked {
    /// Whether nothing is wrong with it.
    pub fn is_whole(&self) -> bool {
        let known = self.replica.is_some() && !self.was_left;
        known && self.foreign == 0 && self.verified.problem_count == 0
    }
}

/// A chain that is read.
struct Reading {
    chain: RecordChain,
    replica: Arc<str>,
    pieces: VecDeque<u64>,
    /// Whether there may be more of them.
    has_more: bool,
    lines: VecDeque<Vec<u8>>,
}

impl Recorded {
    /// Opens it.
    pub async fn open(store: &Store, key: &Path) -> Result<Self, ClusterError> {
        let keys = whole_keys(key)?;
        let ledger = Nats::join(store, Joining::Now).await;
        let ledger = Arc::new(ledger.map_err(ClusterError::Store)?);
        Ok(Self {
            records: Records::of(ledger.clone(), keys),
            ledger,
        })
    }

    fn fault(&self, fault: LedgerError) -> ClusterError {
        ClusterError::Store(self.ledger.told(fault))
    }

    async fn heads(&self) -> Result<Vec<(RecordChain, Option<RecordHead>)>, ClusterError> {
        let heads = self.records.heads().await;
        heads.map_err(|fault| self.fault(fault))
    }

    /// Every record with the replica that wrote it, the oldest first, until `each` says that
    /// it is enough.
    pub async fn read(
        &self,
        mut each: impl FnMut(&str, &[u8]) -> bool,
    ) -> Result<(), ClusterError> {
        let heads = self.heads().await?.into_iter();
        let readings = heads.map(|(chain, head)| Reading {
            chain,
            replica: head.map_or("?".into(), |head| head.replica.into()),
            pieces: VecDeque::new(),
            has_more: true,
            lines: VecDeque::new(),
        });
        let mut readings: Vec<Reading> = readings.collect();
        loop {
            for reading in &mut readings {
                self.fill(reading).await?;
            }
            readings.retain(|reading| !reading.lines.is_empty());
            let first = readings
                .iter_mut()
                .min_by(|one, other| time_of(one).cmp(&time_of(other)));
            let Some(first) = first else { return Ok(()) };
            let Some(line) = first.lines.pop_front() else {
                return Ok(());
            };
            if !each(&first.replica, &line) {
                return Ok(());
            }
        }
    }

    /// Sees to it that there is a next line, if there is one.
    async fn fill(&self, reading: &mut Reading) -> Result<(), ClusterError> {
        while reading.lines.is_empty() {
            let Some(from) = self.next(reading).await? else {
                return Ok(());
            };
            let text = self.records.piece(&reading.chain, from).await;
            let text = text.map_err(|fault| self.fault(fault))?.unwrap_or_default();
            let lines = text.split(|byte| *byte == b'\n');
            let lines = lines.filter(|line| !line.is_empty());
            reading.lines.extend(lines.map(<[u8]>::to_vec));
        }
        Ok(())
    }

    /// The next piece.
    async fn next(&self, reading: &mut Reading) -> Result<Option<u64>, ClusterError> {
        if reading.pieces.is_empty() && reading.has_more {
            self.list(reading, 0).await?;
        }
        let next = reading.pieces.pop_front();
        if let Some(last) = next
            && reading.pieces.is_empty()
            && reading.has_more
        {
            self.list(reading, last + 1).await?;
        }
        Ok(next)
    }

    async fn list(&self, reading: &mut Reading, from: u64) -> Result<(), ClusterError> {
        let listed = self.records.pieces(&reading.chain, from).await;
        reading.pieces = listed.map_err(|fault| self.fault(fault))?.into();
        reading.has_more = !reading.pieces.is_empty();
        Ok(())
    }

    /// Looks at all chains: whether each is all there, unchanged and in order.
    pub async fn verify(&self) -> Result<Vec<Checked>, ClusterError> {
        let heads = self.heads().await?;
        let mut all = Vec::with_capacity(heads.len());
        for (chain, head) in &heads {
            let is_newer = |other: &RecordChain| other.name == chain.name && other > chain;
            let was_left = heads.iter().any(|(other, _)| is_newer(other));
            let (count, hash) = head
                .as_ref()
                .map_or((0, ""), |head| (head.count, head.hash.as_str()));
            let mut checking = Checking::of(count, hash);
            let mut foreign = 0;
            let mut reading = Reading {
                chain: chain.clone(),
                replica: "".into(),
                pieces: VecDeque::new(),
                has_more: true,
                lines: VecDeque::new(),
            };
            while let Some(from) = self.next(&mut reading).await? {
                let text = self.records.piece(chain, from).await;
                match text.map_err(|fault| self.fault(fault))? {
                    Some(text) => checking.lines(&text, &format!("{chain}, from {from} on")),
                    None => foreign += 1,
                }
            }
            all.push(Checked {
                chain: chain.to_string(),
                replica: head.as_ref().map(|head| head.replica.clone()),
                was_left,
                foreign,
                verified: checking.end(),
            });
        }
        Ok(all)
    }
}

/// When the next record of a chain was written, as it says.
fn time_of(reading: &Reading) -> Option<&[u8]> {
    let line = reading.lines.front()?;
    let key = br#","time":""#;
    let at = line.windows(key.len()).position(|part| part == key)?;
    let text = &line[at + key.len()..];
    let end = text.iter().position(|byte| *byte == b'"')?;
    Some(&text[..end])
}
