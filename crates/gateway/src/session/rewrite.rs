//! What the aggregate changes in answers: URIs that would not lead back to
//! their server, and the name of the server in front of a question.

use crate::gateway::Gateway;
use std::sync::Arc;
use switchboard_host::{Client, Input, Reply};
use switchboard_wire::{Edits, Kind, Message, Method, Params, Span, json};

/// Qualifies the URIs in an answer that would otherwise lead elsewhere.
pub(super) fn uris(
    gateway: &Gateway,
    client: &Arc<Client>,
    server: &Arc<str>,
    method: Method,
    reply: &mut Reply,
) {
    if reply.message.kind() != Kind::Response {
        return;
    }
    let Some(body) = reply.message.body_span() else {
        return;
    };
    let raw = reply.message.raw().clone();
    let mut found: Vec<Span> = Vec::new();
    match method {
        Method::ToolsCall => each(&raw, body, "content", &mut |item| {
            content_uri(&raw, item, &mut found)
        }),
        Method::ResourcesRead => each(&raw, body, "contents", &mut |item| {
            found.extend(at(&raw, item, "uri"))
        }),
        Method::PromptsGet => each(&raw, body, "messages", &mut |message| {
            found.extend(
                at(&raw, message, "content")
                    .into_iter()
                    .flat_map(|content| {
                        let mut inside = Vec::new();
                        content_uri(&raw, content, &mut inside);
                        inside
                    }),
            );
        }),
        _ => {}
    }
    if found.is_empty() {
        return;
    }
    let (host, routes) = (gateway.host(), gateway.host().known_routes(client));
    for span in found {
        let Some(uri) = json::text(span.of(&raw)) else {
            continue;
        };
        if let Some(outward) = routes.outward(&host.namer(), server, &uri) {
            reply.edits.replace(span, json::quote(&outward));
        }
    }
}

/// Qualifies the URI of `notifications/resources/updated` in the same way.
pub(super) fn updated_uri(
    gateway: &Gateway,
    client: &Client,
    server: &Arc<str>,
    message: &Message,
    params: &Params,
    edits: &mut Edits,
) {
    let Some(span) = params.uri else { return };
    let Some(uri) = json::text(span.of(message.raw())) else {
        return;
    };
    let host = gateway.host();
    if let Some(outward) = host
        .known_routes(client)
        .outward(&host.namer(), server, &uri)
    {
        edits.replace(span, json::quote(&outward));
    }
}

/// The client must show who asks.
pub(super) fn name_the_server(input: &mut Input) {
    if input.method() != Method::ElicitationCreate {
        return;
    }
    let Some(body) = input.message().body_span() else {
        return;
    };
    let raw = input.message().raw().clone();
    let Some(span) = at(&raw, body, "message") else {
        return;
    };
    let Some(text) = json::text(span.of(&raw)) else {
        return;
    };
    let text = json::quote(&format!("[{}] {text}", input.server()));
    input.edits().replace(span, text);
}

/// The URI of a `resource_link` or of an embedded resource.
fn content_uri(raw: &[u8], item: Span, found: &mut Vec<Span>) {
    let kind = at(raw, item, "type").and_then(|span| json::text(span.of(raw)));
    match kind.as_deref() {
        Some("resource_link") => found.extend(at(raw, item, "uri")),
        Some("resource") => {
            found.extend(at(raw, item, "resource").and_then(|resource| at(raw, resource, "uri")))
        }
        _ => {}
    }
}

/// Where `key`'s value is inside the object at `object`; places are within `raw`.
fn at(raw: &[u8], object: Span, key: &'static str) -> Option<Span> {
    json::field(object.of(raw), key)
        .ok()
        .flatten()
        .map(|span| span.shifted(object.start))
}

fn each(raw: &[u8], object: Span, key: &'static str, f: &mut dyn FnMut(Span)) {
    if let Some(array) = at(raw, object, key) {
        for span in json::elements(array.of(raw)) {
            f(span.shifted(array.start));
        }
    }
}
