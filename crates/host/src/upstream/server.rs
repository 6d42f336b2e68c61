//! One configured server: its connections (one per owner, era and revision in
//! use), what is known of its eras, and its catalog.

use super::{
    connection::{CLOSED_BY_US, Connection},
    legacy,
    link::{self, Carrier},
    modern::{self, Found},
    slot::{ConnectError, Content, Slot},
    spec::{AUTHENTICATE, Isolation, ServerSpec, StandIn, Target},
};
use crate::{
    catalog::Catalog,
    client::{Client, ClientId},
    error::CallError,
    exchange::Outcome,
    limits,
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    ops::Deref,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};
use switchboard_transport::{Budget, Link, Undelivered};
use switchboard_wire::{Era, Method, Revision};
use tokio::{sync::watch, time::timeout};

/// A server and everything we hold of it.
#[derive(Debug)]
pub struct Server {
    /// As it was configured.
    pub spec: Arc<ServerSpec>,
    budget: Budget,
    me: Weak<Server>,
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
    eras: Mutex<Eras>,
    /// How an HTTP address turned out to be served.
    carrier: Mutex<Carrier>,
    catalogs: [Catalog; 2],
    state: watch::Sender<ServerState>,
    /// Whether a stand-in serves clients, since the server wants a sign-in.
    stands_in: AtomicBool,
    /// Set when all is to end: nothing is started any more.
    closing: AtomicBool,
}

/// How a server is doing.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum ServerState {
    /// Nobody has needed it yet.
    #[default]
    Idle,
    /// Being started.
    Pending,
    /// At least one connection works.
    Connected,
    /// It could not be reached; why.
    Failed(String),
    /// It wants us to sign in.
    NeedsAuth,
}

/// Which eras the server has; `None` while nobody has tried.
#[derive(Clone, Copy, Debug, Default)]
struct Eras {
    legacy: Option<bool>,
    modern: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    owner: Owner,
    era: Era,
    /// Over HTTP there is one legacy session per revision; a process has the newest it offers.
    revision: Option<Revision>,
    /// Whether it serves clients of the other era. They are greeted differently,
    /// since each of their requests says for itself what they can do.
    bridged: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Owner {
    Principal(Arc<str>),
    Client(ClientId),
}

impl Server {
    /// A server that nobody has connected to yet.
    pub fn new(spec: ServerSpec, budget: Budget) -> Arc<Self> {
        let modern = spec.target.is_legacy_only().then_some(false);
        Arc::new_cyclic(|me| Self {
            spec: Arc::new(spec),
            budget,
            me: me.clone(),
            slots: Mutex::default(),
            eras: Mutex::new(Eras {
                legacy: None,
                modern,
            }),
            carrier: Mutex::default(),
            catalogs: [Catalog::default(), Catalog::default()],
            state: watch::Sender::default(),
            stands_in: AtomicBool::new(false),
            closing: AtomicBool::new(false),
        })
    }

    /// Its configured name.
    pub fn name(&self) -> &Arc<str> {
        &self.spec.name
    }

    /// How it is doing, now and from now on.
    pub fn state(&self) -> watch::Receiver<ServerState> {
        self.state.subscribe()
    }

    /// What it lists in this era.
    pub fn catalog(&self, era: Era) -> &Catalog {
        &self.catalogs[usize::from(era == Era::Modern)]
    }

    /// The connection this client uses, made if there is none: in its own era
    /// if the server has it, else in the other. Waits for it at most as long as
    /// a start may take.
    pub async fn connection(&self, client: &Arc<Client>) -> Result<Arc<Connection>, CallError> {
        let era = self.era_for(client.era());
        match self.connection_in(client, era).await {
            Err(CallError::EraMismatch { server_era, .. }) if server_era != era => {
                self.connection_in(client, server_era).await
            }
            result => result,
        }
    }

    /// The era in which a client of this era is served, as far as that is known.
    pub fn era_for(&self, client: Era) -> Era {
        let eras = *self.eras.lock();
        match (client, self.spec.era) {
            _ if self.stands_in() => Era::Legacy,
            (_, Some(held)) => held,
            (Era::Legacy, None) if eras.legacy == Some(false) => Era::Modern,
            (Era::Modern, None) if eras.modern == Some(false) => Era::Legacy,
            _ => client,
        }
    }

