//! A session of the handshake era: requests and questions in both directions,
//! until the client goes. What arrives is here; how a request is answered is in
//! `answer.rs`, what reaches the client besides and what it is asked in `to_client.rs`.

mod answer;
mod resumed;
mod to_client;

use super::{Outlet, hello, in_flight::InFlight, older, showing::Showing, told};
use crate::{admission::Admission, gateway::Gateway, limits, visitors::Visit};
use futures_util::future::{Either, join_all, ready};
use parking_lot::Mutex;
use resumed::Wanted;
use std::{fmt, pin::pin, sync::Arc};
use switchboard_host::{
    Admitted, Begun, CallError, Client, ClientSink, Scope, Server,
    observe::{Shown, Trace, Watched},
    permission::What,
};
use switchboard_tasks as tasks;
use switchboard_wire::{Id, Kind, Message, Method, Params, ParseError, Payload, code, json};
use to_client::ToClient;
use tracing::{Instrument, Span};

/// The answer to a request.
pub(crate) enum Answered {
    /// All of it.
    Whole(Payload),
    /// It has begun, and is passed on as it comes, under this id.
    Begun(Box<Begun>, Id),
}

impl Answered {
    /// All of it, for whoever needs it whole after all.
    pub(crate) async fn whole(self) -> Payload {
        match self {
            Self::Whole(payload) => payload,
            Self::Begun(begun, id) => match begun.whole(&id).await {
                Ok(payload) => payload,
                Err(fault) => fault.to_error().response(Some(&id)),
            },
        }
    }
}

/// One legacy client.
pub(crate) struct Session {
    gateway: Arc<Gateway>,
    scope: Scope,
    client: Arc<Client>,
    to_client: Arc<ToClient>,
    in_flight: InFlight,
    /// What it is still to be told.
    announcement: Mutex<Option<Arc<str>>>,
    /// What its client wants to hear of.
    wanted: Mutex<Wanted>,
    /// As long as it is there it counts as a client that is.
    _visit: Visit,
}

impl Session {
    /// Answers `initialize`: a session if the servers behind it can be reached.
    /// `general` is where things go that belong to no request; `own_servers`
    /// gives the client servers that it shares with nobody; `announcement` is
    /// what it is told when it is ready.
    pub(crate) async fn open(
        gateway: Arc<Gateway>,
        scope: Scope,
        admission: &Admission,
        initialize: &Message,
        general: Arc<dyn Outlet>,
        own_servers: bool,
        announcement: Option<Arc<str>>,
    ) -> Result<(Arc<Self>, Payload), CallError> {
        greets_briefly(initialize)?;
        let is_aggregate = matches!(scope, Scope::All);
        let (client, to_client) = Self::meet(
            &gateway,
            &scope,
            admission,
            initialize,
            general,
            own_servers,
        );
        if let Scope::One(server) = &scope {
            gateway
                .host()
                .guard()
                .check(&client, server, What::Method)?;
        }
        let shown = gateway.host().shows(&client.principal, &scope, initialize);
        let watched = watched(&gateway, &scope, &client, initialize, shown.as_ref());
        let mut result = match hello::initialize_result(&gateway, &scope, &client).await {
            Ok(result) => result,
            Err(fault) => {
                told(watched, Err(&fault)).await?;
                return Err(fault);
            }
        };
        // All servers as one may always have to say which of them a list is without.
        if announcement.is_some() || is_aggregate {
            result = hello::with_logging(result);
        }
        let id = initialize.id().unwrap_or_else(|| Id::number(0));
        let answer = Message::response(&id, &result).payload();
        told(watched, Ok(answer.len())).await?;
        if let Some(shown) = shown {
            shown.to_client(&answer);
        }
        let met = (client, to_client);
        let session = Self::of(gateway, scope, met, initialize, Wanted::default());
        *session.announcement.lock() = announcement;
        session.begins();
        Ok((session, answer))
    }

    /// The session of a client that was met, counted from now on.
    fn of(
        gateway: Arc<Gateway>,
        scope: Scope,
        (client, to_client): (Arc<Client>, Arc<ToClient>),
        initialize: &Message,
        wanted: Wanted,
    ) -> Arc<Self> {
        let info = json::field(initialize.body(), "clientInfo").ok().flatten();
        let info = info.map(|info| info.of(initialize.body()));
        let visit = gateway
            .visitors()
            .enter(&client.principal, client.era(), info);
        Arc::new(Self {
            _visit: visit,
            gateway,
            scope,
            client,
            to_client,
            in_flight: InFlight::default(),
            announcement: Mutex::new(None),
            wanted: Mutex::new(wanted),
        })
    }

