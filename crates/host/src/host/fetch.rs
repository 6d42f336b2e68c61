//! Lists fetched from many servers side by side: who is waited for, and for how
//! long. A server of which the list is known keeps nobody waiting. One of which it
//! is not is waited for longer, since there are clients that list once.

use super::{
    Host,
    settled::{For, Found, Seen},
};
use crate::{
    catalog::List,
    client::Client,
    error::CallError,
    limits,
    permission::Guard,
    upstream::{Server, are_silent},
};
use futures_util::{
    future::FutureExt,
    stream::{FuturesUnordered, StreamExt},
};
use std::{future::poll_fn, sync::Arc, task::Poll, time::Duration};
use switchboard_tasks as tasks;
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// A server that a list is without, since it was not there in time.
#[derive(Clone, Debug)]
pub struct Late {
    /// Its configured name.
    pub server: Arc<str>,
    /// Whether it was given up early, since it gave no sign of life.
    pub is_silent: bool,
}

impl Late {
    /// One that took its time.
    fn unhurried(server: &Server) -> Self {
        Self {
            server: server.name().clone(),
            is_silent: false,
        }
    }
}

/// What is fetched, and for whom.
pub(super) struct Fetch<'a> {
    pub(super) client: &'a Arc<Client>,
    pub(super) lists: &'a [List],
    /// Asks anew for what is older than its server allows.
    pub(super) fresh: bool,
    /// How long a server is waited for of which the lists are not known.
    pub(super) wait: Duration,
}

/// What came of one server.
#[derive(PartialEq, Eq)]
enum Came {
    /// There was nothing to be done, and will not be before this moment, if there is one.
    InOrder(Option<Instant>),
    /// It is as it should be, or cannot be.
    Settled,
    /// It was not there in time.
    Late,
}

