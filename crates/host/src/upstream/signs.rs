//! Whether a server that somebody waits for gives any sign of life: it says
//! something, on stdout or stderr, or its processes do something. One that is
//! installed first says nothing for long, and works all the time.

use super::{connection::Connection, server::Server};
use crate::limits;
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};
use switchboard_process::{ServerProcess, Usage, usage_of};
use switchboard_tasks as tasks;
use switchboard_transport::Link;
use tokio::time::Instant;

/// What was seen of a server last, and since when it has been that.
#[derive(Debug, Default)]
pub(super) struct Signs(Mutex<Option<(Seen, Instant)>>);

/// All that changes while a server does something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Seen {
    /// Which connection was opened last, by its place in memory.
    connection: usize,
    /// How many requests were sent on it: each but the first follows an answer.
    requests: u64,
    /// How many bytes its process wrote to stderr.
    said: u64,
    /// How long its processes have computed.
    worked: Duration,
}

impl Seen {
    fn of(connection: Option<&Arc<Connection>>, usage: Option<Usage>) -> Self {
        let Some(connection) = connection else {
            return Self::default();
        };
        Self {
            connection: Arc::as_ptr(connection) as usize,
            requests: connection.calls().begun(),
            said: process(connection).map_or(0, |process| process.stderr().total()),
            worked: usage.unwrap_or_default().processor,
        }
    }
}

impl Signs {
    /// Notes what is seen now; for how long it has been that.
    fn note(&self, seen: Seen, starting: Option<Instant>) -> Duration {
        let mut last = self.0.lock();
        let since = match *last {
            Some((before, since)) if before == seen => since,
            Some(_) => Instant::now(),
            None => starting.unwrap_or_else(Instant::now),
        };
        *last = Some((seen, since));
        since.elapsed()
    }
}

/// Whether none of these has given a sign of life for longer than it may.
pub(crate) async fn are_silent(servers: &[Arc<Server>]) -> bool {
    let servers = servers.to_vec();
    let looking = tasks::blocking(move || {
        let opened: Vec<Option<Arc<Connection>>> = servers
            .iter()
            .map(|server| server.health().opened_last())
            .collect();
        let processes = opened.iter().flatten().filter_map(process);
        let leaders: Vec<u32> = processes.map(ServerProcess::pid).collect();
        let mut usages = usage_of(&leaders).into_iter();
        let mut silent = true;
        for (server, connection) in servers.iter().zip(&opened) {
            let has_process = connection.as_ref().and_then(process).is_some();
            let usage = has_process.then(|| usages.next()).flatten();
            let health = server.health();
            let seen = Seen::of(connection.as_ref(), usage);
            let quiet = health.signs().note(seen, health.starting_since());
            // Longer, by a look, than a server of the other era is given to answer
            // before it is greeted as one of that.
            silent &= quiet > limits::SILENCE + limits::SILENCE_LOOK;
        }
        silent
    });
    looking.await.unwrap_or(false)
}

/// The process behind a connection, if there is one.
pub(super) fn process(connection: &Arc<Connection>) -> Option<&ServerProcess> {
    match connection.link() {
        Some(Link::Stdio(link)) => link.server_process(),
        _ => None,
    }
}
