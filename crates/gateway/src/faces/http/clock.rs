//! The clock of one connection.
//!
//! hyper sets a limit for every request and takes it back when the request has
//! come, which is nearly always; so do we for every answer that may come at once.
//! Setting and taking back a timer of the runtime costs more than it looks: both
//! touch the timers of other connections, and one that strikes before all others
//! has the runtime wake itself, by a write to a descriptor of its own and a look
//! at all of them that finds nothing else. Here a connection has one timer, which
//! stays set while limits come and go; when it strikes too early for the limit of
//! now, it is set anew.

use hyper::rt::{Sleep, Timer};
use parking_lot::Mutex;
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

/// Limits that share one timer. For one connection, whose task alone waits.
#[derive(Clone, Default)]
pub(super) struct Clock(Arc<Mutex<Option<Pin<Box<tokio::time::Sleep>>>>>);

/// One limit.
struct Until {
    clock: Clock,
    deadline: Instant,
}

impl Clock {
    /// Waits for so long.
    pub(super) fn limit(&self, duration: Duration) -> impl Future<Output = ()> + Unpin + use<> {
        Until {
            clock: self.clone(),
            deadline: Instant::now() + duration,
        }
    }
}

impl Timer for Clock {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(Instant::now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(Until {
            clock: self.clone(),
            deadline,
        })
    }

    fn reset(&self, sleep: &mut Pin<Box<dyn Sleep>>, deadline: Instant) {
        match sleep.as_mut().downcast_mut_pin::<Until>() {
            Some(until) => until.get_mut().deadline = deadline,
            None => *sleep = self.sleep_until(deadline),
        }
    }
}

impl Sleep for Until {}

impl Future for Until {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let deadline = tokio::time::Instant::from_std(self.deadline);
        let mut timer = self.clock.0.lock();
        let timer = timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if timer.deadline() > deadline {
            timer.as_mut().reset(deadline);
        }
        while timer.as_mut().poll(context).is_ready() {
            if timer.deadline() >= deadline {
                return Poll::Ready(());
            }
            // It was set for an earlier limit.
            timer.as_mut().reset(deadline);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    const MS: Duration = Duration::from_millis(1);
    /// What a limit is set to before it is set right, and longer than any may take.
    const LONG: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn a_limit_strikes_in_time_whatever_was_set_before() {
        let clock = Clock::default();
        for (first, then) in [(200, 250), (5000, 10), (200, 200)] {
            // Set, looked at and taken back, before it can have struck however slow
            // the machine is just now.
            let taken_back = clock.sleep(first * MS);
            assert!(taken_back.now_or_never().is_none());
            let begun = Instant::now();
            let mut limit = clock.sleep(LONG);
            clock.reset(&mut limit, begun + then * MS);
            limit.await;
            let took = begun.elapsed();
            assert!(then * MS <= took && took < LONG / 10, "{took:?}");
        }
    }

    #[tokio::test]
    async fn a_limit_that_is_over_strikes_at_once() {
        let clock = Clock::default();
        clock.sleep(5 * MS).await;
        let begun = Instant::now();
        clock.sleep_until(begun - MS).await;
        assert!(begun.elapsed() < LONG / 10);
    }
}
