//! The line of those who want something of the file, and the thread that takes it: all
//! that waits is done in one transaction, and answered when that is on disk.

use crate::{LedgerError, Pending, limits, refused};
use futures_util::FutureExt;
use parking_lot::Mutex;
use rusqlite::{Connection, TransactionBehavior};
use std::{collections::VecDeque, sync::Arc};
use switchboard_tasks as tasks;
use tokio::sync::{Notify, oneshot};

/// Does its work and gives what is to be said when it is on disk, or that it is not.
type Job = Box<dyn FnOnce(&Connection) -> (bool, Said) + Send>;
type Said = Box<dyn FnOnce(Result<(), LedgerError>) + Send>;

/// Who waits.
pub(super) struct Line {
    waiting: Mutex<Waiting>,
    file: Mutex<Connection>,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// Whether somebody takes them.
    is_taken: bool,
}

impl Line {
    pub(super) fn new(file: Connection) -> Self {
        Self {
            waiting: Mutex::default(),
            file: Mutex::new(file),
        }
    }

    /// Stands in the line at once; what is awaited is the answer.
    pub(super) fn add<T: Send + 'static>(
        self: &Arc<Self>,
        job: impl FnOnce(&Connection) -> Result<T, rusqlite::Error> + Send + 'static,
        tell: Option<Arc<Notify>>,
    ) -> Pending<T> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |file| {
            let done = job(file).map_err(|fault| storage(&fault));
            let is_well = done.is_ok();
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
            together(&mut file, jobs);
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
fn together(file: &mut Connection, jobs: Vec<Job>) {
    let begun = file.transaction_with_behavior(TransactionBehavior::Immediate);
    let change = match begun {
        Ok(change) => change,
        Err(fault) => {
            // They are dropped, and whoever waits hears that nobody writes.
            return tracing::warn!(%fault, "what is kept of sessions cannot be read or written");
        }
    };
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
        false => change.commit().map_err(|fault| storage(&fault)),
    };
    if !is_well || written.is_err() {
        tracing::warn!(?written, "not all of what is kept of sessions was written");
    }
    for one in said {
        one(written.clone());
    }
}

fn storage(fault: &rusqlite::Error) -> LedgerError {
    LedgerError::Storage(fault.to_string())
}
