//! Connections that are kept and used again.
//!
//! A request takes a connection out of the pool and drives it itself: no task runs
//! for the connection, nothing is handed between threads, and dropping the request
//! closes the socket. An unused connection is driven by nobody; it is looked at when
//! it is taken, and now and then by a sweeper. Unused connections lie on several
//! shelves, of which each thread has its own: it takes from there what it put there,
//! and looks at the others' only where its own is empty. Why this and not hyper-util's
//! pool: `docs/design/decisions/0006-http-pool.md`.

#[cfg(test)]
mod figures;

use super::{
    HttpOptions,
    answer::Answer,
    http1::{Connection, Fault, Request},
};
use crate::{
    dial::{Dialer, Stream},
    limits,
    link::Undelivered,
};
use http::HeaderValue;
use parking_lot::Mutex;
use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use switchboard_tasks as tasks;

/// A connection that may be used for one request after another.
pub(super) struct Kept {
    pub(super) line: Connection<Stream>,
    used_before: bool,
    /// Until when it may be used again.
    expires: Instant,
}

/// The connections to one origin.
pub(super) struct Pool {
    dialer: Dialer,
    idle: Arc<Idle>,
    idle_timeout: Duration,
}

/// What is kept.
struct Idle {
    shelves: Box<[Shelf]>,
    /// How many stay on one shelf.
    each: usize,
    /// How many it takes until they are looked at: many calls that end at once are often followed
    /// by as many.
    burst: usize,
    sweeping: AtomicBool,
}

/// Boxed: a connection is large and moves in and out for every request.
type Shelf = Mutex<Vec<Box<Kept>>>;

impl Idle {
    fn new(most: usize) -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let shelves = threads.min(limits::POOL_SHELVES).min(most).max(1);
        Self {
            shelves: (0..shelves).map(|_| Shelf::default()).collect(),
            each: most / shelves,
            burst: limits::POOL_BURST.max(most) / shelves,
            sweeping: AtomicBool::new(false),
        }
    }

    /// All shelves, this thread's own first.
    fn own_first(&self) -> impl Iterator<Item = &Shelf> {
        let own = OWN_SHELF.with(|own| *own) % self.shelves.len();
        let (others, from_own) = self.shelves.split_at(own);
        from_own.iter().chain(others)
    }

    /// Finds a place for a connection. Without one it is closed.
    fn put(&self, connection: Box<Kept>) -> bool {
        for shelf in self.own_first() {
            let mut shelf = shelf.lock();
            if shelf.len() < self.burst {
                shelf.push(connection);
                return true;
            }
        }
        false
    }

    /// What was put last, and so is the least likely to have been closed by its peer.
    fn take(&self) -> Option<Box<Kept>> {
        self.own_first().find_map(|shelf| shelf.lock().pop())
    }
}

/// The next thread's number.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// This thread's.
    static OWN_SHELF: usize = THREADS.fetch_add(1, Ordering::Relaxed);
}

impl Pool {
    pub(super) fn new(dialer: Dialer, options: &HttpOptions) -> Self {
        Self {
            dialer,
            idle: Arc::new(Idle::new(options.idle_connections)),
            idle_timeout: options.idle_timeout,
        }
    }

    /// The proxy that wants requests with whole addresses, and what it is shown.
    pub(super) fn forward(&self) -> Option<Option<&HeaderValue>> {
        self.dialer.forward()
    }

    /// Sends a request and waits for the head of its answer. A kept connection
    /// that turns out to be dead before anything left is replaced; once a byte
    /// has left, nothing is sent twice.
    pub(super) async fn send(&self, request: &Request<'_>) -> Result<Answer, Undelivered> {
        loop {
            let mut kept = match self.take() {
                Some(kept) => kept,
                // Boxed: it is rare, and would make every request's state larger.
                None => Box::pin(self.connect()).await?,
            };
            let fault = match kept.line.ask(request).await {
                Ok((status, headers)) => return Ok(Answer::new(status, headers, kept)),
                Err(fault) => fault,
            };
            if kept.line.has_written() {
                return Err(Undelivered::Unknown(describe(&fault)));
            }
            if !kept.used_before {
                return Err(Undelivered::NotSent(describe(&fault).into()));
            }
        }
    }

    /// Keeps the connection of a complete answer for the next request.
    pub(super) fn keep(&self, mut connection: Box<Kept>, announced: Option<Duration>) {
        if !connection.line.is_complete() {
            return;
        }
        connection.line.rest();
        let timeout = announced.map_or(self.idle_timeout, |announced| {
            announced.min(self.idle_timeout)
        });
        connection.used_before = true;
        connection.expires = Instant::now() + timeout;
        let kept = self.idle.put(connection);
        if kept && !self.idle.sweeping.load(Ordering::Relaxed) {
            self.sweep_from_now_on();
        }
    }

    fn sweep_from_now_on(&self) {
        if self.idle.sweeping.swap(true, Ordering::AcqRel) {
            return;
        }
        let (idle, again) = (Arc::downgrade(&self.idle), Arc::downgrade(&self.idle));
        tasks::spawn_or(tasks::Kind::Upkeep, sweep(idle), move || {
            if let Some(idle) = again.upgrade() {
                idle.sweeping.store(false, Ordering::Release);
            }
        });
    }

    /// Closes what is kept.
    pub(super) fn clear(&self) {
        for shelf in &self.idle.shelves {
            let connections = std::mem::take(&mut *shelf.lock());
            drop(connections);
        }
    }

    fn take(&self) -> Option<Box<Kept>> {
        loop {
            let mut connection = self.idle.take()?;
            if connection.expires > Instant::now() && connection.line.is_ready() {
                return Some(connection);
            }
        }
    }

    async fn connect(&self) -> Result<Box<Kept>, Undelivered> {
        let stream = self.dialer.dial_forward().await;
        let stream = stream.map_err(|fault| Undelivered::NotSent(fault.into()))?;
        Ok(Box::new(Kept {
            line: Connection::new(stream),
            used_before: false,
            expires: Instant::now(),
        }))
    }
}

/// Closes unused connections whose time is over or whose peer hung up, and those that are too
/// many, until none is left.
async fn sweep(idle: Weak<Idle>) {
    loop {
        tokio::time::sleep(limits::POOL_SWEEP).await;
        let Some(idle) = idle.upgrade() else { return };
        let now = Instant::now();
        let mut left = 0;
        for shelf in &idle.shelves {
            let mut shelf = shelf.lock();
            // The first are those that were used the longest ago.
            let surplus = shelf.len().saturating_sub(idle.each);
            shelf.drain(..surplus);
            shelf.retain_mut(|kept| kept.expires > now && kept.line.is_ready());
            left += shelf.len();
        }
        if left > 0 {
            continue;
        }
        idle.sweeping.store(false, Ordering::SeqCst);
        // One that was put there in between would find that somebody sweeps.
        let is_empty = idle.shelves.iter().all(|shelf| shelf.lock().is_empty());
        if is_empty || idle.sweeping.swap(true, Ordering::SeqCst) {
            return;
        }
    }
}

fn describe(fault: &Fault) -> String {
    match fault {
        Fault::Io(fault) => format!("the connection broke before the answer: {fault}"),
        fault => fault.to_string(),
    }
}
