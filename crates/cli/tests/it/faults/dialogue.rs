//! Faults 46 to 48: servers that ask what nobody can answer, or never stop asking.

use crate::support::{dialogue, evil::Evil};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use switchboard_testkit::world::{Client, Gateway, command, servers, stdio_client};
use switchboard_testkit::{HttpClient, LATE, LEGACY, StdioClient, text_of};

/// A legacy client that can do nothing.
async fn bare(gateway: &Gateway) -> HttpClient {
    let mut client = gateway.client("/mcp/evil");
    let params = json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bare", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let reply = client.post(hello.to_string()).await;
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    client.headers.insert("mcp-session-id".into(), session);
    client
}

fn evil(mode: &str) -> Value {
    servers([(
        "evil",
        command("evil-stdio", ["--mode", mode, "--era", "legacy"]),
    )])
}

/// What the client did not declare is refused at once.
#[tokio::test]
async fn row_47_what_the_client_cannot_do_is_refused_at_once() {
    for mode in ["ask-elicitation", "ask-sampling"] {
        let gateway = Gateway::start(&evil(mode)).await;
        let mut client = bare(&gateway).await;
        let started = Instant::now();
        let answer = client.call("strike", json!({})).await;
        assert!(
            started.elapsed() < Duration::from_secs(3) + LATE,
            "{mode}: {:?}",
            started.elapsed()
        );
        assert!(text_of(&answer).contains("-32601"), "{mode}: {answer}");
    }
}

#[tokio::test]
async fn row_47_what_nobody_knows_ends() {
    let gateway = Gateway::start(&evil("ask-unknown")).await;
    let mut client = bare(&gateway).await;
    let mut stream = client
        .stream("tools/call", json!({"name": "strike", "arguments": {}}))
        .await;
    // It is relayed; the client does not know it, and says so.
    let question = stream.message().await.unwrap();
    if question.get("method").is_some() {
        let error = json!({"code": -32601, "message": "unheard of"});
        let refusal = json!({"jsonrpc": "2.0", "id": question["id"], "error": error});
        client.post(refusal.to_string()).await;
        let answer = stream.message().await.unwrap();
        assert!(text_of(&answer).contains("-32601"), "{answer}");
    }
}

/// A question does not block the connection: other calls flow while it is open.
#[tokio::test]
async fn row_47_no_deadlock_while_a_question_is_open() {
    let gateway = Gateway::start(&evil("ask-elicitation")).await;
    let mut asked = Client::new(&gateway, "/mcp/evil", false).await;
    let mut stream = asked
        .stream("tools/call", json!({"name": "strike", "arguments": {}}))
        .await;
    let question = stream.message().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    for _ in 0..10 {
        assert_eq!(asked.call("ok", json!({})).await, "ok");
        let mut other = Client::new(&gateway, "/mcp/evil", false).await;
        assert_eq!(other.call("ok", json!({})).await, "ok");
    }
    let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    asked.http.post(reply.to_string()).await;
    let answer = stream.message().await.unwrap();
    assert!(text_of(&answer).contains("decline"), "{answer}");
}

/// A call that asks and hangs ends in time, and its question is withdrawn.
#[tokio::test]
async fn row_46_a_question_and_then_nothing() {
    let mut entry = command("evil-stdio", ["--mode", "ask-and-hang", "--era", "legacy"]);
    entry["timeout"] = 1000.into();
    let gateway = Gateway::start(&servers([("evil", entry)])).await;
    let mut client = Client::new(&gateway, "/mcp/evil", false).await;
    let started = Instant::now();
    let mut stream = client
        .stream("tools/call", json!({"name": "strike", "arguments": {}}))
        .await;
    let question = stream.message().await.unwrap();
    let (mut withdrawn, mut answer) = (false, Value::Null);
    while let Some(message) = stream.message().await {
        match message["method"].as_str() {
            Some("notifications/cancelled") => {
                withdrawn = message["params"]["requestId"] == question["id"];
            }
            Some(other) => panic!("{other}"),
            None => answer = message,
        }
    }
    assert!(answer.get("error").is_some(), "{answer}");
    assert!(
        started.elapsed() < Duration::from_secs(2) + LATE,
        "{:?}",
        started.elapsed()
    );
    assert!(withdrawn, "the question stays open at the client");
    assert_eq!(client.call("ok", json!({})).await, "ok");
}

