//! One connection to one server: its parts, what we know of it, who uses it, and
//! its end. What is in flight is kept in `calls.rs`, who hears what in
//! `audience.rs`, what the server asks in `questions.rs`; the way out is
//! `sending.rs`, the way in `arriving.rs`.

mod ending;

use super::{
    audience::Audience, calls::Calls, declared::Declared, hello::Hello, idle::Unused,
    judged::Judged, owners::Owned, questions::Questions, remarks::Remarks, turns::NeedsTurns,
};
use crate::{
    catalog::{Catalog, Catalogs, List, Listing, note_move},
    client::{Client, ClientId},
    error::CallError,
    limits,
    observe::{Noted, Observers},
    pins::Written,
    upstream::spec::{ServerSpec, Target},
};
use std::{
    fmt,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};
use switchboard_tasks as tasks;
use switchboard_transport::Link;
use switchboard_wire::{Era, Method, Revision};
use tokio::{sync::watch, time::Instant};

/// Takes a list that has come; nobody sees it before what is kept of it is on disk.
type Listed = dyn Fn(&Arc<Connection>, List, &Listing) -> Option<Written> + Send + Sync;

/// What a connection tells its server's owner.
pub(super) struct Reports {
    /// A list has changed.
    pub changes: Box<dyn Fn(Method) + Send + Sync>,
    /// A question could not be told apart, for the first time.
    pub unclear: Box<dyn Fn() + Send + Sync>,
    /// Whether more than one principal can come in.
    pub several: Box<dyn Fn() -> bool + Send + Sync>,
    /// A list has come.
    pub listed: Box<Listed>,
    /// Whether one could not of late, on any connection: then clients take turns.
    pub needs_turns: Arc<NeedsTurns>,
    /// What the server does wrong although it works.
    pub remarks: Arc<Remarks>,
    /// Those who watch calls, where there is a host.
    pub observers: Option<Arc<Observers>>,
}

/// How a connection came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// We ended it: nobody makes it again by itself.
    ByUs,
    /// We ended it since nobody used it: it is made again when it is needed.
    Asleep,
    /// It was lost, or given up for lost; why.
    Lost(String),
    /// Nobody is signed in any more: it is made again, and so are all others, once
    /// somebody is.
    SignedOut,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ByUs => "closed",
            Self::Asleep => "it was ended since nobody used it",
            Self::Lost(why) => why,
            Self::SignedOut => "the server wants a sign-in",
        })
    }
}

/// A connection. Shared by all who use it.
pub struct Connection {
    /// Itself, for the questions it hands out.
    me: Weak<Self>,
    /// Its number.
    serial: u64,
    spec: Arc<ServerSpec>,
    calls: Calls,
    audience: Audience,
    questions: Questions,
    /// What its owner is told.
    catalogs: Arc<Catalogs>,
    reports: Reports,
    /// Whether one client alone uses it.
    exclusive: bool,
    /// Whether a stand-in is behind it, and not the server itself.
    stand_in: bool,
    link: OnceLock<Link>,
    hello: OnceLock<Hello>,
    /// Which requests that allows.
    declared: OnceLock<Declared>,
    /// Whether the server has answered anything that a client wanted of it.
    used: AtomicBool,
    since: Instant,
    /// Requests in a row that got lost on the way.
    lost: AtomicU32,
    judged: Judged,
    unused: Unused,
    ended: watch::Sender<Option<Ended>>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("server", &self.spec.name)
            .field("hello", &self.hello)
            .finish_non_exhaustive()
    }
}

