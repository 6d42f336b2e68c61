//! What servers send to clients – questions, progress, logs, changes – reaches
//! the right one, within one era.

use crate::support::dialogue::{self, ASKING};
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{
    Client, Gateway, address, echo, echo_http, servers, stdio_client,
};
use switchboard_testkit::{EventStream, LEGACY, StdioClient, text_of, with_meta};

const SHORT: Duration = Duration::from_millis(150);

/// A gateway in front of one echo server, over stdio and over HTTP in turn.
async fn gateways(session: bool) -> Vec<(Gateway, Option<switchboard_testkit::Program>)> {
    let remote = echo_http(&[]);
    let mut there = address(&remote).await;
    let mut here = echo(&[]);
    if session {
        there["isolation"] = "session".into();
        here["isolation"] = "session".into();
    }
    vec![
        (Gateway::start(&servers([("echo", here)])).await, None),
        (
            Gateway::start(&servers([("echo", there)])).await,
            Some(remote),
        ),
    ]
}

/// The messages of a call that reports something, and its answer.
async fn messages(client: &mut Client, params: Value) -> (Vec<Value>, Value) {
    let mut stream = client.stream("tools/call", params).await;
    let mut messages = Vec::new();
    if !stream.is_events() {
        let body = stream.body().await;
        return (messages, serde_json::from_slice(&body).unwrap());
    }
    loop {
        let message = stream.message().await.unwrap();
        if message.get("method").is_none() {
            return (messages, message);
        }
        messages.push(message);
    }
}

async fn questions_over_http(modern: bool, session: bool) {
    for (gateway, _remote) in gateways(session).await {
        let mut client = Client::new(&gateway, "/mcp/echo", modern).await;
        // Another client, with a call in flight of its own and a stream that must stay quiet.
        let mut other = Client::new(&gateway, "/mcp/echo", modern).await;
        let mut quiet = (!modern).then_some(other.http.listen().await);
        for (tool, method, word) in ASKING {
            if tool == "roots" && !modern && !session {
                // A client's own roots are not for a server that others share.
                let (questions, answer) = dialogue::call(&mut client, tool, json!({})).await;
                assert!(questions.is_empty(), "{questions:?}");
                assert_eq!(answer["result"]["isError"], true, "{answer}");
                continue;
            }
            let (questions, answer) = dialogue::call(&mut client, tool, json!({})).await;
            assert_eq!(questions.len(), 1, "{tool}: {questions:?}");
            assert_eq!(questions[0]["method"], method);
            assert!(text_of(&answer).contains(word), "{tool}: {answer}");
        }
        if let Some(quiet) = &mut quiet {
            while let Some(event) = quiet.next_within(SHORT).await {
                assert!(
                    event.data.unwrap_or_default().is_empty(),
                    "someone else's question"
                );
            }
        }
    }
}

#[tokio::test]
async fn questions_legacy_http() {
    questions_over_http(false, false).await;
    questions_over_http(false, true).await;
}

#[tokio::test]
async fn questions_modern_http() {
    questions_over_http(true, false).await;
}

#[tokio::test]
async fn questions_stdio() {
    let remote = echo_http(&[]);
    for entry in [echo(&[]), address(&remote).await] {
        for modern in [false, true] {
            let mut client = stdio_client(&servers([("echo", entry.clone())]));
            if !modern {
                client.initialize(LEGACY).await;
            }
            for (tool, method, word) in ASKING {
                let (questions, answer) = dialogue::call_stdio(&mut client, modern, tool).await;
                assert_eq!(questions.len(), 1, "{tool}: {questions:?}");
                assert_eq!(questions[0]["method"], method);
                assert!(text_of(&answer).contains(word), "{tool}: {answer}");
            }
        }
    }
}

/// Two clients ask at once, each is asked its own question.
#[tokio::test]
async fn questions_of_two_clients_at_once() {
    // Over HTTP a question comes on the stream of its call, so it is clear whose it is.
    let remote = echo_http(&[]);
    let gateway = Gateway::start(&servers([("echo", address(&remote).await)])).await;
    let mut running = tokio::task::JoinSet::new();
    for n in 0..8 {
        let mut client = Client::new(&gateway, "/mcp/echo", false).await;
        running.spawn(async move {
            let own = format!("number {n}");
            let (questions, _) =
                dialogue::call(&mut client, "elicit", json!({"message": own})).await;
            assert_eq!(questions.len(), 1);
            assert_eq!(questions[0]["params"]["message"], own.as_str());
        });
    }
    running.join_all().await;
}

