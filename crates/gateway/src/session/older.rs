//! Content that an older client's revision lacks becomes text that says what it
//! was: one connection to a server serves clients of several revisions, and
//! speaks the newest of them.

use super::rewrite::at;
use switchboard_host::{Client, Reply};
use switchboard_wire::{Kind, Method, Revision, Span, json};

/// Who gets an answer, and from where.
pub(super) struct Between {
    /// What the client speaks.
    pub client: Revision,
    /// What the connection speaks.
    pub connection: Revision,
}

/// Whether a client may have to be told things in other words than its server's.
pub(super) fn is(client: &Client) -> bool {
    client.revision < Revision::V2025_06_18
}

impl Between {
    /// Whether an answer can hold content that the client has no word for.
    fn differs(&self) -> bool {
        self.client < self.connection && self.client < Revision::V2025_06_18
    }
}

/// Turns what the client's revision lacks into text. `outward` is the address
/// under which the client can read a resource. The places that were changed.
pub(super) fn reply(
    between: &Between,
    method: Method,
    reply: &mut Reply,
    outward: impl Fn(&str) -> String,
) -> Vec<Span> {
    if !between.differs() || reply.message.kind() != Kind::Response {
        return Vec::new();
    }
    let Some(body) = reply.message.body_span() else {
        return Vec::new();
    };
    let raw = reply.message.raw().clone();
    let mut changed = Vec::new();
    for item in content(&raw, body, method) {
        if let Some(text) = text_for(&raw, item, between.client, &outward) {
            reply.edits.replace(item, text);
            changed.push(item);
        }
    }
    if method == Method::ToolsCall {
        structured(&raw, body, reply);
    }
    changed
}

/// Every piece of content in an answer.
fn content(raw: &[u8], body: Span, method: Method) -> Vec<Span> {
    let all = |field| {
        let array = at(raw, body, field);
        let items = array.into_iter().flat_map(|array| {
            json::elements(array.of(raw)).map(move |item| item.shifted(array.start))
        });
        items.collect::<Vec<Span>>()
    };
    match method {
        Method::ToolsCall => all("content"),
        Method::PromptsGet => {
            let messages = all("messages").into_iter();
            messages
                .filter_map(|said| at(raw, said, "content"))
                .collect()
        }
        _ => Vec::new(),
    }
}

/// The text that stands for a piece of content, if this revision has no such piece.
fn text_for(
    raw: &[u8],
    item: Span,
    client: Revision,
    outward: impl Fn(&str) -> String,
) -> Option<String> {
    let word = |key| at(raw, item, key).and_then(|span| json::text(span.of(raw)));
    let text = match word("type")?.as_ref() {
        "audio" if client < Revision::V2025_03_26 => {
            let kind = word("mimeType").unwrap_or("of an unknown kind".into());
            let bytes = word("data").map_or(0, |data| data.trim_end_matches('=').len() * 3 / 4);
            format!("[Audio: {kind}, {bytes} bytes, which protocol revision {client} cannot carry]")
        }
        "resource_link" if client < Revision::V2025_06_18 => {
            let uri = outward(&word("uri").unwrap_or_default());
            let name = word("title").or(word("name")).unwrap_or_default();
            let about = word("description").map(|about| format!(" ({about})"));
            format!("[Resource link: {name}] {uri}{}", about.unwrap_or_default())
        }
        _ => return None,
    };
    let mut piece = format!("{{\"type\":\"text\",\"text\":{}", json::quote(&text));
    for kept in ["annotations", "_meta"] {
        if let Some(value) = at(raw, item, kept) {
            let value = String::from_utf8_lossy(value.of(raw));
            piece.push_str(&format!(",\"{kept}\":{value}"));
        }
    }
    piece.push('}');
    Some(piece)
}

/// A result that has nothing but structured content has nothing at all for a
/// revision without it: its text is put beside it.
fn structured(raw: &[u8], body: Span, reply: &mut Reply) {
    let Some(structured) = at(raw, body, "structuredContent") else {
        return;
    };
    let text = String::from_utf8_lossy(structured.of(raw));
    let piece = format!("[{{\"type\":\"text\",\"text\":{}}}]", json::quote(&text));
    match at(raw, body, "content") {
        Some(content) if json::elements(content.of(raw)).next().is_none() => {
            reply.edits.replace(content, piece);
        }
        Some(_) => {}
        None => {
            let before = Span::new(body.start + 1, body.start + 1);
            reply.edits.replace(before, format!("\"content\":{piece},"));
        }
    }
}
