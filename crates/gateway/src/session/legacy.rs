//! A session of the handshake era: requests and questions in both directions,
//! until the client goes.

use super::{Outlet, Weight, hello, lists, rewrite, tasks};
use crate::{gateway::Gateway, limits};
use bytes::Bytes;
use futures_util::future::{Either, join_all, ready};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
};
use switchboard_host::{
    Admitted, CallError, Client, ClientSink, Event, Input, NoSink, Notice, Outcome, Scope,
    call::route_uri, catalog::List, client::LOG_LEVELS, permission::What,
};
use switchboard_wire::{
    ErrorObject, Id, Kind, Message, Method, Params, ParseError, Payload, code, json,
};
use tokio::sync::oneshot;

/// One legacy client.
pub struct Session {
    gateway: Arc<Gateway>,
    scope: Scope,
    client: Arc<Client>,
    desk: Arc<Desk>,
    /// The client's requests that are not answered yet, and how to give each up.
    in_flight: Mutex<HashMap<Id, oneshot::Sender<Message>>>,
}

/// What reaches the client outside its requests, and what it still owes.
struct Desk {
    me: Weak<Desk>,
    general: Arc<dyn Outlet>,
    /// The least severe log message the client wants, as an index into [`LOG_LEVELS`].
    level: AtomicU8,
    questions: Mutex<HashMap<u64, oneshot::Sender<Message>>>,
    next: AtomicU64,
    /// On all servers as one: what tells whose a URI is, and a stand-in for the client there.
    aggregate: Option<(Arc<Gateway>, Client)>,
}

impl Session {
    /// Answers `initialize`: a session if the servers behind it can be reached.
    /// `general` is where things go that belong to no request; `own_servers`
    /// gives the client servers that it shares with nobody.
    pub async fn open(
        gateway: Arc<Gateway>,
        scope: Scope,
        principal: Arc<str>,
        initialize: &Message,
        general: Arc<dyn Outlet>,
        own_servers: bool,
    ) -> Result<(Arc<Self>, Payload), CallError> {
        let desk = Arc::new_cyclic(|me: &Weak<Desk>| Desk {
            me: me.clone(),
            general,
            level: AtomicU8::new(0),
            questions: Mutex::default(),
            next: AtomicU64::new(1),
            aggregate: matches!(scope, Scope::All).then(|| {
                let none = Bytes::from_static(b"{}");
                let viewer = Client::new(
                    principal.clone(),
                    hello::negotiate(initialize),
                    none,
                    Arc::new(NoSink),
                );
                (gateway.clone(), viewer)
            }),
        });
        let sink: Arc<dyn ClientSink> = desk.clone();
        let mut client = Client::new(
            principal,
            hello::negotiate(initialize),
            hello::declared(initialize),
            sink,
        );
        client = client.greeting(initialize.body_bytes());
        if own_servers {
            client = client.exclusive(Some(initialize.body_bytes()));
        }
        let client = Arc::new(client);
        if let Scope::One(server) = &scope {
            gateway
                .host()
                .guard()
                .check(&client, server, What::Method)?;
        }
        let result = hello::initialize_result(&gateway, &scope, &client).await?;
        let id = initialize.id().unwrap_or_else(|| Id::number(0));
        let answer = Message::response(&id, &result).payload();
        Ok((
            Arc::new(Self {
                gateway,
                scope,
                client,
                desk,
                in_flight: Mutex::default(),
            }),
            answer,
        ))
    }

    /// The client, as the servers' side knows it.
    pub fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// Whether anything is in flight.
    pub fn is_busy(&self) -> bool {
        !self.in_flight.lock().is_empty()
    }

