//! One trace for a call with questions: clients and servers of either era, over pipes
//! and over HTTP.

use super::{Collector, Span, client, named, sending};
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{Carrier, Upstream, World, config};
use switchboard_testkit::{Channel, LEGACY, text_of, with_meta};

const TOOL: &str = "test_interview";
const NAME: &str = "tools/call test_interview";
const PATIENCE: Duration = Duration::from_secs(120);
const EITHER: [Carrier; 2] = [Carrier::Stdio, Carrier::Http];

fn answer(method: &str, params: &Value) -> Value {
    match method {
        "sampling/createMessage" => {
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "tea"}})
        }
        _ if params["message"].as_str().unwrap().contains("name") => {
            json!({"action": "accept", "content": {"name": "Ada"}})
        }
        _ => json!({"action": "accept", "content": {"answer": "yes"}}),
    }
}

async fn legacy(client: &mut Channel, parent: &str) -> Value {
    client.initialize(LEGACY).await;
    let params =
        json!({"name": TOOL, "arguments": {}, "_meta": {"traceparent": parent, "other": 1}});
    let id = client.start("tools/call", params);
    loop {
        let message = client.next(PATIENCE).await.expect("the interview goes on");
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(theirs)) => {
                let result = answer(method, &message["params"]);
                client.send(json!({"jsonrpc": "2.0", "id": theirs, "result": result}));
            }
            (None, Some(ours)) if *ours == id => return message,
            _ => {}
        }
    }
}

async fn modern(client: &mut Channel, parent: &str) -> Value {
    let mut params = json!({"name": TOOL, "arguments": {}, "_meta": {"traceparent": parent}});
    for _ in 0..10 {
        let id = client.start("tools/call", with_meta(params.clone()));
        let response = client.response(id).await;
        let result = &response["result"];
        if result["resultType"] != "input_required" {
            return response;
        }
        let questions = result["inputRequests"].as_object().expect("questions");
        let answers = questions.iter().map(|(key, question)| {
            let method = question["method"].as_str().expect("a method");
            (key.clone(), answer(method, &question["params"]))
        });
        params["inputResponses"] = Value::Object(answers.collect());
        params["requestState"] = result["requestState"].clone();
    }
    panic!("more than ten rounds");
}

/// Each span has a parent in its trace, and each round but the first a link to the
/// one before.
#[track_caller]
fn holds_together(all: &[Span], theirs: &str, place: &str) {
    for span in all {
        let is_known = span.parent == theirs || all.iter().any(|it| it.id == span.parent);
        assert!(is_known, "{place}: whose is {span:?}?");
        assert_eq!(span.status, "STATUS_CODE_UNSET", "{place}: {span:?}");
    }
    let rounds = named(all, "SERVER", NAME);
    assert!(rounds.iter().all(|span| span.parent == theirs), "{place}");
    let linked = rounds.iter().filter(|span| {
        let mut links = span.links.iter();
        links.any(|(trace, id)| {
            *trace == span.trace && rounds.iter().any(|it| it.id == *id && it.id != span.id)
        })
    });
    assert_eq!(linked.count(), rounds.len() - 1, "{place}: {rounds:?}");
}

async fn pair(server_era: &str, number: u8) {
    let world = World::new();
    let collector = Collector::start(&world).await;
    let world = sending(world, &collector);
    let mut number = number;
    for up in EITHER {
        let mut upstream = Upstream::of("conformance-server", up, &["--era", server_era]).await;
        upstream.entry["isolation"] = "session".into();
        let servers = config(&json!({"e": upstream.entry}));
        for down in EITHER {
            for is_modern in [false, true] {
                number += 1;
                let place = format!(
                    "{} client over {down:?}, {server_era} server over {up:?}",
                    if is_modern { "modern" } else { "legacy" }
                );
                let launch = world.launch(&["--mcp-config", &servers, "serve", "--only", "e"]);
                let (mut channel, _gateway) = match down {
                    Carrier::Stdio => (Channel::stdio(launch.spawn()), None),
                    _ => {
                        let gateway = launch.args(["--http", "127.0.0.1:0", "--no-auth"]).spawn();
                        let url = format!("{}/mcp/e", gateway.url().await);
                        (Channel::http(&url, &[]), Some(gateway))
                    }
                };
                let (trace, span, parent) = client(number);
                let ended = match is_modern {
                    true => modern(&mut channel, &parent).await,
                    false => legacy(&mut channel, &parent).await,
                };
                assert_eq!(
                    text_of(&ended),
                    "Ada was offered tea and said yes",
                    "{place}"
                );
                // Requests of the client, of ours to the server, and questions.
                let (rounds, exchanges, questions) = match (is_modern, server_era) {
                    (false, "legacy") => (1, 1, 3),
                    (false, _) => (1, 4, 3),
                    (true, "legacy") => (4, 1, 3),
                    (true, _) => (4, 4, 0),
                };
                let calls = if exchanges == rounds { rounds } else { 1 };
                let expected = rounds + exchanges + questions + 2 * calls;
                let all = collector.trace(&trace, expected).await;
                assert_eq!(all.len(), expected, "{place}: {all:#?}");
                let count = |kind, name| named(&all, kind, name).len();
                assert_eq!(count("SERVER", NAME), rounds, "{place}");
                assert_eq!(count("CLIENT", NAME), exchanges, "{place}");
                let asked = count("CLIENT", "elicitation/create")
                    + count("CLIENT", "sampling/createMessage");
                assert_eq!(asked, questions, "{place}");
                assert_eq!(count("INTERNAL", "permission"), calls, "{place}");
                assert_eq!(count("INTERNAL", "waiting"), calls, "{place}");
                holds_together(&all, &span, &place);
                let carried = match up {
                    Carrier::Stdio => "pipe",
                    _ => "tcp",
                };
                for exchange in named(&all, "CLIENT", NAME) {
                    assert_eq!(exchange.says("network.transport"), carried, "{place}");
                    assert_eq!(exchange.says("gen_ai.tool.name"), TOOL, "{place}");
                    assert_eq!(exchange.says("mcp.server.name"), "e", "{place}");
                }
                for request in named(&all, "SERVER", NAME) {
                    assert_eq!(request.says("mcp.method.name"), "tools/call", "{place}");
                    assert_eq!(request.says("mcp.server.name"), "e", "{place}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_call_at_a_legacy_server_is_one_trace() {
    pair("legacy", 0x10).await;
}

#[tokio::test]
async fn a_call_at_a_modern_server_is_one_trace() {
    pair("modern", 0x20).await;
}
