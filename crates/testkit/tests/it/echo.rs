//! The echo server, directly, over both transports and in both eras.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::json;
use switchboard_testkit::{HttpClient, LEGACY, Program, StdioClient, bin, text_of};

fn stdio(args: &[&str]) -> StdioClient {
    StdioClient::new(
        Program::new(bin("echo-server"))
            .arg("--stdio")
            .args(args)
            .spawn(),
    )
}

fn http(args: &[&str]) -> Program {
    Program::new(bin("echo-server"))
        .args(["--http", "0"])
        .args(args)
        .spawn()
}

#[tokio::test]
async fn stdio_legacy() {
    let mut client = stdio(&[]);
    let hello = client.initialize("2025-06-18").await;
    assert_eq!(hello["protocolVersion"], "2025-06-18");
    assert_eq!(
        text_of(&client.call("echo", json!({"nonce": "a\n\"b"})).await),
        "a\n\"b"
    );
    assert_eq!(
        text_of(
            &client
                .call("echo", json!({"nonce": "x", "delayMs": 5}))
                .await
        ),
        "x"
    );
    assert_eq!(
        text_of(&client.call("payload", json!({"bytes": 100_000})).await).len(),
        100_000
    );
    client.send_raw(r#"{"id":1.0,"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{"nonce":"\ud800"}}}"#).await;
    let raw = client.next_raw().await;
    assert_eq!(
        raw,
        br#"{"jsonrpc":"2.0","id":1.0,"result":{"content":[{"type":"text","text":"\ud800"}]}}"#
    );
    let params =
        json!({"name": "progress", "arguments": {"steps": 3}, "_meta": {"progressToken": "t"}});
    assert_eq!(
        text_of(&client.request("tools/call", params).await),
        "3 steps"
    );
    assert_eq!(client.notifications.len(), 3);
    assert_eq!(client.notifications[2]["params"]["progressToken"], "t");
    client.on_request(|_, params| json!({"result": {"action": "accept", "content": {"answer": params["message"]}}}));
    let asked = client.call("elicit", json!({"message": "hm?"})).await;
    assert!(text_of(&asked).contains("hm?"));
}

#[tokio::test]
async fn stdio_notifications_and_cancelling() {
    let mut client = stdio(&[]);
    client.initialize(LEGACY).await;
    client
        .request("resources/subscribe", json!({"uri": "echo://2"}))
        .await;
    client.call("touch", json!({"uri": "echo://1"})).await;
    client.call("touch", json!({"uri": "echo://2"})).await;
    let updated = client.notification("notifications/resources/updated").await;
    assert_eq!(updated["params"]["uri"], "echo://2");
    client.call("change_list", json!({})).await;
    client
        .notification("notifications/tools/list_changed")
        .await;
    let tools = client.request("tools/list", json!({})).await;
    assert!(tools.to_string().contains("added_1"));
    client
        .request("logging/setLevel", json!({"level": "error"}))
        .await;
    client
        .call("log", json!({"level": "info", "text": "no"}))
        .await;
    client
        .call("log", json!({"level": "alert", "text": "yes"}))
        .await;
    assert_eq!(
        client.notification("notifications/message").await["params"]["data"],
        "yes"
    );
    let id = client
        .start(
            "tools/call",
            json!({"name": "sleep", "arguments": {"ms": 60_000}}),
        )
        .await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    client
        .notify("notifications/cancelled", json!({"requestId": id}))
        .await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(text_of(&client.call("cancelled", json!({})).await), "1");
}

#[tokio::test]
async fn stdio_modern() {
    let mut client = stdio(&["--era", "modern"]);
    assert!(
        client.request("initialize", json!({})).await["error"]["message"]
            .to_string()
            .contains("2026-07-28")
    );
    let found = client.modern("server/discover", json!({})).await;
    assert_eq!(found["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(found["result"]["resultType"], "complete");
    let echo = client
        .modern(
            "tools/call",
            json!({"name": "echo", "arguments": {"nonce": "n"}}),
        )
        .await;
    assert_eq!(echo["result"]["resultType"], "complete");
    assert_eq!(text_of(&echo), "n");
    assert_eq!(
        client.modern("tools/list", json!({})).await["result"]["cacheScope"],
        "public"
    );
    let asked = client
        .modern("tools/call", json!({"name": "roots", "arguments": {}}))
        .await;
    assert_eq!(asked["result"]["resultType"], "input_required");
    let retry = json!({"name": "roots", "arguments": {}, "requestState": "echo:roots", "inputResponses": {"roots": {"roots": []}}});
    assert_eq!(
        text_of(&client.modern("tools/call", retry).await),
        r#"{"roots":[]}"#
    );
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let id = client
        .start(
            "subscriptions/listen",
            switchboard_testkit::with_meta(listen),
        )
        .await;
    client
        .notification("notifications/subscriptions/acknowledged")
        .await;
    client
        .modern(
            "tools/call",
            json!({"name": "change_list", "arguments": {}}),
        )
        .await;
    let told = client
        .notification("notifications/tools/list_changed")
        .await;
    assert_eq!(
        told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        id
    );
}

#[tokio::test]
async fn http_legacy() {
    let server = http(&[]);
    let url = server.url().await;
    let mut client = HttpClient::new(&url).keep_alive();
    assert_eq!(
        client
            .post(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
            .await
            .status,
        400
    );
    client.initialize(LEGACY).await;
    assert_eq!(
        text_of(&client.call("echo", json!({"nonce": "n"})).await),
        "n"
    );
    assert_eq!(
        text_of(&client.call("payload", json!({"bytes": 70_000})).await).len(),
        70_000
    );
    let mut events = client.listen().await;
    assert_eq!(events.status, 200);
    client.call("change_list", json!({})).await;
    assert_eq!(
        events.message().await.unwrap()["method"],
        "notifications/tools/list_changed"
    );
    let params = json!({"name": "elicit", "arguments": {}});
    let mut call = client.stream("tools/call", params).await;
    let asked = call.message().await.unwrap();
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "decline"}});
    assert_eq!(
        client.post(answer.to_string()).await.status,
        StatusCode::ACCEPTED
    );
    assert!(text_of(&call.message().await.unwrap()).contains("decline"));
    assert_eq!(client.send(Method::DELETE, &[], "").await.status, 200);
    assert_eq!(
        client
            .post(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
            .await
            .status,
        404
    );
    let evil = client
        .send(Method::POST, &[("origin", "http://evil.example")], "{}")
        .await;
    assert_eq!(evil.status, 403);
}

#[tokio::test]
async fn http_modern() {
    let server = http(&[]);
    let mut client = HttpClient::new(&server.url().await);
    let echo = client
        .modern(
            "tools/call",
            json!({"name": "echo", "arguments": {"nonce": "n"}}),
        )
        .await;
    assert_eq!(text_of(&echo.message()), "n");
    assert_eq!(client.modern("nope", json!({})).await.status, 404);
    let wrong = client.send(Method::POST, &[("mcp-method", "tools/list")], json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": switchboard_testkit::with_meta(json!({}))
    }).to_string()).await;
    assert_eq!(
        (
            wrong.status.as_u16(),
            wrong.message()["error"]["code"].as_i64()
        ),
        (400, Some(-32020))
    );
    let read = client
        .modern("resources/read", json!({"uri": "echo://7"}))
        .await
        .message();
    assert_eq!(read["result"]["contents"][0]["text"], "echo 7");
    let progress =
        json!({"name": "progress", "arguments": {"steps": 2}, "_meta": {"progressToken": 7}});
    let messages = client.modern("tools/call", progress).await.messages();
    assert_eq!(messages.len(), 3);
    // A closed connection is a cancel.
    let sleep = json!({"name": "sleep", "arguments": {"ms": 60_000}});
    client.deadline = Duration::from_millis(200);
    let task = tokio::spawn(async move {
        client.modern("tools/call", sleep).await;
    });
    assert!(task.await.is_err());
    let mut client = HttpClient::new(&server.url().await);
    let mut count = String::new();
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let reply = client
            .modern("tools/call", json!({"name": "cancelled", "arguments": {}}))
            .await;
        count = text_of(&reply.message()).to_owned();
        if count == "1" {
            break;
        }
    }
    assert_eq!(count, "1");
    let mut listen = client
        .modern_stream(
            "subscriptions/listen",
            json!({"notifications": {"resourceSubscriptions": ["echo://1"]}}),
        )
        .await;
    assert_eq!(
        listen.message().await.unwrap()["method"],
        "notifications/subscriptions/acknowledged"
    );
    client
        .modern(
            "tools/call",
            json!({"name": "touch", "arguments": {"uri": "echo://1"}}),
        )
        .await;
    assert_eq!(
        listen.message().await.unwrap()["method"],
        "notifications/resources/updated"
    );
}
