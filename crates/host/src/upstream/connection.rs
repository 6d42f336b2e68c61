//! One connection to one server: our ids, who waits for what, and where
//! everything that arrives belongs.

use super::{
    levels::Levels,
    notices::Attribution,
    owners::Owners,
    subscriptions::Subscriptions,
    tasks::{self, AboutTasks, TaskOwners},
    turns::{Place, Turn, Turns},
};
use crate::{
    call::Permitted,
    client::{Client, ClientId},
    error::CallError,
    exchange::{Crossing, Exchange, Inbox, Outcome, Reply},
    limits,
    upstream::spec::ServerSpec,
};
use bytes::Bytes;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};
use switchboard_transport::{
    About, Closed, Inbound, Link, Outgoing, Receive, SendError, Undelivered,
};
use switchboard_wire::{
    Edits, Era, Id, Kind, Message, Method, Params, ParseError, Payload, Revision, code, json,
};
use tokio::sync::watch;
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

/// What a connection tells its server's owner.
pub(super) struct Reports {
    /// A list has changed.
    pub changes: Box<dyn Fn(Method) + Send + Sync>,
    /// A question could not be told apart, for the first time.
    pub unclear: Box<dyn Fn() + Send + Sync>,
    /// Whether one ever could not, on any connection: then clients take turns.
    pub takes_turns: Arc<AtomicBool>,
}

/// A connection. Shared by all who use it.
pub struct Connection {
    /// Itself, for the questions it hands out.
    pub(super) me: Weak<Connection>,
    pub(super) spec: Arc<ServerSpec>,
    pub(super) calls: Mutex<HashMap<u64, Call>>,
    pub(super) clients: Mutex<HashMap<ClientId, Weak<Client>>>,
    /// Questions of the server's that are open at a client, by the server's id for them.
    pub(super) questions: Mutex<HashMap<Id, CancellationToken>>,
    pub(super) subscriptions: Subscriptions,
    pub(super) tasks: TaskOwners,
    /// What the server asked of clients (modern ones) that had not declared it.
    pub(super) undeclared: Mutex<HashMap<ClientId, Vec<&'static str>>>,
    /// Pages that the server sent a client to, by their elicitation's id.
    pub(super) pages: Owners,
    pub(super) levels: Levels,
    /// Whose turn it is, where clients take turns.
    turns: Arc<Turns>,
    pub(super) reports: Reports,
    /// Whether one client alone uses it.
    pub(super) exclusive: bool,
    /// Whether a stand-in is behind it, and not the server itself.
    stand_in: bool,
    link: OnceLock<Link>,
    hello: OnceLock<Hello>,
    next: AtomicU64,
    /// Whether the server has answered anything since we met.
    of_use: AtomicBool,
    /// Requests in a row that got lost on the way.
    lost: AtomicU32,
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
    /// Ends when the call does: questions asked during it are then void.
    pub over: CancellationToken,
    /// What its reply can say about tasks.
    pub tasks: AboutTasks,
    /// Its share of its client's turn, where clients take turns.
    turn: Option<Turn>,
}

impl Connection {
    pub(super) fn new(
        spec: Arc<ServerSpec>,
        exclusive: bool,
        stand_in: bool,
        reports: Reports,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            me: me.clone(),
            spec,
            calls: Mutex::default(),
            clients: Mutex::default(),
            questions: Mutex::default(),
            subscriptions: Subscriptions::default(),
            tasks: TaskOwners::default(),
            undeclared: Mutex::default(),
            pages: Owners::default(),
            levels: Levels::default(),
            turns: Arc::default(),
            reports,
            exclusive,
            stand_in,
            link: OnceLock::new(),
            hello: OnceLock::new(),
            next: AtomicU64::new(1),
            of_use: AtomicBool::new(false),
            lost: AtomicU32::new(0),
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

    /// Whether it is streamable HTTP: a server may forget its session, or turn
    /// a request away for its headers.
    pub(crate) fn is_http(&self) -> bool {
        matches!(self.link.get(), Some(Link::Http(_)))
    }

    /// Why the connection has ended, if it has.
    pub fn closed(&self) -> Option<String> {
        self.closed.borrow().clone()
    }

    /// Whether the server has answered anything since we met.
    pub(super) fn was_of_use(&self) -> bool {
        self.of_use.load(Ordering::Relaxed)
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
            tokio::spawn(async move { connection.listen_again().await });
        }
    }

