//! Requests to a server over HTTP stand alone: what becomes of some is no reason to give
//! up the others.

use crate::support::served::Served;
use serde_json::json;
use std::time::Duration;
use switchboard_testkit::{DEADLINE, Heard, HttpServer, MODERN, Said};

fn say(heard: &Heard) -> Said {
    match heard.method() {
        "server/discover" => Said::Result(json!({
            "resultType": "complete", "supportedVersions": [MODERN], "capabilities": {"tools": {}},
            "ttlMs": 60_000, "cacheScope": "private",
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "alone", "version": "1"}},
        })),
        "tools/list" => Said::Result(json!({
            "resultType": "complete", "ttlMs": 60_000, "cacheScope": "private",
            "tools": [
                {"name": "slow", "inputSchema": {"type": "object"}},
                {"name": "bad", "inputSchema": {"type": "object"}},
            ],
        })),
        "tools/call" if heard.message["params"]["name"] == "slow" => {
            let params = json!({"level": "info", "data": "it has begun"});
            Said::Open(
                json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}),
            )
        }
        // As if it had become another server: after some of these it is met again.
        "tools/call" => Said::Error(400, -32022, "Unsupported protocol version"),
        _ => Said::Error(404, -32601, "Method not found"),
    }
}

/// A call that is under way gets its answer, though others fail in a row and the server is
/// met again meanwhile.
#[tokio::test]
async fn a_call_outlives_the_connection_that_others_have_lost() {
    let server = HttpServer::start(say).await;
    let served = Served::start(&json!({"a": {"type": "http", "url": server.url}})).await;
    let mut patient = served.legacy("/mcp/a").await;
    let slow = tokio::spawn(async move { patient.call("slow", json!({})).await });
    let begun = async {
        loop {
            let all = server.heard("tools/call");
            if let Some(call) = all.into_iter().next() {
                return call.message["id"].clone();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let id = tokio::time::timeout(DEADLINE, begun)
        .await
        .expect("it has begun");
    let met = server.heard("server/discover").len();
    let mut hasty = served.legacy("/mcp/a").await;
    let met_again = async {
        while server.heard("server/discover").len() == met {
            let answer = hasty.call("bad", json!({})).await;
            assert!(answer.get("error").is_some(), "{answer}");
        }
    };
    tokio::time::timeout(DEADLINE, met_again)
        .await
        .expect("it is met again");
    assert!(!slow.is_finished(), "{:?}", slow.await);
    let result = json!({"resultType": "complete", "content": [{"type": "text", "text": "done"}]});
    server.tell(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    let answer = slow.await.unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
}