#[tokio::test]
async fn progress_and_logs_http() {
    for modern in [false, true] {
        for (gateway, _remote) in gateways(false).await {
            let mut client = Client::new(&gateway, "/mcp/echo", modern).await;
            let progress = json!({"name": "progress", "arguments": {"steps": 3}, "_meta": {"progressToken": "p"}});
            let (told, answer) = messages(&mut client, progress).await;
            assert_eq!(text_of(&answer), "3 steps");
            let steps: Vec<_> = told
                .iter()
                .map(|m| m["params"]["progress"].as_u64())
                .collect();
            assert_eq!(steps, [Some(1), Some(2), Some(3)], "{told:?}");
            assert!(told.iter().all(|m| m["params"]["progressToken"] == "p"));

            // Nobody asked for progress here.
            let (told, _) = messages(
                &mut client,
                json!({"name": "progress", "arguments": {"steps": 2}}),
            )
            .await;
            assert!(told.is_empty(), "{told:?}");
            logs(&mut client).await;
        }
    }
}

/// Each client gets its own level and above.
async fn logs(client: &mut Client) {
    let params = |level: &str| {
        let mut params = json!({"name": "log", "arguments": {"level": level, "text": "hello"}});
        if client.modern {
            params["_meta"] = json!({"io.modelcontextprotocol/logLevel": "warning"});
        }
        params
    };
    let (low, high) = (params("info"), params("error"));
    if !client.modern {
        client
            .result("logging/setLevel", json!({"level": "warning"}))
            .await;
    }
    let (told, _) = messages(client, low).await;
    assert!(told.is_empty(), "{told:?}");
    let (told, _) = messages(client, high).await;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["method"], "notifications/message");
    assert_eq!(told[0]["params"]["data"], "hello");
    if client.modern {
        let quiet = json!({"name": "log", "arguments": {"level": "error", "text": "hello"}});
        let (told, _) = messages(client, quiet).await;
        assert!(
            told.is_empty(),
            "nothing for a request that did not ask: {told:?}"
        );
    }
}

/// The next notification, or none soon. What has to come is waited for with
/// `EventStream::message`, however long it takes.
async fn news(stream: &mut EventStream) -> Option<Value> {
    let search = async {
        loop {
            let event = stream.next_within(Duration::from_millis(300)).await?;
            if event.data.as_ref().is_some_and(|data| !data.is_empty()) {
                return Some(event.json());
            }
        }
    };
    search.await
}

#[tokio::test]
async fn changes_legacy_http() {
    for (gateway, _remote) in gateways(false).await {
        let mut one = Client::new(&gateway, "/mcp/echo", false).await;
        let mut two = Client::new(&gateway, "/mcp/echo", false).await;
        let (mut of_one, mut of_two) = (one.http.listen().await, two.http.listen().await);
        one.call("change_list", json!({})).await;
        for stream in [&mut of_one, &mut of_two] {
            let message = stream.message().await.expect("a notification");
            assert_eq!(message["method"], "notifications/tools/list_changed");
        }
        assert_eq!(one.call("added_1", json!({})).await, "added_1");

        one.result("resources/subscribe", json!({"uri": "echo://1"}))
            .await;
        two.result("resources/subscribe", json!({"uri": "echo://2"}))
            .await;
        two.call("touch", json!({"uri": "echo://1"})).await;
        let message = of_one.message().await.expect("an update");
        assert_eq!(message["method"], "notifications/resources/updated");
        assert_eq!(message["params"]["uri"], "echo://1");
        assert_eq!(
            news(&mut of_two).await,
            None,
            "the other did not subscribe to it"
        );

        // The last one unsubscribes, nobody else's subscription ends with it.
        two.result("resources/subscribe", json!({"uri": "echo://1"}))
            .await;
        one.result("resources/unsubscribe", json!({"uri": "echo://1"}))
            .await;
        one.call("touch", json!({"uri": "echo://1"})).await;
        assert_eq!(news(&mut of_one).await, None, "it had unsubscribed");
        let message = of_two.message().await.expect("an update");
        assert_eq!(message["params"]["uri"], "echo://1");
    }
}

