//! A tool that asks for a form, then for a sampling, then for a second form:
//! clients and servers of both eras, over every pair of transports that both
//! eras have, with clients that answer, decline, cancel, refuse or leave.

use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{Carrier, Served, Upstream};
use switchboard_testkit::{Channel, LEGACY, text_of, with_meta};

const TOOL: &str = "test_interview";
const CARRIERS: [Carrier; 3] = [Carrier::Stdio, Carrier::Http, Carrier::Ws];
const PATIENCE: Duration = Duration::from_secs(30);

/// How the client behaves at each of the three questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Answers,
    /// `decline` or `cancel`, at the first (1) or second (3) form.
    Ends(&'static str, usize),
    /// The sampling is refused by the client's user.
    Refuses,
    /// Gone without a word at this question.
    Leaves(usize),
}

const MANNERS: [Manner; 9] = [
    Manner::Answers,
    Manner::Ends("decline", 1),
    Manner::Ends("cancel", 1),
    Manner::Ends("decline", 3),
    Manner::Ends("cancel", 3),
    Manner::Refuses,
    Manner::Leaves(1),
    Manner::Leaves(2),
    Manner::Leaves(3),
];

impl Manner {
    /// What answers the question: `result` or `error`; nothing when the client leaves.
    fn answer(self, method: &str, params: &Value) -> Option<Value> {
        let number = match method {
            "sampling/createMessage" => 2,
            "elicitation/create" => {
                let message = params["message"].as_str().unwrap_or_default();
                if message.contains("name") { 1 } else { 3 }
            }
            _ => panic!("unexpected question: {method}"),
        };
        Some(match (self, number) {
            (Self::Leaves(at), _) if at == number => return None,
            (Self::Ends(action, at), _) if at == number => json!({"result": {"action": action}}),
            (Self::Refuses, 2) => {
                json!({"error": {"code": -1, "message": "User rejected sampling request"}})
            }
            (_, 1) => json!({"result": {"action": "accept", "content": {"name": "Ada"}}}),
            (_, 2) => {
                json!({"result": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "tea"}}})
            }
            _ => json!({"result": {"action": "accept", "content": {"answer": "yes"}}}),
        })
    }

    /// Whether this is how it should have ended.
    fn is_right(self, ended: Option<&Value>) -> bool {
        match (self, ended) {
            (Self::Leaves(_), ended) => ended.is_none(),
            (_, None) => false,
            (Self::Answers, Some(end)) => text_of(end) == "Ada was offered tea and said yes",
            (Self::Ends(action, at), Some(end)) => {
                let which = if at == 1 { "first" } else { "second" };
                text_of(end) == format!("Ended at the {which} form: {action}")
            }
            (Self::Refuses, Some(end)) => end.to_string().contains("rejected sampling"),
        }
    }
}

/// A legacy client: questions come as requests.
async fn legacy(mut client: Channel, manner: Manner) -> Option<Value> {
    client.initialize(LEGACY).await;
    let id = client.start("tools/call", json!({"name": TOOL, "arguments": {}}));
    loop {
        let message = client.next(PATIENCE).await.expect("the interview goes on");
        match (message["method"].as_str(), message.get("id")) {
            (Some(method), Some(theirs)) => {
                let mut answer = manner.answer(method, &message["params"])?;
                answer["jsonrpc"] = "2.0".into();
                answer["id"] = theirs.clone();
                client.send(answer);
            }
            (None, Some(ours)) if *ours == id => return Some(message),
            _ => {}
        }
    }
}

/// A modern client: questions are results, and answers come with the next request.
async fn modern(mut client: Channel, manner: Manner) -> Option<Value> {
    let mut params = json!({"name": TOOL, "arguments": {}});
    for _ in 0..10 {
        let id = client.start("tools/call", with_meta(params.clone()));
        let response = client.response(id).await;
        let result = &response["result"];
        if result["resultType"] != "input_required" {
            return Some(response);
        }
        let mut answers = json!({});
        for (key, question) in result["inputRequests"].as_object().expect("questions") {
            let method = question["method"].as_str().expect("a method");
            let answer = manner.answer(method, &question["params"])?;
            // In this era a refusal has no form of its own: the client says nothing more.
            answers[key] = answer.get("result")?.clone();
        }
        params["inputResponses"] = answers;
        params["requestState"] = result["requestState"].clone();
    }
    panic!("more than ten rounds");
}

async fn all(server_era: &str, down: Carrier) {
    for up in CARRIERS {
        let mut upstream = Upstream::of("conformance-server", up, &["--era", server_era]).await;
        // A legacy client that leaves over HTTP has not ended its session: its
        // call waits, and the questions of one shared copy would be anybody's.
        if down == Carrier::Http {
            upstream.entry["isolation"] = "session".into();
        }
        let mut gateway = Served::start(down, &upstream).await;
        for modern_client in [false, true] {
            for manner in MANNERS {
                let place = format!(
                    "{} client over {down:?}, {server_era} server over {up:?}, {manner:?}",
                    if modern_client { "modern" } else { "legacy" }
                );
                if down == Carrier::Stdio {
                    gateway = Served::start(down, &upstream).await;
                }
                let client = gateway.client().await;
                let ended = if modern_client {
                    modern(client, manner).await
                } else {
                    legacy(client, manner).await
                };
                // A modern client that would refuse a sampling just stops asking.
                let manner = match manner {
                    Manner::Refuses if modern_client => Manner::Leaves(2),
                    manner => manner,
                };
                assert!(manner.is_right(ended.as_ref()), "{place}: {ended:?}");
            }
            // Whoever left has left nothing behind that is in the way of the next.
            if down != Carrier::Stdio {
                let client = gateway.client().await;
                let ended = legacy(client, Manner::Answers).await;
                assert!(Manner::Answers.is_right(ended.as_ref()), "{ended:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_legacy_server_interviews_over_stdio() {
    all("legacy", Carrier::Stdio).await;
}

#[tokio::test]
async fn a_legacy_server_interviews_over_http() {
    all("legacy", Carrier::Http).await;
}

#[tokio::test]
async fn a_legacy_server_interviews_over_websocket() {
    all("legacy", Carrier::Ws).await;
}

#[tokio::test]
async fn a_modern_server_interviews_over_stdio() {
    all("modern", Carrier::Stdio).await;
}

#[tokio::test]
async fn a_modern_server_interviews_over_http() {
    all("modern", Carrier::Http).await;
}

#[tokio::test]
async fn a_modern_server_interviews_over_websocket() {
    all("modern", Carrier::Ws).await;
}
