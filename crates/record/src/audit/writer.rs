//! The task that writes the records of a gateway.

use super::{
    chain::Record,
    folder::{Appender, Keep},
};
use crate::limits;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use switchboard_host::{CallError, observe::Keeping};
use switchboard_tasks as tasks;
use switchboard_wire::code;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    time::{Instant, timeout},
};

/// When records are on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sync {
    /// Before the answer leaves.
    Each,
    /// A second later at most.
    #[default]
    Second,
}

/// What happens when a record cannot be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It is said, and calls go on.
    #[default]
    Warn,
    /// Calls are refused until it can be.
    Refuse,
}

/// Where records are queued.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: mpsc::Sender<Job>,
    state: Arc<State>,
    sync: Sync,
}

/// How the writing goes.
#[derive(Debug)]
struct State {
    on_failure: OnFailure,
    /// Whether the last records could not be written.
    is_failing: AtomicBool,
    /// Records that were not written since.
    lost: AtomicU64,
}

#[derive(Debug)]
struct Job {
    /// None where all that came before is to be on disk.
    record: Option<Record>,
    /// Who waits for it.
    done: Option<oneshot::Sender<bool>>,
}

impl Queue {
    /// Opens the folder, and begins the task.
    pub(super) fn begin(keep: Keep, sync: Sync, on_failure: OnFailure) -> io::Result<Arc<Self>> {
        let appender = Appender::new(keep)?;
        let (waiting, jobs) = mpsc::channel(limits::AUDIT_QUEUE);
        let state = Arc::new(State {
            on_failure,
            is_failing: AtomicBool::new(false),
            lost: AtomicU64::new(0),
        });
        let writer = Writer {
            appender,
            sync,
            state: state.clone(),
            is_dirty: false,
        };
        tasks::spawn(tasks::Kind::Upkeep, write_all(jobs, writer));
        Ok(Arc::new(Self {
            waiting,
            state,
            sync,
        }))
    }

    /// Why calls are refused now, if they are.
    pub(super) fn refuses(&self) -> Option<CallError> {
        let refuses = self.state.on_failure == OnFailure::Refuse
            && self.state.is_failing.load(Ordering::Acquire);
        refuses.then(not_recorded)
    }

    /// Queues a record. What it gives back is waited for before the answer leaves.
    pub(super) fn add(self: &Arc<Self>, record: Record) -> Option<Keeping> {
        if self.sync == Sync::Each {
            let (done, written) = oneshot::channel();
            let queue = self.clone();
            let job = Job {
                record: Some(record),
                done: Some(done),
            };
            // Queued now, where there is room, so that it is written even if nobody
            // waits for it any more.
            let rest = match queue.waiting.try_send(job) {
                Err(mpsc::error::TrySendError::Full(job)) => Some(job),
                _ => None,
            };
            return Some(Box::pin(async move {
                if let Some(job) = rest {
                    let _ = queue.waiting.send(job).await;
                }
                match written.await {
                    Ok(true) => Ok(()),
                    _ if queue.state.on_failure == OnFailure::Warn => Ok(()),
                    _ => Err(not_recorded()),
                }
            }));
        }
        let job = Job {
            record: Some(record),
            done: None,
        };
        match self.waiting.try_send(job) {
            Err(mpsc::error::TrySendError::Full(job)) => {
                let queue = self.clone();
                Some(Box::pin(async move {
                    let _ = queue.waiting.send(job).await;
                    Ok(())
                }))
            }
            _ => None,
        }
    }

    /// Queues a record of something that nobody waits for.
    pub(super) fn add_later(self: &Arc<Self>, record: Record) {
        if let (Some(rest), Ok(runtime)) = (self.add(record), Handle::try_current()) {
            let rest = async move {
                let _ = rest.await;
            };
            tasks::spawn_on(&runtime, tasks::Kind::Background, rest);
        }
    }

