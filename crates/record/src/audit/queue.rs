//! Where records wait until they are written.

use super::{
    batch::Batch,
    folder::{Appender, Keep},
    pen::{self, Entry},
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
    pub(super) on_failure: OnFailure,
    /// Whether the last records could not be written.
    pub(super) is_failing: AtomicBool,
    /// Records that were not written since.
    pub(super) lost: AtomicU64,
}

#[derive(Debug, Default)]
struct Jobs {
    all: Taken,
    /// Whether somebody waits for one of them.
    is_urgent: bool,
    /// Whether nothing comes any more, or nobody writes.
    is_closed: bool,
}

/// What is written at once.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) batch: Batch,
    /// Who waits for it.
    pub(super) done: Vec<oneshot::Sender<bool>>,
    /// Whether all that came before is to be on disk.
    pub(super) is_flush: bool,
}

impl Taken {
    fn is_empty(&self) -> bool {
        self.batch.is_empty() && self.done.is_empty()
    }

    fn is_full(&self) -> bool {
        self.batch.len().max(self.done.len()) >= limits::AUDIT_QUEUE
            || self.batch.bytes() >= limits::AUDIT_WAITING
    }

    /// Whether it is worth a write by itself.
    fn is_much(&self) -> bool {
        self.batch.len() >= limits::AUDIT_QUEUE / 2 || self.batch.bytes() >= limits::AUDIT_ENOUGH
    }
}

/// What found no room.
#[derive(Debug)]
struct Rest {
    /// None where all that came before is to be on disk.
    record: Option<(SystemTime, Vec<u8>)>,
    done: Option<oneshot::Sender<bool>>,
}

