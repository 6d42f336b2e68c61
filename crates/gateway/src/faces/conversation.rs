//! One client on one channel that carries everything both ways: what standard
//! streams, a WebSocket, HTTP+SSE and an in-process pair have in common. The
//! client opens in whichever era it speaks.

use crate::{
    admission::Admission,
    announcement,
    gateway::Gateway,
    limits,
    session::{
        Outlet, Weight,
        in_flight::{GivenUp, InFlight},
        legacy::Session,
        modern::{self, Answer, Begun, Request},
        steps::to_the_end,
    },
};
use bytes::Bytes;
use futures_util::future::Either;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use switchboard_host::{CallError, Client, LOG_LEVELS, NoSink, Scope, observe::Trace};
use switchboard_tasks as tasks;
use switchboard_wire::{
    ErrorObject, Id, Kind, Message, Method, Params, ParseError, Payload, Received, Revision, code,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::{Instrument, Span};

/// The requests whose answers a client waits for: one, or those of a batch.
type Owed = SmallVec<[Id; 1]>;

fn owed<'a>(messages: impl Iterator<Item = &'a Message>) -> Owed {
    let requests = messages.filter(|message| message.kind() == Kind::Request);
    requests.filter_map(Message::id).collect()
}

/// Who the client is and what it may have.
pub(crate) struct ClientTerms {
    /// Whom it addresses.
    pub scope: Scope,
    /// On whose behalf it acts, and until when.
    pub admission: Admission,
    /// Whether its servers are shared with nobody.
    pub own_servers: bool,
    /// Whether several principals use one credential upstream.
    pub shared_credential: bool,
    /// Whether the transport exists in the stateless era.
    pub modern: bool,
    /// What it is told when it has come in.
    pub announcement: Option<Arc<str>>,
}

/// A client and what it has under way.
pub(crate) struct Conversation {
    gateway: Arc<Gateway>,
    terms: ClientTerms,
    /// What tells its modern requests from those of other channels.
    key: Arc<str>,
    outlet: Arc<dyn Outlet>,
    session: Mutex<Option<Arc<Session>>>,
    /// What the client is still to be told.
    announcement: Mutex<Option<Arc<str>>>,
    /// Its modern requests; those of a session are the session's.
    in_flight: Arc<InFlight>,
    tasks: TaskTracker,
    /// What is logged of it stands in.
    span: Span,
    /// Nothing new comes from the client.
    closing: CancellationToken,
    /// The client is not there any more: what it had under way is given up.
    gone: CancellationToken,
    /// The time is over in which what is under way could finish: the client is told.
    over: CancellationToken,
}

