//! One configured server: its connections (one per owner, era and revision in
//! use), what is known of its eras, and its catalog.

use super::{
    connection::{Connection, Hello},
    link::Carrier,
    memory::Memory,
    remarks::Remarks,
    slot::{Content, Slot},
    spec::{AUTHENTICATE, Isolation, ServerSpec},
    turns::NeedsTurns,
};
use crate::{
    catalog::{Catalog, List},
    client::{Client, ClientId},
    error::CallError,
    host::Host,
    quota::HeldBy,
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
};
use switchboard_tasks as tasks;
use switchboard_transport::Budget;
use switchboard_wire::{Era, Revision};
use tokio::{sync::watch, time::Instant};

/// A server and everything we hold of it.
#[derive(Debug)]
pub struct Server {
    /// As it was configured.
    pub spec: Arc<ServerSpec>,
    pub(super) budget: Budget,
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
    /// Whether a question of its could not be told apart of late: clients take turns.
    pub(super) needs_turns: Arc<NeedsTurns>,
    pub(super) remarks: Arc<Remarks>,
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
    pub(super) revision: Option<Revision>,
    /// Whether it serves clients of the other era. They are greeted differently,
    /// since each of their requests says for itself what they can do.
    pub(super) bridged: bool,
}

/// Who shares a connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Principal(Arc<str>),
    Client(ClientId, Arc<str>),
    /// A modern client that gave a key, by its identity.
    Keyed(u64, Arc<str>),
}

impl HeldBy for Key {
    fn held_by(&self) -> &str {
        self.owner.principal()
    }
}

impl Owner {
    /// Whether one client alone has it.
    pub(super) fn is_one(&self) -> bool {
        !matches!(self, Self::Principal(_))
    }

    /// On whose behalf it is used.
    pub(super) fn principal(&self) -> &Arc<str> {
        match self {
            Self::Principal(principal) | Self::Client(_, principal) | Self::Keyed(_, principal) => {
                principal
            }
        }
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
            needs_turns: Arc::default(),
            remarks: Arc::default(),
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
        self.needs_turns.are_needed()
    }

    /// What it does wrong although it works.
    pub fn remarks(&self) -> &Remarks {
        &self.remarks
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
            let is_its_own = matches!(key.owner, Owner::Client(id, _) if id == client.id);
            let Content::Ready(connection) = slot.content() else {
                // What could not be made for it keeps nobody's place.
                if is_its_own && !matches!(slot.content(), Content::Connecting) {
                    self.slots.lock().remove(&key);
                }
                continue;
            };
            connection.detach(client.id);
            if is_its_own {
                self.slots.lock().remove(&key);
                tasks::spawn(tasks::Kind::Errand, async move {
                    connection.close().await;
                });
            }
        }
    }

    /// Ends all connections, for good.
    pub async fn close(&self) {
        self.retire("the gateway is stopping").await;
    }

    fn key(&self, client: &Client, era: Era) -> Key {
        let isolated = self.spec.isolation == Isolation::Session;
        let principal = client.principal.clone();
        let owner = match client.era() {
            _ if client.exclusive => Owner::Client(client.id, principal),
            Era::Legacy if isolated => Owner::Client(client.id, principal),
            Era::Modern if isolated && client.keyed => Owner::Keyed(client.identity, principal),
            _ => Owner::Principal(principal),
        };
        let per_revision = self.spec.target.is_remote() && era == Era::Legacy;
        Key {
            owner,
            era,
            revision: per_revision.then(|| legacy_revision(client)),
            bridged: era != client.era(),
        }
    }

    /// Whether this is the tool of our own that stands in for the server's: it
    /// is always allowed.
    pub fn is_sign_in(&self, tool: &str) -> bool {
        tool == AUTHENTICATE && self.stands_in()
    }

    pub(super) fn stands_in(&self) -> bool {
        self.stands_in.load(Ordering::Acquire)
    }
}

/// The revision in which a client of either era is represented to a legacy server.
pub(super) fn legacy_revision(client: &Client) -> Revision {
    if client.era() == Era::Legacy {
        client.revision
    } else {
        Revision::NEWEST_LEGACY
    }
}
