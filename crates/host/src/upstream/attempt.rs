//! One attempt to make a connection, in a task of its own, so that a caller who
//! gives up does not take it along. Five steps:
//!
//! 1. [`Attempt::connect`]: meets the server, within the time that it has.
//! 2. [`Attempt::or_stand_in`]: puts a stand-in there while it wants a sign-in.
//! 3. [`Attempt::succeed`]: takes over from the connection before it.
//! 4. [`Attempt::publish`]: says how it went to whoever waits or looks on.
//! 5. [`Place::watch`]: makes it again when it ends, or did not come about.

use super::{
    connecting::{too_slow, with_last_words},
    connection::{Connection, Ended},
    health::ServerState,
    server::Server,
    slot::{ConnectError, Content, Slot},
    slots::{Key, Owner},
};
use crate::{catalog::List, client::Client, error::CallError, limits, observe::Noted};
use std::sync::{Arc, Weak};
use switchboard_tasks as tasks;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::Instrument;

/// Where a connection belongs.
#[derive(Clone)]
pub(super) struct Place {
    server: Arc<Server>,
    key: Key,
    slot: Arc<Slot>,
}

/// One attempt to fill it.
struct Attempt {
    place: Place,
    /// Who wants it.
    client: Arc<Client>,
    /// The connection before, whose clients are taken over.
    old: Option<Arc<Connection>>,
    /// Attempts before this one, in a row, that failed.
    failures: u32,
}

/// What came of an attempt.
struct Made {
    result: Result<Arc<Connection>, ConnectError>,
    /// Whether the server wants a sign-in, with or without a stand-in for it.
    needs_auth: bool,
}

/// What happens to the place next.
enum Next {
    /// It is made again when it ends.
    Watch(Arc<Connection>),
    /// It is tried again for those who want it.
    Again(Weak<Client>),
    /// Nothing, until somebody asks.
    Rest,
}

impl Server {
    /// Makes the connection of a place that the caller has claimed.
    pub(super) fn spawn_connect(
        &self,
        key: &Key,
        slot: &Arc<Slot>,
        client: &Arc<Client>,
        old: Option<Arc<Connection>>,
        failures: u32,
    ) {
        let Some(server) = self.weak().upgrade() else {
            return;
        };
        self.health().begin_start(|state| self.tell(state));
        self.look_after();
        let busy = self.retirement().busy();
        let place = Place {
            server,
            key: key.clone(),
            slot: slot.clone(),
        };
        let claimed = place.clone();
        let attempt = Attempt {
            place,
            client: client.clone(),
            old,
            failures,
        };
        // Nobody's request: it outlives the one that wants it.
        let name = &*self.spec.name;
        let span = tracing::debug_span!(parent: None, "upstream", server = name);
        let running = attempt.run(busy).instrument(span);
        tasks::spawn_or(tasks::Kind::Connecting, running, move || {
            claimed.broke_off(failures);
        });
    }
}

impl Attempt {
    async fn run(self, busy: TaskTrackerToken) {
        // Boxed: it is large, and this task is there for as long as the connection.
        let (place, next) = Box::pin(self.made(busy)).await;
        place.watch(next).await;
    }

    async fn made(self, busy: TaskTrackerToken) -> (Place, Next) {
        tracing::debug!(attempt = self.failures + 1, "connecting");
        let met = self.connect().await;
        let made = self.or_stand_in(met).await;
        if let Ok(connection) = &made.result {
            self.succeed(connection).await;
        }
        self.publish(made, busy)
    }

    /// Meets the server, within the time that it has.
    async fn connect(&self) -> Result<Arc<Connection>, ConnectError> {
        let Place { server, key, .. } = &self.place;
        let allowed = server.spec.timeouts.connect;
        let made = tokio::select! {
            made = timeout(allowed, server.connect(key, &self.client)) => made,
            () = server.retirement().begun() => {
                let why = server.retirement().why().unwrap_or_default();
                return Err(ConnectError::Failed(why.to_owned()));
            }
        };
        made.unwrap_or_else(|_| {
            let opened = server.health().opened_last();
            let words = opened.map(|opened| opened.last_words()).unwrap_or_default();
            let reason = too_slow(&server.spec.target, allowed);
            Err(ConnectError::Failed(with_last_words(reason, &words)))
        })
    }

