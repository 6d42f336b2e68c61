//! One connection to one server: what we know of it, who uses it, and its end.
//! What goes out is in `sending.rs`, what comes in `arriving.rs`.

use super::{
    declared::Declared,
    levels::Levels,
    owners::Owned,
    remarks::Remarks,
    subscriptions::Subscriptions,
    tasks::AboutTasks,
    turns::{NeedsTurns, Turn, Turns},
};
use crate::{
    catalog::{Catalog, Catalogs, List, Listing},
    client::{Client, ClientId},
    error::CallError,
    exchange::{Inbox, Outcome},
    limits,
    pins::Kind,
    upstream::spec::{ServerSpec, Target},
};
use bytes::Bytes;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering},
    },
};
use switchboard_tasks as tasks;
use switchboard_transport::{Link, numbers::ByNumber};
use switchboard_wire::{Era, Id, Method, Revision, json};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

/// Why a connection ended that we ended ourselves.
pub(super) const CLOSED_BY_US: &str = "closed";

/// What a server said about itself when we met.
#[derive(Clone, Debug)]
pub struct Hello {
    /// The revision that was agreed on.
    pub revision: Revision,
    /// The text of the result of `initialize` or `server/discover`.
    pub result: Bytes,
}

impl Hello {
    /// The text of the server's capabilities.
    pub fn capabilities(&self) -> Bytes {
        let span = json::field(&self.result, "capabilities").ok().flatten();
        span.map_or(Bytes::from_static(b"{}"), |span| {
            self.result.slice(span.start..span.end)
        })
    }

    /// Whether this part of a capability is declared.
    pub fn has(&self, capability: &str, part: &str) -> bool {
        let all = self.capabilities();
        let within = |raw: &[u8], name: &str| {
            let span = json::members(raw)
                .find(|member| json::text(member.key.of(raw)).is_some_and(|key| key == name));
            span.map(|member| member.value.of(raw).to_vec())
        };
        let found = within(&all, capability).and_then(|value| within(&value, part));
        found.is_some_and(|value| value == b"true")
    }

    /// Whether the server declared this capability.
    pub fn declares(&self, capability: &str) -> bool {
        let capabilities = self.capabilities();
        json::members(&capabilities).any(|member| {
            json::text(member.key.of(&capabilities)).is_some_and(|key| key == capability)
        })
    }
}

/// Takes a list that has come.
type Listed = dyn Fn(&Arc<Connection>, List, &Listing) + Send + Sync;

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
}

/// A connection. Shared by all who use it.
pub struct Connection {
    /// Itself, for the questions it hands out.
    pub(super) me: Weak<Connection>,
    pub(super) spec: Arc<ServerSpec>,
    pub(super) calls: Mutex<HashMap<u64, Call, ByNumber>>,
    pub(super) clients: Mutex<HashMap<ClientId, Weak<Client>>>,
    /// Questions of the server's that are open at a client, by the server's id for them.
    pub(super) questions: Mutex<HashMap<Id, CancellationToken>>,
    pub(super) subscriptions: Subscriptions,
    /// What its owner is told.
    pub(super) catalogs: Arc<Catalogs>,
    /// Whose the server's tasks and pages are.
    pub(super) owned: Arc<Owned>,
    /// What the server asked of clients (modern ones) that had not declared it.
    pub(super) undeclared: Mutex<HashMap<ClientId, Vec<&'static str>>>,
    pub(super) levels: Levels,
    /// Whose turn it is, where clients take turns.
    pub(super) turns: Arc<Turns>,
    pub(super) reports: Reports,
    /// Whether one client alone uses it.
    pub(super) exclusive: bool,
    /// Whether a stand-in is behind it, and not the server itself.
    stand_in: bool,
    pub(super) link: OnceLock<Link>,
    pub(super) hello: OnceLock<Hello>,
    /// Which requests that allows.
    pub(super) declared: OnceLock<Declared>,
    pub(super) next: AtomicU64,
    /// Whether the server has answered anything that a client wanted of it.
    pub(super) used: AtomicBool,
    since: Instant,
    /// Requests in a row that got lost on the way.
    pub(super) lost: AtomicU32,
    /// What the server has listed whole since it was started, a bit for each kind.
    listed: AtomicU8,
    /// What of that is what it listed last, as far as it says.
    judged: AtomicU8,
    closed: watch::Sender<Option<String>>,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("server", &self.spec.name)
            .field("hello", &self.hello)
            .finish_non_exhaustive()
    }
}