impl Conversation {
    pub(crate) fn new(
        gateway: Arc<Gateway>,
        mut terms: ClientTerms,
        outlet: Arc<dyn Outlet>,
    ) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let announcement = terms.announcement.take();
        let principal = &**terms.admission.principal();
        let span = tracing::debug_span!("channel", number, principal);
        span.in_scope(|| tracing::debug!("a client is there"));
        let key: Arc<str> = format!("#{number}").into();
        if terms.modern {
            gateway.host().arrive(&on_channel(&terms, &key));
        }
        Arc::new(Self {
            gateway,
            key,
            terms,
            outlet,
            session: Mutex::default(),
            announcement: Mutex::new(announcement),
            in_flight: Arc::default(),
            tasks: TaskTracker::new(),
            span,
            closing: CancellationToken::new(),
            gone: CancellationToken::new(),
            over: CancellationToken::new(),
        })
    }

    /// Calls in flight may still finish. What only ends with the client ends now.
    pub(crate) async fn drain(&self) {
        self.closing.cancel();
        self.tasks.close();
        let _ = tokio::time::timeout(limits::DRAIN, self.tasks.wait()).await;
        self.break_off().await;
    }

    /// Tells the client of what it is still owed that no answer comes.
    pub(crate) async fn break_off(&self) {
        self.over.cancel();
        self.tasks.close();
        let _ = tokio::time::timeout(limits::LAST_WRITE, self.tasks.wait()).await;
    }

    /// The client is gone: nothing of it is kept.
    pub(crate) fn end(&self) {
        if self.gone.is_cancelled() {
            return;
        }
        self.gone.cancel();
        self.span.in_scope(|| tracing::debug!("a client has gone"));
        self.tasks.close();
        if let Some(session) = self.session.lock().take() {
            session.close();
        }
        if self.terms.modern {
            let principal = self.terms.admission.principal().clone();
            self.gateway.visitors().gone(&principal, &self.key);
            let client = on_channel(&self.terms, &self.key);
            self.gateway.host().release(&client);
            // Nobody else can come back for what it left waiting. After its
            // requests, one of which may be about to wait.
            let (gateway, key) = (self.gateway.clone(), self.key.clone());
            let running = self.tasks.clone();
            tasks::spawn(tasks::Kind::Background, async move {
                running.wait().await;
                gateway.lot().forget(&key);
            });
        }
    }

    /// Works on what the client asked, until it is gone. It gets an answer to
    /// what it is owed even if the work panics.
    fn spawn(self: &Arc<Self>, owed: Owed, work: impl Future<Output = ()> + Send + 'static) {
        let (unanswered, asker) = (owed.clone(), self.clone());
        let (me, span) = (self.clone(), self.span.clone());
        let work = async move {
            tokio::select! {
                () = work => {}
                () = asker.gone.cancelled() => {}
                () = asker.over.cancelled() => {
                    asker.tell(&unanswered, &CallError::gateway_ended());
                }
            }
        };
        let (kind, work) = (tasks::Kind::Conversation, work.instrument(span));
        tasks::spawn_in_or(&self.tasks, kind, work, move || me.broke_off(&owed));
    }

    /// Tells the client that a fault of ours ended what it had asked.
    fn broke_off(&self, owed: &Owed) {
        self.tell(owed, &CallError::broke_off());
    }

    fn tell(&self, owed: &Owed, why: &CallError) {
        let error = why.to_error();
        for id in owed {
            self.send(error.response(Some(id)));
        }
    }

    pub(crate) fn send(&self, payload: Payload) {
        self.outlet.send(payload, Weight::Reply);
    }

    /// What the client said, as it came.
    pub(crate) async fn bytes(self: &Arc<Self>, bytes: Bytes) {
        match Received::parse(bytes) {
            Ok(received) => self.received(received).await,
            Err(fault) => self.send(fault.to_error().response(fault.id())),
        }
    }

    /// What the client said.
    pub(crate) async fn received(self: &Arc<Self>, received: Received) {
        let (owed, work) = match received {
            Received::One(message) => {
                let owed = owed(std::slice::from_ref(&message).iter());
                (owed, Either::Left(self.message(message)))
            }
            Received::Batch(batch) => {
                let owed = owed(batch.iter().flatten());
                (owed, Either::Right(async { self.batch(batch) }))
            }
        };
        // The next message is looked at in any case.
        if tasks::caught(tasks::Kind::Message, work).await.is_err() {
            self.broke_off(&owed);
        }
    }

    async fn message(self: &Arc<Self>, message: Message) {
        let params = match Params::of(&message) {
            Ok(params) => params,
            Err(error) if message.kind() == Kind::Request => {
                return self.send(error.response(message.id().as_ref()));
            }
            Err(error) => {
                let reason = error.message;
                tracing::warn!(reason, "a client's notification cannot be read");
                return;
            }
        };
        let session = self.session.lock().clone();
        match (message.kind(), session) {
            (Kind::Request, _) if self.terms.modern && modern::is_modern(&params) => {
                self.modern(message, params);
            }
            (Kind::Request, None) if message.method() == Method::Initialize => {
                self.initialize(message).await;
            }
            (Kind::Request, Some(session)) => self.legacy(session, message, params),
            (Kind::Notification, _) if self.give_up(&message, &params) => {}
            (Kind::Notification, Some(session)) => session.notification(&message, &params),
            (_, Some(session)) => session.response(message),
            (Kind::Request, None) if message.method() == Method::Ping => {
                if let Some(id) = message.id() {
                    self.send(Message::response(&id, "{}").payload());
                }
            }
            (Kind::Request, None) => {
                let text =
                    "send initialize first, or say in _meta which revision the request speaks";
                self.send(
                    ErrorObject::new(code::INVALID_PARAMS, text).response(message.id().as_ref()),
                );
            }
            (_, None) => {}
        }
    }

    /// A request of a session, in a task of its own. Not `async`, so that the task
    /// is compiled here and not with the program, which is optimised for size.
    fn legacy(self: &Arc<Self>, session: Arc<Session>, message: Message, params: Params) {
        let (outlet, me) = (self.outlet.clone(), self.clone());
        let owed = message.id().into_iter().collect();
        let admitted = session.admit(message, params, Trace::default());
        self.spawn(owed, async move {
            if let Some(answer) = session.request(admitted, outlet).await {
                me.send(answer);
            }
        });
    }

    /// The handshake. Nothing else is read meanwhile: what follows belongs to the session it makes.
    async fn initialize(self: &Arc<Self>, message: Message) {
        let opened = Session::open(
            self.gateway.clone(),
            self.terms.scope.clone(),
            &self.terms.admission,
            &message,
            self.outlet.clone(),
            self.terms.own_servers,
            self.announcement.lock().clone(),
        );
        match opened.await {
            Ok((session, answer)) => {
                *self.session.lock() = Some(session);
                self.send(answer);
            }
            Err(fault) => self.send(fault.to_error().response(message.id().as_ref())),
        }
    }

    fn modern(self: &Arc<Self>, message: Message, params: Params) {
        let Some(id) = message.id() else { return };
        if let Err(error) = modern::check(&message, &params) {
            return self.send(error.response(Some(&id)));
        }
        self.announce(&message, &params);
        let (place, given_up) = match InFlight::enter(self.in_flight.clone(), &id) {
            Ok(entered) => entered,
            Err(why) => return self.send(why.to_error().response(Some(&id))),
        };
        let request = Box::new(Request {
            scope: self.terms.scope.clone(),
            admission: self.terms.admission.clone(),
            key: Some(self.key.clone()),
            message,
            params,
            headers: None,
            trace: Trace::default(),
            shared_credential: self.terms.shared_credential,
            passes_on: false,
            own_servers: self.terms.own_servers,
        });
        let me = self.clone();
        let owed = Owed::from_iter([id]);
        self.spawn(owed, async move {
            let last = me.run(request, given_up).await;
            // One that has given the request up gets none.
            if place.end()
                && let Some(last) = last
            {
                me.send(last.payload);
            }
        });
    }

    /// Tells a modern client what it is to be told, with the first request that
    /// wants log messages: without asking it gets none.
    fn announce(&self, message: &Message, params: &Params) {
        let Ok(Some(level)) = Params::text(message, params.log_level, "logLevel") else {
            return;
        };
        let rank = LOG_LEVELS.iter().position(|known| *known == level);
        if rank.is_some_and(|rank| announcement::is_heard(rank as u8))
            && let Some(text) = self.announcement.lock().take()
        {
            self.outlet
                .send(announcement::message(&text), Weight::Notice);
        }
    }

    /// Brings a request to its end; what is left is its last message.
    async fn run(&self, request: Box<Request>, mut given_up: GivenUp) -> Option<Answer> {
        let begun = {
            let begins = pin!(modern::begin(&self.gateway, request));
            given_up.or(begins).await
        };
        match begun.ok()? {
            Begun::Answer(answer) => Some(answer),
            Begun::Told(mut told) => {
                let ended = to_the_end(&mut told, &mut given_up, &*self.outlet).await;
                ended.ok()
            }
            Begun::Exchange(mut relayed) => {
                let ended = to_the_end(&mut relayed, &mut given_up, &*self.outlet).await;
                ended.map_err(|notice| relayed.cancel_as(&notice)).ok()
            }
            Begun::Listen(listen) => {
                let mut listen = listen.until(self.closing.clone());
                let ended = to_the_end(&mut listen, &mut given_up, &*self.outlet).await;
                ended.ok()
            }
        }
    }

    /// Whether a notification gives up a modern request of this client's.
    fn give_up(&self, message: &Message, params: &Params) -> bool {
        let id = params.request_id.map(|id| id.of(message.raw()));
        id.is_some_and(|id| self.in_flight.give_up(id, message))
    }

    /// Several messages at once, where the session's revision has that: all answers in one array.
    fn batch(self: &Arc<Self>, batch: Vec<Result<Message, ParseError>>) {
        let session = self.session.lock().clone();
        let Some(session) = session.filter(|session| session.client().revision.has_batches())
        else {
            let error = ErrorObject::new(
                code::INVALID_REQUEST,
                "batches are not part of this protocol revision",
            );
            return self.send(error.response(None));
        };
        let (me, outlet) = (self.clone(), self.outlet.clone());
        let owed = owed(batch.iter().flatten());
        self.spawn(owed, async move {
            if let Some(answers) = session.batch(batch, outlet).await {
                me.send(answers);
            }
        });
    }
}

/// The client of a channel, as its modern requests have it.
fn on_channel(terms: &ClientTerms, key: &str) -> Client {
    let principal = terms.admission.principal().clone();
    let none = Bytes::from_static(b"{}");
    let client = Client::new(principal, Revision::NEWEST, none, Arc::new(NoSink));
    client.known_by(Some(key))
}
