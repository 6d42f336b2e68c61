//! One configured server: its connections (`slots.rs`), what is known of it
//! (`knowledge.rs`), its lists, and which of its connections a client uses.

use super::{
    connection::Connection,
    health::{Health, ServerState},
    hello::Hello,
    judged::Held,
    knowledge::{Knowledge, other},
    knowledge_file::KnowledgeFile,
    owners::Owned,
    remarks::Remarks,
    retirement::Retirement,
    slot::Content,
    slots::{Key, Owner, Slots},
    spec::{AUTHENTICATE, Isolation, ServerSpec, StandIn},
    stand_ins::StandIns,
    starting::{StartedFor, Starting},
};
use crate::{
    catalog::{Catalogs, List, Listing, note_change},
    client::Client,
    error::CallError,
    host::Host,
    limits,
    observe::{Observers, Trace},
    permission::Guard,
};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, OnceLock, Weak},
};
use switchboard_tasks as tasks;
use switchboard_transport::Budget;
use switchboard_wire::{Era, Revision};
use tokio::sync::watch;

/// A server and everything we hold of it.
#[derive(Debug)]
pub struct Server {
    /// As it was configured.
    pub spec: Arc<ServerSpec>,
    budget: Budget,
    me: Weak<Self>,
    /// Who tells clients of it, and decides about it.
    host: OnceLock<Weak<Host>>,
    /// What is known of it, by whichever connection.
    known: Knowledge,
    /// What outlives this process of all that.
    knowledge_file: Option<KnowledgeFile>,
    /// Its connections.
    slots: Slots,
    /// What each owner is told.
    catalogs: Mutex<HashMap<Owner, Arc<Catalogs>>>,
    health: Health,
    /// How many of its connections work.
    copies: watch::Sender<usize>,
    /// Whose clients a stand-in serves, since the server wants a sign-in.
    stand_ins: StandIns,
    retirement: Retirement,
    remarks: Arc<Remarks>,
    /// Whose its things are, where all connections lead to the same ones.
    owned: Arc<Owned>,
    /// The same for each copy of a server that is a process of its own.
    owned_by_copy: Mutex<HashMap<Owner, Arc<Owned>>>,
    /// Whether anything of it waits for approval.
    held: Held,
    /// For whom it is started.
    starting: Starting,
}

impl Server {
    /// A server that nobody has connected to yet.
    pub fn new(spec: ServerSpec, budget: Budget) -> Arc<Self> {
        let modern = spec.target.is_legacy_only().then_some(false);
        let knowledge_file = spec.knowledge_file.clone().map(KnowledgeFile::new);
        let server = Arc::new_cyclic(|me: &Weak<Self>| Self {
            spec: Arc::new(spec),
            budget,
            me: me.clone(),
            host: OnceLock::new(),
            known: Knowledge::new(modern),
            knowledge_file,
            slots: Slots::default(),
            catalogs: Mutex::default(),
            health: Health::default(),
            copies: watch::Sender::default(),
            stand_ins: StandIns::default(),
            retirement: Retirement::default(),
            remarks: Arc::default(),
            owned: Arc::default(),
            owned_by_copy: Mutex::default(),
            held: Held::default(),
            starting: Starting::default(),
        });
        server.recall();
        server
    }

    /// Its configured name.
    pub fn name(&self) -> &Arc<str> {
        &self.spec.name
    }

    /// How it is doing, now and from now on.
    pub fn state(&self) -> watch::Receiver<ServerState> {
        self.health.subscribe()
    }

    /// How many copies of it there are, now and from now on: processes of a program,
    /// connections to what others run. A stand-in is none.
    pub fn copies(&self) -> watch::Receiver<usize> {
        self.copies.subscribe()
    }

    /// Counts its copies again, after one has come or gone.
    pub(super) fn note_copies(&self) {
        self.copies.send_if_modified(|copies| {
            let before = std::mem::replace(copies, self.slots.working(None));
            *copies != before
        });
    }

    /// Whether its clients take turns, since a question of its could not be told apart.
    pub fn takes_turns(&self) -> bool {
        self.known.needs_turns().are_needed()
    }

    /// What it does wrong although it works.
    pub fn remarks(&self) -> &Arc<Remarks> {
        &self.remarks
    }

    /// Whether it is known to have both eras, and is not held to one.
    pub fn speaks_both_eras(&self) -> bool {
        self.spec.era.is_none() && self.known.has_both_eras()
    }

    /// Whether anything of it waits for approval.
    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    /// Whom it tells when a list that was owed is there, and asks what it may.
    pub(crate) fn report_to(&self, host: &Arc<Host>) {
        let _ = self.host.set(Arc::downgrade(host));
    }

    /// The host that it belongs to, once there is one.
    pub(crate) fn host(&self) -> Option<Arc<Host>> {
        self.host.get()?.upgrade()
    }

    /// Itself, for what may outlive it.
    pub(super) fn weak(&self) -> Weak<Self> {
        self.me.clone()
    }