    /// Waits until all that was queued is on disk.
    pub(super) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        let flush = async {
            let job = Job {
                record: None,
                done: Some(done),
            };
            if self.waiting.send(job).await.is_ok() {
                let _ = written.await;
            }
        };
        if timeout(limits::AUDIT_CLOSE, flush).await.is_err() {
            tracing::warn!("the last records of the audit could not be written in time");
        }
    }
}

fn not_recorded() -> CallError {
    let text = "the gateway cannot write its record of calls, and is set to refuse them then";
    CallError::refused(code::INTERNAL, text)
}

/// The task's own side.
struct Writer {
    appender: Appender,
    sync: Sync,
    state: Arc<State>,
    /// Whether something is written that is not on disk yet.
    is_dirty: bool,
}

async fn write_all(mut jobs: mpsc::Receiver<Job>, mut writer: Writer) {
    let mut batch = Vec::new();
    let mut next = Instant::now() + limits::AUDIT_SECOND;
    loop {
        let is_failing = writer.state.is_failing.load(Ordering::Acquire);
        let came = tokio::select! {
            came = jobs.recv_many(&mut batch, limits::AUDIT_BATCH) => came > 0,
            () = tokio::time::sleep_until(next), if writer.is_dirty || is_failing => true,
        };
        if !came {
            return;
        }
        if writer.sync == Sync::Second && !batch.is_empty() {
            gather(&mut jobs, &mut batch).await;
        }
        let is_due = Instant::now() >= next;
        if is_due {
            next = Instant::now() + limits::AUDIT_SECOND;
        }
        let now = std::mem::take(&mut batch);
        let written = tasks::blocking(move || {
            let told = writer.write(now, is_due);
            (writer, told)
        });
        let Ok((same, told)) = written.await else {
            return;
        };
        writer = same;
        for (done, is_written) in told {
            let _ = done.send(is_written);
        }
    }
}

/// Waits a moment for more, unless somebody waits for these.
async fn gather(jobs: &mut mpsc::Receiver<Job>, batch: &mut Vec<Job>) {
    if batch.iter().any(|job| job.done.is_some()) {
        return;
    }
    tokio::time::sleep(limits::AUDIT_GATHER).await;
    while batch.len() < limits::AUDIT_QUEUE
        && let Ok(job) = jobs.try_recv()
    {
        batch.push(job);
    }
}

impl Writer {
    /// Writes these; gives who is to be told what became of it.
    fn write(&mut self, jobs: Vec<Job>, is_due: bool) -> Vec<(oneshot::Sender<bool>, bool)> {
        let (mut records, mut told) = (Vec::new(), Vec::new());
        let mut is_flush = false;
        for Job { record, done } in jobs {
            is_flush |= record.is_none();
            records.extend(record);
            told.extend(done);
        }
        let lost = self.state.lost.load(Ordering::Relaxed);
        let count = records.len() as u64;
        if lost > 0 && (count > 0 || is_due) {
            // First, since they would have been.
            records.insert(0, Record::new("audit.lost").with("records", lost));
        }
        let sync = self.sync == Sync::Each || is_due || is_flush;
        let written = match (records.is_empty(), sync) {
            (false, sync) => self.appender.append(&records, sync),
            (true, true) => self.appender.sync(),
            (true, false) => Ok(()),
        };
        let is_written = written.is_ok();
        match written {
            Ok(()) => {
                if !records.is_empty() || sync {
                    self.is_dirty = !sync;
                }
                if !records.is_empty() {
                    self.state.lost.fetch_sub(lost, Ordering::Relaxed);
                }
                if self.state.is_failing.swap(false, Ordering::AcqRel) {
                    tracing::warn!(lost, "records of calls can be written again");
                }
            }
            Err(error) => {
                self.state.lost.fetch_add(count, Ordering::Relaxed);
                if !self.state.is_failing.swap(true, Ordering::AcqRel) {
                    let refuses = self.state.on_failure == OnFailure::Refuse;
                    tracing::error!(%error, refuses, "records of calls cannot be written");
                }
            }
        }
        told.into_iter().map(|done| (done, is_written)).collect()
    }
}
