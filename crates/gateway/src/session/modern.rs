//! Requests of the stateless era: each stands alone and says itself who asks
//! and what the asker can do.

use super::{
    hello, lists,
    parked::{self, Waiting},
    rewrite,
    seal::Binding,
    watch::Listen,
};
use crate::{gateway::Gateway, limits};
use bytes::Bytes;
use serde_json::json;
use std::{collections::VecDeque, sync::Arc};
use switchboard_host::{
    Admitted, CallError, Client, Event, Exchange, Input, NoSink, Notice, Outcome, Reply, Scope,
    bridge::{request::to_legacy, rounds::asks_for_input},
    catalog::List,
    client::LOG_LEVELS,
    permission::What,
};
use switchboard_wire::{
    Edits, ErrorObject, Id, Kind, Message, Method, Params, Payload, Revision, code, json as text,
};
use tokio::time::timeout;

/// A request that has been read and found to be modern.
#[derive(Clone, Debug)]
pub struct Request {
    /// Whom it addresses.
    pub scope: Scope,
    /// On whose behalf.
    pub principal: Arc<str>,
    /// What tells the client from others of its principal, if anything: the
    /// requests themselves do not.
    pub key: Option<Arc<str>>,
    /// The request.
    pub message: Message,
    /// Its parameters.
    pub params: Params,
    /// `Mcp-Param-*` headers, where the face has headers.
    pub headers: Option<Vec<(String, String)>>,
    /// Whether several principals use one credential upstream, so that a server
    /// could not tell whose state it gets back.
    pub shared_credential: bool,
}

/// What a request leads to.
#[derive(Debug)]
pub enum Begun {
    /// It is answered already.
    Answer(Answer),
    /// A server is working on it.
    Exchange(Box<Relayed>),
    /// It stays open until somebody ends it.
    Listen(Box<Listen>),
}

/// The last message of a request.
#[derive(Debug)]
pub struct Answer {
    /// The response.
    pub payload: Payload,
    /// Its error code, if it is an error.
    pub code: Option<i64>,
}

/// A modern request in flight at its server.
#[derive(Debug)]
pub struct Relayed {
    gateway: Arc<Gateway>,
    client: Arc<Client>,
    request: Request,
    id: Id,
    /// `None` once it has been parked.
    exchange: Option<Exchange>,
    /// Notifications that came while questions were gathered.
    notices: VecDeque<Payload>,
    /// What follows them.
    ending: Option<Answer>,
    visits: u32,
}

/// What comes next of a request in flight.
#[derive(Debug)]
pub enum Step {
    /// A notification for the client.
    Notice(Payload),
    /// The end.
    Done(Answer),
}

/// Whether a message claims to be modern: it says which revision it speaks.
pub fn is_modern(params: &Params) -> bool {
    params.protocol_version.is_some()
}

