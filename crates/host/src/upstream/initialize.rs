//! Meeting a server of the handshake era: `initialize`, its answer, and
//! `notifications/initialized`, which is always sent.

use super::{connection::Connection, hello::Hello};
use crate::{
    bridge::{object_with, request},
    client::Client,
    error::CallError,
    exchange::{Exchange, Outcome},
    upstream::slot::ConnectError,
};
use bytes::Bytes;
use std::sync::Arc;
use switchboard_transport::Link;
use switchboard_wire::{Edits, Era, Kind, Message, Method, Revision, json, meta::UI_EXTENSION};

/// The kind of page that an app is.
const APP_PAGE: &str = "text/html;profile=mcp-app";

/// Sends `initialize`. `client` is the one client of an exclusive connection.
pub(super) fn initialize(
    connection: &Arc<Connection>,
    client: Option<&Client>,
    revision: Revision,
) -> Result<Exchange, ConnectError> {
    let has_roots = !connection.spec().roots.is_empty();
    let params = match client.and_then(|client| client.greeting.as_ref()) {
        Some(greeting) => {
            let asks_inbox = client.is_some_and(|client| client.asked_at().asks_inbox());
            let greeting = match asks_inbox {
                true => with_people(greeting, revision),
                false => greeting.clone(),
            };
            with_version(&greeting, revision, has_roots)
        }
        // Each request of a modern client says for itself whether it has roots.
        None => {
            let is_modern = |client: &Client| client.era() == Era::Modern;
            our_greeting(revision, has_roots || client.is_some_and(is_modern))
        }
    };
    let timeout = connection.spec().timeouts.connect;
    connection
        .ask(Method::Initialize, &params, timeout)
        .map_err(|fault| ConnectError::Failed(fault.to_string()))
}

/// Takes the answer to `initialize` and completes the handshake.
pub(super) fn complete(
    connection: &Arc<Connection>,
    outcome: Outcome,
) -> Result<Hello, ConnectError> {
    let message = match outcome {
        Outcome::Reply(reply) => reply.message,
        Outcome::Failed(fault) => return Err(ConnectError::from_call(&fault)),
        Outcome::Begun(_) => return Err(ConnectError::from_call(&CallError::broke_off())),
    };
    if message.kind() == Kind::Error {
        let text = message
            .error_text()
            .unwrap_or_else(|| "no reason given".into());
        return Err(ConnectError::Refused(format!(
            "the server refused initialize: {text}"
        )));
    }
    let version = json::field(message.body(), "protocolVersion")
        .ok()
        .flatten();
    let version = version
        .and_then(|span| json::text(span.of(message.body())).map(String::from))
        .unwrap_or_default();
    let revision = Revision::parse(&version)
        .filter(|revision| revision.era() == Era::Legacy)
        .ok_or_else(|| {
            ConnectError::Failed(format!(
                "the server wants protocol version {version:?}, which is not known here"
            ))
        })?;
    let hello = Hello {
        revision,
        result: message.body_bytes(),
    };
    connection.set_hello(hello.clone());
    if let Some(link) = connection.link() {
        link.speak(revision);
    }
    connection
        .notify(Message::notification(Method::Initialized, "").payload())
        .map_err(|fault| ConnectError::Failed(fault.to_string()))?;
    if let Some(Link::Http(link)) = connection.link() {
        link.open_stream();
    }
    Ok(hello)
}

/// How we greet a server, whichever era its clients have: with what our faces can
/// pass on. Roots are a client's own, and none of a server that others share;
/// those of an entry are ours to tell.
fn our_greeting(revision: Revision, has_roots: bool) -> String {
    let roots = if has_roots { "\"roots\":{}," } else { "" };
    let elicitation = match revision {
        Revision::V2025_11_25 => "\"elicitation\":{\"form\":{},\"url\":{}},",
        Revision::V2025_06_18 => "\"elicitation\":{},",
        _ => "",
    };
    format!(
        "{{\"protocolVersion\":\"{revision}\",\"capabilities\":{{{elicitation}{roots}\"sampling\":{{}},\
         \"extensions\":{{\"{UI_EXTENSION}\":{{\"mimeTypes\":[\"{APP_PAGE}\"]}}}}}},\
         \"clientInfo\":{{\"name\":\"switchboard\",\"version\":\"{}\"}}}}",
        env!("CARGO_PKG_VERSION")
    )
}

/// The client's own greeting where a person can be asked whatever the client can do.
fn with_people(greeting: &Bytes, revision: Revision) -> Bytes {
    let Ok(Some(span)) = json::field(greeting, "capabilities") else {
        return greeting.clone();
    };
    let own = span.of(greeting);
    let declared = match revision {
        Revision::V2025_11_25 => request::with_people(own),
        Revision::V2025_06_18 => object_with(
            request::with_people(own).as_bytes(),
            &[],
            &[("elicitation", "{}")],
        ),
        _ => object_with(request::with_people(own).as_bytes(), &["elicitation"], &[]),
    };
    let mut edits = Edits::new();
    edits.replace(span, declared);
    edits.apply_to_slice(greeting).to_vec().into()
}

/// The client's own greeting, asking for a version that we know. Roots of the
/// entry are ours to tell, whether or not the client has any.
fn with_version(greeting: &Bytes, revision: Revision, has_roots: bool) -> String {
    let mut edits = Edits::new();
    if let Ok(Some(span)) = json::field(greeting, "capabilities")
        && let own = span.of(greeting)
        && has_roots
        && own.starts_with(b"{")
        && matches!(json::field(own, "roots"), Ok(None))
    {
        let rest = String::from_utf8_lossy(&own[1..]);
        let comma = if rest.trim_start().starts_with('}') {
            ""
        } else {
            ","
        };
        edits.replace(span, format!("{{\"roots\":{{}}{comma}{rest}"));
    }
    if let Ok(Some(span)) = json::field(greeting, "protocolVersion") {
        edits.replace(span, format!("\"{revision}\""));
    }
    String::from_utf8_lossy(&edits.apply_to_slice(greeting)).into_owned()
}