    /// Removes a client and its subscriptions.
    pub fn detach(self: &Arc<Self>, client: ClientId) {
        self.clients.lock().remove(&client);
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

    /// Sends a permitted request of a client's on its way, into the other era if
    /// need be, and where clients take turns when it is its client's.
    pub fn start(self: &Arc<Self>, permitted: Permitted) -> Result<Exchange, CallError> {
        if !self.takes_turns() {
            return self.start_now(permitted);
        }
        let urgent = !self.questions.lock().is_empty();
        match self.turns.take(permitted.client.identity, urgent) {
            Place::Now(turn) => self.start_in_turn(permitted, turn),
            Place::Later(turn) => Ok(Exchange::in_line(self.clone(), permitted, turn)),
        }
    }

    /// Sends a request whose turn it is.
    pub(crate) fn start_in_turn(
        self: &Arc<Self>,
        permitted: Permitted,
        turn: Turn,
    ) -> Result<Exchange, CallError> {
        let exchange = self.start_now(permitted)?;
        let mut calls = self.calls.lock();
        match calls.get_mut(&exchange.request()) {
            Some(call) => call.turn = Some(turn),
            // It is over already, and so is its share of the turn.
            None => drop(calls),
        }
        Ok(exchange)
    }

    fn takes_turns(&self) -> bool {
        !self.exclusive
            && self.reports.takes_turns.load(Ordering::Acquire)
            && self.revision().era() == Era::Legacy
    }

    /// A question could not be told apart: from now on clients take turns.
    pub(super) fn take_turns(&self) {
        if self.reports.takes_turns.swap(true, Ordering::AcqRel) {
            return;
        }
        let text = "a question could not be told apart: calls of several clients were in flight; \
                    from now on their calls take turns (\"isolation\": \"session\" gives each client \
                    a copy of its own)";
        tracing::warn!(server = %self.spec.name, "{text}");
        for call in self.calls.lock().values_mut() {
            if call.client.is_some() {
                call.turn = Some(self.turns.include());
            }
        }
        (self.reports.unclear)();
    }

    fn start_now(self: &Arc<Self>, permitted: Permitted) -> Result<Exchange, CallError> {
        let Permitted {
            client,
            message,
            edits,
            name,
            mirrored,
            timeout,
            params,
            task,
            ..
        } = permitted;
        if task.is_some_and(|task| !self.lets_see_task(&client, &task)) {
            return Err(tasks::unknown());
        }
        if client.era() == self.revision().era() {
            let (inbox, id) =
                self.dispatch_with(client, &message, &params, edits, name, mirrored, timeout)?;
            return Ok(Exchange::new(inbox, self.clone(), id, timeout));
        }
        if self.revision().era() == Era::Legacy && params.request_state.is_some() {
            let text = "this requestState is not valid here; ask again without it";
            return Err(CallError::refused(code::INVALID_PARAMS, text));
        }
        if self.revision().era() == Era::Legacy && client.asked_for_logs() {
            self.raise_level(&client);
        }
        let original = if edits.is_empty() {
            message
        } else {
            let bytes = message.edited(&edits).into_bytes();
            Message::parse(bytes).map_err(|fault| CallError::Refused(fault.to_error()))?
        };
        let (crossing, inbox, id) =
            Crossing::start(self, client, original, name, mirrored, timeout)?;
        Ok(Exchange::new(inbox, self.clone(), id, timeout).across(crossing))
    }

    /// Sends a request under an id of ours, with the client's progress token kept for later.
    pub(crate) fn dispatch(
        &self,
        client: Arc<Client>,
        message: &Message,
        edits: Edits,
        name: Option<String>,
        mirrored: Vec<(String, String)>,
        timeout: Duration,
    ) -> Result<(Arc<Inbox>, u64), CallError> {
        let params = Params::of(message)?;
        self.dispatch_with(client, message, &params, edits, name, mirrored, timeout)
    }

    #[allow(clippy::too_many_arguments)]
    fn dispatch_with(
        &self,
        client: Arc<Client>,
        message: &Message,
        params: &Params,
        mut edits: Edits,
        name: Option<String>,
        mirrored: Vec<(String, String)>,
        timeout: Duration,
    ) -> Result<(Arc<Inbox>, u64), CallError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        if let Some(span) = message.id_span() {
            edits.replace(span, id.to_string());
        }
        let token = Params::bytes(message, params.progress_token);
        if let Some(span) = params.progress_token {
            edits.replace(span, id.to_string());
        }
        let method = message.method();
        let about = About::Request {
            id,
            method,
            method_name: (method == Method::Other).then(|| message.method_name()),
            name,
            params: mirrored,
            timeout,
        };
        let tasks = match self.exclusive {
            true => AboutTasks::Nothing,
            false => AboutTasks::of(message, params, &client),
        };
        let out = Outgoing {
            payload: message.edited(&edits),
            about,
        };
        let inbox = self.begin(id, token, Some(client), tasks, out)?;
        Ok((inbox, id))
    }

