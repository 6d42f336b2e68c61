//! Answers on their way back into the client's era.

use super::{member, object_with};
use switchboard_wire::{Edits, Era, Kind, Message, Method, code};

/// The answer as a client of `era` expects it, where the server speaks the other.
pub fn translated(era: Era, method: Method, asked_uri: Option<&str>, message: Message) -> Message {
    match (era, message.kind()) {
        (Era::Modern, Kind::Response) => completed(method, message),
        (Era::Modern, Kind::Error) => error_for_modern(method, asked_uri, message),
        (Era::Legacy, Kind::Error) => error_for_legacy(method, asked_uri, message),
        _ => message,
    }
}

/// A modern result says that it is complete, and (where results can be cached) for how long it holds.
fn completed(method: Method, message: Message) -> Message {
    let body = message.body_bytes();
    if !body.starts_with(b"{") {
        return message;
    }
    let mut set: Vec<(&str, &str)> = Vec::new();
    if member(&body, "resultType").is_none() {
        set.push(("resultType", "\"complete\""));
    }
    let cacheable = method.list_field().is_some() || method == Method::ResourcesRead;
    if cacheable && member(&body, "ttlMs").is_none() {
        set.push(("ttlMs", "0"));
    }
    if cacheable && member(&body, "cacheScope").is_none() {
        set.push(("cacheScope", "\"private\""));
    }
    if set.is_empty() {
        message
    } else {
        with_body(&message, &object_with(&body, &[], &set))
    }
}

/// "No such resource" has another code in each era.
fn error_for_modern(method: Method, asked_uri: Option<&str>, message: Message) -> Message {
    match message.error_code() {
        Some(code::RESOURCE_NOT_FOUND) if method == Method::ResourcesRead => {
            with_code(&message, code::INVALID_PARAMS, asked_uri)
        }
        _ => message,
    }
}

fn error_for_legacy(method: Method, asked_uri: Option<&str>, message: Message) -> Message {
    let body = message.body_bytes();
    match message.error_code() {
        Some(code::INVALID_PARAMS) if method == Method::ResourcesRead && names_uri(&body) => {
            with_code(&message, code::RESOURCE_NOT_FOUND, asked_uri)
        }
        Some(code::MISSING_CAPABILITY) => {
            let needed =
                member(&body, "data").and_then(|data| member(&data, "requiredCapabilities"));
            let needed = needed.map_or_else(
                || "a capability".into(),
                |raw| String::from_utf8_lossy(&raw).into_owned(),
            );
            let text = format!(
                "the server needs the client to support {needed}, which it did not declare"
            );
            let quoted = switchboard_wire::json::quote(&text);
            let code = code::INVALID_PARAMS.to_string();
            with_body(
                &message,
                &object_with(&body, &[], &[("code", &code), ("message", &quoted)]),
            )
        }
        _ => message,
    }
}

fn names_uri(error: &bytes::Bytes) -> bool {
    member(error, "data").is_some_and(|data| member(&data, "uri").is_some())
}

fn with_code(message: &Message, code: i64, uri: Option<&str>) -> Message {
    let body = message.body_bytes();
    let code = code.to_string();
    let data = member(&body, "data");
    let mut set = vec![("code", code.as_str())];
    let named;
    if let (None, Some(uri)) = (data, uri) {
        named = format!("{{\"uri\":{}}}", switchboard_wire::json::quote(uri));
        set.push(("data", &named));
    }
    with_body(message, &object_with(&body, &[], &set))
}

fn with_body(message: &Message, body: &str) -> Message {
    let mut edits = Edits::new();
    if let Some(span) = message.body_span() {
        edits.replace(span, body.to_owned());
    }
    Message::parse(message.edited(&edits).into_bytes()).unwrap_or_else(|_| message.clone())
}
