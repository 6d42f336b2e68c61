//! The POSTs that are under way: how many, how many bytes, and how to stop them.

use super::driving::{Driving, Work};
use crate::{
    limits::SEND_QUEUE_BYTES,
    link::{Receive, SendError, Undelivered},
    numbers::ByNumber,
};
use parking_lot::{Mutex, MutexGuard};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use switchboard_tasks as tasks;
use tokio::{runtime::Handle, sync::Notify, task::AbortHandle, time::timeout};

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
    posts: HashMap<Key, By, ByNumber>,
    others: u64,
    closed: bool,
}

/// Who sees to a POST.
enum By {
    /// A task.
    Task(AbortHandle),
    /// Whoever waits for its answer, or is about to start a task for it.
    Waiter,
}

impl By {
    /// Stops it. A waiter finds its entry gone.
    fn stop(self) {
        if let Self::Task(task) = self {
            task.abort();
        }
    }
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
        let mut state = self.room(bytes, most)?;
        let key = state.key(request);
        state.posts.insert(key, By::Waiter);
        drop(state);
        self.start(key, Box::pin(task(self.flight(key, bytes))), receive);
        Ok(())
    }

    /// Begins a request if there is room for it, for whoever waits to drive.
    pub(super) fn begin<F>(
        self: &Arc<Self>,
        request: u64,
        bytes: usize,
        most: usize,
        receive: &Arc<dyn Receive>,
        post: impl FnOnce(Flight) -> F,
    ) -> Result<Driving, SendError>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut state = self.room(bytes, most)?;
        let key = Key::Request(request);
        state.posts.insert(key, By::Waiter);
        drop(state);
        let work = Box::pin(post(self.flight(key, bytes)));
        Ok(Driving::new(work, self.clone(), receive.clone(), request))
    }

    /// Goes on in a task with what somebody drove who does not wait any more. What was
    /// abandoned ends here.
    pub(super) fn hand_over(&self, request: u64, work: Work, receive: &Arc<dyn Receive>) {
        let key = Key::Request(request);
        let is_wanted = self.state.lock().posts.contains_key(&key);
        let (true, Ok(_)) = (is_wanted, Handle::try_current()) else {
            return drop(work);
        };
        self.start(key, work, receive);
    }

    /// Starts a task for what is entered already. Not under the lock: where the runtime is
    /// ending, what is started is dropped at once, and takes its entry out.
    fn start(&self, key: Key, work: Work, receive: &Arc<dyn Receive>) {
        let told = receive.clone();
        let task = tasks::spawn_or(tasks::Kind::Post, work, move || {
            if let Key::Request(request) = key {
                say_broke_off(request, &*told);
            }
        })
        .abort_handle();
        let mut state = self.state.lock();
        if let Some(by) = state.posts.get_mut(&key) {
            *by = By::Task(task);
            return;
        }
        drop(state);
        // It has ended, or was abandoned in between.
        task.abort();
    }

    /// A request that was driven has ended by a fault of ours.
    pub(super) fn broke_off(&self, request: u64, receive: &dyn Receive) {
        self.state.lock().posts.remove(&Key::Request(request));
        say_broke_off(request, receive);
    }

    /// The state, where there is room for one more, which is counted from now on.
    fn room(&self, bytes: usize, most: usize) -> Result<MutexGuard<'_, State>, SendError> {
        let state = self.state.lock();
        if state.closed {
            return Err(SendError::Closed);
        }
        let waiting = self.waiting.load(Ordering::Relaxed);
        if state.posts.len() >= most || waiting + bytes > SEND_QUEUE_BYTES {
            return Err(SendError::Full(waiting));
        }
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
        Ok(state)
    }

    fn flight(self: &Arc<Self>, key: Key, bytes: usize) -> Flight {
        Flight {
            flights: self.clone(),
            key,
            bytes,
        }
    }

    /// Stops a request. Nothing is reported for it any more.
    pub(super) fn abandon(&self, request: u64) {
        let by = self.state.lock().posts.remove(&Key::Request(request));
        if let Some(by) = by {
            by.stop();
        }
    }

    /// The requests that are under way.
    pub(super) fn requests(&self) -> Vec<u64> {
        let state = self.state.lock();
        let keys = state.posts.keys();
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
                if self.state.lock().posts.is_empty() {
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
        let stopped: Vec<_> = state.posts.extract_if(|key, _| and_stop(key)).collect();
        drop(state);
        for (_, by) in stopped {
            by.stop();
        }
    }
}

impl State {
    fn key(&mut self, request: Option<u64>) -> Key {
        request.map_or_else(
            || {
                self.others += 1;
                Key::Other(self.others)
            },
            Key::Request,
        )
    }
}

fn say_broke_off(request: u64, receive: &dyn Receive) {
    let why = "a bug in Switchboard broke it off; its log says where".to_owned();
    receive.undelivered(request, Undelivered::Unknown(why));
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
        let removed = self.flights.state.lock().posts.remove(&self.key).is_some();
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
