//! Connections that are kept and used again.
//!
//! A request takes a connection out of the pool and drives it in its own task:
//! no second task runs for it, nothing is handed between threads, and dropping
//! the request closes the socket. An unused connection is driven by nobody; it
//! is looked at when it is taken, and now and then by a sweeper. Why this and not
//! hyper-util's pool: `docs/design/decisions/0006-http-pool.md`.

#[cfg(test)]
mod figures;

use super::{
    HttpOptions,
    answer::Answer,
    http1::{Connection, Fault, Request},
};
use crate::{dial::Dialer, limits, link::Undelivered};
use http::HeaderValue;
use parking_lot::Mutex;
use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};
use switchboard_tasks as tasks;

/// A connection that may be used for one request after another.
pub(super) struct Kept {
    pub(super) line: Connection,
    used_before: bool,
    /// Until when it may be used again.
    expires: Instant,
}

/// The connections to one origin.
pub(super) struct Pool {
    dialer: Dialer,
    idle: Arc<Mutex<Idle>>,
    idle_timeout: Duration,
    idle_connections: usize,
}

#[derive(Default)]
#[expect(
    clippy::vec_box,
    reason = "a connection is large and moves in and out for every request"
)]
struct Idle {
    connections: Vec<Box<Kept>>,
    sweeping: bool,
}

impl Pool {
    pub(super) fn new(dialer: Dialer, options: &HttpOptions) -> Self {
        Self {
            dialer,
            idle: Arc::default(),
            idle_timeout: options.idle_timeout,
            idle_connections: options.idle_connections,
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
        let mut idle = self.idle.lock();
        if idle.connections.len() >= self.idle_connections {
            return;
        }
        idle.connections.push(connection);
        if !std::mem::replace(&mut idle.sweeping, true) {
            let (idle, again) = (Arc::downgrade(&self.idle), Arc::downgrade(&self.idle));
            tasks::spawn_or(tasks::Kind::Upkeep, sweep(idle), move || {
                if let Some(idle) = again.upgrade() {
                    idle.lock().sweeping = false;
                }
            });
        }
    }

    /// Closes what is kept.
    pub(super) fn clear(&self) {
        let connections = std::mem::take(&mut self.idle.lock().connections);
        drop(connections);
    }

    /// The connection that was used last, since the peer is least likely to have closed it.
    fn take(&self) -> Option<Box<Kept>> {
        loop {
            let mut connection = self.idle.lock().connections.pop()?;
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

/// Closes unused connections whose time is over or whose peer hung up, until none is left.
async fn sweep(idle: Weak<Mutex<Idle>>) {
    loop {
        tokio::time::sleep(limits::POOL_SWEEP).await;
        let Some(idle) = idle.upgrade() else { return };
        let mut idle = idle.lock();
        let now = Instant::now();
        idle.connections
            .retain_mut(|connection| connection.expires > now && connection.line.is_ready());
        if idle.connections.is_empty() {
            idle.sweeping = false;
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
