//! A gateway that is sent something bad, and a good request after it.

use crate::support::wire::{Answer, Wire};
use serde_json::json;
use switchboard_testkit::world::{Gateway, echo, servers};
use switchboard_testkit::{LEGACY, initialize_params};

pub const JSON: (&str, &str) = ("content-type", "application/json");

pub async fn gateway() -> Gateway {
    Gateway::start(&servers([("echo", echo(&[])), ("other", echo(&[]))])).await
}

/// What a good request on a connection gets, after something bad was answered there.
pub async fn still_serves(wire: &mut Wire, what: &str) {
    let answer = wire.post("/mcp/echo", &[JSON], &initialize()).await;
    assert_eq!(answer.status, 200, "{what}: {answer:?}");
    assert_eq!(answer.json()["result"]["protocolVersion"], LEGACY, "{what}");
    assert!(!wire.reconnected, "{what}: the connection was closed");
}

pub fn initialize() -> String {
    let params = initialize_params(LEGACY);
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
}

/// A session and its wire.
pub async fn session(gateway: &Gateway, version: &str) -> (Wire, String) {
    let mut wire = Wire::new(gateway.authority()).await;
    let params = initialize_params(version);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let answer = wire.post("/mcp/echo", &[JSON], &hello.to_string()).await;
    let id = answer.header("mcp-session-id").unwrap().to_owned();
    (wire, id)
}

pub fn code(answer: &Answer) -> i64 {
    answer.json()["error"]["code"].as_i64().unwrap_or_default()
}