    async fn connection_in(
        &self,
        client: &Arc<Client>,
        era: Era,
    ) -> Result<Arc<Connection>, CallError> {
        if self.closing.load(Ordering::Acquire) {
            let (server, reason) = (self.spec.name.to_string(), "the gateway is stopping".into());
            return Err(CallError::NotConnected { server, reason });
        }
        let key = self.key(client, era);
        let slot = self.slots.lock().entry(key.clone()).or_default().clone();
        loop {
            match slot.content() {
                Content::Ready(connection) if connection.closed().is_none() => {
                    connection.attach(client);
                    return Ok(connection);
                }
                Content::Failed { error, .. } if !slot.claim(false) => {
                    return Err(error.to_call_error(&self.spec.name, client.era()));
                }
                Content::Failed { attempts, old, .. } => {
                    self.spawn_connect(&key, &slot, client, old, attempts)
                }
                content => {
                    if slot.claim(false) {
                        let old = if let Content::Ready(old) = content {
                            Some(old)
                        } else {
                            None
                        };
                        self.spawn_connect(&key, &slot, client, old, 0);
                    }
                }
            }
            if let Content::Failed { error, .. } = slot.settled().await {
                return Err(error.to_call_error(&self.spec.name, client.era()));
            }
        }
    }

    /// The connection this client uses, if there is one now.
    pub fn current(&self, client: &Client) -> Option<Arc<Connection>> {
        match self
            .slots
            .lock()
            .get(&self.key(client, self.era_for(client.era())))?
            .content()
        {
            Content::Ready(connection) if connection.closed().is_none() => Some(connection),
            _ => None,
        }
    }

    /// Forgets a client: its subscriptions end, and so do servers of its own.
    pub fn detach(&self, client: &Client) {
        let slots: Vec<(Key, Arc<Slot>)> = self
            .slots
            .lock()
            .iter()
            .map(|(k, s)| (k.clone(), s.clone()))
            .collect();
        for (key, slot) in slots {
            let Content::Ready(connection) = slot.content() else {
                continue;
            };
            connection.detach(client.id);
            if key.owner == Owner::Client(client.id) {
                self.slots.lock().remove(&key);
                tokio::spawn(async move { connection.close().await });
            }
        }
    }

    /// Ends all connections.
    pub async fn close(&self) {
        self.closing.store(true, Ordering::Release);
        let slots: Vec<Arc<Slot>> = self.slots.lock().drain().map(|(_, slot)| slot).collect();
        for slot in slots {
            if let Content::Ready(connection) = slot.content() {
                connection.close().await;
            }
        }
    }

    fn key(&self, client: &Client, era: Era) -> Key {
        let own = client.exclusive
            || (self.spec.isolation == Isolation::Session && client.era() == Era::Legacy);
        let owner = if own {
            Owner::Client(client.id)
        } else {
            Owner::Principal(client.principal.clone())
        };
        let per_revision = self.spec.target.is_remote() && era == Era::Legacy;
        Key {
            owner,
            era,
            revision: per_revision.then(|| legacy_revision(client)),
            bridged: era != client.era(),
        }
    }