/// A request of ours that waits for its answer.
#[derive(Debug)]
pub(super) struct Call {
    pub inbox: Arc<Inbox>,
    /// The client's progress token, as it wrote it.
    pub token: Option<Bytes>,
    /// Who asked; `None` when we did ourselves.
    pub client: Option<Arc<Client>>,
    /// Ends when the call does: questions asked during it are then void. There
    /// is none until somebody asks one.
    over: OnceLock<CancellationToken>,
    /// What its reply can say about tasks.
    pub tasks: AboutTasks,
    /// Its share of its client's turn, where clients take turns.
    pub(super) turn: Option<Turn>,
    /// Questions of the server's that wait for somebody's answer.
    pub(super) asked: usize,
    /// What it asks for.
    pub(super) method: Method,
}

impl Call {
    pub(super) fn new(
        inbox: Arc<Inbox>,
        token: Option<Bytes>,
        client: Option<Arc<Client>>,
        tasks: AboutTasks,
        method: Method,
    ) -> Self {
        Self {
            inbox,
            token,
            client,
            over: OnceLock::new(),
            tasks,
            turn: None,
            asked: 0,
            method,
        }
    }

    /// What ends with it.
    pub(super) fn over(&self) -> CancellationToken {
        self.over.get_or_init(CancellationToken::new).clone()
    }

    /// Whether an answer to it shows that the server is of use: a client wanted
    /// something done, and not only to know what there is.
    pub(super) fn is_use(&self) -> bool {
        let prepares = matches!(
            self.method,
            Method::Listen
                | Method::Ping
                | Method::SetLevel
                | Method::ResourcesSubscribe
                | Method::ResourcesUnsubscribe
        );
        self.client.is_some() && !prepares && List::of(self.method).is_none()
    }

