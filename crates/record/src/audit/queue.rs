//! Where records wait until they are written.

use super::{
    calls::Call,
    chain::Record,
    folder::{Appender, Keep},
    pen::{Entry, Line},
    writer::{self, OnFailure, Sync},
};
use crate::limits;
use parking_lot::Mutex;
use std::{
    io,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::SystemTime,
};
use switchboard_host::{CallError, observe::Keeping};
use switchboard_tasks as tasks;
use switchboard_wire::code;
use tokio::{
    runtime::Handle,
    sync::{Notify, oneshot},
    time::timeout,
};

/// The side of those who have something recorded. What waits is written when it ends.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: Arc<Waiting>,
    sync: Sync,
}

/// What waits, and how the writing goes.
#[derive(Debug)]
pub(super) struct Waiting {
    jobs: Mutex<Jobs>,
    /// Told that there is something, or that nothing comes any more.
    came: Notify,
    /// Told that what is there should not wait for more.
    hurry: Notify,
    /// Told that there is room again.
    room: Notify,
    /// Places of calls that were written, for those that come: what one thread takes from
    /// memory and another gives back is dear.
    #[expect(clippy::vec_box, reason = "the boxes are what is used again")]
    spare: Mutex<Vec<Box<Call>>>,
    pub(super) on_failure: OnFailure,
    /// Whether the last records could not be written.
    pub(super) is_failing: AtomicBool,
    /// Records that were not written since.
    pub(super) lost: AtomicU64,
}

#[derive(Debug, Default)]
struct Jobs {
    all: Vec<Job>,
    /// Whether somebody waits for one of them.
    is_urgent: bool,
    /// Whether nothing comes any more, or nobody writes.
    is_closed: bool,
}

#[derive(Debug)]
pub(super) struct Job {
    /// None where all that came before is to be on disk.
    pub(super) record: Option<Queued>,
    /// Who waits for it.
    pub(super) done: Option<oneshot::Sender<bool>>,
}

/// What is recorded.
#[derive(Debug)]
pub(super) enum Queued {
    /// A call.
    Call(Box<Call>),
    /// Anything else.
    Other(Box<Record>),
}

impl From<Record> for Queued {
    fn from(record: Record) -> Self {
        Self::Other(Box::new(record))
    }
}

impl Entry for Queued {
    fn time(&self) -> SystemTime {
        match self {
            Self::Call(call) => call.time(),
            Self::Other(record) => record.time(),
        }
    }

    fn write(&self, line: &mut Line<'_>) {
        match self {
            Self::Call(call) => call.write(line),
            Self::Other(record) => record.write(line),
        }
    }
}

impl Queue {
    /// Opens the folder, and begins the task that writes.
    pub(super) fn begin(keep: Keep, sync: Sync, on_failure: OnFailure) -> io::Result<Arc<Self>> {
        let appender = Appender::new(keep)?;
        let waiting = Arc::new(Waiting {
            jobs: Mutex::default(),
            came: Notify::new(),
            hurry: Notify::new(),
            room: Notify::new(),
            spare: Mutex::default(),
            on_failure,
            is_failing: AtomicBool::new(false),
            lost: AtomicU64::new(0),
        });
        let write = writer::write_all(waiting.clone(), appender, sync);
        tasks::spawn(tasks::Kind::Upkeep, write);
        Ok(Arc::new(Self { waiting, sync }))
    }

    /// Why calls are refused now, if they are.
    pub(super) fn refuses(&self) -> Option<CallError> {
        let refuses = self.waiting.on_failure == OnFailure::Refuse
            && self.waiting.is_failing.load(Ordering::Acquire);
        refuses.then(not_recorded)
    }

    /// A place for a call.
    pub(super) fn place(&self, call: Call) -> Box<Call> {
        let spare = self.waiting.spare.lock().pop();
        match spare {
            Some(mut place) => {
                *place = call;
                place
            }
            None => Box::new(call),
        }
    }

    /// Whether records are on disk before answers leave.
    pub(super) fn is_first(&self) -> bool {
        self.sync == Sync::Each
    }

