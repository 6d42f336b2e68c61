//! Faults 47 and 108: clients of one server that take turns, since a question of
//! its could not be told apart. Nobody waits for a person, and nobody for ever.

use crate::support::scripted::{Scripted, asks, call, named, tools};
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{Gateway, able_to, news, servers, to_the_end};
use switchboard_testkit::{HttpClient, text_of};

const LONG: Duration = Duration::from_secs(60);

fn held(tool: &str) -> Value {
    let mut line = call(tool);
    line["hold"] = true.into();
    line
}

async fn client(gateway: &Gateway) -> HttpClient {
    let mut client = able_to(gateway, "/mcp/r", json!({"elicitation": {}})).await;
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    client.post(ready.to_string()).await;
    client.deadline = LONG;
    client
}

/// A gateway before a server where a question could not be told apart; the
/// first client's form is open and nobody fills it in.
struct Stuck {
    gateway: Gateway,
    _scripted: Scripted,
    first: HttpClient,
    stream: switchboard_testkit::EventStream,
    question: Value,
}

impl Stuck {
    async fn new() -> Self {
        let scripted = Scripted::new(
            "legacy",
            &[
                tools(&["first", "second", "plain", "held"]),
                asks("first"),
                asks("second"),
                held("held"),
                call("plain"),
            ],
        );
        let gateway = Gateway::start(&servers([("r", scripted.stdio())])).await;
        let mut first = client(&gateway).await;
        let mut stream = first.stream("tools/call", named("first")).await;
        let question = news(&mut stream, LONG).await.expect("a question");
        let mut second = client(&gateway).await;
        // Whose question this one is cannot be said; from now on turns are taken.
        let (_, answer) = to_the_end(second.stream("tools/call", named("second")).await).await;
        assert_eq!(text_of(&answer), "second", "{answer}");
        gateway
            .program
            .wait_for_line("a question could not be told apart")
            .await;
        Self {
            gateway,
            _scripted: scripted,
            first,
            stream,
            question,
        }
    }
}

/// A form that is open at one client holds nobody up, however long it stays
/// open; and the call that it belongs to ends well when it is filled in.
#[tokio::test]
async fn row_47_a_form_that_nobody_fills_in_blocks_nobody() {
    let mut stuck = Stuck::new().await;
    for _ in 0..3 {
        let mut other = client(&stuck.gateway).await;
        let answer = other.call("plain", json!({})).await;
        assert_eq!(text_of(&answer), "plain", "{answer}");
    }
    // The client that is asked can go on, too.
    let answer = stuck.first.call("plain", json!({})).await;
    assert_eq!(text_of(&answer), "plain", "{answer}");
    let reply =
        json!({"jsonrpc": "2.0", "id": stuck.question["id"], "result": {"action": "decline"}});
    stuck.first.post(reply.to_string()).await;
    let (_, answer) = to_the_end(stuck.stream).await;
    assert_eq!(text_of(&answer), "first", "{answer}");
}

/// Behind a call that does not end others wait for a while; then they are told
/// whose turn it is, and why there are turns.
#[tokio::test]
async fn row_108_a_turn_is_waited_for_and_not_for_ever() {
    let stuck = Stuck::new().await;
    let mut slow = client(&stuck.gateway).await;
    let mut calling = slow.clone_for(&[]);
    let calling = tokio::spawn(async move { calling.call("held", json!({})).await });
    // It is in flight once others wait.
    let mut other = client(&stuck.gateway).await;
    let answer = until_busy(&mut other).await;
    calling.abort();
    let text = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(text.contains("\"r\" is busy"), "{text}");
    assert!(text.contains("take turns"), "{text}");
    assert!(
        text.contains("the turn of client \"one of several\""),
        "{text}"
    );
    assert!(text.contains("isolation"), "{text}");
    // When the slow one has gone it is somebody else's turn.
    slow.send(http::Method::DELETE, &[], "").await;
    let answer = other.call("plain", json!({})).await;
    assert_eq!(text_of(&answer), "plain", "{answer}");
}

async fn until_busy(client: &mut HttpClient) -> Value {
    for _ in 0..100 {
        let answer = client.call("plain", json!({})).await;
        if answer.get("error").is_some() {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nobody ever waited");
}