impl Fetch<'_> {
    /// Connects to all servers that the client may reach, and fetches what is not known,
    /// side by side. Which of them were not there in time. Those that were in order the
    /// last time are not looked at while nothing has moved.
    pub(super) async fn all(&self, host: &Host) -> Vec<Late> {
        let servers = host.servers();
        let seen = Seen::now(&servers, &host.guard);
        let whom = For::of(self, &servers);
        let rest = whom.as_ref().and_then(|whom| host.settled.rest(whom, seen));
        match rest {
            Some(rest) if rest.is_empty() => Vec::new(),
            Some(rest) => self.some(&host.guard, &rest).boxed().await.0,
            None => {
                let (late, found) = self.some(&host.guard, &servers).boxed().await;
                if let Some(whom) = whom {
                    host.settled.note(whom, seen, found);
                }
                late
            }
        }
    }

    /// The same for some of the servers, and which of them were in order.
    pub(super) async fn some(&self, guard: &Guard, servers: &[Arc<Server>]) -> (Vec<Late>, Found) {
        let reached = servers
            .iter()
            .filter(|server| guard.reaches(self.client, server));
        let mut awaited: Vec<Arc<Server>> = reached.cloned().collect();
        let new: Vec<Arc<Server>> = awaited
            .iter()
            .filter(|server| !server.is_known(self.client, self.lists))
            .cloned()
            .collect();
        let mut found = Found::default();
        let late = self.wait_for(&mut awaited, &mut found).await;
        if !self.lists.is_empty() && !new.is_empty() {
            write_down(new).await;
        }
        (late, found)
    }

    /// Waits until all of them are settled, or too late, or those that are left give
    /// no sign of life.
    async fn wait_for(&self, awaited: &mut Vec<Arc<Server>>, found: &mut Found) -> Vec<Late> {
        let mut late = Vec::new();
        let all = std::mem::take(awaited);
        let mut coming = FuturesUnordered::new();
        // Most have nothing to wait for, and are through with one look.
        for server in &all {
            let mut one = Box::pin(async move { (server, self.one(server).await) });
            let came = poll_fn(|context| Poll::Ready(one.as_mut().poll(context))).await;
            if let Poll::Ready((_, Came::InOrder(until))) = came {
                found.settle(self.lists.len(), until);
                continue;
            }
            found.rest.push(server.clone());
            match came {
                Poll::Ready((_, Came::Late)) => late.push(Late::unhurried(server)),
                Poll::Ready(_) => {}
                Poll::Pending => {
                    awaited.push(server.clone());
                    coming.push(one);
                }
            }
        }
        loop {
            tokio::select! {
                biased;
                came = coming.next() => {
                    let Some((server, came)) = came else { return late };
                    awaited.retain(|other| !Arc::ptr_eq(other, server));
                    if came == Came::Late {
                        late.push(Late::unhurried(server));
                    }
                }
                () = sleep(limits::SILENCE_LOOK) => {
                    if are_silent(awaited).await {
                        break;
                    }
                }
            }
        }
        drop(coming);
        for server in awaited.drain(..) {
            self.leave_behind(&server);
            let server = server.name().clone();
            let is_silent = true;
            late.push(Late { server, is_silent });
        }
        late
    }

    /// Brings one server's lists up to date, if it can be reached in time.
    async fn one(&self, server: &Arc<Server>) -> Came {
        let (client, lists) = (self.client, self.lists);
        let is_known = server.is_known(client, lists);
        // What does not run has not changed. Whoever uses it starts it.
        if is_known && server.sleeps_for(client) {
            return Came::InOrder(None);
        }
        if is_known && server.current(client).is_none() {
            server.note_stale(client, lists);
            let (server, client) = (server.clone(), client.clone());
            // Starting many processes takes all there is of a small machine, and the
            // answer is known: it goes out first.
            tasks::spawn(tasks::Kind::Background, async move {
                sleep(limits::KNOWN_PAUSE).await;
                if !client.has_left() {
                    let _ = server.connection(&client).await;
                }
            });
            return Came::Settled;
        }
        match timeout_at(self.deadline(server, is_known), self.fetched(server)).await {
            Ok(Err(fault @ (CallError::Unreadable { .. } | CallError::TimedOut { .. }))) => {
                tracing::warn!(server = %server.name(), %fault, "its lists could not be fetched and are left out");
            }
            Ok(Err(fault)) => {
                tracing::debug!(server = %server.name(), %fault, "its lists could not be fetched");
                server.note_stale(client, lists);
            }
            Err(_) => {
                self.leave_behind(server);
                return if is_known { Came::Settled } else { Came::Late };
            }
            Ok(Ok(until)) => return Came::InOrder(until),
        }
        Came::Settled
    }

    /// Until when it is waited for. One that has kept others waiting keeps nobody
    /// waiting again.
    fn deadline(&self, server: &Arc<Server>, is_known: bool) -> Instant {
        if !is_known {
            let start = server.spec.timeouts.connect;
            let era = server.era_for(self.client);
            let since = server.catalogs(self.client).awaited_since(era, start);
            return since + self.wait;
        }
        let now = Instant::now();
        server.pending_since().unwrap_or(now).min(now) + limits::KNOWN_LIST
    }

    /// Sees to it that a server's lists are there. Until when they are good, where that
    /// matters and ends.
    async fn fetched(&self, server: &Arc<Server>) -> Result<Option<Instant>, CallError> {
        let connection = server.connection(self.client).await?;
        let mut until: Option<Instant> = None;
        for list in self.lists {
            let catalog = connection.catalog();
            let listing = match self.fresh {
                true => catalog.fresh(*list, &connection).await?,
                false => catalog.get(*list, &connection).await?,
            };
            if let Some(stale) = listing.stale().filter(|_| self.fresh) {
                until = Some(until.map_or(stale, |until| until.min(stale)));
            }
        }
        server.catalogs(self.client).answered();
        Ok(until)
    }

    /// Goes on without those who asked: they are told when it is there.
    fn leave_behind(&self, server: &Arc<Server>) {
        server.note_stale(self.client, self.lists);
        let (server, client) = (server.clone(), self.client.clone());
        tasks::spawn(tasks::Kind::Background, async move {
            if !client.has_left()
                && let Ok(connection) = server.connection(&client).await
            {
                server.refresh_stale(connection);
            }
        });
    }
}

/// Puts on disk what has become known of these servers. A client that lists once may
/// end us as soon as it has its answer, and the next start is to know the same.
async fn write_down(mut servers: Vec<Arc<Server>>) {
    servers.retain(|server| server.has_news());
    if servers.is_empty() {
        return;
    }
    let writing = tasks::blocking(move || {
        for server in servers {
            server.write_down();
        }
    });
    let _ = timeout(limits::MEMORY_WRITTEN, writing).await;
}
