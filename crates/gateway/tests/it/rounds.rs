//! A modern client at a legacy server that needs more than one round: what is
//! said meanwhile, and pages that have to be visited first.

use crate::support::Client;
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use switchboard_gateway::{Gateway, GatewayOptions};
use switchboard_host::{Host, ServerSpec, Target, permission::Rules};
use switchboard_testkit::LEGACY;
use switchboard_transport::{Budget, in_process::End};
use switchboard_wire::{Payload, name::Style};

/// How often it has told of progress, and how often its tool was called.
#[derive(Default)]
struct Seen {
    told: AtomicUsize,
    calls: AtomicUsize,
}

/// A legacy server. `ask` asks in the middle of its work and works on; `pages`
/// wants two pages visited before it does anything.
async fn server(mut end: End, seen: Arc<Seen>) {
    let out = end.sender.clone();
    let send = move |message: Value| drop(out.send(Payload::from(message.to_string())));
    let mut call = Value::Null;
    let mut visited = false;
    while let Some(bytes) = end.receiver.next().await {
        let message: Value = serde_json::from_slice(&bytes).expect("JSON");
        let answer =
            |result: Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        let token = message["params"]["_meta"]["progressToken"].clone();
        let progress = {
            let (send, seen) = (send.clone(), seen.clone());
            move |value: u64| {
                let params = json!({"progressToken": token, "progress": value});
                send(
                    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}),
                );
                seen.told.fetch_add(1, Ordering::SeqCst);
            }
        };
        match (
            message["method"].as_str(),
            message["params"]["name"].as_str(),
        ) {
            (Some("initialize"), _) => send(answer(json!({
                "protocolVersion": LEGACY, "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"},
            }))),
            (Some("tools/list"), _) => {
                let tool = |name| json!({"name": name, "inputSchema": {"type": "object"}});
                send(answer(json!({"tools": [tool("ask"), tool("pages")]})));
            }
            (Some("tools/call"), Some("ask")) => {
                seen.calls.fetch_add(1, Ordering::SeqCst);
                call = message["id"].clone();
                progress(1);
                send(
                    json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
                    "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}}),
                );
                progress(2);
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    [5, 6, 7].into_iter().for_each(progress);
                });
            }
            (Some("tools/call"), _) if visited => {
                seen.calls.fetch_add(1, Ordering::SeqCst);
                progress(1);
                send(answer(text("visited")));
            }
            (Some("tools/call"), _) => {
                visited = message["params"]["arguments"]["once"] == true;
                let page = |id: &str| json!({"mode": "url", "elicitationId": id, "url": "https://example.com/", "message": "go"});
                let data = json!({"elicitations": [page("a"), page("b")]});
                let error = json!({"code": -32042, "message": "first", "data": data});
                send(json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
            }
            (None, _) if message["id"] == "q" => {
                let result = text("done");
                send(json!({"jsonrpc": "2.0", "id": call, "result": result}));
            }
            (Some(_), _) if message.get("id").is_some() => send(json!({"jsonrpc": "2.0",
                "id": message["id"], "error": {"code": -32601, "message": "not here"}})),
            _ => {}
        }
    }
}

fn gateway(seen: &Arc<Seen>) -> Arc<Gateway> {
    let seen = seen.clone();
    let serve = move |end| {
        tokio::spawn(server(end, seen.clone()));
        Ok(())
    };
    let spec = ServerSpec::new("s", Target::Linked(Arc::new(serve)));
    let host = Host::new(
        vec![spec],
        Rules::everything_allowed(),
        Style::default(),
        Budget::default(),
    );
    Gateway::new(host, GatewayOptions::default())
}

fn params(name: &str, token: &str) -> Value {
    json!({"name": name, "arguments": {"once": true}, "_meta": {"progressToken": token}})
}

/// The progress that was heard: values and tokens.
fn progress(client: &mut Client) -> Vec<(u64, String)> {
    let heard = std::mem::take(&mut client.heard);
    let value = |one: &Value| {
        assert_eq!(one["method"], "notifications/progress", "{one}");
        let token = one["params"]["progressToken"].as_str().expect("a token");
        let value = one["params"]["progress"].as_u64().expect("a number");
        (value, token.to_owned())
    };
    heard.iter().map(value).collect()
}

