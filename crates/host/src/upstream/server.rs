//! One configured server: its connections (one per owner, era and revision in
//! use), what is known of its eras, and its catalog.

use super::{
    connection::{CLOSED_BY_US, Connection, Hello, Reports},
    legacy,
    link::{self, Carrier},
    memory::Memory,
    modern::{self, Found},
    slot::{ConnectError, Content, Slot},
    spec::{AUTHENTICATE, Isolation, ServerSpec, StandIn, Target},
};
use crate::{
    catalog::{Catalog, List},
    client::{Client, ClientId},
    error::CallError,
    exchange::Outcome,
    host::Host,
    limits,
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    ops::Deref,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
};
use switchboard_transport::{Budget, Undelivered};
use switchboard_wire::{Era, Method, Revision};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};

/// A server and everything we hold of it.
#[derive(Debug)]
pub struct Server {
    /// As it was configured.
    pub spec: Arc<ServerSpec>,
    budget: Budget,
    pub(super) me: Weak<Server>,
    pub(super) slots: Mutex<HashMap<Key, Arc<Slot>>>,
    pub(super) eras: Mutex<Eras>,
    /// How an HTTP address turned out to be served.
    pub(super) carrier: Mutex<Carrier>,
    pub(super) catalogs: [Catalog; 2],
    pub(super) state: watch::Sender<ServerState>,
    /// Whether a stand-in serves clients, since the server wants a sign-in.
    pub(super) stands_in: AtomicBool,
    /// What was opened last: if it never says anything, its stderr may.
    pub(super) opening: Mutex<Weak<Connection>>,
    /// Since when it has been starting.
    pub(super) pending: Mutex<Option<Instant>>,
    /// Why nothing is started any more, once that is so.
    pub(super) retired: OnceLock<&'static str>,
    /// Whether a question of its could not be told apart, ever: clients take turns.
    pub(super) takes_turns: Arc<AtomicBool>,
    /// What it last said about itself, in each era.
    pub(super) hellos: Mutex<[Option<Hello>; 2]>,
    /// Lists that clients were answered without: they are told when it is there.
    pub(super) owed: Mutex<Vec<List>>,
    /// Who tells them.
    pub(super) host: OnceLock<Weak<Host>>,
    /// What outlives this process of all that.
    pub(super) memory: Option<Memory>,
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
pub(super) struct Eras {
    pub(super) legacy: Option<bool>,
    pub(super) modern: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) owner: Owner,
    pub(super) era: Era,
    /// Over HTTP there is one legacy session per revision; a process has the newest it offers.
    revision: Option<Revision>,
    /// Whether it serves clients of the other era. They are greeted differently,
    /// since each of their requests says for itself what they can do.
    bridged: bool,
}

/// Who shares a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Principal(Arc<str>),
    Client(ClientId),
    /// A modern client that gave a key, by its identity.
    Keyed(u64),
}

impl Owner {
    /// Whether one client alone has it.
    fn is_one(&self) -> bool {
        !matches!(self, Self::Principal(_))
    }
}

impl Server {
    /// A server that nobody has connected to yet.
    pub fn new(spec: ServerSpec, budget: Budget) -> Arc<Self> {
        let modern = spec.target.is_legacy_only().then_some(false);
        let memory = spec.memory.clone().map(Memory::new);
        let server = Arc::new_cyclic(|me: &Weak<Self>| Self {
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
            opening: Mutex::default(),
            pending: Mutex::default(),
            retired: OnceLock::new(),
            takes_turns: Arc::default(),
            hellos: Mutex::default(),
            owed: Mutex::default(),
            host: OnceLock::new(),
            memory,
        });
        if server.memory.is_some() {
            server.recall();
            for catalog in &server.catalogs {
                let me = server.me.clone();
                catalog.on_news(move || {
                    if let Some(server) = me.upgrade() {
                        server.remember();
                    }
                });
            }
        }
        server
    }

    /// Its configured name.
    pub fn name(&self) -> &Arc<str> {
        &self.spec.name
    }

    /// How it is doing, now and from now on.
    pub fn state(&self) -> watch::Receiver<ServerState> {
        self.state.subscribe()
    }

    /// Whether its clients take turns, since a question of its could not be told apart.
    pub fn takes_turns(&self) -> bool {
        self.takes_turns.load(Ordering::Acquire)
    }

