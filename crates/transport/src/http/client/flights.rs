//! The POSTs that are under way: how many, how many bytes, and how to stop them.

use crate::{
    limits::SEND_QUEUE_BYTES,
    link::{Receive, SendError, Undelivered},
    numbers::ByNumber,
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use switchboard_tasks as tasks;
use tokio::{sync::Notify, task::AbortHandle, time::timeout};

/// What a POST carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A request, by our id.
    Request(u64),
    /// Anything else, by a running number.
    Other(u64),
}

/// All POSTs of a link.
#[derive(Default)]
pub(super) struct Flights {
    state: Mutex<State>,
    /// Bytes of messages whose answers have not begun.
    waiting: AtomicUsize,
    landed: Notify,
}

#[derive(Default)]
struct State {
    tasks: HashMap<Key, AbortHandle, ByNumber>,
    others: u64,
    closed: bool,
}

/// One POST. Its entry ends with it, however it ends.
pub(super) struct Flight {
    flights: Arc<Flights>,
    key: Key,
    bytes: usize,
}

impl Flights {
    /// Starts `task` if there is room for it.
    pub(super) fn launch<F>(
        self: &Arc<Self>,
        request: Option<u64>,
        bytes: usize,
        most: usize,
        receive: &Arc<dyn Receive>,
        task: impl FnOnce(Flight) -> F,
    ) -> Result<(), SendError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut state = self.state.lock();
        if state.closed {
            return Err(SendError::Closed);
        }
        let waiting = self.waiting.load(Ordering::Relaxed);
        if state.tasks.len() >= most || waiting + bytes > SEND_QUEUE_BYTES {
            return Err(SendError::Full(waiting));
        }
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
        let key = request.map_or_else(
            || {
                state.others += 1;
                Key::Other(state.others)
            },
            Key::Request,
        );
        // Boxed, because a runtime moves what it is given several times. Under the
        // lock, so that the task cannot end before it is entered.
        let task = Box::pin(task(Flight {
            flights: self.clone(),
            key,
            bytes,
        }));
        let told = receive.clone();
        let handle = tasks::spawn_or(tasks::Kind::Post, task, move || {
            if let Some(request) = request {
                let why = "a bug in Switchboard broke it off; its log says where".to_owned();
                told.undelivered(request, Undelivered::Unknown(why));
            }
        })
        .abort_handle();
        state.tasks.insert(key, handle);
        Ok(())
    }

    /// Stops a request. Nothing is reported for it any more.
    pub(super) fn abandon(&self, request: u64) {
        let task = self.state.lock().tasks.remove(&Key::Request(request));
        if let Some(task) = task {
            task.abort();
        }
    }

    /// The requests that are under way.
    pub(super) fn requests(&self) -> Vec<u64> {
        let state = self.state.lock();
        let keys = state.tasks.keys();
        keys.filter_map(|key| match key {
            Key::Request(id) => Some(*id),
            Key::Other(_) => None,
        })
        .collect()
    }

    /// Refuses new messages and stops all requests, then waits a moment for the
    /// rest (a cancellation, say) to leave, then stops that too.
    pub(super) async fn close(&self, patience: Duration) {
        self.refuse(|key| matches!(key, Key::Request(_)));
        let _ = timeout(patience, async {
            loop {
                let landed = self.landed.notified();
                if self.state.lock().tasks.is_empty() {
                    return;
                }
                landed.await;
            }
        })
        .await;
        self.stop();
    }

    /// Refuses new messages and stops everything.
    pub(super) fn stop(&self) {
        self.refuse(|_| true);
    }

    fn refuse(&self, and_stop: impl Fn(&Key) -> bool) {
        let mut state = self.state.lock();
        state.closed = true;
        let stopped: Vec<_> = state.tasks.extract_if(|key, _| and_stop(key)).collect();
        drop(state);
        for (_, task) in stopped {
            task.abort();
        }
    }
}

impl Flight {
    /// The message has left and its answer has begun.
    pub(super) fn departed(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        self.flights.waiting.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Ends the entry. Says whether the outcome still interests anybody.
    pub(super) fn land(mut self) -> bool {
        self.departed();
        self.remove()
    }

    fn remove(&self) -> bool {
        let removed = self.flights.state.lock().tasks.remove(&self.key).is_some();
        if removed && matches!(self.key, Key::Other(_)) {
            self.flights.landed.notify_waiters();
        }
        removed
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.departed();
        self.remove();
    }
}
