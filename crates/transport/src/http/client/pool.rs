//! Connections that are kept and used again.
//!
//! A request takes a connection out of the pool and drives it in its own task:
//! no second task runs for it, nothing is handed between threads, and dropping
//! the request closes the socket. An unused connection is driven by nobody; it
//! is looked at when it is taken, and now and then by a sweeper. Why this and not
//! hyper-util's pool: `docs/design/decisions/0006-http-pool.md`.

#[cfg(test)]
mod figures;

use super::{HttpOptions, answer::Answer, body::PayloadBody, connector::Wire};
use crate::{dial::Dialer, limits, link::Undelivered};
use http::{HeaderValue, Request};
use hyper::client::conn::http1;
use parking_lot::Mutex;
use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};
use switchboard_tasks as tasks;

/// One connection and hyper's state for it.
pub(super) struct Connection {
    sender: http1::SendRequest<PayloadBody>,
    /// `None` once it has ended.
    driver: Option<http1::Connection<Wire, PayloadBody>>,
    wrote: Arc<AtomicBool>,
    used_before: bool,
    /// Until when it may be used again.
    expires: Instant,
}

impl Connection {
    async fn open(wire: Wire) -> Result<Box<Self>, hyper::Error> {
        let wrote = wire.wrote();
        let (sender, driver) = http1::Builder::new()
            .max_buf_size(limits::HTTP_READ_BUFFER)
            .handshake(wire)
            .await?;
        Ok(Box::new(Self {
            sender,
            driver: Some(driver),
            wrote,
            used_before: false,
            expires: Instant::now(),
        }))
    }

    /// Runs `work`, which waits for this connection, together with the connection.
    pub(super) async fn drive<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(|context| {
            // Twice, because asking for more of a body is what lets the
            // connection hand over what it has already read.
            for _ in 0..2 {
                self.poll_driver(context);
                if let Poll::Ready(done) = work.as_mut().poll(context) {
                    return Poll::Ready(done);
                }
            }
            Poll::Pending
        })
        .await
    }

    fn poll_driver(&mut self, context: &mut Context<'_>) {
        if let Some(driver) = &mut self.driver
            && Pin::new(driver).poll(context).is_ready()
        {
            self.driver = None;
        }
    }

    /// Whether another request can be sent on it: the last answer is complete
    /// and the peer has not hung up.
    fn is_ready(&mut self) -> bool {
        self.poll_driver(&mut Context::from_waker(Waker::noop()));
        self.driver.is_some() && self.sender.is_ready()
    }
}

/// Why there is no answer.
pub(super) enum PoolError {
    /// A kept connection was dead and nothing left, but the request was used up: build it again.
    Stale,
    /// Final.
    Undelivered(Undelivered),
}

impl From<Undelivered> for PoolError {
    fn from(why: Undelivered) -> Self {
        Self::Undelivered(why)
    }
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
    connections: Vec<Box<Connection>>,
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
    #[expect(
        clippy::manual_async_fn,
        reason = "an async fn has room for each of its arguments twice"
    )]
    pub(super) fn send(
        &self,
        mut request: Request<PayloadBody>,
    ) -> impl Future<Output = Result<Answer, PoolError>> + Send {
        async move {
            loop {
                let mut connection = match self.take() {
                    Some(connection) => connection,
                    // Boxed: it is rare, and would make every request's state larger.
                    None => Box::pin(self.connect()).await?,
                };
                connection.wrote.store(false, Ordering::Relaxed);
                let sent = connection.sender.try_send_request(request);
                let mut fault = match connection.drive(sent).await {
                    Ok(response) => return Ok(Answer::new(response, connection)),
                    Err(fault) => fault,
                };
                let unsent = fault.take_message();
                if unsent.is_none() && connection.wrote.load(Ordering::Relaxed) {
                    return Err(Undelivered::Unknown(describe(fault.error())).into());
                }
                if !connection.used_before {
                    return Err(Undelivered::NotSent(describe(fault.error()).into()).into());
                }
                request = unsent.ok_or(PoolError::Stale)?;
            }
        }
    }

    /// Keeps the connection of a complete answer for the next request.
    pub(super) fn keep(&self, mut connection: Box<Connection>, announced: Option<Duration>) {
        if !connection.is_ready() {
            return;
        }
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
    fn take(&self) -> Option<Box<Connection>> {
        loop {
            let mut connection = self.idle.lock().connections.pop()?;
            if connection.expires > Instant::now() && connection.is_ready() {
                return Some(connection);
            }
        }
    }

    async fn connect(&self) -> Result<Box<Connection>, Undelivered> {
        let stream = self.dialer.dial_forward().await;
        let stream = stream.map_err(|fault| Undelivered::NotSent(fault.into()))?;
        Connection::open(Wire::new(stream))
            .await
            .map_err(|fault| Undelivered::NotSent(describe(&fault).into()))
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
            .retain_mut(|connection| connection.expires > now && connection.is_ready());
        if idle.connections.is_empty() {
            idle.sweeping = false;
            return;
        }
    }
}

fn describe(fault: &hyper::Error) -> String {
    if fault.is_incomplete_message() || fault.is_closed() || fault.is_canceled() {
        return "the server closed the connection before answering".into();
    }
    if fault.is_parse() {
        return format!("the server's answer is not HTTP: {fault}");
    }
    let cause = std::error::Error::source(fault)
        .map(|cause| format!(": {cause}"))
        .unwrap_or_default();
    format!("the connection broke before the answer: {fault}{cause}")
}