/// The same call again, with these answers.
fn again(asked: &Value, mut params: Value, answers: &[(&str, &str)]) -> Value {
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let answers = answers.iter().map(|(key, action)| {
        let answer = json!({"action": action, "content": {}});
        ((*key).to_owned(), answer)
    });
    params["inputResponses"] = Value::Object(answers.collect());
    params["requestState"] = result["requestState"].clone();
    params
}

#[tokio::test]
async fn progress_while_parked_is_told_at_its_newest_under_the_new_token() {
    let seen = Arc::<Seen>::default();
    let mut client = Client::modern(&gateway(&seen), Some("s"));
    let asked = client.ask("tools/call", params("ask", "one")).await;
    let told = |value: u64, token: &str| (value, token.to_owned());
    assert_eq!(progress(&mut client), [told(1, "one"), told(2, "one")]);
    let worked = async {
        while seen.told.load(Ordering::SeqCst) < 5 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let worked = tokio::time::timeout(Duration::from_secs(20), worked).await;
    assert!(worked.is_ok(), "it works on");
    let retry = again(&asked, params("ask", "two"), &[("q", "accept")]);
    let done = client.ask("tools/call", retry).await;
    assert_eq!(done["result"]["content"][0]["text"], "done", "{done}");
    assert_eq!(progress(&mut client), [told(7, "two")]);
    assert_eq!(seen.calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn pages_are_visited_first_one_by_one_if_need_be() {
    let seen = Arc::<Seen>::default();
    let gateway = gateway(&seen);
    let mut client = Client::modern(&gateway, None);
    let asked = client.ask("tools/call", params("s__pages", "one")).await;
    let page = &asked["result"]["inputRequests"]["a"]["params"];
    assert_eq!(page["message"], "[s] go", "{asked}");
    assert_eq!(page["mode"], "url", "{asked}");
    // One of the two, and then the other.
    let retry = again(&asked, params("s__pages", "two"), &[("a", "accept")]);
    let rest = client.ask("tools/call", retry).await;
    let keys: Vec<&String> = rest["result"]["inputRequests"]
        .as_object()
        .expect("a page")
        .keys()
        .collect();
    assert_eq!(keys, ["b"], "{rest}");
    assert_eq!(seen.calls.load(Ordering::SeqCst), 0);
    let retry = again(&rest, params("s__pages", "three"), &[("b", "accept")]);
    let done = client.ask("tools/call", retry.clone()).await;
    assert_eq!(done["result"]["content"][0]["text"], "visited", "{done}");
    assert_eq!(done["result"]["resultType"], "complete", "{done}");
    assert_eq!(progress(&mut client), [(1, "three".to_owned())]);
    assert_eq!(seen.calls.load(Ordering::SeqCst), 1);
    let replayed = client.ask("tools/call", retry).await;
    assert_eq!(replayed["error"]["code"], -32602, "{replayed}");
}

#[tokio::test]
async fn a_page_that_is_not_visited_ends_the_call() {
    let seen = Arc::<Seen>::default();
    let mut client = Client::modern(&gateway(&seen), Some("s"));
    let asked = client.ask("tools/call", params("pages", "one")).await;
    let no = again(
        &asked,
        params("pages", "two"),
        &[("a", "accept"), ("b", "decline")],
    );
    let answer = client.ask("tools/call", no).await;
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    // A client that cannot open pages is told what it would need.
    let seen = Arc::<Seen>::default();
    let mut client = Client::modern(&gateway(&seen), Some("s"));
    let mut plain = params("pages", "one");
    plain["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {"form": {}}});
    let answer = client.ask("tools/call", plain).await;
    assert_eq!(answer["error"]["code"], -32021, "{answer}");
    let data = &answer["error"]["data"];
    assert_eq!(
        data["requiredCapabilities"],
        json!({"elicitation": {"url": {}}}),
        "{answer}"
    );
    assert_eq!(data["answer"]["code"], -32042, "{answer}");
    assert_eq!(seen.calls.load(Ordering::SeqCst), 0);
}
