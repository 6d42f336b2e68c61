//! `tools/list` and its kin over all servers: pages cut from the merged
//! catalog, each item in its own bytes.

use crate::gateway::Gateway;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use std::{borrow::Cow, sync::Arc};
use switchboard_host::{CallError, Client, Reply, Server, catalog::List, limits};
use switchboard_wire::{
    Era, Kind, Message, Method, Params, code, json,
    reading::{self, Object, Places, Unclear},
};

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

/// Removes from a server's own list what the client may not see, and what it
/// could read otherwise than we do. A list without such items is not touched; one
/// that could itself be read in two ways is the server's error.
pub fn hide(
    gateway: &Gateway,
    server: &Server,
    client: &Client,
    method: Method,
    reply: &mut Reply,
) -> Result<(), CallError> {
    let is_list = !Object::Page(method).keys().is_empty();
    let Some(body) = reply
        .message
        .body_span()
        .filter(|_| is_list && reply.message.kind() == Kind::Response)
    else {
        return Ok(());
    };
    let raw = reply.message.raw().clone();
    let [array, ..] = one_reading(server, method, body.of(&raw))?;
    let (Some(list), Some(array)) = (List::of(method), array) else {
        return Ok(());
    };
    let guard = gateway.host().guard();
    let all = guard.hides_nothing(client, server);
    let array = array.shifted(body.start);
    let (mut kept, mut hidden, mut unclear) = (Vec::new(), 0, 0);
    for span in json::elements(array.of(&raw)) {
        let item = span.shifted(array.start).of(&raw);
        match shown(list, item) {
            Err(_) => unclear += 1,
            Ok(_) if all => kept.push(item),
            Ok(Some(key)) if guard.shows(client, server, list, &key, item) => kept.push(item),
            Ok(_) => hidden += 1,
        }
    }
    if unclear > 0 {
        let list = method.as_str();
        tracing::warn!(server = %server.name(), list, unclear, "items that could be read in two ways are left out");
    }
    if hidden + unclear > 0 {
        let mut items = vec![b'['];
        items.extend(kept.join(&b','));
        items.push(b']');
        reply.edits.replace(array, items);
    }
    Ok(())
}

/// Where the keys of a list's result are; its server's error where readers could
/// disagree about them.
pub(super) fn one_reading(
    server: &Server,
    method: Method,
    page: &[u8],
) -> Result<Places, CallError> {
    reading::read(Object::Page(method), page).map_err(|unclear| CallError::Unreadable {
        server: server.name().to_string(),
        reason: format!("the answer to {} has {unclear}", method.as_str()),
    })
}

/// The name or URI of an item; none where it has none, an error where readers
/// could disagree about the item.
fn shown(list: List, item: &[u8]) -> Result<Option<Cow<'_, str>>, Unclear> {
    let object = Object::Item(list.method());
    let places = reading::read(object, item)?;
    reading::check_inner(object, item, &places)?;
    let at = object.keys().iter().position(|key| *key == list.key());
    let key = at.and_then(|at| places[at]);
    Ok(key.and_then(|span| json::text(span.of(item))))
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
