//! `tasks/list` over all servers: the pages of one server after those of the
//! other, each task under an id that leads back to its server.

use super::{lists, rewrite};
use crate::{gateway::Gateway, limits};
use bytes::Bytes;
use std::sync::Arc;
use switchboard_host::{
    Admitted, CallError, Client, Outcome, Reply, Scope, Server, observe::Trace,
};
use switchboard_wire::{
    Era, Id, Kind, Message, Method, Params, code, json,
    reading::{self, Object},
};
use tokio::time::timeout;

/// One page: as many servers as it takes until one has more to tell.
pub(super) async fn page(
    gateway: &Gateway,
    client: &Arc<Client>,
    message: &Message,
) -> Result<String, CallError> {
    let params = Params::of(message)?;
    let (from, mut cursor) = match Params::text(message, params.cursor, "cursor")? {
        Some(cursor) => {
            let (server, cursor) = lists::open(&cursor)?;
            (Some(server), Some(cursor).filter(|text| !text.is_empty()))
        }
        None => (None, None),
    };
    let servers = gateway.host().servers();
    let begin = match &from {
        None => 0,
        Some(from) => servers
            .iter()
            .position(|server| server.name().as_ref() == from)
            // One that has gone since: its tasks went with it.
            .unwrap_or(servers.len()),
    };
    let mut tasks: Vec<String> = Vec::new();
    for server in servers.iter().skip(begin) {
        if !can_list(server, client) {
            continue;
        }
        if tasks.len() >= limits::TASKS_PAGE {
            return Ok(result(
                &tasks,
                Some((server.name().to_string(), String::new())),
            ));
        }
        let asked = ask(gateway, server, client, cursor.take());
        match timeout(limits::TASKS_WAIT, asked).await {
            Ok(Ok(reply)) => {
                let (theirs, next) = match read(gateway, server, &reply) {
                    Ok(page) => page,
                    Err(fault) => {
                        tracing::warn!(server = %server.name(), %fault, "its tasks are left out");
                        continue;
                    }
                };
                tasks.extend(theirs);
                if let Some(next) = next {
                    return Ok(result(&tasks, Some((server.name().to_string(), next))));
                }
            }
            Ok(Err(fault)) if from.as_deref() == Some(server.name()) => return Err(fault),
            Ok(Err(fault)) => {
                tracing::warn!(server = %server.name(), %fault, "its tasks are left out");
            }
            Err(_) => {
                tracing::warn!(server = %server.name(), "its tasks take too long and are left out");
            }
        }
    }
    Ok(result(&tasks, None))
}

/// Whether the server has such a list: the modern era has none.
fn can_list(server: &Server, client: &Client) -> bool {
    let Some(hello) = server.hello(client) else {
        return false;
    };
    let capabilities = hello.capabilities();
    let tasks = json::field(&capabilities, "tasks").ok().flatten();
    let list = tasks.and_then(|tasks| json::field(tasks.of(&capabilities), "list").ok()?);
    hello.revision.era() == Era::Legacy && list.is_some()
}

async fn ask(
    gateway: &Gateway,
    server: &Arc<Server>,
    client: &Arc<Client>,
    cursor: Option<String>,
) -> Result<Reply, CallError> {
    let params = match cursor {
        Some(cursor) => format!("{{\"cursor\":{}}}", json::quote(&cursor)),
        None => "{}".to_owned(),
    };
    let message = Message::request(&Id::number(0), Method::TasksList, &params);
    let admitted = Admitted {
        client: client.clone(),
        scope: Scope::One(server.clone()),
        params: Params::of(&message)?,
        message,
        headers: None,
        trace: Trace::default(),
        passes_on: false,
    };
    // Boxed: few ask for tasks, and what answers every request has room for this.
    let called = Box::pin(gateway.host().call(admitted)).await?;
    match called.outcome().await {
        Outcome::Reply(reply) if reply.message.kind() == Kind::Error => Err(CallError::refused(
            reply.message.error_code().unwrap_or(code::INTERNAL),
            reply.message.error_text().unwrap_or_default(),
        )),
        Outcome::Reply(reply) => Ok(reply),
        Outcome::Failed(fault) => Err(fault),
        // Nobody said that it may be.
        Outcome::Begun(_) => Err(CallError::broke_off()),
    }
}

/// The tasks of a server's page, under ids of ours, and its own cursor.
fn read(
    gateway: &Gateway,
    server: &Server,
    reply: &Reply,
) -> Result<(Vec<String>, Option<String>), CallError> {
    // What is another client's has been taken out by an edit.
    let page = Message::parse(reply.message.edited(&reply.edits).into_bytes());
    let page = page.map_err(|fault| CallError::Unreadable {
        server: server.name().to_string(),
        reason: fault.to_string(),
    })?;
    let body = page.body_bytes();
    let [list, next, ..] = lists::one_reading(server, Method::TasksList, &body)?;
    let next = next.and_then(|span| json::text(span.of(&body)).map(String::from));
    let list = list.map_or(Bytes::new(), |span| body.slice(span.start..span.end));
    let clear =
        |span: &json::Span| reading::check(Object::Item(Method::TasksList), span.of(&list)).is_ok();
    let outward = json::elements(&list).filter(clear).map(|span| {
        let item = list.slice(span.start..span.end);
        let mut edits = switchboard_wire::Edits::new();
        let whole = json::Span::new(0, item.len());
        if let Some(id) = rewrite::at(&item, whole, "taskId") {
            rewrite::outward_task(gateway, server.name(), &item, id, &mut edits);
        }
        String::from_utf8_lossy(&edits.apply_to_slice(&item)).into_owned()
    });
    Ok((outward.collect(), next))
}

fn result(tasks: &[String], next: Option<(String, String)>) -> String {
    let next = next.map_or(String::new(), |next| {
        format!(",\"nextCursor\":\"{}\"", lists::seal(&next))
    });
    format!("{{\"tasks\":[{}]{next}}}", tasks.join(","))
}
