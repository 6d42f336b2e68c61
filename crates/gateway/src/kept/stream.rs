//! Events of streams that can be resumed, as they are kept: what is owed first, then
//! each event, at last the answer. Notices are written a moment later, together;
//! whatever a client relies on is written before it sees it.

use super::Hold;
use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use switchboard_ledger::{Keep, Ledger, LedgerError};
use switchboard_tasks as tasks;
use tokio::sync::Notify;

/// How long a stream is kept: for a while after its end, and as long as a session while
/// it goes on, since a call may be silent for long.
fn keep(is_over: bool) -> Keep {
    Keep {
        items: limits::STREAM_LINES as u64,
        life: match is_over {
            true => limits::STREAM_KEPT,
            false => limits::SESSION_IDLE,
        },
    }
}

/// One thing that is written of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    /// It is there: by whom it is written, and the ids of the requests, as their clients
    /// wrote them, whose answers are owed.
    Opened(Opened),
    /// An event.
    Event { number: u64, text: String },
    /// The last event.
    Last { number: u64, text: String },
}

/// The begin of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Opened {
    /// The process that writes it.
    pub by: String,
    /// Whose answers are owed, as JSON.
    pub owed: Vec<String>,
}

/// What was written of a stream.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub opened: Option<Opened>,
    /// Events in the order of their numbers, each once.
    pub events: Vec<(u64, String)>,
    /// Whether the last of them is the answer.
    pub is_whole: bool,
}

/// Writes the events of one session.
impl Hold {
    /// A stream that can be resumed begins; whether that is on disk. By itself, and not with
    /// what waits: somebody else may be writing that already.
    pub(crate) async fn opens(&self, stream: u64, owed: Vec<String>) -> bool {
        let by = self.owner().to_owned();
        let Some(line) = self.sealed(&Line::Opened(Opened { by, owed })) else {
            return false;
        };
        let name = self.secret.stream(stream);
        let writing = self.behind().ledger.append(&name, vec![line], keep(false));
        match tokio::time::timeout(limits::EVENT_WRITTEN, writing).await {
            Ok(Ok(_)) => true,
            Ok(Err(fault)) => {
                tracing::warn!(%fault, "that a stream begins could not be kept: its client is told what it needs to come back");
                false
            }
            Err(_) => false,
        }
    }

    /// An event.
    pub(crate) fn event(&self, stream: u64, number: u64, text: String) {
        self.later(stream, &Line::Event { number, text });
    }

    /// The last event.
    pub(crate) fn last(&self, stream: u64, number: u64, text: String) {
        self.later(stream, &Line::Last { number, text });
    }

    /// Waits until all of it is on disk, or until that has taken too long.
    pub(crate) async fn written(&self) {
        let _ = tokio::time::timeout(limits::EVENT_WRITTEN, self.behind().flush_all()).await;
    }

    fn later(&self, stream: u64, line: &Line) {
        let Some(sealed) = self.sealed(line) else {
            return;
        };
        let is_last = matches!(line, Line::Last { .. });
        self.behind()
            .add(self.secret.stream(stream), sealed, is_last);
    }

    /// A line as it is written: only who has the session's secret can read it.
    fn sealed(&self, line: &Line) -> Option<Bytes> {
        let text = serde_json::to_vec(line).ok()?;
        Some(self.secret.close(&text))
    }

    /// What is written of a stream, if anything is.
    pub(crate) async fn stored(&self, stream: u64) -> Result<Option<Stored>, LedgerError> {
        self.behind().flush_all().await;
        let name = self.secret.stream(stream);
        let ledger = &self.behind().ledger;
        let items = ledger.read_from(&name, 0, limits::STREAM_LINES).await?;
        if items.is_empty() {
            return Ok(None);
        }
        let mut stored = Stored::default();
        for item in items {
            let Some(text) = self.secret.open(&item.value) else {
                return Ok(None);
            };
            let Ok(line) = serde_json::from_slice(&text) else {
                tracing::warn!(
                    "an event was written by a newer version, which this one does not understand: it is passed by"
                );
                continue;
            };
            match line {
                Line::Opened(opened) => stored.opened = Some(opened),
                Line::Event { number, text } => stored.events.push((number, text)),
                Line::Last { number, text } => {
                    stored.events.push((number, text));
                    stored.is_whole = true;
                }
            }
        }
        // What had to be written again may be there twice, and behind what came later; and two
        // lives may have written at the same time, for a moment.
        stored.events.sort_by_key(|(number, _)| *number);
        stored.events.dedup_by_key(|(number, _)| *number);
        Ok(Some(stored))
    }
}

/// What waits to be written, of all sessions.
pub(super) struct Behind {
    ledger: Arc<dyn Ledger>,
    waiting: Mutex<Waiting>,
    /// Told whenever some of it has been written.
    over: Notify,
}

