//! Records all that passes between us and servers, as it is on the wire, whoever asked.

mod pairing;

pub use pairing::calls_of;

use super::{file::Files, line::Line};
use crate::limits;
use bytes::Bytes;
use pairing::Pairing;
use parking_lot::Mutex;
use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};
use switchboard_host::observe::{Begin, Edge, Follow, Observer, Passing};
use switchboard_tasks as tasks;
use switchboard_wire::Message;
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout},
};

/// Writes cassettes into a folder.
#[derive(Debug)]
pub struct Recorder {
    pairing: Mutex<Pairing>,
    queue: mpsc::Sender<Told>,
    /// Bytes of what waits to be written.
    waiting: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
}

/// A message in one piece, which most are.
fn whole(pieces: &[Bytes]) -> Bytes {
    match pieces {
        [one] => one.clone(),
        several => several.concat().into(),
    }
}

/// What the task is told.
#[derive(Debug)]
enum Told {
    /// To be written.
    Line(Box<Line>, usize),
    /// Everything before this is to be on disk.
    Flush(oneshot::Sender<()>),
}

impl Recorder {
    /// Makes the folder, and begins the task that writes there. `by`: our version.
    pub fn begin(folder: &Path, by: &str) -> io::Result<Arc<Self>> {
        let files = Files::new(folder, by)?;
        let (queue, waiting) = mpsc::channel(limits::CASSETTE_QUEUE);
        let recorder = Self {
            pairing: Mutex::new(Pairing::new(Instant::now())),
            queue,
            waiting: Arc::default(),
            dropped: Arc::default(),
        };
        let (held, dropped) = (recorder.waiting.clone(), recorder.dropped.clone());
        let writing = write_all(waiting, files, held, dropped);
        tasks::spawn(tasks::Kind::Upkeep, writing);
        Ok(Arc::new(recorder))
    }

    /// Calls that could not be recorded, since too much was under way, or the disk too slow or
    /// full.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all that has ended is on disk.
    pub async fn flush(&self) {
        let (done, written) = oneshot::channel();
        let flush = async {
            if self.queue.send(Told::Flush(done)).await.is_ok() {
                let _ = written.await;
            }
        };
        if timeout(limits::CASSETTE_CLOSE, flush).await.is_err() {
            tracing::warn!("the last calls could not be recorded in time");
        }
        let dropped = self.dropped();
        if dropped > 0 {
            tracing::warn!(
                dropped,
                "calls were not recorded: there were too many at once, or the disk did not take them"
            );
        }
    }

    fn add(&self, line: Line, bytes: usize) {
        let held = self.waiting.fetch_add(bytes, Ordering::AcqRel);
        let has_room = held.saturating_add(bytes) <= limits::CASSETTE_WAITING;
        let queued = has_room
            && self
                .queue
                .try_send(Told::Line(Box::new(line), bytes))
                .is_ok();
        if !queued {
            self.waiting.fetch_sub(bytes, Ordering::AcqRel);
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Observer for Recorder {
    fn begin(&self, _call: &Begin<'_>) -> Option<Box<dyn Follow>> {
        None
    }

    fn wants_details(&self) -> bool {
        false
    }

    fn wants_messages(&self) -> bool {
        true
    }

    fn message(&self, passing: &Passing<'_>) {
        let (Some(server), Some(connection)) = (passing.server, passing.connection) else {
            return;
        };
        let from_server = match passing.edge {
            Edge::ToServer => false,
            Edge::FromServer => true,
            Edge::FromClient | Edge::ToClient => return,
        };
        let Ok(message) = Message::parse(whole(passing.pieces)) else {
            return;
        };
        let now = Instant::now();
        let mut pairing = self.pairing.lock();
        let line = if from_server {
            pairing.hears(connection, server, passing.during, &message, now)
        } else {
            pairing.sends(connection, server, &message, now);
            None
        };
        let dropped = pairing.take_dropped();
        drop(pairing);
        self.dropped.fetch_add(dropped, Ordering::Relaxed);
        if let Some((line, bytes)) = line {
            self.add(line, bytes);
        }
    }
}

async fn write_all(
    mut queue: mpsc::Receiver<Told>,
    mut files: Files,
    waiting: Arc<AtomicUsize>,
    dropped: Arc<AtomicU64>,
) {
    let mut batch = Vec::new();
    let mut is_failing = false;
    while queue.recv_many(&mut batch, limits::CASSETTE_BATCH).await > 0 {
        let (mut lines, mut done, mut bytes) = (Vec::new(), Vec::new(), 0);
        for told in batch.drain(..) {
            match told {
                Told::Line(line, held) => {
                    bytes += held;
                    lines.push(*line);
                }
                Told::Flush(flushed) => done.push(flushed),
            }
        }
        let written = tasks::blocking(move || {
            let written = files.write(lines);
            (files, written)
        });
        let Ok((same, written)) = written.await else {
            return;
        };
        files = same;
        waiting.fetch_sub(bytes, Ordering::AcqRel);
        match written {
            Ok(()) if is_failing => {
                is_failing = false;
                let dropped = dropped.load(Ordering::Relaxed);
                tracing::warn!(
                    dropped,
                    "cassettes are written again; calls are missing in them"
                );
            }
            Ok(()) => {}
            Err(lost) => {
                dropped.fetch_add(lost.lines, Ordering::Relaxed);
                if !is_failing {
                    is_failing = true;
                    tracing::warn!(error = %lost.error, "cassettes cannot be written");
                }
            }
        }
        for flushed in done {
            let _ = flushed.send(());
        }
    }
}
