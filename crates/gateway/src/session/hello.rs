//! How the gateway introduces itself: the answers to `initialize` and
//! `server/discover`, for one server and for all of them.

use crate::{gateway::Gateway, limits};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use switchboard_host::{CallError, Client, Hello, Scope, Server, bridge};
use switchboard_wire::{Edits, Era, Message, Revision, json as text, meta};

/// The revision we answer a legacy client with: its own if we know it, else the newest there is.
pub(crate) fn negotiate(initialize: &Message) -> Revision {
    let asked = text::field(initialize.body(), "protocolVersion")
        .ok()
        .flatten();
    let asked = asked.and_then(|span| text::text(span.of(initialize.body())).map(String::from));
    asked
        .and_then(|asked| Revision::parse(&asked))
        .filter(|revision| revision.era() == Era::Legacy)
        .unwrap_or(Revision::NEWEST_LEGACY)
}

/// The name in what a client says of itself.
pub(crate) fn name_of(info: &[u8]) -> Option<String> {
    let name = text::field(info, "name").ok().flatten()?;
    text::text(name.of(info)).map(String::from)
}

/// The capabilities that `initialize` declares.
pub(crate) fn declared(greeting: &Bytes) -> Bytes {
    let span = text::field(greeting, "capabilities").ok().flatten();
    match span {
        Some(span) => greeting.slice(span.start..span.end),
        None => Bytes::from_static(b"{}"),
    }
}

/// The result of `initialize`. On one server it is the server's own, with our
/// protocol version in it.
pub(crate) async fn initialize_result(
    gateway: &Gateway,
    scope: &Scope,
    client: &Arc<Client>,
) -> Result<String, CallError> {
    match scope {
        Scope::One(server) => {
            let connection = server.connection(client).await?;
            let hello = connection.hello().ok_or_else(|| not_met(server))?;
            let hello = &passed_on(gateway, client, server, hello);
            if hello.revision.era() == Era::Modern {
                return Ok(bridge::hello::initialize_result(hello, client.revision));
            }
            let version = format!("\"{}\"", client.revision);
            Ok(replaced(&hello.result, "protocolVersion", &version))
        }
        Scope::All => {
            let merged = merge(gateway, client).await;
            Ok(json!({
                "protocolVersion": client.revision.as_str(),
                "capabilities": merged.capabilities,
                "serverInfo": server_info(gateway),
                "instructions": merged.instructions,
            })
            .to_string())
        }
    }
}

/// The same, saying that log messages come: we have one to send, and who sends
/// any must declare them.
pub(crate) fn with_logging(result: String) -> String {
    let result = Bytes::from(result);
    let capabilities = match text::field(&result, "capabilities") {
        Ok(Some(span)) => result.slice(span.start..span.end),
        _ => Bytes::from_static(b"{}"),
    };
    if !matches!(text::field(&capabilities, "logging"), Ok(None)) {
        return String::from_utf8_lossy(&result).into_owned();
    }
    let capabilities = replaced(&capabilities, "logging", "{}");
    replaced(&result, "capabilities", &capabilities)
}

/// The result of `server/discover`.
pub(crate) async fn discover_result(
    gateway: &Gateway,
    scope: &Scope,
    client: &Arc<Client>,
) -> Result<String, CallError> {
    let versions: Vec<&str> = Revision::ALL
        .iter()
        .rev()
        .map(|revision| revision.as_str())
        .collect();
    match scope {
        Scope::One(server) => {
            let connection = server.connection(client).await?;
            let hello = connection.hello().ok_or_else(|| not_met(server))?;
            let hello = &passed_on(gateway, client, server, hello);
            let versions = json!(versions).to_string();
            if hello.revision.era() == Era::Legacy {
                return Ok(bridge::hello::discover_result(hello, &versions));
            }
            Ok(replaced(&hello.result, "supportedVersions", &versions))
        }
        Scope::All => {
            let merged = merge(gateway, client).await;
            let result = json!({
                "resultType": "complete",
                "supportedVersions": versions,
                "capabilities": merged.capabilities,
                "instructions": merged.instructions,
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": { meta::SERVER_INFO: server_info(gateway) },
            });
            Ok(with_logging(result.to_string()))
        }
    }
}

fn not_met(server: &Server) -> CallError {
    CallError::NotConnected {
        server: server.name().to_string(),
        reason: "it has not introduced itself".into(),
    }
}

/// What a server says of itself, without instructions that wait for approval.
fn passed_on(gateway: &Gateway, client: &Client, server: &Server, hello: &Hello) -> Hello {
    let mut hello = hello.clone();
    if !gateway.host().guard().passes_on(client, server, &hello) {
        hello.result = bridge::hello::without_instructions(&hello.result);
    }
    hello
}

struct Together {
    capabilities: Value,
    instructions: String,
}