    /// Makes the connection in a task of its own, so that a caller who gives up does not take it along.
    fn spawn_connect(
        &self,
        key: &Key,
        slot: &Arc<Slot>,
        client: &Arc<Client>,
        old: Option<Arc<Connection>>,
        failures: u32,
    ) {
        let Some(server) = self.me.upgrade() else {
            return;
        };
        let (key, slot, client) = (key.clone(), slot.clone(), client.clone());
        self.state.send_if_modified(|state| {
            let changed = *state != ServerState::Connected && *state != ServerState::Pending;
            if changed {
                *state = ServerState::Pending;
            }
            changed
        });
        tokio::spawn(async move {
            let allowed = server.spec.timeouts.connect;
            let result = match timeout(allowed, server.connect(&key, &client)).await {
                Ok(result) => result,
                Err(_) => Err(ConnectError::Failed(format!(
                    "did not start within {allowed:?}"
                ))),
            };
            let needs_auth = matches!(result, Err(ConnectError::NeedsAuth(_)));
            let result = match &server.spec.stand_in {
                Some(stand_in) if needs_auth => {
                    server.stands_in.store(true, Ordering::Release);
                    server.stand_in(&key, &client, stand_in).await
                }
                _ => {
                    if result.is_ok() {
                        server.stands_in.store(false, Ordering::Release);
                    }
                    result
                }
            };
            if let Ok(connection) = &result {
                if let Some(old) = &old {
                    for client in old.attached() {
                        connection.attach(&client);
                    }
                    connection.subscriptions.adopt(&old.subscriptions);
                    connection.subscribe_again().await;
                }
                server.catalog(key.era).invalidate_all();
            }
            server.state.send_replace(match &result {
                _ if needs_auth => ServerState::NeedsAuth,
                Ok(_) => ServerState::Connected,
                Err(error) => ServerState::Failed(error.to_string()),
            });
            let connection = result.as_ref().ok().cloned();
            // Whoever was served by the one and now is by the other hears of it.
            let swapped = match (&result, &old) {
                (Ok(new), Some(old)) if new.is_stand_in() != old.is_stand_in() => Some(new.clone()),
                (Err(ConnectError::WrongEra(_)), Some(old))
                    if old.is_stand_in() != server.stands_in() =>
                {
                    Some(old.clone())
                }
                _ => None,
            };
            slot.fill(result, failures, old);
            if let Some(swapped) = swapped {
                swapped.announce_changes();
            }
            if let Some(connection) = connection {
                server.watch_over(&key, &slot, connection).await;
            }
        });
    }

    /// When a connection ends while clients are attached to it, it is made again.
    async fn watch_over(&self, key: &Key, slot: &Arc<Slot>, connection: Arc<Connection>) {
        let why = connection.ended().await;
        if why == CLOSED_BY_US {
            return;
        }
        let signed_in = connection.is_stand_in();
        if signed_in {
            tracing::info!(server = %self.spec.name, "somebody has signed in");
            self.stands_in.store(false, Ordering::Release);
            self.state.send_replace(ServerState::Idle);
            self.try_again();
        } else {
            tracing::warn!(server = %self.spec.name, %why, "the connection ended");
            self.state.send_replace(ServerState::Failed(why));
        }
        connection.close().await;
        if let Some(client) = connection.attached().into_iter().next()
            && !self.closing.load(Ordering::Acquire)
            && slot.claim(signed_in)
        {
            self.spawn_connect(key, slot, &client, Some(connection), 0);
        }
    }

    /// What could not be connected before is tried anew when it is next needed.
    fn try_again(&self) {
        let mut slots = self.slots.lock();
        slots.retain(|_, slot| !matches!(slot.content(), Content::Failed { .. }));
    }

    /// Connects to what stands in while the server wants a sign-in. It speaks the
    /// handshake era; clients of the other one reach it over the bridge.
    async fn stand_in(
        &self,
        key: &Key,
        client: &Arc<Client>,
        stand_in: &StandIn,
    ) -> Result<Arc<Connection>, ConnectError> {
        if key.era == Era::Modern {
            return Err(ConnectError::WrongEra(Era::Legacy));
        }
        let exclusive = matches!(key.owner, Owner::Client(_)).then_some(client.as_ref());
        let connection = self.connection_to(key, true);
        link::open_stand_in(stand_in, &connection);
        let connection = Unmet(Some(connection));
        let revision = key.revision.unwrap_or_else(|| legacy_revision(client));
        let outcome = legacy::initialize(&connection, exclusive, revision, key.bridged)?
            .outcome()
            .await;
        legacy::complete(&connection, outcome)?;
        connection.attach(client);
        Ok(connection.met())
    }

    /// Whether this is the tool of our own that stands in for the server's: it
    /// is always allowed.
    pub fn is_sign_in(&self, tool: &str) -> bool {
        tool == AUTHENTICATE && self.stands_in()
    }

    /// Whether it is known not to have the handshake era.
    fn is_modern_alone(&self) -> bool {
        self.spec.era == Some(Era::Modern) || self.eras.lock().legacy == Some(false)
    }

    fn stands_in(&self) -> bool {
        self.stands_in.load(Ordering::Acquire)
    }