    /// Whether it is known to have both eras, and is not held to one.
    pub fn speaks_both_eras(&self) -> bool {
        let eras = *self.eras.lock();
        self.spec.era.is_none() && eras.legacy == Some(true) && eras.modern == Some(true)
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
        if let Some(why) = self.retired.get() {
            let (server, reason) = (self.spec.name.to_string(), (*why).to_owned());
            return Err(CallError::NotConnected { server, reason });
        }
        let key = self.key(client, era);
        let slot = self.slot(&key)?;
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

    /// What the server says about itself to clients like this one: now, or when
    /// it was last met.
    pub fn hello(&self, client: &Client) -> Option<Hello> {
        let met = self.current(client).and_then(|met| met.hello().cloned());
        let era = self.era_for(client.era());
        met.or_else(|| self.hellos.lock()[usize::from(era == Era::Modern)].clone())
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

    /// Ends all connections, for good.
    pub async fn close(&self) {
        self.retire("the gateway is stopping").await;
    }

    fn key(&self, client: &Client, era: Era) -> Key {
        let isolated = self.spec.isolation == Isolation::Session;
        let owner = match client.era() {
            _ if client.exclusive => Owner::Client(client.id),
            Era::Legacy if isolated => Owner::Client(client.id),
            Era::Modern if isolated && client.keyed => Owner::Keyed(client.identity),
            _ => Owner::Principal(client.principal.clone()),
        };
        let per_revision = self.spec.target.is_remote() && era == Era::Legacy;
        Key {
            owner,
            era,
            revision: per_revision.then(|| legacy_revision(client)),
            bridged: era != client.era(),
        }
    }

    /// Connects to what stands in while the server wants a sign-in. It speaks the
    /// handshake era; clients of the other one reach it over the bridge.
    pub(super) async fn stand_in(
        &self,
        key: &Key,
        client: &Arc<Client>,
        stand_in: &StandIn,
    ) -> Result<Arc<Connection>, ConnectError> {
        if key.era == Era::Modern {
            return Err(ConnectError::WrongEra(Era::Legacy));
        }
        let exclusive = key.owner.is_one().then_some(client.as_ref());
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

    pub(super) fn stands_in(&self) -> bool {
        self.stands_in.load(Ordering::Acquire)
    }

    pub(super) async fn connect(
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
            // It has one of the two: what was thought of the other is out of date.
            (Err(ConnectError::WrongEra(_)), Era::Legacy) => {
                eras.legacy = Some(false);
                eras.modern = eras.modern.filter(|has| *has);
            }
            (Err(ConnectError::WrongEra(_)), Era::Modern) => {
                eras.modern = Some(false);
                eras.legacy = eras.legacy.filter(|has| *has);
            }
            _ => {}
        }
        drop(eras);
        if let Ok(connection) = &result {
            self.hellos.lock()[usize::from(wanted == Era::Modern)] = connection.hello().cloned();
            self.remember();
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
        let exclusive = key.owner.is_one().then_some(client.as_ref());
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
        let exclusive = key.owner.is_one();
        let changes = Box::new(move |method: Method| {
            if let Some(server) = me.upgrade() {
                server.catalog(era).invalidate(method);
            }
        });
        let me = self.me.clone();
        let unclear = Box::new(move || {
            if let Some(server) = me.upgrade() {
                server.remember();
            }
        });
        let reports = Reports {
            changes,
            unclear,
            takes_turns: self.takes_turns.clone(),
        };
        Connection::new(self.spec.clone(), exclusive, stand_in, reports)
    }

    fn open_over(&self, key: &Key, carrier: Carrier) -> Result<Unmet, ConnectError> {
        let connection = self.connection_to(key, false);
        *self.opening.lock() = Arc::downgrade(&connection);
        link::open(&self.spec, carrier, &self.budget, &connection).map_err(ConnectError::Failed)?;
        Ok(Unmet(Some(connection)))
    }

    /// Ends what was started and adds what the server last said on stderr.
    async fn give_up(&self, connection: &Arc<Connection>, error: ConnectError) -> ConnectError {
        let stderr = connection.last_words_soon().await;
        connection.close().await;
        match error {
            ConnectError::Failed(text) => ConnectError::Failed(with_last_words(text, &stderr)),
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

/// A reason with what the server last said on stderr.
pub(super) fn with_last_words(reason: String, stderr: &str) -> String {
    if stderr.is_empty() {
        return reason;
    }
    format!("{reason}; its last words on stderr:\n{stderr}")
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