    /// Puts a stand-in there while the server wants a sign-in, if it has one.
    async fn or_stand_in(&self, met: Result<Arc<Connection>, ConnectError>) -> Made {
        let Place { server, key, .. } = &self.place;
        let needs_auth = matches!(met, Err(ConnectError::NeedsAuth(_)));
        let result = match &server.spec.stand_in {
            Some(stand_in) if needs_auth => {
                server.stand_ins().note(&key.owner, true);
                server.stand_in(key, &self.client, stand_in).await
            }
            _ => {
                if met.is_ok() {
                    server.stand_ins().note(&key.owner, false);
                }
                met
            }
        };
        let result = result.map_err(|error| error.after(self.failures + 1, &server.spec.name));
        Made { result, needs_auth }
    }

    /// Takes over from the connection before it.
    async fn succeed(&self, connection: &Arc<Connection>) {
        let Place { server, key, .. } = &self.place;
        // It may have become superfluous while it was made.
        if let Some(why) = server.retirement().why() {
            connection.close_because(why).await;
        }
        let catalog = connection.catalogs().of(key.era);
        if let Some(old) = &self.old {
            connection.succeed(old).await;
            // What it lists may be different now.
            let mut stale = connection.catalogs().stale.lock();
            for list in List::ALL {
                if catalog.known(list).is_some() && !stale.contains(&list) {
                    stale.push(list);
                }
            }
        }
        catalog.invalidate_all();
    }

    /// Says how it went to whoever waits or looks on. From then on it holds nobody:
    /// neither the client that wanted it nor the end of the program.
    fn publish(self, made: Made, busy: TaskTrackerToken) -> (Place, Next) {
        let Self {
            place,
            client,
            old,
            failures,
        } = self;
        let (server, slot) = (&place.server, &place.slot);
        let owner = &place.key.owner;
        server.note_attempt(owner, &made);
        let is_made = made.result.is_ok() && !made.needs_auth;
        // One that rested was not lost.
        let again = old
            .as_ref()
            .is_some_and(|old| old.how_it_ended() != Some(Ended::Asleep));
        server.health().counts.note(is_made, again);
        let swapped = swapped(server, owner, &made, old.as_ref());
        let wanted = Arc::downgrade(&client);
        drop(client);
        drop(busy);
        let next = match &made.result {
            Ok(connection) => Next::Watch(connection.clone()),
            Err(error) => {
                let catalogs = server.catalogs_of(&place.key.owner);
                let lost = old.is_some() || !catalogs.stale.lock().is_empty();
                match lost && !error.is_final() {
                    true => Next::Again(wanted),
                    false => Next::Rest,
                }
            }
        };
        slot.fill(made.result, failures, old);
        server.note_copies();
        if let Next::Watch(connection) = &next {
            connection.detach_departed();
        }
        if let Some(swapped) = swapped {
            swapped.announce_changes();
        }
        if let Next::Watch(connection) = &next {
            server.refresh_stale(connection.clone());
        }
        (place, next)
    }
}

/// The connection whose clients were served by the server and now are by its
/// stand-in, or the other way round: they hear of it.
fn swapped(
    server: &Server,
    owner: &Owner,
    made: &Made,
    old: Option<&Arc<Connection>>,
) -> Option<Arc<Connection>> {
    let old = old?;
    match &made.result {
        Ok(new) if new.is_stand_in() != old.is_stand_in() => Some(new.clone()),
        Err(ConnectError::WrongEra(_)) if old.is_stand_in() != server.stand_ins().serve(owner) => {
            Some(old.clone())
        }
        _ => None,
    }
}

impl Server {
    /// Says how an attempt went.
    fn note_attempt(&self, owner: &Owner, made: &Made) {
        self.health().end_start();
        if made.result.is_ok() {
            tracing::debug!(needs_auth = made.needs_auth, "connected");
        }
        if let Err(error) = &made.result
            && !made.needs_auth
            && !self.is_retired()
            && !self.health().is(&ServerState::Failed(error.to_string()))
        {
            tracing::info!(server = %self.spec.name, %error, "the server cannot be used");
        }
        let state = match &made.result {
            _ if made.needs_auth => ServerState::NeedsAuth,
            Ok(_) => ServerState::Connected,
            Err(error) => ServerState::Failed(error.to_string()),
        };
        self.note_for(owner, state);
    }
}

