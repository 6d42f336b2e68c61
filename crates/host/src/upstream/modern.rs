//! Meeting a stateless server: `server/discover`, which also tells a modern
//! server from a legacy one.

use super::connection::{Connection, Hello};
use crate::{
    error::CallError,
    exchange::{Exchange, Outcome},
    upstream::slot::ConnectError,
};
use std::sync::Arc;
use switchboard_transport::{Link, Undelivered};
use switchboard_wire::{Kind, Message, Method, Revision, code, json, meta};

/// What `server/discover` showed.
pub(super) enum Found {
    /// A modern server.
    Modern,
    /// Anything else: a server of the handshake era.
    Legacy,
}

/// Sends `server/discover`.
pub(super) fn discover(connection: &Arc<Connection>) -> Result<Exchange, ConnectError> {
    if let Some(Link::Http(link)) = connection.link() {
        link.speak(Revision::NEWEST);
    }
    let params = format!("{{\"_meta\":{}}}", own_meta());
    let timeout = connection.spec.timeouts.connect;
    connection.ask(Method::Discover, &params, timeout).map_err(|fault| ConnectError::Failed(fault.to_string()))
}

/// Judges the answer. Only an unreachable server is an error; an odd answer means legacy.
pub(super) fn judge(connection: &Connection, outcome: Outcome) -> Result<Found, ConnectError> {
    let message = match outcome {
        Outcome::Reply(reply) => reply.message,
        Outcome::Failed(CallError::Undelivered { why: Undelivered::Status { .. }, .. })
        | Outcome::Failed(CallError::Unreadable { .. }) => return Ok(Found::Legacy),
        Outcome::Failed(fault) => return Err(ConnectError::from_call(&fault)),
    };
    if message.kind() == Kind::Error {
        return match message.error_code() {
            Some(code::UNSUPPORTED_VERSION) => {
                let text = format!("the server does not speak {}: {}", Revision::NEWEST, supported(&message));
                Err(ConnectError::Failed(text))
            }
            _ => Ok(Found::Legacy),
        };
    }
    let Ok(Some(versions)) = json::field(message.body(), "supportedVersions") else { return Ok(Found::Legacy) };
    let versions = versions.of(message.body());
    let known = json::elements(versions)
        .any(|span| json::text(span.of(versions)).is_some_and(|text| text == Revision::NEWEST.as_str()));
    if !known {
        return Ok(Found::Legacy);
    }
    let hello = Hello { revision: Revision::NEWEST, result: message.body_bytes() };
    connection.set_hello(hello);
    Ok(Found::Modern)
}

/// The `_meta` of requests that we make ourselves.
pub(super) fn own_meta() -> String {
    format!(
        "{{\"{}\":\"{}\",\"{}\":{{\"name\":\"switchboard\",\"version\":\"{}\"}},\"{}\":{{}}}}",
        meta::PROTOCOL_VERSION,
        Revision::NEWEST,
        meta::CLIENT_INFO,
        env!("CARGO_PKG_VERSION"),
        meta::CLIENT_CAPABILITIES,
    )
}

fn supported(error: &Message) -> String {
    let data = json::field(error.body(), "data").ok().flatten().map(|span| span.of(error.body()));
    data.map_or_else(|| "it does not say what it speaks".into(), |data| String::from_utf8_lossy(data).into_owned())
}