impl Queue {
    /// Opens the folder, and begins the task that writes.
    pub(super) fn begin(keep: Keep, sync: Sync, on_failure: OnFailure) -> io::Result<Arc<Self>> {
        let appender = Appender::new(keep)?;
        let waiting = Arc::new(Waiting::new(on_failure));
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

    /// Whether records are on disk before answers leave.
    pub(super) fn is_first(&self) -> bool {
        self.sync == Sync::Each
    }

    /// Queues a record. What it gives back is waited for before the answer leaves.
    pub(super) fn add(&self, entry: &impl Entry) -> Option<Keeping> {
        let (done, written) = match self.sync {
            Sync::Each => Some(oneshot::channel()).unzip(),
            Sync::Second => (None, None),
        };
        // Queued now, where there is room, so that it is written even if nobody waits
        // for it any more.
        let rest = pen::made(entry, |said| {
            self.waiting.push(Some((entry.time(), said)), done)
        });
        if rest.is_none() && written.is_none() {
            return None;
        }
        let waiting = self.waiting.clone();
        Some(Box::pin(async move {
            if let Some(rest) = rest {
                waiting.push_later(rest).await;
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
    pub(super) fn add_later(&self, entry: &impl Entry) {
        if let (Some(rest), Ok(runtime)) = (self.add(entry), Handle::try_current()) {
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
            let rest = Rest {
                record: None,
                done: Some(done),
            };
            self.waiting.push_later(rest).await;
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
    fn new(on_failure: OnFailure) -> Self {
        Self {
            jobs: Mutex::default(),
            came: Notify::new(),
            hurry: Notify::new(),
            room: Notify::new(),
            on_failure,
            is_failing: AtomicBool::new(false),
            lost: AtomicU64::new(0),
        }
    }

    /// Adds one; gives it back where there is no room. Where nobody writes any more, who
    /// waits for it is told that it is not written.
    fn push(
        &self,
        record: Option<(SystemTime, &[u8])>,
        done: Option<oneshot::Sender<bool>>,
    ) -> Option<Rest> {
        let mut jobs = self.jobs.lock();
        if jobs.is_closed {
            return None;
        }
        if jobs.all.is_full() {
            drop(jobs);
            let record = record.map(|(time, said)| (time, said.to_vec()));
            return Some(Rest { record, done });
        }
        let (is_first, was_much) = (jobs.all.is_empty(), jobs.all.is_much());
        let is_urgent = done.is_some();
        jobs.is_urgent |= is_urgent;
        match record {
            Some((time, said)) => jobs.all.batch.push(time, said),
            None => jobs.all.is_flush = true,
        }
        jobs.all.done.extend(done);
        let is_enough = !was_much && jobs.all.is_much();
        drop(jobs);
        // Whoever writes looks by itself whether there is more.
        if is_first {
            self.came.notify_one();
        }
        if is_urgent || is_enough {
            self.hurry.notify_one();
        }
        None
    }

    /// The same as soon as there is room.
    async fn push_later(&self, rest: Rest) {
        let mut rest = Some(rest);
        while let Some(Rest { record, done }) = rest.take() {
            let mut room = pin!(self.room.notified());
            // From now on, so that room which is made meanwhile is heard of.
            room.as_mut().enable();
            let said = record.as_ref().map(|(time, said)| (*time, said.as_slice()));
            rest = self.push(said, done);
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
            jobs.all.is_empty() || jobs.is_urgent || jobs.is_closed || jobs.all.is_much()
        };
        if !is_enough {
            let _ = timeout(limits::AUDIT_GATHER, self.hurry.notified()).await;
        }
    }

    /// All that there is. What comes has the room of `empty`.
    pub(super) fn take(&self, empty: Batch) -> Taken {
        let mut jobs = self.jobs.lock();
        jobs.is_urgent = false;
        let empty = Taken {
            batch: empty,
            ..Taken::default()
        };
        let taken = std::mem::replace(&mut jobs.all, empty);
        drop(jobs);
        self.room.notify_waiters();
        taken
    }

    /// Nobody writes any more.
    pub(super) fn end(&self) {
        self.jobs.lock().is_closed = true;
        drop(self.take(Batch::default()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    /// Pushes as much as there is room for; gives how many that were.
    fn fill(waiting: &Waiting, said: &[u8]) -> u64 {
        let mut count = 0;
        loop {
            let time = UNIX_EPOCH + Duration::from_secs(count);
            if waiting.push(Some((time, said)), None).is_some() {
                return count;
            }
            count += 1;
        }
    }

    #[test]
    fn no_more_waits_than_may_in_number_and_in_bytes() {
        let waiting = Waiting::new(OnFailure::Warn);
        assert_eq!(fill(&waiting, b"x"), limits::AUDIT_QUEUE as u64);
        let taken = waiting.take(Batch::default());
        assert_eq!(taken.batch.len(), limits::AUDIT_QUEUE);
        let seconds = taken.batch.iter().map(|(time, said)| {
            assert_eq!(said, b"x");
            time.duration_since(UNIX_EPOCH).unwrap().as_secs()
        });
        assert!(
            seconds.eq(0..limits::AUDIT_QUEUE as u64),
            "not in their order"
        );
        let large = vec![b'y'; 64 * 1024];
        let count = fill(&waiting, &large);
        assert_eq!(count as usize, limits::AUDIT_WAITING / large.len());
    }

    #[tokio::test]
    async fn what_found_no_room_comes_when_there_is_some() {
        let waiting = Arc::new(Waiting::new(OnFailure::Warn));
        fill(&waiting, b"x");
        let time = UNIX_EPOCH;
        let rest = waiting.push(Some((time, b"last")), None).expect("no room");
        let later = tokio::spawn({
            let waiting = waiting.clone();
            async move { waiting.push_later(rest).await }
        });
        tokio::task::yield_now().await;
        assert!(!later.is_finished());
        drop(waiting.take(Batch::default()));
        later.await.unwrap();
        let taken = waiting.take(Batch::default());
        let said: Vec<&[u8]> = taken.batch.iter().map(|(_, said)| said).collect();
        assert_eq!(said, [b"last"]);
    }
}