#[derive(Default)]
struct Waiting {
    streams: BTreeMap<String, Lines>,
    /// All that waits, and all that is being written.
    bytes: usize,
    /// Whether somebody will write it.
    is_due: bool,
    /// How often somebody has begun to write, and which of those have not ended.
    begun: u64,
    under_way: BTreeSet<u64>,
}

/// Lines of one stream.
#[derive(Default)]
struct Lines {
    lines: Vec<Bytes>,
    /// Whether the stream's last is among them.
    is_over: bool,
    /// How often they could not be written.
    tries: usize,
}

impl Behind {
    pub(super) fn new(ledger: Arc<dyn Ledger>) -> Arc<Self> {
        Arc::new(Self {
            ledger,
            waiting: Mutex::default(),
            over: Notify::new(),
        })
    }

    /// Adds a line, unless too much waits: then it is not kept.
    fn add(self: &Arc<Self>, stream: String, line: Bytes, is_last: bool) {
        let mut waiting = self.waiting.lock();
        if waiting.bytes + line.len() > limits::EVENTS_BEHIND {
            return;
        }
        waiting.bytes += line.len();
        let of = waiting.streams.entry(stream).or_default();
        of.lines.push(line);
        of.is_over |= is_last;
        self.is_due(&mut waiting, limits::EVENTS_TOGETHER);
    }

    /// Somebody will write what waits.
    fn is_due(self: &Arc<Self>, waiting: &mut Waiting, soon: Duration) {
        if !std::mem::replace(&mut waiting.is_due, true) {
            let behind = self.clone();
            tasks::spawn(tasks::Kind::Background, async move {
                tokio::time::sleep(soon).await;
                behind.flush().await;
            });
        }
    }

    /// Writes all that waits, and waits for those who write already.
    pub(super) async fn flush_all(self: &Arc<Self>) {
        self.flush().await;
        let begun = self.waiting.lock().begun;
        loop {
            let over = self.over.notified();
            tokio::pin!(over);
            over.as_mut().enable();
            let oldest = self.waiting.lock().under_way.first().copied();
            if oldest.is_none_or(|oldest| oldest > begun) {
                return;
            }
            over.await;
        }
    }

    /// Writes all that waits. Lines of one stream stay in their order: they stand in
    /// the ledger's line before anybody is waited for.
    async fn flush(self: &Arc<Self>) {
        let mut writing = Vec::new();
        let mut under_way = {
            let mut waiting = self.waiting.lock();
            waiting.is_due = false;
            if waiting.streams.is_empty() {
                return;
            }
            waiting.begun += 1;
            let number = waiting.begun;
            waiting.under_way.insert(number);
            let mut bytes = 0;
            for (stream, of) in std::mem::take(&mut waiting.streams) {
                bytes += of.bytes();
                let written = self
                    .ledger
                    .append(&stream, of.lines.clone(), keep(of.is_over));
                writing.push((stream, of, written));
            }
            UnderWay {
                behind: self.clone(),
                number,
                bytes,
            }
        };
        for (stream, of, written) in writing {
            if let Err(fault) = written.await {
                self.failed(&mut under_way, stream, of, &fault);
            }
        }
    }

    /// What could not be written is written again, a few times: whoever keeps it may only be
    /// looking for a leader.
    fn failed(
        self: &Arc<Self>,
        under_way: &mut UnderWay,
        stream: String,
        of: Lines,
        fault: &LedgerError,
    ) {
        let may_pass = matches!(fault, LedgerError::Busy | LedgerError::Storage(_));
        if !may_pass || of.tries >= limits::EVENTS_TRIES {
            tracing::warn!(%fault, "events of a stream could not be kept");
            return;
        }
        under_way.bytes -= of.bytes();
        let mut waiting = self.waiting.lock();
        let later = waiting.streams.entry(stream).or_default();
        later.lines.splice(..0, of.lines);
        later.is_over |= of.is_over;
        later.tries = of.tries + 1;
        self.is_due(&mut waiting, limits::EVENTS_AGAIN);
    }
}

#[cfg(test)]
impl Behind {
    /// Bytes that wait.
    pub(super) fn waits(&self) -> usize {
        self.waiting.lock().bytes
    }
}

impl Lines {
    fn bytes(&self) -> usize {
        self.lines.iter().map(Bytes::len).sum()
    }
}

/// Lines that are being written: their bytes count until that is over or nobody waits for it.
struct UnderWay {
    behind: Arc<Behind>,
    number: u64,
    bytes: usize,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut waiting = self.behind.waiting.lock();
        waiting.bytes -= self.bytes;
        waiting.under_way.remove(&self.number);
        drop(waiting);
        self.behind.over.notify_waiters();
    }
}