    /// Queues a record. What it gives back is waited for before the answer leaves.
    pub(super) fn add(&self, record: impl Into<Queued>) -> Option<Keeping> {
        let record = Some(record.into());
        let (done, written) = match self.sync {
            Sync::Each => Some(oneshot::channel()).unzip(),
            Sync::Second => (None, None),
        };
        // Queued now, where there is room, so that it is written even if nobody waits
        // for it any more.
        let rest = self.waiting.push(Job { record, done });
        if rest.is_none() && written.is_none() {
            return None;
        }
        let waiting = self.waiting.clone();
        Some(Box::pin(async move {
            if let Some(job) = rest {
                waiting.push_later(job).await;
            }
            let Some(written) = written else {
                return Ok(());
            };
            match written.await {
                Ok(true) => Ok(()),
                _ if waiting.on_failure == OnFailure::Warn => Ok(()),
                _ => Err(not_recorded()),
            }
        }))
    }

    /// Queues a record of something that nobody waits for.
    pub(super) fn add_later(&self, record: impl Into<Queued>) {
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
            self.waiting.push_later(job).await;
            let _ = written.await;
        };
        if timeout(limits::AUDIT_CLOSE, flush).await.is_err() {
            tracing::warn!("the last records of the audit could not be written in time");
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.waiting.jobs.lock().is_closed = true;
        self.waiting.came.notify_one();
        self.waiting.hurry.notify_one();
    }
}

fn not_recorded() -> CallError {
    let text = "the gateway cannot write its record of calls, and is set to refuse them then";
    CallError::refused(code::INTERNAL, text)
}

impl Waiting {
    /// Adds one; gives it back where there is no room. Where nobody writes any more, who
    /// waits for it is told that it is not written.
    fn push(&self, job: Job) -> Option<Job> {
        let mut jobs = self.jobs.lock();
        if jobs.is_closed {
            return None;
        }
        if jobs.all.len() >= limits::AUDIT_QUEUE {
            return Some(job);
        }
        let is_urgent = job.done.is_some();
        jobs.is_urgent |= is_urgent;
        jobs.all.push(job);
        let count = jobs.all.len();
        drop(jobs);
        // Whoever writes looks by itself whether there is more.
        if count == 1 {
            self.came.notify_one();
        }
        if is_urgent || count == limits::AUDIT_QUEUE / 2 {
            self.hurry.notify_one();
        }
        None
    }

    /// The same as soon as there is room.
    async fn push_later(&self, job: Job) {
        let mut rest = Some(job);
        while let Some(job) = rest.take() {
            let mut room = pin!(self.room.notified());
            // From now on, so that room which is made meanwhile is heard of.
            room.as_mut().enable();
            rest = self.push(job);
            if rest.is_some() {
                room.await;
            }
        }
    }

    /// Waits until there is something; false where nothing comes any more.
    pub(super) async fn comes(&self) -> bool {
        loop {
            {
                let jobs = self.jobs.lock();
                if !jobs.all.is_empty() {
                    return true;
                }
                if jobs.is_closed {
                    return false;
                }
            }
            self.came.notified().await;
        }
    }

    /// Waits a moment for more, unless somebody waits for what there is.
    pub(super) async fn gather(&self) {
        let is_enough = {
            let jobs = self.jobs.lock();
            jobs.all.is_empty() || jobs.is_urgent || jobs.is_closed
        };
        if !is_enough {
            let _ = timeout(limits::AUDIT_GATHER, self.hurry.notified()).await;
        }
    }

    /// All that there is.
    pub(super) fn take(&self) -> Vec<Job> {
        let mut jobs = self.jobs.lock();
        jobs.is_urgent = false;
        let room = Vec::with_capacity(jobs.all.len());
        let taken = std::mem::replace(&mut jobs.all, room);
        drop(jobs);
        self.room.notify_waiters();
        taken
    }

    /// Keeps the places of calls that were written.
    pub(super) fn give_back(&self, written: Vec<Queued>) {
        let mut spare = self.spare.lock();
        for one in written {
            if let Queued::Call(mut call) = one
                && spare.len() < limits::AUDIT_SPARE
            {
                call.forget();
                spare.push(call);
            }
        }
    }

    /// Nobody writes any more.
    pub(super) fn end(&self) {
        self.jobs.lock().is_closed = true;
        drop(self.take());
    }
}
