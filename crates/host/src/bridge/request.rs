//! Requests on their way into the other era.

use super::{member, object_with, roots, task_run};
use crate::client::Client;
use bytes::Bytes;
use switchboard_wire::{Edits, Message, Method, Revision, json, meta};

/// What a retry carries in addition: the answers, and the server's own state.
#[derive(Clone, Debug, Default)]
pub struct Retry {
    /// The text of `inputResponses`.
    pub responses: Option<String>,
    /// The token of `requestState`, as the server wrote it.
    pub state: Option<Bytes>,
    /// Whether the answer may be a task.
    pub as_task: bool,
    /// Whether the server's entry has roots, which are answered here.
    pub has_roots: bool,
}

/// A legacy client's request for a modern server: it says itself who asks and what the asker can do.
pub fn to_modern(message: &Message, client: &Client, retry: &Retry) -> Message {
    let body = message.body_bytes();
    let old = member(&body, "_meta")
        .filter(|meta| meta.starts_with(b"{"))
        .unwrap_or(Bytes::from_static(b"{}"));
    let mut capabilities = capabilities_for_modern(client);
    if retry.as_task {
        capabilities = task_run::capabilities(&capabilities);
    }
    if retry.has_roots {
        capabilities = roots::declared(capabilities.as_bytes());
    }
    let info = client
        .greeting
        .as_ref()
        .and_then(|greeting| member(greeting, "clientInfo"));
    let info = info.map_or_else(own_info, |info| String::from_utf8_lossy(&info).into_owned());
    let version = format!("\"{}\"", Revision::NEWEST);
    let level = json::quote(client.log_level());
    let meta = object_with(
        &old,
        &[],
        &[
            (meta::PROTOCOL_VERSION, &version),
            (meta::CLIENT_INFO, &info),
            (meta::CLIENT_CAPABILITIES, &capabilities),
            (meta::LOG_LEVEL, &level),
        ],
    );
    let mut set = vec![("_meta", meta.as_str())];
    let state = retry
        .state
        .as_ref()
        .map(|state| String::from_utf8_lossy(state).into_owned());
    if let Some(responses) = &retry.responses {
        set.push(("inputResponses", responses));
    }
    if let Some(state) = &state {
        set.push(("requestState", state));
    }
    // A client of this era has no state at the server and no answers to give before
    // it is asked: what it writes there would be another's.
    let not_theirs: &[&str] = match message.method() {
        Method::Other => &[],
        _ => &["inputResponses", "requestState"],
    };
    with_params(message, &object_with(&body, not_theirs, &set))
}

/// A modern client's request for a legacy server: without what only this hop needed.
pub fn to_legacy(message: &Message) -> Message {
    let body = message.body_bytes();
    let mut set: Vec<(&str, &str)> = Vec::new();
    let meta = member(&body, "_meta").map(|meta| {
        object_with(
            &meta,
            &[
                meta::PROTOCOL_VERSION,
                meta::CLIENT_INFO,
                meta::CLIENT_CAPABILITIES,
                meta::LOG_LEVEL,
            ],
            &[],
        )
    });
    if let Some(meta) = meta.as_deref().filter(|meta| *meta != "{}") {
        set.push(("_meta", meta));
    }
    with_params(
        message,
        &object_with(&body, &["_meta", "inputResponses", "requestState"], &set),
    )
}

pub(crate) fn with_params(message: &Message, params: &str) -> Message {
    let mut edits = Edits::new();
    match message.body_span() {
        Some(span) => edits.replace(span, params.to_owned()),
        None => {
            let end = message.raw().len() - 1;
            edits.replace(
                switchboard_wire::Span::new(end, end),
                format!(",\"params\":{params}"),
            )
        }
    };
    // What we compose from checked parts can be read again.
    Message::parse(message.edited(&edits).into_bytes()).unwrap_or_else(|_| message.clone())
}

/// What the client declared, in modern words: forms only for 2025-06-18, no
/// elicitation for those who had none.
fn capabilities_for_modern(client: &Client) -> String {
    let raw = &client.capabilities;
    let declared = match client.revision {
        Revision::V2024_11_05 | Revision::V2025_03_26 => {
            object_with(raw, &["elicitation", "tasks"], &[])
        }
        Revision::V2025_06_18 if client.declares("elicitation") => {
            object_with(raw, &["tasks"], &[("elicitation", "{\"form\":{}}")])
        }
        _ => object_with(raw, &["tasks"], &[]),
    };
    match client.asked_at().asks_inbox() {
        true => with_people(declared.as_bytes()),
        false => declared,
    }
}

/// These capabilities where a person can be asked whatever the client can do.
pub(crate) fn with_people(declared: &[u8]) -> String {
    let elicitation = "{\"form\":{},\"url\":{}}";
    let set: &[(&str, &str)] = match member(&Bytes::copy_from_slice(declared), "sampling") {
        Some(_) => &[("elicitation", elicitation)],
        None => &[("elicitation", elicitation), ("sampling", "{}")],
    };
    object_with(declared, &[], set)
}

fn own_info() -> String {
    format!(
        "{{\"name\":\"switchboard\",\"version\":\"{}\"}}",
        env!("CARGO_PKG_VERSION")
    )
}
