//! Requests of the stateless era: each stands alone and says itself who asks
//! and what the asker can do. A request that has passed [`check`] is begun here;
//! `relayed.rs` is one at its server, `resume.rs` one that comes back with answers,
//! `pages.rs` what it answers to pages that must be visited first, and `state.rs`
//! how a server's own state is bound to its principal.

mod pages;
mod relayed;
mod resume;
mod state;

pub(crate) use relayed::Relayed;

use super::{
    Weight,
    finder::{self, Taken},
    hello, lists, own_answer,
    steps::{Step, Steps},
    told,
    watch::Listen,
};
use crate::{admission::Admission, announcement, gateway::Gateway};
use bytes::Bytes;
use serde_json::json;
use std::sync::Arc;
use switchboard_host::{
    Admitted, Begun as Passed, CallError, Client, LOG_LEVELS, NoSink, Scope,
    catalog::List,
    observe::{Shown, Trace},
    permission::What,
};
use switchboard_wire::{ErrorObject, Id, Message, Method, Params, Payload, Revision, code};

/// A request that has been read and found to be modern.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Whom it addresses.
    pub scope: Scope,
    /// On whose behalf, and until when.
    pub admission: Admission,
    /// What tells the client from others of its principal, if anything: the
    /// requests themselves do not.
    pub key: Option<Arc<str>>,
    /// The request.
    pub message: Message,
    /// Its parameters.
    pub params: Params,
    /// `Mcp-Param-*` headers, where the face has headers.
    pub headers: Option<Vec<(String, String)>>,
    /// What came beside it about the trace that it is a part of.
    pub trace: Trace,
    /// Whether several principals use one credential upstream, so that a server
    /// could not tell whose state it gets back.
    pub shared_credential: bool,
    /// Whether its client is the only one that these servers have.
    pub own_servers: bool,
    /// Whether its answer can be passed on before its end.
    pub passes_on: bool,
}

/// What a request leads to.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "most are answers, and none is kept: a box would cost each of them an allocation"
)]
pub(crate) enum Begun {
    /// It is answered already.
    Answer(Answer),
    /// The same, with something to be told first.
    Told(Box<Told>),
    /// A server is working on it.
    Exchange(Box<Relayed>),
    /// It stays open until somebody ends it.
    Listen(Box<Listen>),
}

/// An answer with something that is told before it.
#[derive(Debug)]
pub(crate) struct Told {
    before: Option<Payload>,
    answer: Option<Answer>,
}

impl Steps for Told {
    type End = Answer;

    async fn next(&mut self) -> Step<Answer> {
        if let Some(before) = self.before.take() {
            return Step::Notice(before, Weight::Notice);
        }
        match self.answer.take() {
            Some(answer) => Step::Done(answer),
            // Nobody asks again after the end.
            None => std::future::pending().await,
        }
    }
}

/// The last message of a request.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The response.
    pub payload: Payload,
    /// Its error code, if it is an error.
    pub code: Option<i64>,
    /// In place of it: an answer that has begun, and its id, for a request that may be
    /// answered so.
    pub begun: Option<(Box<Passed>, Id)>,
}

impl Answer {
    /// The response, all of it.
    pub(crate) async fn whole(self) -> Payload {
        let Some((begun, id)) = self.begun else {
            return self.payload;
        };
        match begun.whole(&id).await {
            Ok(payload) => payload,
            Err(fault) => fault.to_error().response(Some(&id)),
        }
    }
}

/// Whether a message claims to be modern: it says which revision it speaks.
pub(crate) fn is_modern(params: &Params) -> bool {
    params.protocol_version.is_some()
}

/// Checks what every modern request must carry.
pub(crate) fn check(message: &Message, params: &Params) -> Result<(), ErrorObject> {
    let Some(version) = Params::text(message, params.protocol_version, "protocolVersion")? else {
        let text = format!(
            "Invalid params: _meta needs {}",
            switchboard_wire::meta::PROTOCOL_VERSION
        );
        return Err(ErrorObject::new(code::INVALID_PARAMS, text));
    };
    if version != Revision::NEWEST.as_str() {
        return Err(unsupported(&version));
    }
    let capabilities = params
        .client_capabilities
        .map(|span| span.of(message.raw()));
    if !capabilities.is_some_and(|raw| raw.starts_with(b"{")) {
        let text = format!(
            "Invalid params: _meta needs {}",
            switchboard_wire::meta::CLIENT_CAPABILITIES
        );
        return Err(ErrorObject::new(code::INVALID_PARAMS, text));
    }
    Ok(())
}