    /// Ends it.
    pub(super) fn finish(self, outcome: Outcome) {
        if let Some(over) = self.over.get() {
            over.cancel();
        }
        self.inbox.finish(outcome);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // Taken out by somebody who then panicked: it is waited for all the same.
        if std::thread::panicking() {
            self.inbox.finish(Outcome::Failed(CallError::broke_off()));
        }
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
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            spec,
            calls: Mutex::default(),
            clients: Mutex::default(),
            questions: Mutex::default(),
            subscriptions: Subscriptions::default(),
            catalogs,
            owned,
            undeclared: Mutex::default(),
            levels: Levels::default(),
            turns: Arc::default(),
            reports,
            exclusive,
            stand_in,
            link: OnceLock::new(),
            hello: OnceLock::new(),
            declared: OnceLock::new(),
            next: AtomicU64::new(1),
            used: AtomicBool::new(false),
            since: Instant::now(),
            lost: AtomicU32::new(0),
            listed: AtomicU8::new(0),
            judged: AtomicU8::new(0),
            closed: watch::Sender::new(None),
        })
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

    /// The revision spoken here.
    pub fn revision(&self) -> Revision {
        self.hello
            .get()
            .map_or(Revision::NEWEST_LEGACY, |hello| hello.revision)
    }

    /// Whether the server has listed all of this kind since it was started.
    pub(crate) fn has_listed(&self, kind: Kind) -> bool {
        self.listed.load(Ordering::Acquire) & (1 << kind as u8) != 0
    }

    /// Notes that it has.
    pub(crate) fn note_listed(&self, kind: Kind) {
        self.listed.fetch_or(1 << kind as u8, Ordering::AcqRel);
        self.note_judged(kind);
    }

    /// Whether what it has of this kind, as far as it says, was compared with what
    /// is kept of it.
    pub(crate) fn is_judged(&self, kind: Kind) -> bool {
        self.judged.load(Ordering::Acquire) & (1 << kind as u8) != 0
    }

    /// Notes that it was.
    pub(crate) fn note_judged(&self, kind: Kind) {
        self.judged.fetch_or(1 << kind as u8, Ordering::AcqRel);
    }

    /// It has other things now.
    pub(super) fn forget_judged(&self, method: Method) {
        let kind = match method {
            Method::ToolsListChanged => Kind::Tools,
            Method::PromptsListChanged => Kind::Prompts,
            _ => return,
        };
        self.judged.fetch_and(!(1 << kind as u8), Ordering::AcqRel);
    }

    /// Has a list that has just come compared with what is kept of the server.
    pub(crate) fn judge(self: &Arc<Self>, list: List, now: &Listing, before: Option<&Listing>) {
        match Kind::of(list) {
            Some(kind) if self.has_listed(kind) && before.is_some_and(|it| it.is_same(now)) => {
                self.note_judged(kind);
            }
            Some(_) => (self.reports.listed)(self, list, now),
            None => {}
        }
    }

    /// What the server lists here.
    pub fn catalog(&self) -> &Catalog {
        self.catalogs.of(self.revision().era())
    }

    /// The `_meta` of modern requests that we make ourselves.
    pub(crate) fn own_meta(&self) -> String {
        super::modern::own_meta()
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

    /// What its process last said on stderr; empty where there is none.
    pub(super) fn last_words(&self) -> String {
        match self.link.get() {
            Some(Link::Stdio(link)) => link.server_process().map_or(String::new(), |process| {
                process.stderr().tail_lines(limits::STDERR_LINES)
            }),
            _ => String::new(),
        }
    }

    /// The same; a process that has just ended may have words still on their way.
    pub(super) async fn last_words_soon(&self) -> String {
        let has_process =
            matches!(self.link.get(), Some(Link::Stdio(link)) if link.server_process().is_some());
        for _ in 0..limits::LAST_WORDS.1 {
            let words = self.last_words();
            if !has_process || !words.is_empty() {
                return words;
            }
            tokio::time::sleep(limits::LAST_WORDS.0).await;
        }
        self.last_words()
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

    /// Why the connection has ended, if it has.
    pub fn closed(&self) -> Option<String> {
        self.closed.borrow().clone()
    }

    /// Whether it was good for anything: the server did something for a client, or
    /// was there for a good while. That it shook hands and said what it has is not
    /// enough: one that dies right after that would be started for ever.
    pub(super) fn was_of_use(&self) -> bool {
        self.stand_in
            || self.used.load(Ordering::Relaxed)
            || self.since.elapsed() >= limits::STAYED_UP
    }

    /// Waits for the end of the connection.
    pub async fn ended(&self) -> String {
        let mut watch = self.closed.subscribe();
        let ended = watch.wait_for(Option::is_some).await;
        ended.ok().and_then(|why| why.clone()).unwrap_or_default()
    }

    /// Adds a client to those who hear of changes.
    pub fn attach(self: &Arc<Self>, client: &Arc<Client>) {
        if !client.addressable || client.has_left() {
            return;
        }
        let new = self
            .clients
            .lock()
            .insert(client.id, Arc::downgrade(client))
            .is_none();
        if new {
            self.adopt_level(client);
        }
        // A legacy client expects to hear of changes without asking.
        if new && client.era() == Era::Legacy && self.revision().era() == Era::Modern {
            let connection = self.clone();
            tasks::spawn(tasks::Kind::Errand, async move {
                connection.listen_again().await;
            });
        }
    }

    /// Removes a client and its subscriptions.
    pub fn detach(self: &Arc<Self>, client: ClientId) {
        self.clients.lock().remove(&client);
        self.end_turn_of(client);
        self.forget_level(client);
        self.unsubscribe_all(client);
    }

    /// Removes clients that went away while it was being made.
    pub(super) fn detach_departed(self: &Arc<Self>) {
        let has_gone = |client: &Weak<Client>| client.upgrade().is_none_or(|at| at.has_left());
        let clients = self.clients.lock();
        let gone = clients.iter().filter(|(_, client)| has_gone(client));
        let gone: Vec<ClientId> = gone.map(|(id, _)| *id).collect();
        drop(clients);
        for client in gone {
            self.detach(client);
        }
    }

    /// Whether nobody waits for anything here, and nobody listens.
    pub(super) fn is_idle(&self) -> bool {
        self.calls.lock().is_empty() && self.attached().is_empty()
    }

    /// Ends the connection and what is behind it.
    pub async fn close(&self) {
        self.close_as(CLOSED_BY_US, CLOSED_BY_US).await;
    }

    /// The same for one that is of no use any more: it is made again for those who listen.
    pub(crate) async fn give_up(&self, why: &str) {
        self.close_as(why, why).await;
    }

    /// The same; whoever waits for an answer is told why.
    pub(super) async fn close_because(&self, why: &str) {
        self.close_as(CLOSED_BY_US, why).await;
    }

    async fn close_as(&self, word: &str, why: &str) {
        // First, so that what the link says of its end is not taken for an accident.
        self.end(word, why);
        if let Some(link) = self.link.get() {
            link.close().await;
        }
    }

    /// Ends all that is in flight, once. `word` is what the connection says of its end.
    pub(super) fn end(&self, word: &str, why: &str) {
        let first = self.closed.send_if_modified(|state| {
            let first = state.is_none();
            if first {
                *state = Some(word.to_owned());
            }
            first
        });
        if !first {
            return;
        }
        let calls: Vec<Call> = self.calls.lock().drain().map(|(_, call)| call).collect();
        for call in calls {
            let (server, reason) = (self.name(), why.to_owned());
            call.finish(Outcome::Failed(CallError::Interrupted { server, reason }));
        }
        for (_, question) in self.questions.lock().drain() {
            question.cancel();
        }
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
