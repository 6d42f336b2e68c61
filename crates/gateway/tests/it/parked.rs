//! A call that waits for its modern client: until when, and for whom.

use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use switchboard_gateway::{Gateway, GatewayOptions, faces};
use switchboard_host::{Host, ServerSpec, Target, permission::Rules};
use switchboard_testkit::with_meta;
use switchboard_transport::{
    Budget,
    in_process::{self, End},
};
use switchboard_wire::{Payload, name::Style};
use tokio_util::sync::CancellationToken;

/// What happened at the server.
#[derive(Default)]
struct Seen {
    calls: AtomicUsize,
    cancelled: AtomicUsize,
    answered: AtomicUsize,
}

/// A legacy server with one tool, which asks before it answers.
async fn server(mut end: End, seen: Arc<Seen>) {
    let send = |message: Value| {
        let _ = end.sender.send(Payload::from(message.to_string()));
    };
    let mut call = Value::Null;
    while let Some(bytes) = end.receiver.next().await {
        let message: Value = serde_json::from_slice(&bytes).expect("JSON");
        let answer =
            |result: Value| json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        match message["method"].as_str() {
            Some("initialize") => send(answer(json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "asker", "version": "1"},
            }))),
            Some("tools/list") => {
                let tool = json!({"name": "ask", "inputSchema": {"type": "object"}});
                send(answer(json!({"tools": [tool]})));
            }
            Some("tools/call") => {
                seen.calls.fetch_add(1, Ordering::SeqCst);
                call = message["id"].clone();
                send(
                    json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
                    "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}}),
                );
            }
            Some("notifications/cancelled") => {
                seen.cancelled.fetch_add(1, Ordering::SeqCst);
            }
            Some(_) if message.get("id").is_some() => send(json!({"jsonrpc": "2.0",
                "id": message["id"], "error": {"code": -32601, "message": "not here"}})),
            None if message["id"] == "q" && message.get("result").is_some() => {
                seen.answered.fetch_add(1, Ordering::SeqCst);
                let content = json!([{"type": "text", "text": "thanks"}]);
                send(json!({"jsonrpc": "2.0", "id": call, "result": {"content": content}}));
            }
            Some(_) | None => {}
        }
    }
}

/// A modern client in this process.
struct Client {
    end: End,
    id: u64,
}

impl Client {
    fn new(gateway: &Arc<Gateway>, principal: &str) -> Self {
        let (end, theirs) = in_process::pair();
        let (gateway, principal) = (gateway.clone(), principal.to_owned());
        tokio::spawn(async move {
            let stop = CancellationToken::new();
            faces::in_process::serve(gateway, theirs, principal.into(), Some("s"), stop).await;
        });
        Self { end, id: 0 }
    }

    async fn call(&mut self, more: Value) -> Value {
        self.id += 1;
        let mut params = with_meta(json!({"name": "ask", "arguments": {}}));
        for (key, value) in more.as_object().expect("an object") {
            params[key] = value.clone();
        }
        let request =
            json!({"jsonrpc": "2.0", "id": self.id, "method": "tools/call", "params": params});
        let _ = self.end.sender.send(Payload::from(request.to_string()));
        loop {
            let bytes = self.end.receiver.next().await.expect("an answer");
            let message: Value = serde_json::from_slice(&bytes).expect("JSON");
            if message["id"] == self.id {
                return message;
            }
        }
    }
}

fn gateway(seen: &Arc<Seen>, parked_for: Option<Duration>) -> Arc<Gateway> {
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
    let options = GatewayOptions {
        single: Some("s".into()),
        parked_for,
        ..GatewayOptions::default()
    };
    Gateway::new(host, options)
}

/// The answers to what `asked` asks, with its ticket.
fn answers(asked: &Value) -> Value {
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let questions = result["inputRequests"].as_object().expect("questions");
    let accept = json!({"action": "accept", "content": {}});
    let responses: serde_json::Map<String, Value> = questions
        .keys()
        .map(|key| (key.clone(), accept.clone()))
        .collect();
    json!({"inputResponses": responses, "requestState": result["requestState"]})
}

fn counts(seen: &Seen) -> (usize, usize, usize) {
    let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    (
        count(&seen.calls),
        count(&seen.cancelled),
        count(&seen.answered),
    )
}

fn says_ask_again(refused: &Value) {
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let text = refused["error"]["message"].as_str().unwrap_or_default();
    assert!(text.contains("ask again"), "{refused}");
}

#[tokio::test]
async fn a_ticket_ends_with_its_time() {
    let seen = Arc::new(Seen::default());
    let mut client = Client::new(&gateway(&seen, Some(Duration::from_millis(500))), "ada");
    let late = answers(&client.call(json!({})).await);
    let cancelled = async {
        while seen.cancelled.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(20), cancelled).await;
    assert!(told.is_ok(), "its server is not told");
    says_ask_again(&client.call(late).await);
    assert_eq!(counts(&seen), (1, 1, 0), "nothing is executed for it");
}

#[tokio::test]
async fn a_ticket_is_good_for_its_own_principal() {
    let seen = Arc::new(Seen::default());
    let gateway = gateway(&seen, None);
    let (mut ada, mut eve) = (Client::new(&gateway, "ada"), Client::new(&gateway, "eve"));
    let hers = answers(&ada.call(json!({})).await);
    says_ask_again(&eve.call(hers.clone()).await);
    assert_eq!(counts(&seen), (1, 0, 0), "the call still waits");
    let done = ada.call(hers.clone()).await;
    assert_eq!(done["result"]["content"][0]["text"], "thanks", "{done}");
    says_ask_again(&ada.call(hers).await);
    assert_eq!(counts(&seen), (1, 0, 1), "once is enough");
}

/// Over a connection of its own nobody else can come back for it.
#[tokio::test]
async fn a_call_does_not_wait_for_a_client_that_has_gone() {
    let seen = Arc::new(Seen::default());
    let gateway = gateway(&seen, None);
    let mut client = Client::new(&gateway, "ada");
    let left = answers(&client.call(json!({})).await);
    drop(client);
    let cancelled = async {
        while seen.cancelled.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let told = tokio::time::timeout(Duration::from_secs(20), cancelled).await;
    assert!(told.is_ok(), "its server is not told");
    let mut other = Client::new(&gateway, "ada");
    says_ask_again(&other.call(left).await);
    let done = answers(&other.call(json!({})).await);
    let done = other.call(done).await;
    assert_eq!(done["result"]["content"][0]["text"], "thanks", "{done}");
    assert_eq!(counts(&seen), (2, 1, 1));
}
