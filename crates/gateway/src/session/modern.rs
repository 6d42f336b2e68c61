//! Requests of the stateless era: each stands alone and says itself who asks
//! and what the asker can do.

use super::{hello, lists, rewrite, watch::Listen};
use crate::gateway::Gateway;
use bytes::Bytes;
use serde_json::json;
use std::sync::Arc;
use switchboard_host::{Admitted, CallError, Client, Event, Exchange, NoSink, Outcome, Scope, catalog::List};
use switchboard_wire::{ErrorObject, Id, Kind, Message, Method, Params, Payload, Revision, code, json as text};

/// A request that has been read and found to be modern.
#[derive(Debug)]
pub struct Request {
    /// Whom it addresses.
    pub scope: Scope,
    /// On whose behalf.
    pub principal: Arc<str>,
    /// The request.
    pub message: Message,
    /// Its parameters.
    pub params: Params,
    /// `Mcp-Param-*` headers, where the face has headers.
    pub headers: Option<Vec<(String, String)>>,
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
    scope: Scope,
    method: Method,
    id: Id,
    exchange: Exchange,
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
        let text = format!("Invalid params: _meta needs {}", switchboard_wire::meta::PROTOCOL_VERSION);
        return Err(ErrorObject::new(code::INVALID_PARAMS, text));
    };
    if version != Revision::NEWEST.as_str() {
        return Err(unsupported(&version));
    }
    let capabilities = params.client_capabilities.map(|span| span.of(message.raw()));
    if !capabilities.is_some_and(|raw| raw.starts_with(b"{")) {
        let text = format!("Invalid params: _meta needs {}", switchboard_wire::meta::CLIENT_CAPABILITIES);
        return Err(ErrorObject::new(code::INVALID_PARAMS, text));
    }
    Ok(())
}

/// The error for a revision that we do not speak in this way.
pub fn unsupported(version: &str) -> ErrorObject {
    let supported: Vec<&str> = Revision::ALL.iter().rev().map(|revision| revision.as_str()).collect();
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
    let Request { scope, principal, message, params, headers } = request;
    let method = message.method();
    if method == Method::Listen {
        return Ok(Begun::Listen(Box::new(Listen::open(gateway, &scope, principal, &message).await?)));
    }
    let capabilities = Params::bytes(&message, params.client_capabilities).unwrap_or(Bytes::from_static(b"{}"));
    let client = Arc::new(Client::new(principal, Revision::NEWEST, capabilities, Arc::new(NoSink)).unaddressable());
    let result = match (method, &scope) {
        (Method::Discover, _) => hello::discover_result(gateway, &scope, &client).await?,
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
            lists::page(gateway, &client, list, &message).await?
        }
        _ => {
            let admitted = Admitted { client: client.clone(), scope: scope.clone(), message, params, headers };
            let exchange = gateway.host().call(admitted).await?;
            let (gateway, id) = (gateway.clone(), id.clone());
            return Ok(Begun::Exchange(Box::new(Relayed { gateway, client, scope, method, id, exchange })));
        }
    };
    Ok(Begun::Answer(Answer { payload: Message::response(id, &result).payload(), code: None }))
}

/// An error as the answer to a request.
pub fn refused(error: &ErrorObject, id: &Id) -> Answer {
    Answer { payload: error.response(Some(id)), code: Some(error.code) }
}

impl Relayed {
    /// What comes next. After [`Step::Done`] there is nothing.
    pub async fn next(&mut self) -> Step {
        loop {
            match self.exchange.next().await {
                Event::Notice(notice) => return Step::Notice(notice.payload),
                // A modern server asks by its result; anything else is not for this client.
                Event::Input(input) => input.refuse_unsupported(),
                Event::Outcome(Outcome::Reply(mut reply)) => {
                    if matches!(self.scope, Scope::All) {
                        let server = self.exchange.connection().server_name();
                        rewrite::uris(&self.gateway, &self.client, server, self.method, &mut reply);
                    } else if self.method == Method::ToolsList {
                        lists::hide(self.exchange.connection(), &self.client, &mut reply);
                    }
                    let code = (reply.message.kind() == Kind::Error).then(|| reply.message.error_code()).flatten();
                    return Step::Done(Answer { payload: reply.payload(&self.id), code });
                }
                Event::Outcome(Outcome::Failed(fault)) => return Step::Done(refused(&fault.to_error(), &self.id)),
            }
        }
    }

    /// Gives the request up in the client's own words.
    pub fn cancel_as(self, notice: &Message) {
        self.exchange.cancel_as(notice);
    }
}

/// The id that a `notifications/cancelled` names, as its bytes.
pub fn cancelled_id(message: &Message) -> Option<Bytes> {
    let body = message.body_bytes();
    let span = text::field(&body, "requestId").ok().flatten()?;
    Some(body.slice(span.start..span.end))
}