    /// The client that greets us so, as both sides know it.
    fn meet(
        gateway: &Arc<Gateway>,
        scope: &Scope,
        admission: &Admission,
        initialize: &Message,
        general: Arc<dyn Outlet>,
        own_servers: bool,
    ) -> (Arc<Client>, Arc<ToClient>) {
        let principal = admission.principal().clone();
        let is_aggregate = matches!(scope, Scope::All);
        let to_client = ToClient::new(general, gateway.clone(), is_aggregate);
        let sink: Arc<dyn ClientSink> = to_client.clone();
        // Without the message around it, which is not counted once it is kept.
        let greeting = gateway.visitors().words(initialize.body());
        let mut client = Client::new(
            principal,
            hello::negotiate(initialize),
            hello::declared(&greeting),
            sink,
        );
        client = admission.admits(client);
        client = client.at_desk(gateway.host().desk(), None);
        client = client.greeting(greeting.clone());
        if own_servers {
            client = client.exclusive(Some(greeting));
        }
        let client = Arc::new(client);
        to_client.is_of(&client);
        (client, to_client)
    }

    fn begins(&self) {
        let revision = self.client.revision.as_str();
        let said = || tracing::debug!(revision, "a session begins");
        self.span().in_scope(said);
    }

    /// What is logged while it works on something stands in. Made each time: what
    /// comes over HTTP comes on one connection and then on another.
    fn span(&self) -> Span {
        let (id, client) = (self.client.id, self.client.said_name());
        let client = client.map(|name| &**name);
        tracing::debug_span!("session", id, client)
    }

    /// The client, as the servers' side knows it.
    pub(crate) fn client(&self) -> &Arc<Client> {
        &self.client
    }