/// Checks what every modern request must carry.
pub fn check(message: &Message, params: &Params) -> Result<(), ErrorObject> {
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
pub fn unsupported(version: &str) -> ErrorObject {
    let supported: Vec<&str> = Revision::ALL
        .iter()
        .rev()
        .map(|revision| revision.as_str())
        .collect();
    ErrorObject::new(code::UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(json!({ "supported": supported, "requested": version }))
}

/// Starts on a request that passed [`check`].
pub async fn begin(gateway: &Arc<Gateway>, request: Request) -> Begun {
    let id = request.message.id().unwrap_or_else(|| Id::number(0));
    match try_begin(gateway, request, &id).await {
        Ok(begun) => begun,
        Err(fault) => Begun::Answer(refused(&fault.to_error(), &id)),
    }
}

async fn try_begin(gateway: &Arc<Gateway>, request: Request, id: &Id) -> Result<Begun, CallError> {
    let method = request.message.method();
    if method == Method::Listen {
        let listen = Listen::open(gateway, &request).await?;
        return Ok(Begun::Listen(Box::new(listen)));
    }
    if let Some(resumed) = resume(gateway, &request, id).await? {
        return Ok(resumed);
    }
    let request = unwrap_state(gateway, request)?;
    let capabilities = Params::bytes(&request.message, request.params.client_capabilities);
    let capabilities = capabilities.unwrap_or(Bytes::from_static(b"{}"));
    let client = Client::new(
        request.principal.clone(),
        Revision::NEWEST,
        capabilities,
        Arc::new(NoSink),
    );
    let client = Arc::new(client.passing().known_by(request.key.as_deref()));
    note_log_level(&client, &request)?;
    if let Scope::One(server) = &request.scope {
        gateway
            .host()
            .guard()
            .check(&client, server, What::Method)?;
    }
    let result = match (method, &request.scope) {
        (Method::Discover, scope) => hello::discover_result(gateway, scope, &client).await?,
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
            lists::page(gateway, &client, list, &request.message).await?
        }
        _ => {
            return Ok(Begun::Exchange(Box::new(
                relay(gateway, client, request, id.clone(), 0).await?,
            )));
        }
    };
    Ok(Begun::Answer(Answer {
        payload: Message::response(id, &result).payload(),
        code: None,
    }))
}

/// Takes a request to its server.
async fn relay(
    gateway: &Arc<Gateway>,
    client: Arc<Client>,
    request: Request,
    id: Id,
    visits: u32,
) -> Result<Relayed, CallError> {
    let Request {
        scope,
        message,
        params,
        headers,
        ..
    } = request.clone();
    let exchange = gateway
        .host()
        .call(Admitted {
            client: client.clone(),
            scope,
            message,
            params,
            headers,
        })
        .await?;
    let gateway = gateway.clone();
    Ok(Relayed {
        gateway,
        client,
        request,
        id,
        exchange: Some(exchange),
        notices: VecDeque::new(),
        ending: None,
        visits,
    })
}

/// Goes on with a call that was parked, if the request carries a ticket for one.
async fn resume(
    gateway: &Arc<Gateway>,
    request: &Request,
    id: &Id,
) -> Result<Option<Begun>, CallError> {
    let (message, params) = (&request.message, &request.params);
    // One that is no text (a lone surrogate, say) cannot be ours: the server judges it.
    let state = params
        .request_state
        .and_then(|span| text::text(span.of(message.raw())));
    let Some(state) = state else { return Ok(None) };
    let address = address(&request.scope);
    match gateway
        .lot()
        .take(&state, &request.principal, &address, message)?
    {
        None => Ok(None),
        Some(Waiting::Call {
            mut relayed,
            questions,
        }) => {
            let open = parked::answer(questions, message, params);
            relayed.id = id.clone();
            relayed.request = request.clone();
            if let Some(exchange) = &mut relayed.exchange {
                exchange.set_progress_token(Params::bytes(message, params.progress_token));
            }
            if open.is_empty() {
                return Ok(Some(Begun::Exchange(relayed)));
            }
            relayed.park(open).map(|answer| Some(Begun::Answer(answer)))
        }
        Some(Waiting::Visit {
            mut requests,
            visits,
        }) => {
            let responses = params
                .input_responses
                .map(|span| span.of(message.raw()))
                .unwrap_or_default();
            for (key, _) in &requests {
                if visited(responses, key) == Some(false) {
                    return Err(CallError::refused(
                        code::INVALID_REQUEST,
                        "the page that the server asked for was not visited",
                    ));
                }
            }
            requests.retain(|(key, _)| visited(responses, key).is_none());
            if !requests.is_empty() {
                let answer = ask_to_visit(gateway, request, requests, visits, id)?;
                return Ok(Some(Begun::Answer(answer)));
            }
            let capabilities =
                Params::bytes(message, params.client_capabilities).unwrap_or_default();
            let client = Client::new(
                request.principal.clone(),
                Revision::NEWEST,
                capabilities,
                Arc::new(NoSink),
            );
            let client = Arc::new(client.passing().known_by(request.key.as_deref()));
            note_log_level(&client, request)?;
            // The same request, without what only this round was for.
            let again = to_legacy(message);
            let again = Request {
                params: Params::of(&again)?,
                message: again,
                ..request.clone()
            };
            let mut relayed = relay(gateway, client, again, id.clone(), visits).await?;
            // A further ticket is bound to what the client sends.
            relayed.request = request.clone();
            Ok(Some(Begun::Exchange(Box::new(relayed))))
        }
    }
}

/// Asks a client to open pages and to come back.
fn ask_to_visit(
    gateway: &Gateway,
    request: &Request,
    requests: Vec<(String, String)>,
    visits: u32,
    id: &Id,
) -> Result<Answer, CallError> {
    let shown = requests.clone();
    let waiting = Waiting::Visit { requests, visits };
    let lot = gateway.lot();
    let ticket = lot.park(waiting, request, &address(&request.scope))?;
    Ok(Answer {
        payload: parked::input_required(&shown, &ticket, id).payload(),
        code: None,
    })
}

/// Gives a server back the state that we had wrapped for this principal.
fn unwrap_state(gateway: &Gateway, mut request: Request) -> Result<Request, CallError> {
    let Some(span) = request
        .params
        .request_state
        .filter(|_| request.shared_credential)
    else {
        return Ok(request);
    };
    let state = Params::text(&request.message, Some(span), "requestState")?.unwrap_or_default();
    let bound = Binding::of(
        &request.principal,
        &address(&request.scope),
        &request.message,
    );
    let token = gateway.lot().unwrap(&state, &bound)?;
    let mut edits = Edits::new();
    edits.replace(span, token);
    let bytes = request.message.edited(&edits).into_bytes();
    request.message =
        Message::parse(bytes).map_err(|fault| CallError::Refused(fault.to_error()))?;
    request.params = Params::of(&request.message)?;
    Ok(request)
}

/// Whether the client says that it opened the page of this key, if it says anything.
fn visited(responses: &[u8], key: &str) -> Option<bool> {
    let member = text::members(responses)
        .find(|member| text::text(member.key.of(responses)).is_some_and(|name| name == key))?;
    let answer = member.value.of(responses);
    let action = text::field(answer, "action").ok().flatten();
    Some(action.is_some_and(|span| span.of(answer) == b"\"accept\""))
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

/// What a ticket is bound to besides the request: all servers, or one.
fn address(scope: &Scope) -> String {
    match scope {
        Scope::All => String::new(),
        Scope::One(server) => server.name().to_string(),
    }
}

/// An error as the answer to a request.
pub fn refused(error: &ErrorObject, id: &Id) -> Answer {
    Answer {
        payload: error.response(Some(id)),
        code: Some(error.code),
    }
}

impl Relayed {
    /// What comes next. After [`Step::Done`] there is nothing.
    pub async fn next(&mut self) -> Step {
        if let Some(notice) = self.notices.pop_front() {
            return Step::Notice(notice);
        }
        if let Some(ending) = self.ending.take() {
            return Step::Done(ending);
        }
        let Some(exchange) = &mut self.exchange else {
            return Step::Done(self.gone());
        };
        match exchange.next().await {
            Event::Notice(notice) => Step::Notice(self.outward(notice)),
            Event::Input(input) => self.gather(input).await,
            Event::Outcome(outcome) => Step::Done(self.finish(outcome)),
        }
    }

    /// A notification as the client gets it.
    fn outward(&self, notice: Notice) -> Payload {
        match (&self.exchange, &self.request.scope) {
            (Some(exchange), Scope::All) => {
                let server = exchange.connection().server_name();
                rewrite::notice(&self.gateway, &self.client, server, notice)
            }
            _ => notice.payload,
        }
    }

    fn finish(&self, outcome: Outcome) -> Answer {
        let Some(exchange) = &self.exchange else {
            return self.gone();
        };
        let mut reply = match outcome {
            Outcome::Reply(reply) => reply,
            Outcome::Failed(fault) => return refused(&fault.to_error(), &self.id),
        };
        if exchange.crosses_eras()
            && reply.message.error_code() == Some(code::URL_ELICITATION_REQUIRED)
            && self.visits < limits::VISITS
            && let Some(answer) = self.visit(&reply.message)
        {
            return answer;
        }
        if self.request.shared_credential && asks_for_input(&reply.message) {
            self.wrap_state(&mut reply);
        }
        let method = self.request.message.method();
        if matches!(self.request.scope, Scope::All) {
            rewrite::reply(
                &self.gateway,
                &self.client,
                exchange.connection().server_name(),
                method,
                &mut reply,
            );
        } else if let (Some(list), Scope::One(server)) = (List::of(method), &self.request.scope) {
            lists::hide(&self.gateway, server, &self.client, list, &mut reply);
        }
        let code = (reply.message.kind() == Kind::Error)
            .then(|| reply.message.error_code())
            .flatten();
        Answer {
            payload: reply.payload(&self.id),
            code,
        }
    }

    /// Binds a server's state to the principal that it was given to.
    fn wrap_state(&self, reply: &mut Reply) {
        let Some(body) = reply.message.body_span() else {
            return;
        };
        let raw = reply.message.raw().clone();
        if let Ok(Some(span)) = text::field(body.of(&raw), "requestState") {
            let span = span.shifted(body.start);
            let bound = Binding::of(
                &self.request.principal,
                &address(&self.request.scope),
                &self.request.message,
            );
            let wrapped = self.gateway.lot().wrap(span.of(&raw), &bound);
            reply.edits.replace(span, text::quote(&wrapped));
        }
    }

    /// The server asks something. Questions that come together are asked together.
    async fn gather(&mut self, first: Input) -> Step {
        let gateway = self.gateway.clone();
        let aggregate = matches!(self.request.scope, Scope::All).then_some(&*gateway);
        let mut questions = Vec::new();
        parked::add_question(&mut questions, first, aggregate);
        loop {
            let Some(exchange) = &mut self.exchange else {
                return Step::Done(self.gone());
            };
            // What is said meanwhile is said on this request's own stream.
            match timeout(limits::SETTLE, exchange.next()).await {
                Ok(Event::Input(input)) => parked::add_question(&mut questions, input, aggregate),
                Ok(Event::Notice(notice)) => {
                    let notice = self.outward(notice);
                    self.notices.push_back(notice);
                }
                Ok(Event::Outcome(outcome)) => return self.end_with(Ok(self.finish(outcome))),
                Err(_) => break,
            }
        }
        let parked = self.park(questions);
        self.end_with(parked)
    }

    /// The end, after what was gathered on the way.
    fn end_with(&mut self, answer: Result<Answer, CallError>) -> Step {
        let answer = answer.unwrap_or_else(|fault| refused(&fault.to_error(), &self.id));
        match self.notices.pop_front() {
            None => Step::Done(answer),
            Some(notice) => {
                self.ending = Some(answer);
                Step::Notice(notice)
            }
        }
    }

    /// Leaves the call where the client's retry will find it.
    fn park(&mut self, questions: Vec<(String, Input)>) -> Result<Answer, CallError> {
        let requests = parked::as_requests(&questions);
        let id = self.id.clone();
        let relayed = Box::new(Self {
            gateway: self.gateway.clone(),
            client: self.client.clone(),
            request: self.request.clone(),
            id: id.clone(),
            exchange: self.exchange.take(),
            notices: VecDeque::new(),
            ending: None,
            visits: self.visits,
        });
        let address = address(&self.request.scope);
        let waiting = Waiting::Call { relayed, questions };
        let lot = self.gateway.lot();
        let ticket = lot.park(waiting, &self.request, &address)?;
        Ok(Answer {
            payload: parked::input_required(&requests, &ticket, &id).payload(),
            code: None,
        })
    }

    /// A legacy server that wants pages visited first (-32042): the client is asked to, and then to come back.
    fn visit(&self, error: &Message) -> Option<Answer> {
        let body = error.body();
        let data = text::field(body, "data").ok().flatten()?.of(body);
        let list = text::field(data, "elicitations").ok().flatten()?.of(data);
        if !self.client.opens_pages() {
            return Some(refused(&needs_pages(error), &self.id));
        }
        let mut requests = Vec::new();
        for span in text::elements(list) {
            let params = self.named(span.of(list));
            let params = params.as_slice();
            let key = text::field(params, "elicitationId").ok().flatten();
            let key = key
                .and_then(|span| text::text(span.of(params)))
                .map_or_else(|| requests.len().to_string(), String::from);
            let params = String::from_utf8_lossy(params);
            requests.push((
                key,
                format!("{{\"method\":\"elicitation/create\",\"params\":{params}}}"),
            ));
        }
        if requests.is_empty() {
            return None;
        }
        let visits = self.visits + 1;
        ask_to_visit(&self.gateway, &self.request, requests, visits, &self.id).ok()
    }

    /// An elicitation's parameters; among all servers they tell who asks.
    fn named(&self, params: &[u8]) -> Vec<u8> {
        let mut edits = Edits::new();
        if let (Scope::All, Some(exchange)) = (&self.request.scope, &self.exchange)
            && let Ok(Some(span)) = text::field(params, "message")
        {
            let server = exchange.connection().server_name();
            rewrite::name_in_front(server, params, span, &mut edits);
        }
        edits.apply_to_slice(params).to_vec()
    }

    fn gone(&self) -> Answer {
        refused(&CallError::Cancelled.to_error(), &self.id)
    }

    /// Gives the request up in the client's own words.
    pub fn cancel_as(mut self, notice: &Message) {
        if let Some(exchange) = self.exchange.take() {
            exchange.cancel_as(notice);
        }
    }
}

/// The server wants a page visited, by a client that said it cannot do that.
fn needs_pages(error: &Message) -> ErrorObject {
    let said: serde_json::Value = serde_json::from_slice(error.body()).unwrap_or_default();
    let required = json!({ "elicitation": { "url": {} } });
    ErrorObject::new(
        code::MISSING_CAPABILITY,
        "the server needs elicitation by URL",
    )
    .with_data(json!({ "requiredCapabilities": required, "answer": said }))
}

/// The id that a `notifications/cancelled` (or `$/cancelRequest`) names, as its bytes.
pub fn cancelled_id(message: &Message) -> Option<Bytes> {
    let body = message.body_bytes();
    let field = if message.method() == Method::CancelRequest {
        "id"
    } else {
        "requestId"
    };
    let span = text::field(&body, field).ok().flatten()?;
    Some(body.slice(span.start..span.end))
}
