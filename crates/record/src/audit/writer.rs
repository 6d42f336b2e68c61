//! The task that writes the records of a gateway.

use super::{
    batch::Batch,
    chain::Record,
    folder::Appender,
    queue::{Taken, Waiting},
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
        spare: Batch::default(),
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
        let now = waiting.take(std::mem::take(&mut writer.spare));
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
    /// Room for what comes while these are written.
    spare: Batch,
}

impl Writer {
    /// Writes these; gives who is to be told what became of it.
    fn write(&mut self, taken: Taken, is_due: bool) -> Vec<(oneshot::Sender<bool>, bool)> {
        let waiting = &*self.waiting;
        let Taken {
            batch: mut records,
            done: told,
            is_flush,
        } = taken;
        let lost = waiting.lost.load(Ordering::Relaxed);
        let count = records.len() as u64;
        let mut before = Batch::default();
        if lost > 0 && (count > 0 || is_due) {
            // First, since they would have been.
            before.add(&Record::new("audit.lost").with("records", lost));
        }
        let sync = self.sync == Sync::Each || is_due || is_flush;
        let is_empty = records.is_empty() && before.is_empty();
        let written = match (is_empty, sync) {
            (false, sync) => self.appender.append_each(&[&before, &records], sync),
            (true, true) => self.appender.sync(),
            (true, false) => Ok(()),
        };
        let is_written = written.is_ok();
        match written {
            Ok(()) => {
                if !is_empty || sync {
                    self.is_dirty = !sync;
                }
                if !is_empty {
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
        records.clear(limits::AUDIT_ENOUGH * 2);
        self.spare = records;
        told.into_iter().map(|done| (done, is_written)).collect()
    }
}