    /// From now on progress of this request is told under another token.
    pub(crate) fn set_token(&self, request: u64, token: Option<Bytes>) {
        if let Some(call) = self.calls.lock().get_mut(&request) {
            call.token = token;
        }
    }

    /// Whether this task, by the server's own id, is not another client's than this one.
    pub fn lets_see_task(&self, client: &Client, task: &str) -> bool {
        let owner = self.tasks.owner(task);
        self.exclusive || owner.is_none_or(|owner| owner == client.identity)
    }

    /// What the server asked of a client that had not declared it; asked once.
    pub(crate) fn take_undeclared(&self, client: ClientId) -> Vec<&'static str> {
        self.undeclared.lock().remove(&client).unwrap_or_default()
    }

    /// Forgets what was noted for a client that lives as long as its request.
    pub(crate) fn forget(self: &Arc<Self>, client: ClientId) {
        self.undeclared.lock().remove(&client);
        if !self.clients.lock().contains_key(&client) {
            self.forget_level(client);
        }
    }

    /// Sends a request of our own; `params` is JSON text.
    pub fn ask(
        self: &Arc<Self>,
        method: Method,
        params: &str,
        timeout: Duration,
    ) -> Result<Exchange, CallError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let message = Message::request(&Id::number(id), method, params);
        let about = About::Request {
            id,
            method,
            method_name: None,
            name: None,
            params: Vec::new(),
            timeout,
        };
        let inbox = self.begin(
            id,
            None,
            None,
            AboutTasks::Nothing,
            Outgoing {
                payload: message.payload(),
                about,
            },
        )?;
        Ok(Exchange::new(inbox, self.clone(), id, timeout))
    }

    fn begin(
        &self,
        id: u64,
        token: Option<Bytes>,
        client: Option<Arc<Client>>,
        tasks: AboutTasks,
        out: Outgoing,
    ) -> Result<Arc<Inbox>, CallError> {
        let inbox = Arc::new(Inbox::new());
        {
            let mut calls = self.calls.lock();
            if calls.len() >= limits::CALLS_IN_FLIGHT {
                let reason = format!("{} calls are in flight", calls.len());
                return Err(CallError::Busy {
                    server: self.name(),
                    reason,
                });
            }
            calls.insert(
                id,
                Call {
                    inbox: inbox.clone(),
                    token,
                    client,
                    over: CancellationToken::new(),
                    tasks,
                    turn: None,
                },
            );
        }
        self.send(out).inspect_err(|_| {
            self.calls.lock().remove(&id);
        })?;
        Ok(inbox)
    }

    /// Sends a notification.
    pub fn notify(&self, payload: Payload) -> Result<(), CallError> {
        self.send(Outgoing {
            payload,
            about: About::Notification,
        })
    }

    /// Answers a request of the server's.
    pub(crate) fn answer_peer(&self, request: &Message, payload: Payload) {
        if let Some(id) = request.id() {
            self.questions.lock().remove(&id);
        }
        if let Err(fault) = self.send(Outgoing {
            payload,
            about: About::Response,
        }) {
            tracing::debug!(server = %self.spec.name, %fault, "an answer to the server could not be sent");
        }
    }

    fn send(&self, out: Outgoing) -> Result<(), CallError> {
        let link = self
            .link
            .get()
            .ok_or_else(|| self.not_connected("not started"))?;
        link.send(out).map_err(|fault| match fault {
            SendError::Closed => self.not_connected(
                self.closed()
                    .as_deref()
                    .unwrap_or("the connection is closed"),
            ),
            SendError::Full(_) => CallError::Busy {
                server: self.name(),
                reason: fault.to_string(),
            },
        })
    }

    /// Gives a request up, once: the server is told in its own way and nobody waits any more.
    pub(crate) fn cancel(&self, request: u64, reason: Option<&str>) {
        self.drop_call(request, || {
            let reason = reason
                .map(|text| format!(",\"reason\":{}", json::quote(text)))
                .unwrap_or_default();
            Message::notification(
                Method::Cancelled,
                &format!("{{\"requestId\":{request}{reason}}}"),
            )
            .payload()
        });
    }

    /// The same, with the client's own notification.
    pub(crate) fn cancel_as(&self, request: u64, notice: &Message) {
        let body = notice
            .body_span()
            .filter(|_| notice.method() == Method::Cancelled);
        let span = body.and_then(|body| {
            json::field(body.of(notice.raw()), "requestId")
                .ok()
                .flatten()
                .map(|span| span.shifted(body.start))
        });
        match span {
            Some(span) => self.drop_call(request, || {
                let mut edits = Edits::new();
                edits.replace(span, request.to_string());
                notice.edited(&edits)
            }),
            None => self.cancel(request, None),
        }
    }

    fn drop_call(&self, request: u64, notice: impl FnOnce() -> Payload) {
        let Some(call) = self.calls.lock().remove(&request) else {
            return;
        };
        call.over.cancel();
        call.inbox.finish(Outcome::Failed(CallError::Cancelled));
        let Some(link) = self.link.get() else { return };
        if !link.closing_cancels(self.revision()) {
            let _ = self.notify(notice());
        }
        link.abandon(request);
    }

    /// Whether nobody waits for anything here, and nobody listens.
    pub(super) fn is_idle(&self) -> bool {
        self.calls.lock().is_empty() && self.attached().is_empty()
    }

    /// Ends the connection and what is behind it.
    pub async fn close(&self) {
        self.close_as(CLOSED_BY_US, CLOSED_BY_US).await;
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
    fn end(&self, word: &str, why: &str) {
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
            call.over.cancel();
            let (server, reason) = (self.name(), why.to_owned());
            call.inbox
                .finish(Outcome::Failed(CallError::Interrupted { server, reason }));
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

    fn finish(&self, id: u64, mut outcome: Outcome) -> bool {
        let call = self.calls.lock().remove(&id);
        let found = call.is_some();
        if let Some(call) = call {
            if self.hello.get().is_some() && matches!(outcome, Outcome::Reply(_)) {
                self.of_use.store(true, Ordering::Relaxed);
                self.lost.store(0, Ordering::Relaxed);
            }
            if let (Outcome::Reply(reply), Some(client)) = (&outcome, &call.client)
                && reply.message.error_code() == Some(code::URL_ELICITATION_REQUIRED)
            {
                self.note_pages(reply.message.body(), client.identity);
            }
            if let (Outcome::Reply(reply), Some(client)) = (&mut outcome, &call.client)
                && call.tasks != AboutTasks::Nothing
            {
                self.tasks.saw(call.tasks, reply, client.identity);
            }
            call.over.cancel();
            call.inbox.finish(outcome);
        }
        found
    }
}

impl Connection {
    /// Headers and versions of the modern era are between us and the server: a
    /// complaint about them is not for the client, who has nothing to do with them.
    fn misput(&self, message: &Message) -> Option<CallError> {
        if message.kind() != Kind::Error || self.hello.get()?.revision.era() != Era::Modern {
            return None;
        }
        let code = message.error_code()?;
        if ![code::HEADER_MISMATCH, code::UNSUPPORTED_VERSION].contains(&code) {
            return None;
        }
        let said = message.error_text().unwrap_or_default();
        let reason = format!("{code} {said}");
        tracing::warn!(server = %self.spec.name, reason, "the server does not accept how a request was put");
        Some(CallError::Misput {
            server: self.name(),
            code,
            reason,
        })
    }

    /// Takes note of a request that did not get through. One is an accident.
    /// Several in a row are a server that is not what it was: it is met again.
    fn note_lost(&self, why: &str) {
        if self.lost.fetch_add(1, Ordering::Relaxed) + 1 >= limits::LOST_IN_A_ROW {
            let why = format!(
                "{} requests in a row got lost: {why}",
                limits::LOST_IN_A_ROW
            );
            self.end(&why, &why);
        }
    }
}

/// What arrives, and where it goes.
impl Receive for Connection {
    fn message(&self, inbound: Inbound) {
        let Inbound { message, during } = inbound;
        match message.kind() {
            Kind::Response | Kind::Error => {
                // An HTTP server that could not read our request answers without an id, on its stream.
                let id = message
                    .own_id()
                    .or(during.filter(|_| message.id_span().is_none()));
                let reply = match self.misput(&message) {
                    Some(fault) => Outcome::Failed(fault),
                    None => Outcome::Reply(Reply {
                        message,
                        edits: Edits::new(),
                    }),
                };
                let outdated = match &reply {
                    Outcome::Failed(CallError::Misput { code, reason, .. }) => {
                        (*code == code::UNSUPPORTED_VERSION).then(|| reason.clone())
                    }
                    _ => None,
                };
                if !id.is_some_and(|id| self.finish(id, reply)) {
                    tracing::debug!(server = %self.spec.name, ?id, "a reply that nobody waits for");
                }
                if let Some(reason) = outdated {
                    self.note_lost(&reason);
                }
            }
            Kind::Notification => self.on_notification(message, during),
            Kind::Request => self.on_request(message, during),
        }
    }

    fn unreadable(&self, fault: ParseError, during: Option<u64>) {
        let (server, reason) = (self.name(), fault.to_string());
        tracing::warn!(server = %self.spec.name, %fault, "the server sent something that cannot be read");
        // Where nothing says whose reply it was it may as well be noise.
        if let Some(id) = during {
            self.finish(
                id,
                Outcome::Failed(CallError::Unreadable { server, reason }),
            );
        }
    }

    fn undelivered(&self, request: u64, why: Undelivered) {
        let expired = matches!(why, Undelivered::SessionExpired);
        // Whoever was let in before has to sign in again: clients are told so by
        // the stand-in that takes the server's place.
        let shut_out = matches!(why, Undelivered::NeedsAuth { status: 401, .. })
            && self.spec.stand_in.is_some()
            && self.hello().is_some();
        let lost = matches!(why, Undelivered::NotSent(_) | Undelivered::Unknown(_));
        let last = why.to_string();
        let outcome = CallError::Undelivered {
            server: self.name(),
            why,
        };
        self.finish(request, Outcome::Failed(outcome));
        // Last, since what else was in flight may have been carried out; this was not.
        if expired {
            self.end("the session has expired", "the session has expired");
        }
        if lost {
            self.note_lost(&last);
        }
        if shut_out {
            self.end("the server wants a sign-in", "the server wants a sign-in");
        }
    }

    fn closed(&self, why: Closed) {
        let why = why.to_string();
        self.end(&why, &why);
    }
}

impl Connection {
    /// The call that something without an id of its own belongs to: the one on
    /// whose stream it came, or the latest if all calls in flight are one client's.
    pub(super) fn attribute(&self, during: Option<u64>) -> Attribution {
        let calls = self.calls.lock();
        // On the stream of a call that is over it is nobody else's.
        if let Some(id) = during {
            return calls.get(&id).map_or(Attribution::Nobody, Attribution::of);
        }
        let mut theirs = calls.iter().filter(|(_, call)| call.client.is_some());
        let Some(mut latest) = theirs.next() else {
            return Attribution::Nobody;
        };
        for other in theirs {
            if other.1.client.as_ref().map(|c| c.identity)
                != latest.1.client.as_ref().map(|c| c.identity)
            {
                return Attribution::Several;
            }
            if other.0 > latest.0 {
                latest = other;
            }
        }
        Attribution::of(latest.1)
    }
}