/// The error for a revision that we do not speak in this way.
pub(crate) fn unsupported(version: &str) -> ErrorObject {
    let supported: Vec<&str> = Revision::ALL
        .iter()
        .rev()
        .map(|revision| revision.as_str())
        .collect();
    ErrorObject::new(code::UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(json!({ "supported": supported, "requested": version }))
}

/// Starts on a request that passed [`check`].
pub(crate) async fn begin(gateway: &Arc<Gateway>, mut request: Box<Request>) -> Begun {
    let id = request.message.id().unwrap_or_else(|| Id::number(0));
    // What comes back with answers may belong to a call that waits for them.
    let mut shown = None;
    if request.params.request_state.is_none() {
        shown = request.shows(gateway);
    }
    let begun = match is_own(&request) {
        // Boxed: most requests are for servers.
        true => Box::pin(begin_own(gateway, request, &id, &mut shown)).await,
        false => try_begin(gateway, request, &id, &mut shown).await,
    };
    let begun = match begun {
        Ok(begun) => begun,
        Err(fault) => Begun::Answer(refused(&fault.to_error(), &id)),
    };
    if let Some(shown) = shown {
        begun.show(&shown);
    }
    begun
}

impl Request {
    /// Where its messages are shown from now on, if anybody wants to see them.
    fn shows(&mut self, gateway: &Gateway) -> Option<Arc<Shown>> {
        let principal = self.admission.principal();
        self.trace.shown = gateway.host().shows(principal, &self.scope, &self.message);
        self.trace.shown.clone()
    }
}

impl Begun {
    /// Shows what the client is told already. What else comes of it shows itself.
    #[cold]
    fn show(&self, shown: &Shown) {
        let answer = match self {
            Self::Answer(answer) => Some(answer),
            Self::Told(told) => {
                if let Some(before) = &told.before {
                    shown.to_client(before);
                }
                told.answer.as_ref()
            }
            Self::Exchange(_) | Self::Listen(_) => None,
        };
        if let Some(answer) = answer {
            shown.to_client(&answer.payload);
        }
    }
}

/// Whether a request is for us, or may be. One that stays open is not over when it is
/// answered, and is not among them.
fn is_own(request: &Request) -> bool {
    let Request {
        scope,
        message,
        params,
        ..
    } = request;
    match message.method() {
        Method::Discover
        | Method::Initialize
        | Method::Ping
        | Method::SetLevel
        | Method::ResourcesSubscribe
        | Method::ResourcesUnsubscribe => true,
        Method::ToolsCall => finder::concerns(scope, message, params),
        method => matches!(scope, Scope::All) && List::of(method).is_some(),
    }
}

/// Starts on a request that is for us, or may be, and tells those who watch.
async fn begin_own(
    gateway: &Arc<Gateway>,
    request: Box<Request>,
    id: &Id,
    shown: &mut Option<Arc<Shown>>,
) -> Result<Begun, CallError> {
    let watched = asker(gateway, &request).ok().and_then(|client| {
        gateway.host().watch_own(&Admitted {
            client,
            scope: request.scope.clone(),
            message: request.message.clone(),
            params: request.params.clone(),
            headers: None,
            trace: request.trace.clone(),
            passes_on: false,
        })
    });
    let begun = try_begin(gateway, request, id, shown).await;
    let answer = match &begun {
        Ok(Begun::Answer(answer)) => Ok(answer.payload.len()),
        Ok(Begun::Told(told)) => {
            let answer = told.answer.as_ref();
            Ok(answer.map_or(0, |answer| answer.payload.len()))
        }
        Err(fault) => Err(fault),
        // It was for a server after all, where it is watched.
        Ok(Begun::Exchange(_) | Begun::Listen(_)) => {
            if let Some(watched) = watched {
                watched.forget();
            }
            return begun;
        }
    };
    told(watched, answer).await?;
    begun
}

// What is rare in it is boxed, since every request has room for all of it.
async fn try_begin(
    gateway: &Arc<Gateway>,
    mut request: Box<Request>,
    id: &Id,
    shown: &mut Option<Arc<Shown>>,
) -> Result<Begun, CallError> {
    let method = request.message.method();
    if method == Method::Listen {
        let listen = Box::pin(Listen::open(gateway, &request)).await?;
        return Ok(Begun::Listen(Box::new(listen)));
    }
    if finder::concerns(&request.scope, &request.message, &request.params)
        && let Some(result) = Box::pin(take(gateway, &mut request)).await?
    {
        return Ok(Begun::Answer(Answer {
            begun: None,
            payload: Message::response(id, &result).payload(),
            code: None,
        }));
    }
    if request.params.request_state.is_some() {
        let resumed = resume::resume(gateway, &request, id, shown);
        if let Some(resumed) = Box::pin(resumed).await? {
            return Ok(resumed);
        }
        *shown = request.shows(gateway);
    }
    let request = state::unwrap(gateway, request)?;
    let client = asker(gateway, &request)?;
    if let Scope::One(server) = &request.scope {
        gateway
            .host()
            .guard()
            .check(&client, server, What::Method)?;
    }
    let result = match (method, &request.scope) {
        (Method::Discover, scope) => {
            note_visit(gateway, &request);
            Box::pin(hello::discover_result(gateway, scope, &client)).await?
        }
        (
            Method::Initialize
            | Method::Ping
            | Method::SetLevel
            | Method::ResourcesSubscribe
            | Method::ResourcesUnsubscribe,
            _,
        ) => {
            let text = format!("{} is not part of {}", method.as_str(), Revision::NEWEST);
            return Err(CallError::refused(code::METHOD_NOT_FOUND, text));
        }
        (_, Scope::All) if List::of(method).is_some() => {
            let list = List::of(method).unwrap_or(List::Tools);
            note_visit(gateway, &request);
            return Box::pin(listed(gateway, &client, list, &request, id)).await;
        }
        _ => {
            let scope = request.scope.clone();
            match relayed::relay(gateway, client.clone(), request, id.clone(), 0).await {
                Ok(relayed) => return Ok(Begun::Exchange(Box::new(relayed))),
                Err(fault) => lists::kept(gateway, &client, &scope, method, &fault).ok_or(fault)?,
            }
        }
    };
    Ok(Begun::Answer(Answer {
        begun: None,
        payload: own_answer(&client, id, &result).await?,
        code: None,
    }))
}

/// One page of a merged list. Where it is without something, those who want log
/// messages are told so.
async fn listed(
    gateway: &Gateway,
    client: &Arc<Client>,
    list: List,
    request: &Request,
    id: &Id,
) -> Result<Begun, CallError> {
    let message = &request.message;
    let info = request.params.client_info;
    let name = info.and_then(|info| hello::name_of(info.of(message.raw())));
    let listed = lists::page(gateway, client, name.as_deref(), list, message).await?;
    let answer = Answer {
        begun: None,
        payload: own_answer(client, id, &listed.result).await?,
        code: None,
    };
    let wants = client.asked_for_logs() && client.wants_log(announcement::LEVEL);
    Ok(match listed.remark.filter(|_| wants) {
        None => Begun::Answer(answer),
        Some(remark) => Begun::Told(Box::new(Told {
            before: Some(announcement::message(&remark)),
            answer: Some(answer),
        })),
    })
}

/// Takes a call of one of our own tools; its result, if it is not another's call.
async fn take(gateway: &Gateway, request: &mut Request) -> Result<Option<String>, CallError> {
    let client = asker(gateway, request)?;
    let Request {
        message, params, ..
    } = request;
    match finder::take(gateway, &client, message, params).await? {
        Taken::No => {}
        Taken::Answered(result) => return Ok(Some(result)),
        // Its headers were about another tool.
        Taken::Turned => request.headers = None,
    }
    Ok(None)
}

/// Who asks, as far as the request tells.
fn asker(gateway: &Gateway, request: &Request) -> Result<Arc<Client>, CallError> {
    let capabilities = Params::bytes(&request.message, request.params.client_capabilities);
    let capabilities = capabilities.unwrap_or(Bytes::from_static(b"{}"));
    let client = Client::new(
        request.admission.principal().clone(),
        Revision::NEWEST,
        capabilities,
        Arc::new(NoSink),
    );
    let says = Params::bytes(&request.message, request.params.client_info);
    let client = request.admission.admits(client);
    let mut client = client.at_desk(gateway.host().desk(), says);
    if request.own_servers {
        client = client.alone();
    }
    let client = Arc::new(client.passing().known_by(request.key.as_deref()));
    note_log_level(&client, request)?;
    Ok(client)
}

fn note_log_level(client: &Client, request: &Request) -> Result<(), CallError> {
    if let Some(level) = Params::text(&request.message, request.params.log_level, "logLevel")? {
        let rank = LOG_LEVELS
            .iter()
            .position(|known| *known == level)
            .ok_or_else(|| {
                CallError::refused(
                    code::INVALID_PARAMS,
                    format!("Invalid params: {level:?} is no log level"),
                )
            })?;
        client.set_log_level(rank as u8);
    }
    Ok(())
}

/// Notes who asks what there is: a client without a session is known by nothing else.
fn note_visit(gateway: &Gateway, request: &Request) {
    let info = request.params.client_info;
    let info = info.map(|info| info.of(request.message.raw()));
    let principal = request.admission.principal();
    let visitors = gateway.visitors();
    let era = Revision::NEWEST.era();
    visitors.asked(principal, era, request.key.as_ref(), info);
}

/// What a ticket is bound to besides the request: all servers, or one.
fn address(scope: &Scope) -> String {
    match scope {
        Scope::All => String::new(),
        Scope::One(server) => server.name().to_string(),
    }
}

/// An error as the answer to a request.
pub(crate) fn refused(error: &ErrorObject, id: &Id) -> Answer {
    Answer {
        begun: None,
        payload: error.response(Some(id)),
        code: Some(error.code),
    }
}