impl Place {
    async fn watch(&self, next: Next) {
        match next {
            Next::Watch(connection) => self.watch_over(connection).await,
            Next::Again(wanted) => self.attempt_again(&wanted).await,
            Next::Rest => {}
        }
    }

    /// When a connection ends while clients are attached to it, it is made again.
    async fn watch_over(&self, connection: Arc<Connection>) {
        let ended = connection.ended().await;
        let server = &self.server;
        server.note_copies();
        if matches!(ended, Ended::ByUs | Ended::Asleep) {
            return tracing::debug!("disconnected");
        }
        let why = ended.to_string();
        if server.is_retired() {
            return;
        }
        if ended == Ended::SignedOut {
            server.rest_signed_out();
        }
        server.note_lost_process(&self.key.owner);
        let signed_in = connection.is_stand_in();
        if signed_in {
            connection.note(&Noted::SignedIn {
                server: server.name(),
                principal: connection.principal().map(|principal| &**principal),
            });
            server.signed_in();
        } else {
            tracing::warn!(server = %server.spec.name, %why, "the connection ended");
            let why = with_last_words(why, &connection.last_words());
            server.note(ServerState::Failed(why));
        }
        match connection.runs_out() {
            true => self.let_run_out(connection.clone()),
            false => {
                let busy = server.retirement().busy();
                Box::pin(connection.close()).await;
                drop(busy);
            }
        }
        let Some(client) = connection.attached().into_iter().next() else {
            return;
        };
        if self.slot.claim(signed_in) {
            return self.connect(&client, Some(connection), 0);
        }
        let wanted = Arc::downgrade(&client);
        drop(client);
        if let Content::Failed { error, .. } = self.slot.content() {
            server.note(ServerState::Failed(error.to_string()));
        }
        self.attempt_again(&wanted).await;
    }

    /// What is in flight on a connection that is not used any more has the time that it
    /// needs, beside the one that is made in its place.
    fn let_run_out(&self, connection: Arc<Connection>) {
        let server = self.server.clone();
        let tasks = self.server.retirement().tasks().clone();
        tasks::spawn_in(&tasks, tasks::Kind::Background, async move {
            let until = Instant::now() + limits::RUNS_OUT;
            while connection.runs_out() && Instant::now() < until {
                tokio::select! {
                    () = sleep(limits::RUNS_OUT_LOOK) => {}
                    () = server.retirement().begun() => break,
                }
            }
            connection.interrupt("the connection was given up");
            connection.close_link().await;
        });
    }

    /// Tries once more when it is time, if anybody still wants it. After a row
    /// of failures nothing happens any more until somebody asks.
    async fn attempt_again(&self, wanted: &Weak<Client>) {
        let Content::Failed {
            attempts,
            retry,
            old,
            ..
        } = self.slot.content()
        else {
            return;
        };
        let server = &self.server;
        if attempts >= limits::ATTEMPTS {
            tracing::warn!(server = %server.spec.name, attempts, "given up until somebody asks for it");
            return;
        }
        tokio::select! {
            () = sleep_until(Instant::from_std(retry)) => {}
            () = server.retirement().begun() => return,
        }
        let listening = old
            .as_ref()
            .and_then(|old| old.attached().into_iter().next());
        let Some(client) = listening.or_else(|| wanted.upgrade()) else {
            return;
        };
        let is_ours = server.slots().has(&self.key, &self.slot);
        if is_ours && !server.is_retired() && self.slot.claim(false) {
            self.connect(&client, old, attempts);
        }
    }

    fn connect(&self, client: &Arc<Client>, old: Option<Arc<Connection>>, failures: u32) {
        let (server, key, slot) = (&self.server, &self.key, &self.slot);
        server.spawn_connect(key, slot, client, old, failures);
    }

    /// Tells whoever waits for a connection that the making of it broke off.
    fn broke_off(&self, failures: u32) {
        if !matches!(self.slot.content(), Content::Connecting) {
            return;
        }
        self.server.health().end_start();
        let why = CallError::broke_off().to_string();
        self.server.note(ServerState::Failed(why.clone()));
        let failed = Err(ConnectError::Failed(why));
        self.slot.fill(failed, failures, None);
    }
}