    /// What it can reach.
    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Whether anything is in flight.
    pub(crate) fn is_busy(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// A request of this client's, in a box for its whole way.
    pub(crate) fn admit(&self, message: Message, params: Params, trace: Trace) -> Box<Admitted> {
        Box::new(Admitted {
            client: self.client.clone(),
            scope: self.scope.clone(),
            message,
            params,
            headers: None,
            trace,
            passes_on: false,
        })
    }

    /// Handles a request. What happens on the way goes to `outlet`; the answer
    /// is returned, or nothing if the client gave the request up.
    pub(crate) async fn request(
        &self,
        admitted: Box<Admitted>,
        outlet: Arc<dyn Outlet>,
    ) -> Option<Payload> {
        match self.answered(admitted, outlet).await? {
            Answered::Whole(payload) => Some(payload),
            // Nobody said that it may be.
            Answered::Begun(_, id) => Some(CallError::broke_off().to_error().response(Some(&id))),
        }
    }

    /// The same for whoever can pass an answer on before its end: one of a server that is
    /// asked alone, of which nothing is changed but the id.
    pub(crate) async fn passed_on(
        &self,
        mut admitted: Box<Admitted>,
        outlet: Arc<dyn Outlet>,
    ) -> Option<Answered> {
        admitted.passes_on = matches!(self.scope, Scope::One(_)) && !older::is(&self.client);
        self.answered(admitted, outlet).await
    }

    async fn answered(
        &self,
        mut admitted: Box<Admitted>,
        outlet: Arc<dyn Outlet>,
    ) -> Option<Answered> {
        let id = admitted.message.id()?;
        if !outlet.takes_questions() {
            admitted.client = admitted.client.unasked();
        }
        let (place, given_up) = match InFlight::enter(&self.in_flight, &id) {
            Ok(entered) => entered,
            Err(why) => return Some(Answered::Whole(why.to_error().response(Some(&id)))),
        };
        let shown = self.shows(&mut admitted);
        let outlet = match &shown {
            Some(shown) => Showing::around(outlet, shown),
            None => outlet,
        };
        let answer = {
            // Pinned first: what is put around it is put around a reference, and does not move
            // thousands of bytes.
            let answer = pin!(self.answer(admitted, outlet, given_up));
            let answer = tasks::caught(tasks::Kind::Request, answer);
            answer.instrument(self.span()).await
        };
        let answer = answer.unwrap_or_else(|_| Err(CallError::broke_off()));
        // Given up in the same moment as it was answered: the client was first.
        if !place.end() {
            return None;
        }
        let answer = match answer {
            Ok(answer) => answer,
            Err(CallError::Cancelled) => return None,
            Err(fault) => Answered::Whole(fault.to_error().response(Some(&id))),
        };
        // One that is passed on is shown to nobody: whoever looks has it whole.
        if let (Some(shown), Answered::Whole(answer)) = (shown, &answer) {
            shown.to_client(answer);
        }
        Some(answer)
    }

    /// Where the messages of a request are shown, if anybody wants to see them.
    fn shows(&self, admitted: &mut Admitted) -> Option<Arc<Shown>> {
        let (host, principal) = (self.gateway.host(), &self.client.principal);
        admitted.trace.shown = host.shows(principal, &self.scope, &admitted.message);
        admitted.trace.shown.clone()
    }

    /// Handles a request whose parameters nobody has read yet.
    async fn read(&self, message: Message, outlet: Arc<dyn Outlet>) -> Option<Payload> {
        match Params::of(&message) {
            Ok(params) => {
                self.request(self.admit(message, params, Trace::default()), outlet)
                    .await
            }
            Err(error) => Some(error.response(message.id().as_ref())),
        }
    }

    /// Handles a notification from the client.
    pub(crate) fn notification(&self, message: &Message, params: &Params) {
        match message.method() {
            Method::Initialized => {
                if let Some(text) = self.announcement.lock().take() {
                    self.to_client.tell(&text);
                }
            }
            Method::Cancelled | Method::CancelRequest => {
                if let Some(id) = params.request_id {
                    self.in_flight.give_up(id.of(message.raw()), message);
                }
            }
            method => {
                // A server learns a client's roots only if it is that client's own.
                if let Scope::One(server) = &self.scope
                    && let Some(connection) = server.current(&self.client)
                    && (method != Method::RootsListChanged || connection.is_exclusive())
                    && self.may_say(server, message, params)
                    && connection.lets_say_of_tasks(&self.client, message, params)
                {
                    let _ = connection.notify(message.payload());
                }
            }
        }
    }

    /// Whether a notification may reach a server: nobody can be told if not.
    fn may_say(&self, server: &Server, message: &Message, params: &Params) -> bool {
        // What servers tell is not for clients to say.
        if message.method().comes_from_servers() {
            return false;
        }
        let Ok((named, _)) = params.named(message) else {
            return false;
        };
        let guard = self.gateway.host().guard();
        match guard.check(&self.client, server, What::from(&named)) {
            Ok(()) => true,
            Err(fault) => {
                let method = message.method_name();
                tracing::warn!(server = %server.name(), method, %fault, "a client's notification is not passed on");
                false
            }
        }
    }

    /// Gives up everything in flight: its client may not have the answers.
    pub(crate) fn give_up_all(&self) {
        self.in_flight.give_up_all();
    }

    /// Handles the client's answer to a question.
    pub(crate) fn response(&self, message: Message) {
        let asked = message.own_id().and_then(|id| self.to_client.asked(id));
        match asked {
            Some(asked) => {
                let _ = asked.send(message);
            }
            None => tracing::debug!("a client answered something that was not asked"),
        }
    }

    /// Handles several messages at once and returns all answers as one array, if any is owed.
    pub(crate) async fn batch(
        &self,
        batch: Vec<Result<Message, ParseError>>,
        outlet: Arc<dyn Outlet>,
    ) -> Option<Payload> {
        let mut waiting = Vec::new();
        for item in batch {
            match item {
                Ok(message) if message.kind() == Kind::Request => {
                    waiting.push(Either::Left(self.read(message, outlet.clone())));
                }
                Ok(message) if message.kind() == Kind::Notification => match Params::of(&message) {
                    Ok(params) => self.notification(&message, &params),
                    Err(fault) => {
                        let reason = fault.message;
                        tracing::warn!(reason, "a client's notification cannot be read");
                    }
                },
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
    pub(crate) fn close(&self) {
        self.span()
            .in_scope(|| tracing::debug!("a session has ended"));
        self.to_client.clear();
        self.gateway.host().detach(&self.client);
    }
}

/// The handshake as a request that somebody watches, if anybody does.
fn watched(
    gateway: &Gateway,
    scope: &Scope,
    client: &Arc<Client>,
    initialize: &Message,
    shown: Option<&Arc<Shown>>,
) -> Option<Box<Watched>> {
    let mut trace = Trace::default();
    trace.shown = shown.cloned();
    gateway.host().watch_own(&Admitted {
        client: client.clone(),
        scope: scope.clone(),
        message: initialize.clone(),
        params: Params::of(initialize).unwrap_or_default(),
        headers: None,
        trace,
        passes_on: false,
    })
}

/// What a client says of itself is kept for as long as it stays.
fn greets_briefly(initialize: &Message) -> Result<(), CallError> {
    let length = initialize.body().len();
    if length <= limits::GREETING {
        return Ok(());
    }
    let text = format!(
        "Invalid params: what a client says of itself can have {} bytes at most, and this has {length}",
        limits::GREETING
    );
    Err(CallError::refused(code::INVALID_PARAMS, text))
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}
