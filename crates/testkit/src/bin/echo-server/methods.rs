//! What the server answers to each method, apart from `tools/call`.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::Eras;
use crate::call::{Answer, Call};
use crate::catalog;
use crate::tools;
use crate::world::{Era, LEGACY, LEVELS, Listener, MODERN, lock};

/// Answers one request.
pub async fn dispatch(call: &Call) -> Answer {
    if let Some(refusal) = refuse(call) {
        return refusal;
    }
    match (call.method.as_str(), call.era) {
        ("tools/call", _) => tools::call(call).await,
        ("tools/list", _) => {
            let world = &call.world;
            let writes = world.writes.load(Ordering::SeqCst);
            let generation = world.generation.load(Ordering::SeqCst);
            Answer::Result(catalog::tools(generation, writes))
        }
        ("resources/list", _) => Answer::Result(catalog::resources()),
        ("resources/templates/list", _) => Answer::Result(catalog::templates()),
        ("resources/read", _) => read(call),
        ("prompts/list", _) => Answer::Result(catalog::prompts()),
        ("prompts/get", _) => prompt(call),
        ("completion/complete", _) => {
            Answer::Result(json!({"completion": {"values": ["one", "two"], "hasMore": false}}))
        }
        ("initialize", Era::Legacy) => initialize(call),
        ("ping", Era::Legacy) => Answer::Result(json!({})),
        ("logging/setLevel", Era::Legacy) => set_level(call),
        ("resources/subscribe", Era::Legacy) => subscribe(call, true),
        ("resources/unsubscribe", Era::Legacy) => subscribe(call, false),
        ("server/discover", Era::Modern) => Answer::Result(discover(call)),
        ("subscriptions/listen", Era::Modern) => listen(call).await,
        _ => Answer::error(-32601, format!("Method not found: {}", call.method)),
    }
}

/// What is wrong with the era or the metadata of a request.
fn refuse(call: &Call) -> Option<Answer> {
    match (call.era, call.world.eras) {
        (Era::Legacy, Eras::Modern) => Some(Answer::error(
            -32602,
            format!("this server speaks {MODERN} only: _meta with the protocol version is missing"),
        )),
        (Era::Modern, Eras::Legacy) => Some(Answer::error(
            -32601,
            format!("Method not found: {}", call.method),
        )),
        (Era::Modern, _) if *call.meta("protocolVersion") != MODERN => Some(Answer::error_with(
            -32022,
            "Unsupported protocol version",
            json!({"supported": versions(call.world.eras), "requested": call.meta("protocolVersion")}),
        )),
        (Era::Modern, _) if !call.meta("clientCapabilities").is_object() => {
            Some(Answer::error(-32602, "_meta lacks clientCapabilities"))
        }
        _ => None,
    }
}

fn versions(eras: Eras) -> Vec<&'static str> {
    match eras {
        Eras::Modern => vec![MODERN],
        Eras::Legacy => LEGACY.to_vec(),
        Eras::Both => [&[MODERN][..], &LEGACY[..]].concat(),
    }
}

/// Adds what the modern era wants in a result.
pub fn modernise(method: &str, mut result: Value) -> Value {
    if let Some(fields) = result.as_object_mut() {
        fields
            .entry("resultType")
            .or_insert_with(|| "complete".into());
        let cacheable =
            method.ends_with("/list") || matches!(method, "server/discover" | "resources/read");
        if cacheable && fields["resultType"] == "complete" {
            fields.entry("ttlMs").or_insert_with(|| 1000.into());
            fields
                .entry("cacheScope")
                .or_insert_with(|| "public".into());
        }
    }
    result
}

fn server_info(call: &Call) -> Value {
    json!({"name": call.world.name, "version": env!("CARGO_PKG_VERSION")})
}

fn initialize(call: &Call) -> Answer {
    let asked = call.params["protocolVersion"].as_str().unwrap_or_default();
    let version = if LEGACY.contains(&asked) {
        asked
    } else {
        LEGACY[0]
    };
    *lock(&call.session.capabilities) = call.params["capabilities"].clone();
    Answer::Result(json!({
        "protocolVersion": version,
        "capabilities": catalog::capabilities(),
        "serverInfo": server_info(call),
        "instructions": "Returns what it was given."
    }))
}

fn discover(call: &Call) -> Value {
    json!({
        "supportedVersions": versions(call.world.eras),
        "capabilities": catalog::capabilities(),
        "instructions": "Returns what it was given.",
        "_meta": {"io.modelcontextprotocol/serverInfo": server_info(call)}
    })
}

fn set_level(call: &Call) -> Answer {
    match LEVELS
        .iter()
        .position(|level| call.params["level"] == *level)
    {
        Some(level) => {
            call.session.level.store(level as u8, Ordering::Relaxed);
            Answer::Result(json!({}))
        }
        None => Answer::error(-32602, "no such level"),
    }
}

fn subscribe(call: &Call, on: bool) -> Answer {
    let Some(uri) = call.params["uri"].as_str() else {
        return Answer::error(-32602, "uri is missing");
    };
    let mut subscribed = lock(&call.session.subscribed);
    if on {
        subscribed.insert(uri.to_owned());
    } else {
        subscribed.remove(uri);
    }
    Answer::Result(json!({}))
}

fn read(call: &Call) -> Answer {
    let uri = call.params["uri"].as_str().unwrap_or_default();
    match uri
        .strip_prefix("echo://")
        .and_then(|n| n.parse::<u64>().ok())
    {
        Some(n) => Answer::Result(json!({"contents": [
            {"uri": uri, "mimeType": "text/plain", "text": format!("echo {n}")}
        ]})),
        None => {
            let code = if call.era == Era::Modern {
                -32602
            } else {
                -32002
            };
            Answer::error_with(code, "Resource not found", json!({"uri": uri}))
        }
    }
}

fn prompt(call: &Call) -> Answer {
    if call.params["name"] != "greet" {
        return Answer::error(-32602, "no such prompt");
    }
    let name = call.params["arguments"]["name"].as_str().unwrap_or("you");
    Answer::Result(json!({"messages": [
        {"role": "user", "content": {"type": "text", "text": format!("Greet {name}.")}}
    ]}))
}

/// Stays until it is cancelled; the listener is told by `World`.
async fn listen(call: &Call) -> Answer {
    let filter = call.params["notifications"].clone();
    let id = &call.id;
    call.out.send(format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{filter}}}}}"#
    ));
    let key = id.clone().into_bytes();
    lock(&call.world.listeners).push(Listener {
        id: key.clone(),
        filter,
        out: call.out.clone(),
    });
    call.cancel.cancelled().await;
    lock(&call.world.listeners)
        .retain(|listener| listener.id != key || !listener.out.same(&call.out));
    Answer::Silent
}
