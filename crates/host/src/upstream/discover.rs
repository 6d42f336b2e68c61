//! Meeting a stateless server: `server/discover`, which also tells a modern
//! server from a legacy one.

use super::{connection::Connection, hello::Hello};
use crate::{
    error::CallError,
    exchange::{Exchange, Outcome},
    upstream::slot::ConnectError,
};
use std::sync::Arc;
use switchboard_transport::Undelivered;
use switchboard_wire::{Era, Kind, Message, Method, Revision, code, json, meta};

/// What `server/discover` showed.
pub(super) enum Found {
    /// A modern server.
    Modern,
    /// Anything else: a server of the handshake era.
    Legacy,
    /// A modern server that refused the version it then named: it wants to be asked again.
    Again,
}

/// Sends `server/discover`.
pub(super) fn discover(connection: &Arc<Connection>) -> Result<Exchange, ConnectError> {
    if let Some(link) = connection.link() {
        link.speak(Revision::NEWEST);
    }
    let params = format!("{{\"_meta\":{}}}", own_meta());
    let timeout = connection.spec().timeouts.connect;
    connection
        .ask(Method::Discover, &params, timeout)
        .map_err(|fault| ConnectError::Failed(fault.to_string()))
}

/// Judges the answer. Only an unreachable server is an error; an odd answer means legacy.
pub(super) fn judge(connection: &Connection, outcome: Outcome) -> Result<Found, ConnectError> {
    let message = match outcome {
        Outcome::Reply(reply) => reply.message,
        Outcome::Failed(
            CallError::Undelivered {
                why: Undelivered::Status { .. },
                ..
            }
            | CallError::Unreadable { .. },
        ) => return Ok(Found::Legacy),
        Outcome::Failed(fault) => return Err(ConnectError::from_call(&fault)),
        Outcome::Begun(_) => return Err(ConnectError::from_call(&CallError::broke_off())),
    };
    if message.kind() == Kind::Error {
        return match message.error_code() {
            Some(code::UNSUPPORTED_VERSION) => refused(&message),
            _ => Ok(Found::Legacy),
        };
    }
    let Ok(Some(versions)) = json::field(message.body(), "supportedVersions") else {
        return Ok(Found::Legacy);
    };
    if !known(versions.of(message.body())).contains(&Revision::NEWEST) {
        return Ok(Found::Legacy);
    }
    let hello = Hello {
        revision: Revision::NEWEST,
        result: message.body_bytes(),
    };
    connection.set_hello(hello);
    Ok(Found::Modern)
}

/// The `_meta` of requests that we make ourselves.
pub(super) fn own_meta() -> String {
    meta_with("{}")
}

/// The same for requests about tasks.
pub(super) fn own_meta_with_tasks() -> String {
    meta_with(&format!(
        "{{\"extensions\":{{\"{}\":{{}}}}}}",
        meta::TASKS_EXTENSION
    ))
}

fn meta_with(capabilities: &str) -> String {
    format!(
        "{{\"{}\":\"{}\",\"{}\":{{\"name\":\"switchboard\",\"version\":\"{}\"}},\"{}\":{capabilities}}}",
        meta::PROTOCOL_VERSION,
        Revision::NEWEST,
        meta::CLIENT_INFO,
        env!("CARGO_PKG_VERSION"),
        meta::CLIENT_CAPABILITIES,
    )
}

/// What to do with a server that refused our version: the versions it names decide.
fn refused(error: &Message) -> Result<Found, ConnectError> {
    let data = json::field(error.body(), "data")
        .ok()
        .flatten()
        .map(|span| span.of(error.body()));
    let versions = data
        .and_then(|data| Some(known(json::field(data, "supported").ok()??.of(data))))
        .unwrap_or_default();
    if versions.contains(&Revision::NEWEST) {
        return Ok(Found::Again);
    }
    if versions
        .iter()
        .any(|revision| revision.era() == Era::Legacy)
    {
        return Ok(Found::Legacy);
    }
    let says = data.map_or(
        "it does not say what it speaks".into(),
        String::from_utf8_lossy,
    );
    Err(ConnectError::Failed(format!(
        "the server does not speak {}: {says}",
        Revision::NEWEST
    )))
}

/// Those of the versions in a list that we know.
fn known(list: &[u8]) -> Vec<Revision> {
    json::elements(list)
        .filter_map(|span| Revision::parse(&json::text(span.of(list))?))
        .collect()
}

#[cfg(test)]
mod tests;
