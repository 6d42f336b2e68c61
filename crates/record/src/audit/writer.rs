//! The task that writes the records of a gateway.

use super::{
    chain::Record,
    folder::Appender,
    queue::{Job, Queued, Waiting},
};
use crate::limits;
use std::sync::{Arc, atomic::Ordering};
use switchboard_tasks as tasks;
use tokio::{sync::oneshot, time::Instant};

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

/// Writes what waits, until nothing comes any more.
pub(super) async fn write_all(waiting: Arc<Waiting>, appender: Appender, sync: Sync) {
    let _end = End(waiting.clone());
    let mut writer = Writer {
        appender,
        sync,
        waiting: waiting.clone(),
        is_dirty: false,
    };
    let mut next = Instant::now() + limits::AUDIT_SECOND;
    loop {
        let is_failing = waiting.is_failing.load(Ordering::Acquire);
        let comes = tokio::select! {
            comes = waiting.comes() => comes,
            () = tokio::time::sleep_until(next), if writer.is_dirty || is_failing => true,
        };
        if !comes {
            return;
        }
        if sync == Sync::Second {
            waiting.gather().await;
        }
        let is_due = Instant::now() >= next;
        if is_due {
            next = Instant::now() + limits::AUDIT_SECOND;
        }
        let now = waiting.take();
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

/// Tells that nobody writes any more, however that came.
struct End(Arc<Waiting>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The task's own side.
struct Writer {
    appender: Appender,
    sync: Sync,
    waiting: Arc<Waiting>,
    /// Whether something is written that is not on disk yet.
    is_dirty: bool,
}

impl Writer {
    /// Writes these; gives who is to be told what became of it.
    fn write(&mut self, jobs: Vec<Job>, is_due: bool) -> Vec<(oneshot::Sender<bool>, bool)> {
        let waiting = &*self.waiting;
        let (mut records, mut told) = (Vec::with_capacity(jobs.len()), Vec::new());
        let mut is_flush = false;
        for Job { record, done } in jobs {
            is_flush |= record.is_none();
            records.extend(record);
            told.extend(done);
        }
        let lost = waiting.lost.load(Ordering::Relaxed);
        let count = records.len() as u64;
        if lost > 0 && (count > 0 || is_due) {
            // First, since they would have been.
            let lost = Record::new("audit.lost").with("records", lost);
            records.insert(0, Queued::from(lost));
        }
        let sync = self.sync == Sync::Each || is_due || is_flush;
        let written = match (records.is_empty(), sync) {
            (false, sync) => self.appender.append_each(&records, sync),
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
                    waiting.lost.fetch_sub(lost, Ordering::Relaxed);
                }
                if waiting.is_failing.swap(false, Ordering::AcqRel) {
                    tracing::warn!(lost, "records of calls can be written again");
                }
            }
            Err(error) => {
                waiting.lost.fetch_add(count, Ordering::Relaxed);
                if !waiting.is_failing.swap(true, Ordering::AcqRel) {
                    let refuses = waiting.on_failure == OnFailure::Refuse;
                    tracing::error!(%error, refuses, "records of calls cannot be written");
                }
            }
        }
        waiting.give_back(records);
        told.into_iter().map(|done| (done, is_written)).collect()
    }
}
