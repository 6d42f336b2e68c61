//! `tools/list` and its kin over all servers: pages cut from the merged
//! catalog, each item in its own bytes.

use super::{finder, patience};
use crate::{gateway::Gateway, limits as ours};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use std::sync::Arc;
use switchboard_host::{
    CallError, Client, Connection, Late, Reply, Scope, Server,
    catalog::{List, MergedItem, Page},
    limits,
};
use switchboard_wire::{
    Era, Kind, Message, Method, Params, code,
    json::field,
    reading::{self, Object, Places},
};

/// How much longer than its server wrote it an item becomes by its outward name, about.
// tidy: a guess at how much room is needed, not a cap
const NAMED_BYTES: usize = 48;

/// One page of a merged list.
#[derive(Debug)]
pub(crate) struct Merged {
    /// The result.
    pub(crate) result: String,
    /// What its client should know of it besides, if anything.
    pub(crate) remark: Option<String>,
}

/// One page of a merged list. `name` is what the client calls itself.
pub(crate) async fn page(
    gateway: &Gateway,
    client: &Arc<Client>,
    name: Option<&str>,
    list: List,
    message: &Message,
) -> Result<Merged, CallError> {
    let params = Params::of(message)?;
    let cursor = match Params::text(message, params.cursor, "cursor")? {
        Some(cursor) => Some(open(&cursor)?),
        None => None,
    };
    let host = gateway.host();
    let wait = patience::first_list(name);
    let (merged, late) = host.merged_within(client, list, wait).await;
    let field = list.method().list_field().unwrap_or_default();
    let mut out = format!("{{\"{field}\":[");
    let mut next = None;
    if list == List::Tools && gateway.finder().waits(host, client, &merged) {
        // The rest is searched for. There are few of these.
        for own in finder::definitions() {
            push(&mut out, own.to_string().as_bytes());
        }
        for item in gateway.finder().always(client, &merged) {
            push_item(&mut out, item);
        }
    } else {
        let (items, after) = merged.page(cursor.as_ref(), limits::MERGED_PAGE);
        out.reserve(
            items
                .iter()
                .map(|item| item.item.raw.len() + NAMED_BYTES)
                .sum(),
        );
        for item in items {
            push_item(&mut out, item);
        }
        next = after;
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
    Ok(Merged {
        result: out,
        remark: without(list, late),
    })
}

/// Which servers a list is without, since they were not there in time.
fn without(list: List, mut late: Vec<Late>) -> Option<String> {
    if late.is_empty() {
        return None;
    }
    let rest = late.len().saturating_sub(ours::SERVERS_NAMED);
    late.truncate(ours::SERVERS_NAMED);
    let mut names: Vec<String> = late
        .iter()
        .map(|late| match late.is_silent {
            true => format!("{} (it says nothing)", late.server),
            false => format!("{} (it is still starting)", late.server),
        })
        .collect();
    if rest > 0 {
        names.push(format!("{rest} more"));
    }
    let (asked, change) = (list.method().as_str(), list.change().as_str());
    Some(format!(
        "This answer to {asked} is without what these servers have, since they were not there in time: {}. \
         {change} follows when they are; switchboard list says how they are doing.",
        names.join(", ")
    ))
}

/// Adds an item to a list that has been begun.
fn push(out: &mut String, item: &[u8]) {
    if !out.ends_with('[') {
        out.push(',');
    }
    out.push_str(&String::from_utf8_lossy(item));
}

/// The same for one of all servers', under its outward name.
fn push_item(out: &mut String, item: &MergedItem) {
    if !out.ends_with('[') {
        out.push(',');
    }
    item.write_to(out);
}

/// What a server listed last, where it is away and that is to be told: the result of a
/// request for it.
pub(crate) fn kept(
    gateway: &Gateway,
    client: &Client,
    scope: &Scope,
    method: Method,
    fault: &CallError,
) -> Option<String> {
    let (Scope::One(server), CallError::NotConnected { .. }) = (scope, fault) else {
        return None;
    };
    let list = List::of(method).filter(|_| gateway.keeps_lists())?;
    let known = server.listing(client, list)?;
    let mut out = format!("{{\"{}\":[", method.list_field().unwrap_or_default());
    for item in &known.items {
        push(&mut out, &item.raw);
    }
    out.push(']');
    if client.era() == Era::Modern {
        out.push_str(",\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"");
    }
    out.push('}');
    Some(out)
}

/// Removes from a server's own list what no client could read, or could read
/// otherwise than we do, and what this one may not see. A list without such items
/// is not touched; one that is none, or could itself be read in two ways, is the
/// server's error.
pub(crate) fn hide(
    gateway: &Gateway,
    server: &Server,
    client: &Client,
    method: Method,
    connection: &Arc<Connection>,
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
    one_reading(server, method, body.of(&raw))?;
    let Some(list) = List::of(method) else {
        return Ok(());
    };
    let page = Page::read(list, &reply.message.body_bytes()).map_err(|fault| {
        let (server, reason) = (server.name().to_string(), fault.to_string());
        CallError::Unreadable { server, reason }
    })?;
    page.tell(list, connection);
    let guard = gateway.host().guard();
    let items = page.items.iter().filter_map(|(_, item)| item.as_ref().ok());
    let last = matches!(field(body.of(&raw), "nextCursor"), Ok(None));
    guard.judge_page(server, connection, list, items, last);
    let all = guard.hides_nothing(client, server);
    let count = page.items.len();
    let kept: Vec<&[u8]> = page
        .items
        .iter()
        .filter_map(|(span, item)| {
            let (raw, item) = (span.shifted(body.start).of(&raw), item.as_ref().ok()?);
            (all || guard.shows(client, server, list, &item.key, raw)).then_some(raw)
        })
        .collect();
    if kept.len() < count {
        let mut items = vec![b'['];
        items.extend(kept.join(&b','));
        items.push(b']');
        reply.edits.replace(page.array.shifted(body.start), items);
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