/// Several clients at once, and nothing says whose question it is: an error to
/// the server, never a refusal in somebody's name.
#[tokio::test]
async fn a_question_that_is_nobodys_is_an_error() {
    let gateway = Gateway::start(&servers([(
        "evil",
        command(
            "evil-stdio",
            ["--mode", "ask-elicitation", "--era", "legacy"],
        ),
    )]))
    .await;
    let mut one = Client::new(&gateway, "/mcp/evil", false).await;
    let mut two = Client::new(&gateway, "/mcp/evil", false).await;
    // Both have a call open: the first one's question is clear, the second's is not.
    let mut first = one
        .stream("tools/call", json!({"name": "strike", "arguments": {}}))
        .await;
    let question = first.message().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let answer = two.try_call("strike", json!({})).await;
    let text = text_of(&answer);
    assert!(
        text.contains("error") && !text.contains("decline"),
        "{answer}"
    );
}

/// Fault 48: endless rounds of input are stopped.
#[tokio::test]
async fn row_48_input_required_for_ever() {
    let all = servers([(
        "evil",
        command(
            "evil-stdio",
            ["--mode", "input-required", "--era", "modern"],
        ),
    )]);
    let gateway = Gateway::start(&all).await;
    let mut client = Client::new(&gateway, "/mcp/evil", false).await;
    let (questions, answer) = dialogue::call(&mut client, "strike", json!({})).await;
    assert!(answer.get("error").is_some(), "{answer}");
    assert!(
        (9..=11).contains(&questions.len()),
        "{} rounds",
        questions.len()
    );
    let mut client: StdioClient = stdio_client(&all);
    client.initialize(LEGACY).await;
    let (questions, answer) = dialogue::call_stdio(&mut client, false, "strike").await;
    assert!(answer.get("error").is_some(), "{answer}");
    assert!(
        (9..=11).contains(&questions.len()),
        "{} rounds",
        questions.len()
    );
}

/// Faults 37 and 38: floods are bounded and do not drown the answer.
#[tokio::test]
async fn rows_37_and_38_floods_memory() {
    for mode in ["progress-flood", "log-flood", "list-changed-storm"] {
        for modern in [false, true] {
            let mut evil = Evil::stdio(mode, &[], modern).await;
            evil.works_again(mode).await;
            let params = json!({"name": "strike", "arguments": {}, "_meta": {"progressToken": 1}});
            let mut stream = evil.client.stream("tools/call", params).await;
            let answer = if stream.is_events() {
                loop {
                    let message = stream.message().await.unwrap();
                    if message.get("method").is_none() {
                        break message;
                    }
                }
            } else {
                serde_json::from_slice(&stream.body().await).unwrap()
            };
            assert_eq!(text_of(&answer), "struck", "{mode}");
            evil.other_works(mode).await;
            let peak = evil.peak().await;
            assert!(peak < 96, "{mode}: {peak} MiB");
        }
    }
    let evil = Evil::stdio("list-changed-storm", &[], false).await;
    let mut all = Client::new(&evil.gateway, "/mcp", false).await;
    all.list("tools/list", "tools", "name").await;
    let stats = |text: String| {
        serde_json::from_str::<Value>(&text).unwrap()["lists"]
            .as_u64()
            .unwrap()
    };
    let before = stats(all.call("evil__stats", json!({})).await);
    all.call("evil__strike", json!({})).await;
    all.list("tools/list", "tools", "name").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let after = stats(all.call("evil__stats", json!({})).await);
    assert!(
        after - before <= 2,
        "200 notices caused {} lists",
        after - before
    );
}
