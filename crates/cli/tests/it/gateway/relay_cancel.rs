//! Giving up: a cancellation reaches the server exactly once, a modern client's
//! closed stream is one, a legacy client's is not and can be resumed (fault 24).

use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{
    Client, Gateway, address, command, echo, echo_http, servers, stdio_client,
};
use switchboard_testkit::{DEADLINE, LEGACY, StdioClient, text_of, with_meta};

const SETTLED: Duration = Duration::from_millis(250);

/// What a server that counts has counted, once it is this many and stays so.
async fn counted(client: &mut Client, tool: &str, read: impl Fn(&str) -> u64, expected: u64) {
    for _ in 0..100 {
        if read(&client.call(tool, json!({})).await) == expected {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    tokio::time::sleep(SETTLED).await;
    assert_eq!(
        read(&client.call(tool, json!({})).await),
        expected,
        "{tool}"
    );
}

fn number(text: &str) -> u64 {
    text.parse().unwrap()
}

/// The cancellations that a counting evil server received, effective or not.
fn cancels(text: &str) -> u64 {
    let stats: Value = serde_json::from_str(text).unwrap();
    stats["cancels"].as_u64().unwrap()
}

fn counting() -> Value {
    command("evil-stdio", ["--mode", "hang-call"])
}

fn strike() -> Value {
    json!({"name": "strike", "arguments": {}})
}

#[tokio::test]
async fn a_legacy_notification_reaches_a_process_once() {
    let gateway = Gateway::start(&servers([("evil", counting())])).await;
    let mut client = Client::new(&gateway, "/mcp/evil", false).await;
    let message =
        json!({"jsonrpc": "2.0", "id": "mine", "method": "tools/call", "params": strike()});
    let mut stream = client
        .http
        .open(Method::POST, &[], message.to_string())
        .await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "mine", "reason": "enough"}});
    for _ in 0..3 {
        assert_eq!(client.http.post(cancel.to_string()).await.status, 202);
    }
    // Nothing is owed any more: the stream ends without an answer.
    let end = tokio::time::timeout(DEADLINE, stream.message()).await;
    assert_eq!(end.expect("the stream ends"), None);
    counted(&mut client, "stats", cancels, 1).await;
}

#[tokio::test]
async fn a_legacy_notification_reaches_an_address_once() {
    let remote = echo_http(&[]);
    let gateway = Gateway::start(&servers([("echo", address(&remote).await)])).await;
    let mut client = Client::new(&gateway, "/mcp/echo", false).await;
    let params = json!({"name": "sleep", "arguments": {"ms": 20_000}});
    let message = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params});
    let _stream = client
        .http
        .open(Method::POST, &[], message.to_string())
        .await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}});
    client.http.post(cancel.to_string()).await;
    counted(&mut client, "cancelled", number, 1).await;
}

#[tokio::test]
async fn a_modern_clients_closed_stream_cancels() {
    let remote = echo_http(&[]);
    for entry in [echo(&[]), address(&remote).await] {
        let gateway = Gateway::start(&servers([("echo", entry)])).await;
        let mut client = Client::new(&gateway, "/mcp/echo", true).await;
        let params = json!({"name": "progress", "arguments": {"steps": 1000, "intervalMs": 20}, "_meta": {"progressToken": 1}});
        let mut stream = client.stream("tools/call", params).await;
        stream.message().await.unwrap();
        drop(stream);
        counted(&mut client, "cancelled", number, 1).await;
    }
}