impl Connection {
    pub(super) fn new(
        spec: Arc<ServerSpec>,
        exclusive: bool,
        stand_in: bool,
        catalogs: Arc<Catalogs>,
        owned: Arc<Owned>,
        reports: Reports,
    ) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            serial: NEXT.fetch_add(1, Ordering::Relaxed),
            spec,
            calls: Calls::new(reports.needs_turns.clone()),
            audience: Audience::new(owned),
            questions: Questions::default(),
            catalogs,
            reports,
            exclusive,
            stand_in,
            link: OnceLock::new(),
            hello: OnceLock::new(),
            declared: OnceLock::new(),
            used: AtomicBool::new(false),
            since: Instant::now(),
            lost: AtomicU32::new(0),
            judged: Judged::default(),
            unused: Unused::default(),
            ended: watch::Sender::new(None),
        })
    }

    /// What is in flight.
    pub(super) fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Who hears what.
    pub(super) fn audience(&self) -> &Audience {
        &self.audience
    }

    /// What the server asks.
    pub(super) fn questions(&self) -> &Questions {
        &self.questions
    }

    /// What of its lists was compared with what is kept of the server.
    pub(super) fn judged(&self) -> &Judged {
        &self.judged
    }

    /// What its server's owner is told.
    pub(super) fn reports(&self) -> &Reports {
        &self.reports
    }

    /// Tells those who watch what happens besides calls.
    pub(crate) fn note(&self, noted: &Noted<'_>) {
        if let Some(observers) = &self.reports.observers {
            observers.note(noted);
        }
    }

    /// Those who want to see messages, where anybody does.
    pub(super) fn tapped(&self) -> Option<&Observers> {
        let observers = self.reports.observers.as_deref();
        observers.filter(|observers| observers.want_messages())
    }

    /// Itself, shared; none once nobody has it any more.
    pub(super) fn shared(&self) -> Option<Arc<Self>> {
        self.me.upgrade()
    }

    /// What the server lists to those who share it.
    pub(super) fn catalogs(&self) -> &Arc<Catalogs> {
        &self.catalogs
    }

    /// Its number: ours, and never used again.
    pub(crate) fn serial(&self) -> u64 {
        self.serial
    }

    /// On whose behalf it is there.
    pub(crate) fn principal(&self) -> Option<&Arc<str>> {
        self.catalogs.principal.as_ref()
    }

    /// The server's configured name.
    pub fn server_name(&self) -> &Arc<str> {
        &self.spec.name
    }

    /// Whether one client alone uses it.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    /// Whether a stand-in is behind it, and not the server itself.
    pub fn is_stand_in(&self) -> bool {
        self.stand_in
    }

    /// Where it is told what the server does wrong although it works.
    pub(crate) fn remarks(&self) -> &Remarks {
        &self.reports.remarks
    }

    /// The server as it was configured.
    pub fn spec(&self) -> &ServerSpec {
        &self.spec
    }

    /// What the server said when we met.
    pub fn hello(&self) -> Option<&Hello> {
        self.hello.get()
    }

    /// Which requests what it said allows.
    pub(super) fn declared(&self) -> Option<Declared> {
        let hello = self.hello.get()?;
        Some(*self.declared.get_or_init(|| Declared::of(hello)))
    }

    /// The revision spoken here.
    pub fn revision(&self) -> Revision {
        self.hello
            .get()
            .map_or(Revision::NEWEST_LEGACY, |hello| hello.revision)
    }

    /// What the server lists here.
    pub fn catalog(&self) -> &Catalog {
        self.catalogs.of(self.revision().era())
    }

    /// The `_meta` of modern requests that we make ourselves.
    pub(crate) fn own_meta(&self) -> String {
        super::discover::own_meta()
    }

    pub(super) fn set_link(&self, link: Link) {
        let _ = self.link.set(link);
    }

    pub(super) fn set_hello(&self, hello: Hello) {
        let _ = self.hello.set(hello);
    }

    pub(super) fn link(&self) -> Option<&Link> {
        self.link.get()
    }

    /// How the server turned out to be reached, where its entry leaves that open.
    pub fn found_transport(&self) -> Option<&'static str> {
        let is_open = matches!(self.spec.target, Target::Http(_));
        (is_open && matches!(self.link.get(), Some(Link::Sse(_)))).then_some("sse")
    }

    /// Whether it is streamable HTTP: a server may forget its session, or turn
    /// a request away for its headers.
    pub(crate) fn is_http(&self) -> bool {
        matches!(self.link.get(), Some(Link::Http(_)))
    }

    /// How the connection has ended, if it has.
    pub fn how_it_ended(&self) -> Option<Ended> {
        self.ended.borrow().clone()
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Notes an answer of the server's; `is_use` where a client wanted it.
    pub(super) fn note_answer(&self, is_use: bool) {
        // What it says before we have met is no answer to anybody.
        if self.hello.get().is_none() {
            return;
        }
        if is_use {
            self.used.store(true, Ordering::Relaxed);
        }
        self.lost.store(0, Ordering::Relaxed);
    }

    /// Notes a request that did not get through. One is an accident. Several in a
    /// row are a server that is not what it was: it is met again.
    pub(super) fn note_lost(&self, why: &str) {
        if self.lost.fetch_add(1, Ordering::Relaxed) + 1 >= limits::LOST_IN_A_ROW {
            self.give_way(Ended::Lost(format!(
                "{} requests in a row got lost: {why}",
                limits::LOST_IN_A_ROW
            )));
        }
    }

    /// Whether it was good for anything: the server did something for a client, or
    /// was there for a good while. That it shook hands and said what it has is not
    /// enough: one that dies right after that would be started for ever.
    pub(super) fn was_of_use(&self) -> bool {
        let passed = self.shared().and_then(|at| at.passed_cap());
        if passed.is_some() {
            return self.since.elapsed() >= limits::CAPS_STAYED_UP;
        }
        self.stand_in
            || self.used.load(Ordering::Relaxed)
            || self.since.elapsed() >= limits::STAYED_UP
    }

    /// Waits for the end of the connection.
    pub async fn ended(&self) -> Ended {
        let mut watch = self.ended.subscribe();
        let ended = watch.wait_for(Option::is_some).await;
        let ended = ended.ok().and_then(|ended| ended.clone());
        ended.unwrap_or(Ended::ByUs)
    }

    /// Adds a client to those who hear of changes.
    pub fn attach(self: &Arc<Self>, client: &Arc<Client>) {
        if !client.addressable || client.has_left() {
            return;
        }
        let new = self.audience.add(client);
        if new {
            self.adopt_level(client);
        }
        // A legacy client expects to hear of changes without asking.
        if new && client.era() == Era::Legacy && self.revision().era() == Era::Modern {
            let connection = self.clone();
            tasks::spawn(tasks::Kind::Background, async move {
                connection.listen_again().await;
            });
        }
    }

    /// Removes a client and its subscriptions.
    pub fn detach(self: &Arc<Self>, client: ClientId) {
        self.audience.remove(client);
        self.calls.end_turns_of(client);
        self.forget_level(client);
        self.unsubscribe_all(client);
    }

    /// Removes clients that went away while it was being made.
    pub(super) fn detach_departed(self: &Arc<Self>) {
        for client in self.audience.departed() {
            self.detach(client);
        }
    }

    /// Takes over those who heard of changes on a connection before this one, with
    /// what they listened to.
    pub(super) async fn succeed(self: &Arc<Self>, old: &Self) {
        let clients = old.audience.attached();
        for client in &clients {
            self.attach(client);
        }
        let there = clients.iter().filter(|client| !client.has_left());
        let there = there.map(|client| client.id).collect();
        self.calls.succeed(&old.calls);
        let (now, before) = (self.audience.subscriptions(), old.audience.subscriptions());
        now.adopt(before, &there);
        self.subscribe_again().await;
    }

    /// Forgets what was noted for a client that lives as long as its request.
    pub(crate) fn forget(self: &Arc<Self>, client: ClientId) {
        self.questions.take_undeclared(client);
        if !self.audience.has(client) {
            self.forget_level(client);
        }
    }

    /// Whether nobody waits for anything here, and nobody listens.
    pub(super) fn is_idle(&self) -> bool {
        self.calls.is_empty() && self.audience.attached().is_empty()
    }

    /// Who hears of changes here.
    pub(super) fn attached(&self) -> Vec<Arc<Client>> {
        self.audience.attached()
    }

    /// Where it is noted since when nobody has used it.
    pub(super) fn unused(&self) -> &Unused {
        &self.unused
    }

    pub(super) fn name(&self) -> String {
        self.spec.name.to_string()
    }

    pub(crate) fn not_connected(&self, reason: &str) -> CallError {
        CallError::NotConnected {
            server: self.name(),
            reason: reason.to_owned(),
        }
    }
}
