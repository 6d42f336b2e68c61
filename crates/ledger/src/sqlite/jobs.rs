//! The line of those who want something of the file, and the thread that takes it: all
//! that waits is done in one transaction, and answered when that is on disk.

use crate::{LedgerError, Pending, limits, refused};
use futures_util::FutureExt;
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::{collections::VecDeque, sync::Arc, time::Instant};
use switchboard_tasks as tasks;
use tokio::sync::{Notify, oneshot};

/// Does its work and gives what is to be said when it is on disk, or that it is not.
type Job = Box<dyn FnOnce(&Connection) -> (bool, Said) + Send>;
type Said = Box<dyn FnOnce(Result<(), LedgerError>) + Send>;

/// Why something was not done.
pub(super) enum Fault {
    /// The file may not become larger. Nothing was tried.
    Full,
    /// What SQLite says.
    File(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(fault: rusqlite::Error) -> Self {
        Self::File(fault)
    }
}

/// How large the file may become.
pub(super) struct Room {
    most: u64,
    state: Mutex<Left>,
}

#[derive(Default)]
struct Left {
    /// The file is as large as it may be.
    is_full: bool,
    /// When its disk was full.
    disk: Option<Instant>,
}

impl Room {
    /// Whether anything may be added.
    pub(super) fn is_left(&self) -> bool {
        let left = self.state.lock();
        let disk_is_full = left
            .disk
            .is_some_and(|since| since.elapsed() < limits::FULL_AGAIN);
        !left.is_full && !disk_is_full
    }

    /// Looks how large the file is, without what is free in it.
    fn look(&self, file: &Connection) -> Result<(), rusqlite::Error> {
        let number = |name: &str| {
            let found = file.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            found.map(|number| u64::try_from(number).unwrap_or_default())
        };
        let used = number("page_count")?.saturating_sub(number("freelist_count")?);
        self.state.lock().is_full = used * number("page_size")? >= self.most;
        Ok(())
    }
}

/// Who waits.
pub(super) struct Line {
    waiting: Mutex<Waiting>,
    file: Mutex<Connection>,
    room: Arc<Room>,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// Whether somebody takes them.
    is_taken: bool,
}

impl Line {
    pub(super) fn new(file: Connection, most: u64) -> Self {
        let state = Mutex::default();
        Self {
            waiting: Mutex::default(),
            file: Mutex::new(file),
            room: Arc::new(Room { most, state }),
        }
    }

    /// How large the file may become.
    pub(super) fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// Stands in the line at once; what is awaited is the answer.
    pub(super) fn add<T: Send + 'static>(
        self: &Arc<Self>,
        job: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
        tell: Option<Arc<Notify>>,
    ) -> Pending<T> {
        let (answer, answered) = oneshot::channel();
        let room = self.room.clone();
        let job: Job = Box::new(move |file| {
            let done = job(file);
            // What was not tried has spoilt nothing.
            let is_well = !matches!(done, Err(Fault::File(_)));
            let done = done.map_err(|fault| match fault {
                Fault::Full => LedgerError::Full,
                Fault::File(fault) => room.told(&fault),
            });
            let said: Said = Box::new(move |written| {
                let _ = answer.send(written.and(done));
                if let Some(tell) = tell {
                    tell.notify_waiters();
                }
            });
            (is_well, said)
        });
        let mut waiting = self.waiting.lock();
        if waiting.jobs.len() >= limits::WAITING {
            return refused(LedgerError::Busy);
        }
        waiting.jobs.push_back(job);
        let is_taken = std::mem::replace(&mut waiting.is_taken, true);
        drop(waiting);
        if !is_taken {
            let taker = Taker {
                line: self.clone(),
                is_done: false,
            };
            tasks::blocking(move || taker.take());
        }
        async move { answered.await.unwrap_or(Err(LedgerError::Gone)) }.boxed()
    }

    fn next(&self) -> Option<Vec<Job>> {
        let mut waiting = self.waiting.lock();
        if waiting.jobs.is_empty() {
            waiting.is_taken = false;
            return None;
        }
        let many = waiting.jobs.len().min(limits::TOGETHER);
        Some(waiting.jobs.drain(..many).collect())
    }
}

/// Whoever takes the line. One that ends before it is done, because something panics or
/// the program ends, sends those away who wait, so that the next finds nobody at work.
struct Taker {
    line: Arc<Line>,
    is_done: bool,
}

impl Taker {
    /// Does all that waits, until nothing does.
    fn take(mut self) {
        let line = self.line.clone();
        let mut file = line.file.lock();
        while let Some(jobs) = line.next() {
            together(&mut file, &line.room, jobs);
        }
        self.is_done = true;
    }
}

impl Drop for Taker {
    fn drop(&mut self) {
        if !self.is_done {
            let mut waiting = self.line.waiting.lock();
            waiting.is_taken = false;
            let jobs = std::mem::take(&mut waiting.jobs);
            drop(waiting);
            // Whoever waits hears of it when their jobs go.
            drop(jobs);
        }
    }
}

/// Does these in one transaction.
fn together(file: &mut Connection, room: &Room, jobs: Vec<Job>) {
    let begun = file.transaction_with_behavior(TransactionBehavior::Immediate);
    let change = match begun {
        Ok(change) => change,
        Err(fault) => {
            // They are dropped, and whoever waits hears that nobody writes.
            return tracing::warn!(%fault, "what is kept of sessions cannot be read or written");
        }
    };
    if let Err(fault) = room.look(&change) {
        tracing::debug!(%fault, "how large the file is cannot be told");
    }
    let mut said = Vec::with_capacity(jobs.len());
    let mut is_well = true;
    for job in jobs {
        let (well, one) = job(&change);
        is_well &= well;
        said.push(one);
    }
    // One that failed may have taken the whole transaction with it: then nothing of it
    // was written, and nobody is told that it was.
    let written = match change.is_autocommit() {
        true => Err(LedgerError::Storage("it was taken back".to_owned())),
        false => change.commit().map_err(|fault| room.told(&fault)),
    };
    if !is_well || written.is_err() {
        tracing::warn!(?written, "not all of what is kept of sessions was written");
    }
    for one in said {
        one(written.clone());
    }
}

impl Room {
    /// What SQLite says, for whoever asked. That the disk is full is remembered.
    fn told(&self, fault: &rusqlite::Error) -> LedgerError {
        match fault.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => {
                self.state.lock().disk = Some(Instant::now());
                LedgerError::Full
            }
            _ => LedgerError::Storage(fault.to_string()),
        }
    }
}
