//! Something that is kept for a reader, and let go where that one does not come back for it:
//! nobody asks a body for more while its client reads nothing, so that somebody else has to
//! look.

use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use switchboard_tasks as tasks;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep_until},
};

/// Kept until its reader takes it, ends, or has not come for too long.
pub(super) struct Unread<T> {
    kept: Arc<Mutex<Kept<T>>>,
    watch: JoinHandle<()>,
}

struct Kept<T> {
    /// There is none while the reader has it, and after it was let go.
    value: Option<T>,
    /// When it was put here.
    since: Instant,
}

impl<T: Send + 'static> Unread<T> {
    /// Keeps it. Where nobody takes it for as long as `limit`, it goes to `let_go`.
    pub(super) fn new(value: T, limit: Duration, let_go: impl FnOnce(T) + Send + 'static) -> Self {
        let kept = Arc::new(Mutex::new(Kept {
            value: Some(value),
            since: Instant::now(),
        }));
        let watched = kept.clone();
        let watch = tasks::spawn(tasks::Kind::Stream, async move {
            let_go(overdue(&watched, limit).await);
        });
        Self { kept, watch }
    }

    /// Takes it; nothing where it was let go.
    pub(super) fn take(&self) -> Option<T> {
        self.kept.lock().value.take()
    }

    /// Puts it back until it is taken the next time.
    pub(super) fn put(&self, value: T) {
        *self.kept.lock() = Kept {
            value: Some(value),
            since: Instant::now(),
        };
    }
}

/// Waits until it has been there for too long, and takes it.
async fn overdue<T>(kept: &Mutex<Kept<T>>, limit: Duration) -> T {
    loop {
        let look = {
            let mut kept = kept.lock();
            let now = Instant::now();
            let until = match kept.value {
                Some(_) => kept.since + limit,
                // Its reader has it, and puts it back no earlier than now.
                None => now + limit,
            };
            if until <= now
                && let Some(value) = kept.value.take()
            {
                return value;
            }
            until
        };
        sleep_until(look).await;
    }
}

impl<T> Drop for Unread<T> {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::{sync::oneshot, time::sleep};

    const LIMIT: Duration = Duration::from_secs(60);

    fn kept() -> (Unread<&'static str>, oneshot::Receiver<&'static str>) {
        let (told, heard) = oneshot::channel();
        let unread = Unread::new("it", LIMIT, move |it| told.send(it).unwrap());
        (unread, heard)
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_takes_is_let_go() {
        let (unread, heard) = kept();
        let since = Instant::now();
        assert_eq!(heard.await, Ok("it"));
        assert_eq!(since.elapsed().as_secs(), LIMIT.as_secs());
        assert_eq!(unread.take(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_that_comes_again_has_all_the_time() {
        let (unread, mut heard) = kept();
        for _ in 0..5 {
            sleep(LIMIT - Duration::from_secs(1)).await;
            let it = unread.take().unwrap();
            // Meanwhile it is the server that is waited for.
            sleep(LIMIT * 3).await;
            unread.put(it);
        }
        assert!(heard.try_recv().is_err());
        assert_eq!(heard.await, Ok("it"));
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_watches_what_has_ended() {
        let (unread, heard) = kept();
        drop(unread);
        assert!(heard.await.is_err());
    }
}