    async fn connect(
        &self,
        key: &Key,
        client: &Arc<Client>,
    ) -> Result<Arc<Connection>, ConnectError> {
        let wanted = key.era;
        if wanted == Era::Legacy && self.stands_in() && self.is_modern_alone() {
            return Err(ConnectError::NeedsAuth(401));
        }
        if self.spec.era.is_some_and(|era| era != wanted) {
            return Err(ConnectError::WrongEra(self.spec.era.unwrap_or(wanted)));
        }
        let eras = *self.eras.lock();
        let result = match wanted {
            Era::Legacy if eras.legacy == Some(false) => {
                return Err(ConnectError::WrongEra(Era::Modern));
            }
            Era::Modern if eras.modern == Some(false) => {
                return Err(ConnectError::WrongEra(Era::Legacy));
            }
            Era::Legacy => self.connect_legacy(key, client).await,
            Era::Modern => self.connect_modern(key).await,
        };
        let mut eras = self.eras.lock();
        match (&result, wanted) {
            (Ok(_), Era::Legacy) => eras.legacy = Some(true),
            (Ok(_), Era::Modern) => eras.modern = Some(true),
            (Err(ConnectError::WrongEra(_)), Era::Legacy) => eras.legacy = Some(false),
            (Err(ConnectError::WrongEra(_)), Era::Modern) => eras.modern = Some(false),
            _ => {}
        }
        result
    }

    async fn connect_legacy(
        &self,
        key: &Key,
        client: &Arc<Client>,
    ) -> Result<Arc<Connection>, ConnectError> {
        let carrier = *self.carrier.lock();
        let (mut connection, mut outcome) = self.greet(key, client, carrier).await?;
        if carrier == Carrier::Streamable
            && takes_no_post(&outcome)
            && matches!(self.spec.target, Target::Http(_))
        {
            // Older servers have their stream at the address, and take messages elsewhere.
            let (older, answer) = self.greet(key, client, Carrier::Sse).await?;
            if matches!(answer, Outcome::Reply(_)) {
                tracing::debug!(server = %self.spec.name, "speaks HTTP+SSE");
                *self.carrier.lock() = Carrier::Sse;
                self.eras.lock().modern = Some(false);
                connection.close().await;
                (connection, outcome) = (older, answer);
            } else {
                older.close().await;
            }
        } else if carrier == Carrier::Sse && !matches!(outcome, Outcome::Reply(_)) {
            // It may have been replaced by one that speaks the newer way.
            *self.carrier.lock() = Carrier::Streamable;
            self.eras.lock().modern = None;
        }
        match legacy::complete(&connection, outcome) {
            Ok(_) => {
                connection.attach(client);
                Ok(connection.met())
            }
            Err(ConnectError::Refused(text)) if self.is_modern(key).await => {
                connection.close().await;
                tracing::debug!(server = %self.spec.name, text, "speaks only the modern era");
                Err(ConnectError::WrongEra(Era::Modern))
            }
            Err(error) => Err(self.give_up(&connection, error).await),
        }
    }

    /// Opens a connection and sends `initialize` on it.
    async fn greet(
        &self,
        key: &Key,
        client: &Arc<Client>,
        carrier: Carrier,
    ) -> Result<(Unmet, Outcome), ConnectError> {
        let revision = match (self.spec.target.is_remote(), client.exclusive) {
            (true, _) | (_, true) => key.revision.unwrap_or_else(|| legacy_revision(client)),
            _ => Revision::NEWEST_LEGACY,
        };
        let connection = self.open_over(key, carrier)?;
        let exclusive = matches!(key.owner, Owner::Client(_)).then_some(client.as_ref());
        let outcome = legacy::initialize(&connection, exclusive, revision, key.bridged)?
            .outcome()
            .await;
        Ok((connection, outcome))
    }