/// What all servers that answer can do together.
async fn merge(gateway: &Gateway, client: &Arc<Client>) -> Together {
    let host = gateway.host();
    host.attach(client);
    host.refresh(client, &[]).await;
    host.compare_pinned(client).await;
    let mut capabilities = Map::new();
    capabilities.insert("tools".into(), json!({}));
    let reached = |server: &&Arc<Server>| host.guard().reaches(client, server);
    let mut starting = host.servers().to_vec();
    starting.retain(|server| reached(&server) && server.is_starting());
    if starting.iter().any(|server| server.hello(client).is_none()) {
        // What is not said now is not asked for later, whatever they turn out to have.
        for name in ["resources", "prompts"] {
            capabilities.insert(name.into(), json!({}));
        }
    }
    let mut instructions = String::new();
    let mut held = Vec::new();
    for server in host.servers().iter() {
        if host.guard().reaches(client, server)
            && let Ok(news) = host.guard().news_for(client, server)
        {
            held.extend(news.for_models());
        }
        let Some(hello) = server.hello(client) else {
            continue;
        };
        let mut theirs = parsed_capabilities(&hello);
        merge_tasks(&mut capabilities, &mut theirs, &hello, client.revision);
        for (name, value) in theirs {
            let slot = capabilities.entry(name).or_insert_with(|| json!({}));
            if let (Some(slot), Some(value)) = (slot.as_object_mut(), value.as_object()) {
                slot.extend(value.clone());
            }
        }
        let text =
            instructions_of(&hello).filter(|_| host.guard().passes_on(client, server, &hello));
        if let Some(text) = text {
            let text: String = text
                .chars()
                .take(switchboard_host::limits::INSTRUCTIONS_CHARS)
                .collect();
            instructions.push_str(&format!("# {}\n{text}\n\n", server.name()));
        }
    }
    if !held.is_empty() {
        let rest = held.len().saturating_sub(limits::SERVERS_NAMED);
        held.truncate(limits::SERVERS_NAMED);
        if rest > 0 {
            held.push(format!(
                "The same is so of more servers, in number: {rest}."
            ));
        }
        // First, since clients may cut what is long.
        instructions.insert_str(0, &format!("# Switchboard\n{}\n\n", held.join("\n")));
    }
    // Servers come and go, so every list we have can change.
    for (name, value) in &mut capabilities {
        if let (true, Some(value)) = (
            ["tools", "resources", "prompts"].contains(&name.as_str()),
            value.as_object_mut(),
        ) {
            value.insert("listChanged".into(), json!(true));
        }
    }
    Together {
        capabilities: Value::Object(capabilities),
        instructions: instructions.trim_end().to_owned(),
    }
}

/// Tasks where the client's own kind is meant: the ones of the other era are run
/// by us; and pages, which lead back to their servers. Nothing else of what is experimental or an extension is offered, since
/// we could not route it.
fn merge_tasks(
    all: &mut Map<String, Value>,
    theirs: &mut Map<String, Value>,
    hello: &Hello,
    client: Revision,
) {
    let [legacy, extensions, _] =
        ["tasks", "extensions", "experimental"].map(|name| theirs.remove(name));
    let pages = extensions
        .as_ref()
        .and_then(|all| all.get(meta::UI_EXTENSION));
    if let Some(pages) = pages.filter(|pages| pages.is_object()) {
        let slot = all.entry("extensions").or_insert_with(|| json!({}));
        unite(&mut slot[meta::UI_EXTENSION], pages.clone());
    }
    if hello.revision.era() != client.era() {
        return;
    }
    let extension =
        extensions.and_then(|mut all| all.get_mut(meta::TASKS_EXTENSION).map(Value::take));
    if let (Era::Modern, Some(extension)) = (client.era(), extension) {
        let slot = all.entry("extensions").or_insert_with(|| json!({}));
        unite(&mut slot[meta::TASKS_EXTENSION], extension);
    }
    if let (Revision::V2025_11_25, Some(tasks)) = (client, legacy) {
        unite(all.entry("tasks").or_insert_with(|| json!({})), tasks);
    }
}

/// Everything that either says, objects within objects too. What is not an
/// object on both sides stays as it was said first.
fn unite(slot: &mut Value, other: Value) {
    match (slot, other) {
        (Value::Object(slot), Value::Object(other)) => {
            for (name, value) in other {
                unite(slot.entry(name).or_insert(Value::Null), value);
            }
        }
        (slot @ Value::Null, other) => *slot = other,
        _ => {}
    }
}

fn parsed_capabilities(hello: &Hello) -> Map<String, Value> {
    serde_json::from_slice(&hello.capabilities()).unwrap_or_default()
}

fn instructions_of(hello: &Hello) -> Option<String> {
    let span = text::field(&hello.result, "instructions").ok().flatten()?;
    text::text(span.of(&hello.result)).map(String::from)
}

fn server_info(gateway: &Gateway) -> Value {
    json!({ "name": "switchboard", "title": "Switchboard", "version": gateway.version() })
}

/// A JSON object's text with one member's value replaced, or added where it is missing.
fn replaced(object: &Bytes, key: &'static str, value: &str) -> String {
    let mut edits = Edits::new();
    match text::field(object, key) {
        Ok(Some(span)) => {
            edits.replace(span, value.to_owned());
        }
        _ => {
            let empty = text::members(object).next().is_none();
            let comma = if empty { "" } else { "," };
            edits.replace(text::Span::new(1, 1), format!("\"{key}\":{value}{comma}"));
        }
    }
    String::from_utf8_lossy(&edits.apply_to_slice(object)).into_owned()
}