#[tokio::test]
async fn changes_modern_http() {
    for (gateway, _remote) in gateways(false).await {
        let mut client = Client::new(&gateway, "/mcp/echo", true).await;
        let mut streams = Vec::new();
        for uri in ["echo://1", "echo://2"] {
            let filter = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": [uri]}});
            let mut stream = client.stream("subscriptions/listen", filter).await;
            let first = stream.message().await.expect("an acknowledgement");
            assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
            assert_eq!(
                first["params"]["notifications"]["resourceSubscriptions"],
                json!([uri])
            );
            streams.push((stream, subscription(&first)));
        }
        assert_ne!(streams[0].1, streams[1].1, "each stream has its own id");
        client.call("change_list", json!({})).await;
        for (stream, id) in &mut streams {
            let message = stream.message().await.expect("a change");
            assert_eq!(message["method"], "notifications/tools/list_changed");
            assert_eq!(subscription(&message), *id);
        }
        client.call("touch", json!({"uri": "echo://2"})).await;
        // While a stream to the server is being replaced, other changes may be told twice
        // rather than not at all.
        let is_update = |message: &Value| message["method"] == "notifications/resources/updated";
        let message = loop {
            let message = streams[1].0.message().await.expect("an update");
            if is_update(&message) {
                break message;
            }
        };
        assert_eq!(message["params"]["uri"], "echo://2");
        assert_eq!(subscription(&message), streams[1].1);
        while let Some(message) = news(&mut streams[0].0).await {
            assert!(!is_update(&message), "it did not ask for that one");
        }
    }
}

fn subscription(message: &Value) -> Value {
    message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone()
}

#[tokio::test]
async fn progress_logs_and_changes_stdio_legacy() {
    let mut client = stdio_client(&servers([("echo", echo(&[]))]));
    client.initialize(LEGACY).await;
    let params =
        json!({"name": "progress", "arguments": {"steps": 2}, "_meta": {"progressToken": 7.5}});
    client.request("tools/call", params).await;
    let told = std::mem::take(&mut client.notifications);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|m| m["params"]["progressToken"] == 7.5));
    client
        .request("logging/setLevel", json!({"level": "error"}))
        .await;
    client
        .call("log", json!({"level": "info", "text": "low"}))
        .await;
    client
        .call("log", json!({"level": "alert", "text": "high"}))
        .await;
    let told = std::mem::take(&mut client.notifications);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0]["params"]["data"], "high");
    client
        .request("resources/subscribe", json!({"uri": "echo://1"}))
        .await;
    client.call("touch", json!({"uri": "echo://2"})).await;
    client.call("touch", json!({"uri": "echo://1"})).await;
    let update = client.notification("notifications/resources/updated").await;
    assert_eq!(update["params"]["uri"], "echo://1");
    client.call("change_list", json!({})).await;
    client
        .notification("notifications/tools/list_changed")
        .await;
}

#[tokio::test]
async fn progress_and_changes_stdio_modern() {
    let mut client: StdioClient = stdio_client(&servers([("echo", echo(&[]))]));
    let params =
        json!({"name": "progress", "arguments": {"steps": 2}, "_meta": {"progressToken": "m"}});
    client.modern("tools/call", params).await;
    let told = std::mem::take(&mut client.notifications);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|m| m["params"]["progressToken"] == "m"));
    let filter =
        json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["echo://1"]}});
    let id = client
        .start("subscriptions/listen", with_meta(filter))
        .await;
    let first = client
        .notification("notifications/subscriptions/acknowledged")
        .await;
    assert_eq!(subscription(&first), id);
    client
        .modern(
            "tools/call",
            json!({"name": "change_list", "arguments": {}}),
        )
        .await;
    let change = client
        .notification("notifications/tools/list_changed")
        .await;
    assert_eq!(subscription(&change), id);
    client
        .modern(
            "tools/call",
            json!({"name": "touch", "arguments": {"uri": "echo://1"}}),
        )
        .await;
    let update = client.notification("notifications/resources/updated").await;
    assert_eq!(update["params"]["uri"], "echo://1");
}