/// Also before the answer has begun, while there is no stream yet.
#[tokio::test]
async fn a_modern_clients_closed_connection_cancels_once() {
    let gateway = Gateway::start(&servers([("evil", counting())])).await;
    let mut client = Client::new(&gateway, "/mcp/evil", true).await;
    client.call("ok", json!({})).await;
    let mut other = gateway.client("/mcp/evil");
    let waiting = tokio::spawn(async move { other.modern("tools/call", strike()).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    waiting.abort();
    counted(&mut client, "stats", cancels, 1).await;
}

#[tokio::test]
async fn notifications_on_stdio_reach_the_server_once() {
    for modern in [false, true] {
        let mut client: StdioClient = stdio_client(&servers([("evil", counting())]));
        if !modern {
            client.initialize(LEGACY).await;
        }
        let meta = |params: Value| if modern { with_meta(params) } else { params };
        // A call that is given up before its server has started never gets there.
        client
            .request("tools/call", meta(json!({"name": "ok", "arguments": {}})))
            .await;
        let id = client.start("tools/call", meta(strike())).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        for _ in 0..2 {
            client
                .notify("notifications/cancelled", json!({"requestId": id}))
                .await;
        }
        tokio::time::sleep(SETTLED).await;
        let stats = client
            .request(
                "tools/call",
                meta(json!({"name": "stats", "arguments": {}})),
            )
            .await;
        assert_eq!(cancels(text_of(&stats)), 1, "modern {modern}");
    }
}

/// Cancel and answer race: the first wins, there is at most one of each.
#[tokio::test]
async fn cancel_races_completion() {
    let mut client: StdioClient = stdio_client(&servers([("echo", echo(&[]))]));
    client.initialize(LEGACY).await;
    let mut answered = 0;
    let mut calls = std::collections::HashSet::new();
    for round in 0..60_u64 {
        let params = json!({"name": "echo", "arguments": {"nonce": "n", "delayMs": round % 4}});
        let id = client.start("tools/call", params).await;
        tokio::time::sleep(Duration::from_micros(500 * (round % 7))).await;
        client
            .notify("notifications/cancelled", json!({"requestId": id}))
            .await;
        calls.insert(id);
        // An answer that was under way may still come, even after the ping's; but only one.
        let ping = client.start("ping", json!({})).await;
        loop {
            let message = client.next().await;
            if message["id"] == ping {
                break;
            }
            let theirs = message["id"].as_u64().unwrap();
            assert!(
                calls.remove(&theirs),
                "an answer to something else: {message}"
            );
            answered += 1;
        }
    }
    assert!(answered <= 60);
    let answer = client.call("cancelled", json!({})).await;
    assert!(
        number(text_of(&answer)) + answered <= 60,
        "{answered} answers and {answer}"
    );
}

#[tokio::test]
async fn a_legacy_disconnect_does_not_cancel_and_can_be_resumed() {
    let remote = echo_http(&[]);
    for entry in [echo(&[]), address(&remote).await] {
        let gateway = Gateway::start(&servers([("echo", entry)])).await;
        let mut client = Client::new(&gateway, "/mcp/echo", false).await;
        let params = json!({"name": "progress", "arguments": {"steps": 8, "intervalMs": 60}, "_meta": {"progressToken": 1}});
        let mut stream = client.stream("tools/call", params).await;
        let mut last = None;
        let mut seen = 0;
        while seen < 2 {
            let event = stream.next().await.unwrap();
            last = event.id.clone().or(last);
            seen += usize::from(event.data.is_some_and(|data| !data.is_empty()));
        }
        drop(stream);
        tokio::time::sleep(Duration::from_millis(150)).await;
        let last = last.expect("events have ids");
        let headers = [
            ("accept", "text/event-stream"),
            ("last-event-id", last.as_str()),
        ];
        let mut stream = client.http.open(Method::GET, &headers, "").await;
        assert_eq!(stream.status, 200);
        let mut steps = Vec::new();
        let answer = loop {
            let message = stream.message().await.expect("the answer comes");
            match message["params"]["progress"].as_u64() {
                Some(step) => steps.push(step),
                None => break message,
            }
        };
        assert_eq!(text_of(&answer), "8 steps");
        assert_eq!(steps, [3, 4, 5, 6, 7, 8], "none lost, none twice");
        counted(&mut client, "cancelled", number, 0).await;
    }
}

/// The number of an event is worth nothing in another session (fault 29).
#[tokio::test]
async fn a_forged_event_id_shows_nothing_of_others() {
    let gateway = Gateway::start(&servers([("echo", echo(&[]))])).await;
    let mut client = Client::new(&gateway, "/mcp/echo", false).await;
    let params = json!({"name": "progress", "arguments": {"steps": 3, "intervalMs": 60}, "_meta": {"progressToken": "secret"}});
    let mut stream = client.stream("tools/call", params).await;
    let first = stream.next().await.unwrap();
    let last = first.id.unwrap();
    let mut thief = Client::new(&gateway, "/mcp/echo", false).await;
    for forged in [
        last.as_str(),
        "1_0",
        "0_0",
        "x",
        "99_99",
        "18446744073709551615_1",
    ] {
        let headers = [("accept", "text/event-stream"), ("last-event-id", forged)];
        let mut stolen = thief.http.open(Method::GET, &headers, "").await;
        // One that waits for an answer must not wait on a stream where none can come.
        let named = forged != "0_0";
        let refused = stolen.status == StatusCode::BAD_REQUEST;
        assert_eq!(refused, named, "{forged}: {}", stolen.status);
        while let Some(event) = stolen.next_within(Duration::from_millis(100)).await {
            let text = String::from_utf8_lossy(&event.raw).into_owned();
            assert!(!text.contains("secret"), "{text}");
        }
    }
    while let Some(message) = stream.message().await {
        if message.get("result").is_some() {
            return;
        }
    }
    panic!("the owner lost its answer");
}
