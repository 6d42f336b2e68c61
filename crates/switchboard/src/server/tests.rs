#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::{Agent, host::permission::Mode};
use serde::Deserialize;
use switchboard_wire::limits::MESSAGE_BYTES;

#[derive(Deserialize, JsonSchema)]
struct Sum {
    left: i64,
    right: i64,
}

fn adder() -> Server {
    let add = async |sum: Sum, _: Call| (sum.left + sum.right).to_string();
    Server::new("adder", "1").tool("add", "Adds.", typed::<Sum>(), add)
}

#[tokio::test]
async fn an_agent_has_it_as_any_other() {
    let agent = Agent::builder()
        .server(adder().spec().unwrap())
        .mode(Mode::Bypass)
        .build()
        .unwrap();
    let tools = agent.tools().await.to_anthropic();
    assert_eq!(tools[0]["name"], "mcp__adder__add", "{tools:?}");
    let input = json!({"left": 40, "right": 2});
    let call = json!({"type": "tool_use", "id": "1", "name": "mcp__adder__add", "input": input});
    let result = agent.call(&call).await;
    assert!(result.to_string().contains("42"), "{result}");
    agent.close().await;
}

/// Whoever calls hears of an answer that no message has room for, and does not wait for it.
#[tokio::test]
async fn an_answer_that_is_too_large_is_told() {
    let all = async |_: Value, _: Call| "x".repeat(MESSAGE_BYTES);
    let server = Server::new("s", "1").tool("all", "Says all.", json!({"type": "object"}), all);
    let agent = Agent::builder()
        .server(server.spec().unwrap())
        .mode(Mode::Bypass)
        .build()
        .unwrap();
    let call = json!({"type": "tool_use", "id": "1", "name": "mcp__s__all", "input": {}});
    let result = agent.call(&call).await;
    assert!(result.to_string().contains("cannot be sent"), "{result}");
    agent.close().await;
}

#[test]
fn what_cannot_be_offered_is_said_before_anybody_is_served() {
    let nothing = async |_: Value, _: Call| "";
    let object = || json!({"type": "object"});
    let tool = |name: &str, schema: Value| {
        Server::new("s", "1").tool(name, "Does nothing.", schema, nothing)
    };
    for (server, says) in [
        (tool("a b", object()), "letters, digits"),
        (tool("", object()), "letters, digits"),
        (tool("a", json!({"type": "string"})), "\"object\""),
        (tool("a", json!(true)), "\"object\""),
        (
            tool(
                "a",
                json!({"type": "object", "properties": {"x": {"type": "nonsense"}}}),
            ),
            "cannot be used",
        ),
        (
            tool("twice", object()).tool("twice", "Again.", object(), nothing),
            "two tools of the name \"twice\"",
        ),
    ] {
        let fault = server.spec().unwrap_err().to_string();
        assert!(fault.contains(says), "{fault}");
        assert!(fault.contains("server s"), "{fault}");
    }
}

#[tokio::test]
async fn nobody_is_let_in_from_everywhere() {
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let door = switchboard_gateway::Door {
        open: true,
        ..switchboard_gateway::Door::default()
    };
    let stop = tokio_util::sync::CancellationToken::new();
    let fault = adder().serve_http(listener, door, stop).await.unwrap_err();
    assert!(matches!(fault, ServerFault::OpenToAll(_)), "{fault}");
}
