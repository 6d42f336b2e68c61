//! Clients that call at the same time until they are to end, whatever is done meanwhile.

use super::Caller;
use crate::world::until;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Clients that call: every second one makes short calls, the others long ones.
#[derive(Debug)]
pub struct Lanes {
    calls: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    lanes: Vec<JoinHandle<Caller>>,
}

impl Lanes {
    /// They begin.
    pub fn begin(callers: Vec<Caller>) -> Self {
        let calls = Arc::new(AtomicU64::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let lanes = callers.into_iter().enumerate().map(|(lane, mut caller)| {
            let (stop, calls) = (stop.clone(), calls.clone());
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    match lane % 2 {
                        0 => caller.quick().await,
                        _ => caller.slow().await,
                    }
                    calls.fetch_add(1, Ordering::Relaxed);
                    caller.until_answered().await;
                }
                caller
            })
        });
        Self {
            lanes: lanes.collect(),
            calls,
            stop,
        }
    }

    /// Waits until so many more calls were answered.
    pub async fn answered(&self, more: u64, within: Duration) {
        let before = self.calls.load(Ordering::Relaxed);
        let enough = || (self.calls.load(Ordering::Relaxed) >= before + more).then_some(());
        until(within, enough).await.expect("calls are answered");
    }

    /// They end, each after a call that has to be answered.
    pub async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for lane in self.lanes {
            let mut caller = lane.await.expect("a client goes on whatever happens");
            caller.quick().await;
            caller.end().await;
        }
    }
}