    /// Handles a request. What happens on the way goes to `outlet`; the answer
    /// is returned, or nothing if the client gave the request up.
    pub async fn request(&self, message: Message, outlet: Arc<dyn Outlet>) -> Option<Payload> {
        let id = message.id()?;
        let (given_up, cancel) = oneshot::channel();
        {
            let mut in_flight = self.in_flight.lock();
            if in_flight.len() >= limits::IN_FLIGHT {
                let error = ErrorObject::new(
                    code::INTERNAL,
                    "too many requests of this client are in flight",
                );
                return Some(error.response(Some(&id)));
            }
            if in_flight.insert(id.clone(), given_up).is_some() {
                // Two requests in flight under one id cannot both be answered.
                let error = ErrorObject::new(code::INVALID_REQUEST, "this id is already in use");
                return Some(error.response(Some(&id)));
            }
        }
        let guard = InFlight {
            session: self,
            id: &id,
        };
        let answer = self.answer(&message, outlet, cancel).await;
        // Given up in the same moment as it was answered: the client was first.
        let given_up = !self.in_flight.lock().contains_key(&id);
        drop(guard);
        match answer {
            _ if given_up => None,
            Ok(payload) => Some(payload),
            Err(CallError::Cancelled) => None,
            Err(fault) => Some(fault.to_error().response(Some(&id))),
        }
    }

    async fn answer(
        &self,
        message: &Message,
        outlet: Arc<dyn Outlet>,
        cancel: oneshot::Receiver<Message>,
    ) -> Result<Payload, CallError> {
        let id = message.id().unwrap_or_else(|| Id::number(0));
        let empty = || Ok(Message::response(&id, "{}").payload());
        match message.method() {
            Method::Ping => empty(),
            Method::Initialize => Err(CallError::refused(
                code::INVALID_REQUEST,
                "this session has been initialized already",
            )),
            Method::Discover | Method::Listen => {
                let text = format!(
                    "{} is not part of {}",
                    message.method_name(),
                    self.client.revision
                );
                Err(CallError::refused(code::METHOD_NOT_FOUND, text))
            }
            Method::SetLevel => {
                self.set_level(message).await?;
                empty()
            }
            Method::ResourcesSubscribe | Method::ResourcesUnsubscribe => {
                self.subscribe(message).await?;
                empty()
            }
            Method::TasksList if matches!(self.scope, Scope::All) => {
                let result = tasks::page(&self.gateway, &self.client, message).await?;
                Ok(Message::response(&id, &result).payload())
            }
            method => match (List::of(method), &self.scope) {
                (Some(list), Scope::All) => {
                    let result = lists::page(&self.gateway, &self.client, list, message).await?;
                    Ok(Message::response(&id, &result).payload())
                }
                _ => self.relay(message, &id, outlet, cancel).await,
            },
        }
    }

    /// Takes a request to its server and brings back what comes.
    async fn relay(
        &self,
        message: &Message,
        id: &Id,
        outlet: Arc<dyn Outlet>,
        mut cancel: oneshot::Receiver<Message>,
    ) -> Result<Payload, CallError> {
        let params = Params::of(message)?;
        let (client, scope, message) = (self.client.clone(), self.scope.clone(), message.clone());
        let method = message.method();
        let mut exchange = self
            .gateway
            .host()
            .call(Admitted {
                client,
                scope,
                message,
                params,
                headers: None,
            })
            .await?;
        let mut asked = Vec::new();
        loop {
            let event = tokio::select! {
                biased;
                event = exchange.next() => event,
                Ok(notice) = &mut cancel => {
                    exchange.cancel_as(&notice);
                    return Err(CallError::Cancelled);
                }
            };
            match event {
                Event::Notice(notice) => {
                    if self.desk.wants(&notice) {
                        let server = exchange.connection().server_name();
                        outlet.send(self.desk.addressed(server, notice), Weight::Notice);
                    }
                }
                Event::Input(input) => asked.extend(self.desk.put(input, outlet.clone())),
                Event::Outcome(Outcome::Reply(mut reply)) => {
                    self.desk.withdraw(&asked, &outlet);
                    if matches!(self.scope, Scope::All) {
                        let server = exchange.connection().server_name();
                        rewrite::reply(&self.gateway, &self.client, server, method, &mut reply);
                    } else if let (Some(list), Scope::One(server)) = (List::of(method), &self.scope)
                    {
                        lists::hide(&self.gateway, server, &self.client, list, &mut reply);
                    }
                    return Ok(reply.payload(id));
                }
                Event::Outcome(Outcome::Failed(fault)) => {
                    self.desk.withdraw(&asked, &outlet);
                    return Err(fault);
                }
            }
        }
    }

