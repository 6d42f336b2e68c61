//! A POST that whoever waits for its answer drives.
//!
//! A task for each POST costs an allocation, a start, and one more wake: the socket wakes
//! the task, the task wakes whoever waits. So a request is not started as a task: whoever
//! waits polls it, and is woken by the socket itself. That holds only as long as somebody
//! waits. One who goes elsewhere (since something came before the answer, or since the
//! client is gone for a while) drops what it drives, which goes on in a task from there.

use super::flights::Flights;
use crate::link::Receive;
use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use switchboard_tasks as tasks;

/// What a request's sending and answering is, until its end.
pub(super) type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A request under way that has to be polled. Dropped before its end it goes on in a task,
/// unless it was abandoned.
pub struct Driving {
    work: Option<Work>,
    flights: Arc<Flights>,
    receive: Arc<dyn Receive>,
    request: u64,
}

impl Driving {
    pub(super) fn new(
        work: Work,
        flights: Arc<Flights>,
        receive: Arc<dyn Receive>,
        request: u64,
    ) -> Self {
        Self {
            work: Some(work),
            flights,
            receive,
            request,
        }
    }

    /// Goes on as far as that is possible now. What comes is handed over to the link's
    /// [`Receive`] from here.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(work) = &mut self.work else {
            return Poll::Ready(());
        };
        match tasks::caught_now(tasks::Kind::Post, || work.as_mut().poll(context)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(())) => self.work = None,
            Err(_) => {
                self.work = None;
                self.flights.broke_off(self.request, &*self.receive);
            }
        }
        Poll::Ready(())
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.flights.hand_over(self.request, work, &self.receive);
        }
    }
}

impl fmt::Debug for Driving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driving")
            .field("request", &self.request)
            .finish_non_exhaustive()
    }
}