    async fn connect_modern(&self, key: &Key) -> Result<Arc<Connection>, ConnectError> {
        let connection = self.open(key)?;
        let mut found = probe(&connection).await;
        if matches!(found, Ok(Found::Again)) {
            found = probe(&connection).await;
        }
        match found {
            Ok(Found::Modern) => Ok(connection.met()),
            Ok(Found::Legacy) => {
                connection.close().await;
                Err(ConnectError::WrongEra(Era::Legacy))
            }
            Ok(Found::Again) => {
                let text = format!(
                    "the server refuses version {} and names it as supported",
                    Revision::NEWEST
                );
                Err(self.give_up(&connection, ConnectError::Failed(text)).await)
            }
            Err(error) => Err(self.give_up(&connection, error).await),
        }
    }

    /// Whether a server that refused `initialize` answers `server/discover`.
    async fn is_modern(&self, key: &Key) -> bool {
        let key = Key {
            era: Era::Modern,
            revision: None,
            bridged: false,
            ..key.clone()
        };
        match self.connect_modern(&key).await {
            Ok(connection) => {
                self.eras.lock().modern = Some(true);
                connection.close().await;
                true
            }
            Err(_) => false,
        }
    }

    fn open(&self, key: &Key) -> Result<Unmet, ConnectError> {
        self.open_over(key, Carrier::Streamable)
    }

    fn connection_to(&self, key: &Key, stand_in: bool) -> Arc<Connection> {
        let (me, era) = (self.me.clone(), key.era);
        let exclusive = matches!(key.owner, Owner::Client(_));
        let changes = Box::new(move |method: Method| {
            if let Some(server) = me.upgrade() {
                server.catalog(era).invalidate(method);
            }
        });
        Connection::new(self.spec.clone(), exclusive, stand_in, changes)
    }

    fn open_over(&self, key: &Key, carrier: Carrier) -> Result<Unmet, ConnectError> {
        let connection = self.connection_to(key, false);
        link::open(&self.spec, carrier, &self.budget, &connection).map_err(ConnectError::Failed)?;
        Ok(Unmet(Some(connection)))
    }

    /// Ends what was started and adds what the server last said on stderr.
    async fn give_up(&self, connection: &Arc<Connection>, error: ConnectError) -> ConnectError {
        let mut stderr = String::new();
        if let Some(Link::Stdio(link)) = connection.link()
            && let Some(process) = link.server_process()
        {
            stderr = process.stderr().tail_lines(limits::STDERR_LINES);
        }
        connection.close().await;
        match error {
            ConnectError::Failed(text) if !stderr.is_empty() => {
                ConnectError::Failed(format!("{text}; its last words on stderr:\n{stderr}"))
            }
            other => other,
        }
    }
}

/// A connection whose server has not introduced itself. One that is given up
/// on the way, because the start took too long, is ended with all that it started.
struct Unmet(Option<Arc<Connection>>);

impl Unmet {
    fn met(mut self) -> Arc<Connection> {
        self.0.take().expect("it is taken only here")
    }
}

impl Deref for Unmet {
    type Target = Arc<Connection>;

    fn deref(&self) -> &Arc<Connection> {
        self.0.as_ref().expect("it is there until it is met")
    }
}

impl Drop for Unmet {
    fn drop(&mut self) {
        if let Some(connection) = self
            .0
            .take()
            .filter(|connection| connection.closed().as_deref() != Some(CLOSED_BY_US))
        {
            tokio::spawn(async move { connection.close().await });
        }
    }
}

/// Asks `server/discover` once and judges the answer.
async fn probe(connection: &Arc<Connection>) -> Result<Found, ConnectError> {
    match timeout(
        limits::PROBE_SILENCE,
        modern::discover(connection)?.outcome(),
    )
    .await
    {
        Ok(outcome) => modern::judge(connection, outcome),
        // Silence: a server of the handshake era that ignores what it does not know.
        Err(_) => Ok(Found::Legacy),
    }
}

/// Whether the address does not take messages by POST, as the specification
/// tells a server of HTTP+SSE by.
fn takes_no_post(outcome: &Outcome) -> bool {
    let Outcome::Failed(CallError::Undelivered { why, .. }) = outcome else {
        return false;
    };
    matches!(
        why,
        Undelivered::Status {
            status: 400 | 404 | 405,
            ..
        }
    )
}

/// The revision in which a client of either era is represented to a legacy server.
fn legacy_revision(client: &Client) -> Revision {
    if client.era() == Era::Legacy {
        client.revision
    } else {
        Revision::NEWEST_LEGACY
    }
}
