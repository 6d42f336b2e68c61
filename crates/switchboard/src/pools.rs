//! How many servers are started or met at once: a few local ones, since each
//! takes a processor while it starts, and many remote ones, since they do not.

use crate::{limits, settings::Settings};
use std::{pin::pin, sync::Arc};
use tokio::{sync::Semaphore, time::timeout};

/// The two pools. Sliding: a place is taken again as soon as it is free.
#[derive(Clone, Debug)]
pub struct Pools {
    local: Arc<Semaphore>,
    remote: Arc<Semaphore>,
}

impl Pools {
    /// Pools of the configured sizes.
    pub fn new(settings: &Settings) -> Self {
        let pool = |size: usize| Arc::new(Semaphore::new(size.min(Semaphore::MAX_PERMITS)));
        Self {
            local: pool(settings.local_pool),
            remote: pool(settings.remote_pool),
        }
    }

    /// Does the work when there is a place for it.
    pub async fn run<T>(&self, remote: bool, work: impl Future<Output = T>) -> T {
        let pool = if remote { &self.remote } else { &self.local };
        let place = pool.acquire().await;
        let mut work = pin!(work);
        match timeout(limits::START_PLACE, &mut work).await {
            Ok(done) => done,
            Err(_) => {
                drop(place);
                work.await
            }
        }
    }
}
