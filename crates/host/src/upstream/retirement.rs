//! The end of a server: why nothing is started any more, and what is waited for
//! until all of it has ended.

use crate::limits;
use std::sync::OnceLock;
use tokio::time::timeout;
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

/// What ends a server, and what it leaves to be ended.
#[derive(Debug, Default)]
pub(super) struct Retirement {
    /// Why nothing is started any more, once that is so.
    why: OnceLock<&'static str>,
    /// Ends what waits or is being made.
    begun: CancellationToken,
    /// What is being started or ended just now: it is waited for in the end, so
    /// that each process has the time that it is given to end well.
    busy: TaskTracker,
}

impl Retirement {
    /// Why nothing is started any more, if that is so.
    pub(super) fn why(&self) -> Option<&'static str> {
        self.why.get().copied()
    }

    /// Nothing is started from now on.
    pub(super) fn begin(&self, why: &'static str) {
        let _ = self.why.set(why);
        self.begun.cancel();
    }

    /// Waits until nothing is started any more.
    pub(super) async fn begun(&self) {
        self.begun.cancelled().await;
    }

    /// Counts something as being started or ended, for as long as this is kept.
    pub(super) fn busy(&self) -> TaskTrackerToken {
        self.busy.token()
    }

    /// Where tasks are started that are waited for in the end.
    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.busy
    }

    /// Waits for what is being started or ended, as long as that may take.
    pub(super) async fn finish(&self) {
        self.busy.close();
        let _ = timeout(limits::CLOSING, self.busy.wait()).await;
    }
}