    /// Handles a notification from the client.
    pub fn notification(&self, message: &Message) {
        match message.method() {
            Method::Initialized => {}
            Method::Cancelled => self.give_up(message, "requestId"),
            Method::CancelRequest => self.give_up(message, "id"),
            method => {
                // A server learns a client's roots only if it is that client's own.
                if let Scope::One(server) = &self.scope
                    && let Some(connection) = server.current(&self.client)
                    && (method != Method::RootsListChanged || connection.is_exclusive())
                {
                    let _ = connection.notify(message.payload());
                }
            }
        }
    }

    fn give_up(&self, message: &Message, field: &'static str) {
        let body = message.body();
        let Some(span) = json::field(body, field).ok().flatten() else {
            return;
        };
        let mut in_flight = self.in_flight.lock();
        let id = in_flight
            .keys()
            .find(|id| id.token().as_ref() == span.of(body))
            .cloned();
        if let Some(given_up) = id.and_then(|id| in_flight.remove(&id)) {
            let _ = given_up.send(message.clone());
        }
    }

    /// Handles the client's answer to a question.
    pub fn response(&self, message: Message) {
        let asked = message
            .own_id()
            .and_then(|id| self.desk.questions.lock().remove(&id));
        match asked {
            Some(asked) => {
                let _ = asked.send(message);
            }
            None => tracing::debug!("a client answered something that was not asked"),
        }
    }

    /// Handles any message; requests are answered through `outlet` in a task of their own.
    pub fn receive(self: &Arc<Self>, message: Message, outlet: Arc<dyn Outlet>) {
        match message.kind() {
            Kind::Request => {
                let session = self.clone();
                tokio::spawn(async move {
                    if let Some(answer) = session.request(message, outlet.clone()).await {
                        outlet.send(answer, Weight::Reply);
                    }
                });
            }
            Kind::Notification => self.notification(&message),
            Kind::Response | Kind::Error => self.response(message),
        }
    }

    /// Handles several messages at once and returns all answers as one array, if any is owed.
    pub async fn batch(
        &self,
        batch: Vec<Result<Message, ParseError>>,
        outlet: Arc<dyn Outlet>,
    ) -> Option<Payload> {
        let mut waiting = Vec::new();
        for item in batch {
            match item {
                Ok(message) if message.kind() == Kind::Request => {
                    waiting.push(Either::Left(self.request(message, outlet.clone())));
                }
                Ok(message) if message.kind() == Kind::Notification => self.notification(&message),
                Ok(message) => self.response(message),
                Err(fault) => {
                    waiting.push(Either::Right(ready(Some(
                        fault.to_error().response(fault.id()),
                    ))));
                }
            }
        }
        let answers: Vec<Payload> = join_all(waiting).await.into_iter().flatten().collect();
        if answers.is_empty() {
            return None;
        }
        let mut array = Payload::default();
        for (i, answer) in answers.into_iter().enumerate() {
            array.push(if i == 0 { "[" } else { "," });
            for piece in answer.into_pieces() {
                array.push(piece);
            }
        }
        array.push("]");
        Some(array)
    }

    /// Ends the session: nothing of the client's is kept.
    pub fn close(&self) {
        self.desk.questions.lock().clear();
        self.gateway.host().detach(&self.client);
    }

    async fn set_level(&self, message: &Message) -> Result<(), CallError> {
        let body = message.body();
        let level = json::field(body, "level")
            .ok()
            .flatten()
            .and_then(|span| json::text(span.of(body)));
        let known = level
            .as_deref()
            .and_then(|level| LOG_LEVELS.iter().position(|known| *known == level));
        let Some(known) = known else {
            let text = format!("\"level\" must be one of {}", LOG_LEVELS.join(", "));
            return Err(CallError::refused(code::INVALID_PARAMS, text));
        };
        self.client.set_log_level(known as u8);
        self.desk.level.store(known as u8, Ordering::Relaxed);
        let servers = match &self.scope {
            Scope::One(server) => vec![server.clone()],
            Scope::All => self.gateway.host().servers().to_vec(),
        };
        for server in servers {
            if let Some(connection) = server.current(&self.client) {
                connection.set_level(self.client.id, known as u8).await?;
            }
        }
        Ok(())
    }

