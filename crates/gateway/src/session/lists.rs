//! `tools/list` and its kin over all servers: pages cut from the merged
//! catalog, each item in its own bytes.

use crate::gateway::Gateway;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use std::sync::Arc;
use switchboard_host::{CallError, Client, Reply, Server, catalog::List, limits};
use switchboard_wire::{Era, Kind, Message, Params, code, json};

/// One page of a merged list, as a result.
pub async fn page(
    gateway: &Gateway,
    client: &Arc<Client>,
    list: List,
    message: &Message,
) -> Result<String, CallError> {
    let params = Params::of(message)?;
    let cursor = match Params::text(message, params.cursor, "cursor")? {
        Some(cursor) => Some(open(&cursor)?),
        None => None,
    };
    let host = gateway.host();
    let merged = host.merged(client, list).await;
    let (items, next) = merged.page(cursor.as_ref(), limits::MERGED_PAGE);
    let field = list.method().list_field().unwrap_or_default();
    let mut out = format!("{{\"{field}\":[");
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(&String::from_utf8_lossy(&item.text()));
    }
    out.push(']');
    if let Some(next) = next {
        out.push_str(&format!(",\"nextCursor\":\"{}\"", seal(&next)));
    }
    if client.era() == Era::Modern {
        let fresh = host.freshness(client, list);
        let ttl = fresh.remaining.unwrap_or(limits::TOLD_TTL).as_millis();
        let scope = if fresh.public { "public" } else { "private" };
        out.push_str(&format!(
            ",\"resultType\":\"complete\",\"ttlMs\":{ttl},\"cacheScope\":\"{scope}\""
        ));
    }
    out.push('}');
    Ok(out)
}

/// Removes from a server's own list what the client may not see. A list of
/// which everything may be seen is not touched.
pub fn hide(gateway: &Gateway, server: &Server, client: &Client, list: List, reply: &mut Reply) {
    let Some(body) = reply
        .message
        .body_span()
        .filter(|_| reply.message.kind() == Kind::Response)
    else {
        return;
    };
    let guard = gateway.host().guard();
    if guard.hides_nothing(client, server) {
        return;
    }
    let raw = reply.message.raw().clone();
    let field = list.method().list_field().unwrap_or_default();
    let Some(array) = json::field(body.of(&raw), field).ok().flatten() else {
        return;
    };
    let array = array.shifted(body.start);
    let (mut kept, mut hidden) = (Vec::new(), false);
    for span in json::elements(array.of(&raw)) {
        let item = span.shifted(array.start).of(&raw);
        let key = json::field(item, list.key())
            .ok()
            .flatten()
            .and_then(|span| json::text(span.of(item)));
        if key.is_some_and(|key| guard.shows(client, server, list, &key, item)) {
            kept.push(item);
        } else {
            hidden = true;
        }
    }
    if hidden {
        let mut items = vec![b'['];
        items.extend(kept.join(&b','));
        items.push(b']');
        reply.edits.replace(array, items);
    }
}

/// A cursor says where the page ended, in a form that clients have no reason to look into.
pub(super) fn seal((server, key): &(String, String)) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::json!([server, key]).to_string())
}

pub(super) fn open(cursor: &str) -> Result<(String, String), CallError> {
    let read = || {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        serde_json::from_slice::<(String, String)>(&bytes).ok()
    };
    read().ok_or_else(|| CallError::refused(code::INVALID_PARAMS, "this cursor is not one of ours"))
}