    /// The bytes that its connections may hold.
    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// What is known of it, by whichever connection.
    pub(super) fn known(&self) -> &Knowledge {
        &self.known
    }

    /// What outlives this process of what is known.
    pub(super) fn knowledge_file(&self) -> Option<&KnowledgeFile> {
        self.knowledge_file.as_ref()
    }

    /// Its connections.
    pub(super) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// How it is doing.
    pub(super) fn health(&self) -> &Health {
        &self.health
    }

    /// For whom it is started.
    pub(super) fn starting(&self) -> &Starting {
        &self.starting
    }

    /// Notes that a call waits for it, until what this gives is dropped.
    pub(crate) fn started_for(&self, trace: &Trace) -> Option<StartedFor<'_>> {
        self.starting.wait(trace)
    }

    /// How it ends.
    pub(super) fn retirement(&self) -> &Retirement {
        &self.retirement
    }

    /// Who decides about it, once there is somebody.
    pub(crate) fn guard(&self) -> Option<Arc<Guard>> {
        Some(self.host()?.guard().clone())
    }

    /// Those who watch calls, once there is a host.
    pub(super) fn observers(&self) -> Option<Arc<Observers>> {
        Some(self.host()?.observers().clone())
    }

    /// Who listens to any of its copies.
    pub(crate) fn attached(&self) -> Vec<Arc<Client>> {
        let connections = self.slots.connections();
        let clients = connections.iter().map(|connection| connection.attached());
        clients.flatten().collect()
    }

    /// What it lists to this client.
    pub fn catalogs(&self, client: &Client) -> Arc<Catalogs> {
        self.catalogs_of(&self.owner(client))
    }

    /// Which lists this client is shown: the same number means the same ones.
    pub(crate) fn generation(&self, client: &Client) -> u64 {
        let era = self.era_for(client);
        self.catalogs(client).of(era).generation()
    }

    /// What is known of one of its lists, as it lists it to this client.
    pub fn listing(&self, client: &Client, list: List) -> Option<Arc<Listing>> {
        let era = self.era_for(client);
        self.catalogs(client).of(era).known(list)
    }

    /// What it lists to this owner.
    pub(super) fn catalogs_of(&self, owner: &Owner) -> Arc<Catalogs> {
        let principal = owner.principal();
        if let Some(known) = self.catalogs.lock().get(owner) {
            return known.clone();
        }
        let recalled = self.known.recalled().filter(|recalled| {
            recalled.principal.as_ref() == Some(principal) || !self.has_several_principals()
        });
        let mut all = self.catalogs.lock();
        if all.len() >= limits::CATALOGS {
            all.retain(|_, catalogs| Arc::strong_count(catalogs) > 1);
        }
        let new = Arc::new(Catalogs::new(Some(principal.clone())));
        // Another copy of the same principal's is the best guess.
        let mut others = all.values();
        let other = others.find(|other| other.principal.as_ref() == Some(principal));
        if let Some(known) = other.map(AsRef::as_ref).or(recalled) {
            new.begin_with(known);
        }
        if self.knowledge_file.is_some() {
            self.write_down_news_of(&new);
        }
        let catalogs = all.entry(owner.clone()).or_insert(new).clone();
        drop(all);
        note_change();
        catalogs
    }

    fn write_down_news_of(&self, catalogs: &Arc<Catalogs>) {
        for era in [Era::Legacy, Era::Modern] {
            let (me, whose) = (self.me.clone(), Arc::downgrade(catalogs));
            catalogs.of(era).on_news(move || {
                if let (Some(server), Some(whose)) = (me.upgrade(), whose.upgrade()) {
                    server.known.note_lists(whose);
                    server.remember();
                }
            });
        }
    }

    /// The connection this client uses, made if there is none: in its own era
    /// if the server has it, else in the other. Waits for it at most as long as
    /// a start may take.
    pub async fn connection(&self, client: &Arc<Client>) -> Result<Arc<Connection>, CallError> {
        let era = self.era_for(client);
        match self.connection_in(client, era).await {
            Err(CallError::EraMismatch { server_era, .. }) if server_era != era => {
                self.connection_in(client, server_era).await
            }
            result => result,
        }
    }

    /// The era in which a client is served, as far as that is known.
    pub fn era_for(&self, client: &Client) -> Era {
        let era = client.era();
        match self.spec.era {
            _ if self.stands_in(client) => Era::Legacy,
            Some(held) => held,
            None if !self.known.lacks(era) => era,
            None => other(era),
        }
    }

    async fn connection_in(
        &self,
        client: &Arc<Client>,
        era: Era,
    ) -> Result<Arc<Connection>, CallError> {
        if let Some(why) = self.retirement.why() {
            let (server, reason) = (self.spec.name.to_string(), why.to_owned());
            return Err(CallError::NotConnected { server, reason });
        }
        let key = self.key(client, era);
        let slot = self.slot(&key)?;
        loop {
            match slot.content() {
                Content::Ready(connection) if !connection.has_ended() => {
                    connection.attach(client);
                    return Ok(connection);
                }
                Content::Failed { error, .. } if !slot.claim(false) => {
                    return Err(error.to_call_error(&self.spec.name, client.era()));
                }
                Content::Failed { attempts, old, .. } => {
                    self.spawn_connect(&key, &slot, client, old, attempts);
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
        let era = self.era_for(client);
        met.or_else(|| self.catalogs(client).hello(era))
    }

    /// The connection this client uses, if there is one now.
    pub fn current(&self, client: &Client) -> Option<Arc<Connection>> {
        let key = self.key(client, self.era_for(client));
        self.slots.get(&key)?.working()
    }

    /// Forgets a client: its subscriptions end, and so do servers of its own.
    pub fn detach(&self, client: &Client) {
        for (key, slot) in self.slots.all() {
            let is_its_own = matches!(key.owner, Owner::Client(_, id) if id == client.id);
            let Content::Ready(connection) = slot.content() else {
                // What could not be made for it keeps nobody's place.
                if is_its_own && !matches!(slot.content(), Content::Connecting) {
                    self.slots.remove(&key);
                }
                continue;
            };
            connection.detach(client.id);
            if is_its_own {
                self.owned_by_copy.lock().remove(&key.owner);
                self.catalogs.lock().remove(&key.owner);
                self.slots.remove(&key);
                tasks::spawn_in(
                    self.retirement.tasks(),
                    tasks::Kind::Background,
                    async move {
                        connection.close().await;
                    },
                );
            }
        }
    }

    /// Ends all connections, for good.
    pub async fn close(&self) {
        self.retire("the gateway is stopping").await;
    }

    /// Whose the things are that are behind a connection of this owner's.
    pub(super) fn owned(&self, owner: &Owner) -> Arc<Owned> {
        if self.spec.target.is_remote() {
            if let Some(host) = self.host()
                && let Some(book) = host.task_book()
            {
                let name = || format!("{}\n{}", self.spec.name, self.spec.identity);
                self.owned.tasks.keep(book, name);
            }
            return self.owned.clone();
        }
        let mut copies = self.owned_by_copy.lock();
        if copies.len() >= limits::OWNED_COPIES && !copies.contains_key(owner) {
            copies.retain(|_, owned| Arc::strong_count(owned) > 1);
        }
        copies.entry(owner.clone()).or_default().clone()
    }

    /// Whether more than one principal can come in.
    pub(crate) fn has_several_principals(&self) -> bool {
        self.host()
            .is_some_and(|host| host.has_several_principals())
    }

    /// Whose copy of it this client uses.
    pub(super) fn owner(&self, client: &Client) -> Owner {
        let isolated = self.spec.isolation == Isolation::Session;
        match client.era() {
            _ if client.exclusive => Owner::Client(client.principal.clone(), client.id),
            Era::Legacy if isolated => Owner::Client(client.principal.clone(), client.id),
            Era::Modern if isolated && client.keyed => {
                Owner::Keyed(client.principal.clone(), client.identity)
            }
            _ => Owner::Principal(client.principal.clone()),
        }
    }

    fn key(&self, client: &Client, era: Era) -> Key {
        let owner = self.owner(client);
        let per_revision = self.spec.target.is_remote() && era == Era::Legacy;
        Key {
            owner,
            era,
            revision: per_revision.then(|| legacy_revision(client)),
        }
    }

    /// Whether this is the tool of our own that stands in for the server's, as
    /// this client is served. No rule about tools is about it.
    pub fn is_sign_in(&self, client: &Client, tool: &str) -> bool {
        tool == AUTHENTICATE && self.stands_in(client)
    }

    /// Whether clients may start a sign-in, which would be everybody's. Where several
    /// principals come in, that is for whoever runs us to do, or to permit.
    pub(crate) fn lets_sign_in(&self) -> bool {
        let by_any = |stand_in: &StandIn| stand_in.by_any_client;
        self.spec.stand_in.as_ref().is_some_and(by_any) || !self.has_several_principals()
    }

    /// Why clients may not start a sign-in, if so.
    pub(crate) fn no_sign_in(&self) -> Option<String> {
        (!self.lets_sign_in()).then(|| {
            format!(
                "several clients come in here, and a sign-in would be for all of them; whoever \
                 runs this gateway signs in: switchboard login {}",
                self.name()
            )
        })
    }

    /// Whether a stand-in serves this client, and its tool is not for it.
    pub(crate) fn hides_sign_in(&self, client: &Client) -> bool {
        self.stands_in(client) && !self.lets_sign_in()
    }

    /// Whose clients a stand-in serves.
    pub(super) fn stand_ins(&self) -> &StandIns {
        &self.stand_ins
    }

    /// Whether a stand-in serves this client.
    fn stands_in(&self, client: &Client) -> bool {
        self.stand_ins.any() && self.stand_ins.serve(&self.owner(client))
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