    async fn subscribe(&self, message: &Message) -> Result<(), CallError> {
        let params = Params::of(message)?;
        let uri = Params::text(message, params.uri, "uri")?;
        let (server, uri) = match &self.scope {
            Scope::All => route_uri(self.gateway.host(), &self.client, uri.as_deref()).await?,
            Scope::One(server) => {
                let missing = || CallError::refused(code::INVALID_PARAMS, "\"uri\" is missing");
                (server.clone(), uri.ok_or_else(missing)?)
            }
        };
        let guard = self.gateway.host().guard();
        guard.check(&self.client, &server, What::Resource(&uri))?;
        let connection = server.connection(&self.client).await?;
        if message.method() == Method::ResourcesSubscribe {
            connection.subscribe(&self.client, &uri).await
        } else {
            connection.unsubscribe(&self.client, &uri).await
        }
    }
}

impl Desk {
    /// Whether the client wants this notification.
    fn wants(&self, notice: &Notice) -> bool {
        if notice.method != Method::LogMessage {
            return true;
        }
        let body = notice.message.body();
        let level = json::field(body, "level")
            .ok()
            .flatten()
            .and_then(|span| json::text(span.of(body)));
        let level = level.and_then(|level| LOG_LEVELS.iter().position(|known| *known == level));
        level.is_none_or(|level| level as u8 >= self.level.load(Ordering::Relaxed))
    }

    /// The notification with a URI or task that leads back to its server.
    fn addressed(&self, server: &Arc<str>, notice: Notice) -> Payload {
        match &self.aggregate {
            Some((gateway, viewer)) => rewrite::notice(gateway, viewer, server, notice),
            None => notice.payload,
        }
    }

    /// The client's answer as the server knows what it is about.
    fn inward(&self, response: Message) -> Message {
        match &self.aggregate {
            Some((gateway, _)) => rewrite::answer(gateway, response),
            None => response,
        }
    }

    /// Takes back those of these questions that are still open. Before the answer
    /// to the call they belong to: nothing can follow that on its stream.
    fn withdraw(&self, questions: &[u64], outlet: &Arc<dyn Outlet>) {
        for number in questions {
            if self.questions.lock().remove(number).is_some() {
                let params = format!("{{\"requestId\":{number}}}");
                outlet.send(
                    Message::notification(Method::Cancelled, &params).payload(),
                    Weight::Notice,
                );
            }
        }
    }

    /// Asks the client and passes its answer on, whenever it comes. The question's number.
    fn put(self: &Arc<Self>, mut input: Input, outlet: Arc<dyn Outlet>) -> Option<u64> {
        let aggregate = self.aggregate.as_ref();
        if let Some((gateway, _)) = aggregate.filter(|_| input.consent().is_none()) {
            rewrite::question(gateway, &mut input);
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = Id::number(number);
        let (answer, answered) = oneshot::channel();
        {
            let mut questions = self.questions.lock();
            if questions.len() >= limits::QUESTIONS {
                drop(questions);
                input.refuse(&ErrorObject::new(
                    code::INTERNAL,
                    "too many questions are open at this client",
                ));
                return None;
            }
            questions.insert(number, answer);
        }
        outlet.send(input.payload(&id), Weight::Question);
        let desk = self.clone();
        tokio::spawn(async move {
            let withdrawn = input.withdrawn();
            tokio::select! {
                response = answered => match response {
                    Ok(response) => input.answer(&desk.inward(response)),
                    Err(_) => drop(input),
                },
                () = withdrawn.cancelled() => desk.withdraw(&[number], &outlet),
            }
        });
        Some(number)
    }
}

impl ClientSink for Desk {
    fn notice(&self, server: &Arc<str>, notice: Notice) {
        if self.wants(&notice) {
            self.general
                .send(self.addressed(server, notice), Weight::Notice);
        }
    }

    fn ask(&self, input: Input) {
        if let Some(desk) = self.me.upgrade() {
            desk.put(input, self.general.clone());
        }
    }
}

struct InFlight<'a> {
    session: &'a Session,
    id: &'a Id,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.session.in_flight.lock().remove(self.id);
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}
