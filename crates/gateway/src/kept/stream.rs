//! Events of streams that can be resumed, as they are kept: what is owed first, then
//! each event, at last the answer. Notices are written a moment later, together;
//! whatever a client relies on is written before it sees it.

use super::Hold;
use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};
use switchboard_ledger::{Keep, Ledger, LedgerError};
use switchboard_tasks as tasks;

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
    /// Events by number.
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
        let line = Line::Opened(Opened { by, owed });
        let Ok(text) = serde_json::to_vec(&line) else {
            return false;
        };
        let (name, sealed) = (self.secret.stream(stream), self.secret.close(&text));
        let writing = self
            .behind()
            .ledger
            .append(&name, vec![sealed], keep(false));
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
        let _ = tokio::time::timeout(limits::EVENT_WRITTEN, self.behind().flush()).await;
    }

    fn later(&self, stream: u64, line: &Line) {
        let Ok(text) = serde_json::to_vec(line) else {
            return;
        };
        let sealed = self.secret.close(&text);
        let is_last = matches!(line, Line::Last { .. });
        self.behind()
            .add(self.secret.stream(stream), sealed, is_last);
    }

    /// What is written of a stream, if anything is. That it cannot be read says nothing of that.
    pub(crate) async fn stored(&self, stream: u64) -> Result<Option<Stored>, LedgerError> {
        self.behind().flush().await;
        let name = self.secret.stream(stream);
        let ledger = &self.behind().ledger;
        let read = ledger.read_from(&name, 0, limits::STREAM_LINES);
        let items = read.await?;
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
        Ok(Some(stored))
    }
}

/// What waits to be written, of all sessions.
pub(super) struct Behind {
    ledger: Arc<dyn Ledger>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// Lines of streams, and whether a stream's last is among them.
    streams: BTreeMap<String, (Vec<Bytes>, bool)>,
    /// All that waits, and all that is being written.
    bytes: usize,
    /// Whether somebody will write it.
    is_due: bool,
}

impl Behind {
    pub(super) fn new(ledger: Arc<dyn Ledger>) -> Arc<Self> {
        Arc::new(Self {
            ledger,
            waiting: Mutex::default(),
        })
    }

    /// Adds a line, unless too much waits: then it is not kept.
    fn add(self: &Arc<Self>, stream: String, line: Bytes, is_last: bool) {
        let mut waiting = self.waiting.lock();
        if waiting.bytes + line.len() > limits::EVENTS_BEHIND {
            return;
        }
        waiting.bytes += line.len();
        let (lines, is_over) = waiting.streams.entry(stream).or_default();
        lines.push(line);
        *is_over |= is_last;
        if !std::mem::replace(&mut waiting.is_due, true) {
            let behind = self.clone();
            tasks::spawn(tasks::Kind::Background, async move {
                tokio::time::sleep(limits::EVENTS_TOGETHER).await;
                behind.flush().await;
            });
        }
    }

    /// Writes all that waits. Lines of one stream stay in their order: they stand in
    /// the ledger's line before anybody is waited for.
    pub(super) async fn flush(&self) {
        let (mut writing, mut counted) = (Vec::new(), Counted(self, 0));
        {
            let mut waiting = self.waiting.lock();
            waiting.is_due = false;
            for (stream, (lines, is_over)) in std::mem::take(&mut waiting.streams) {
                counted.1 += lines.iter().map(Bytes::len).sum::<usize>();
                writing.push(self.ledger.append(&stream, lines, keep(is_over)));
            }
        }
        for one in writing {
            if let Err(fault) = one.await {
                tracing::warn!(%fault, "events of a stream could not be kept");
            }
        }
    }
}

/// Bytes that are being written, and count until that is over or nobody waits for it.
struct Counted<'a>(&'a Behind, usize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.waiting.lock().bytes -= self.1;
    }
}
