//! Client and inbox are both asked: the first answer counts, and the other is told.

use super::{Stage, at, begun, text};
use http::Method;
use serde_json::{Value, json};

fn yes(question: &Value) -> String {
    let yes = json!({"action": "accept", "content": {"answer": "yes, this time"}});
    json!({"jsonrpc": "2.0", "id": question["id"], "result": yes}).to_string()
}

#[tokio::test]
async fn the_inbox_answers_first() {
    let stage = Stage::new(&json!({"askAt": "both"}), &[]).await;
    let mut client = stage.legacy(&json!({"elicitation": {}})).await;
    let mut stream = begun(&mut client, "count").await;
    let asked = stream.message().await.unwrap();
    assert_eq!(asked["method"], "elicitation/create");
    let question = stage.question("permission").await;
    assert_eq!(question["alsoClient"], true);
    let (status, _) = stage.answer(&question, &json!({"action": "allow"})).await;
    assert_eq!(status, 200);
    // The client's question is taken back, and its call answered.
    let told = stream.message().await.unwrap();
    assert_eq!(told["method"], "notifications/cancelled", "{told}");
    assert_eq!(told["params"]["requestId"], asked["id"]);
    let answer = stream.message().await.unwrap();
    assert_eq!(text(&answer), "1", "{answer}");
    // What it says after that is said to nobody.
    client.post(yes(&asked)).await;
    assert_eq!(stage.counted().await, "1");
}

#[tokio::test]
async fn the_client_answers_first() {
    let stage = Stage::new(&json!({"askAt": "both"}), &[]).await;
    let mut client = stage.legacy(&json!({"elicitation": {}})).await;
    let mut stream = begun(&mut client, "count").await;
    let asked = stream.message().await.unwrap();
    let question = stage.question("permission").await;
    client.post(yes(&asked)).await;
    let answer = stream.message().await.unwrap();
    assert_eq!(text(&answer), "1", "{answer}");
    let (status, said) = stage.answer(&question, &json!({"action": "deny"})).await;
    assert_eq!((status.as_u16(), &said["code"]), (409, &json!("conflict")));
    assert!(
        said["error"].as_str().unwrap().contains("by client"),
        "{said}"
    );
    let (_, seen) = stage.api(Method::GET, &at(&question), &Value::Null).await;
    assert_eq!(seen["status"], "answered");
    assert_eq!(seen["answered"]["by"], "client");
    assert_eq!(stage.counted().await, "1");
}

/// A form of the server's own, with both.
#[tokio::test]
async fn a_form_is_withdrawn_from_the_client_that_was_slower() {
    for server in [["--era", "legacy"], ["--era", "modern"]] {
        let stage = Stage::new(&json!({"askAt": "both"}), &server).await;
        let mut client = stage.legacy(&json!({"elicitation": {}})).await;
        let mut stream = begun(&mut client, "elicit").await;
        let asked = stream.message().await.unwrap();
        assert_eq!(asked["method"], "elicitation/create");
        let question = stage.question("form").await;
        let said = json!({"action": "accept", "content": {"answer": "inbox"}});
        assert_eq!(stage.answer(&question, &said).await.0, 200);
        let told = stream.message().await.unwrap();
        assert_eq!(told["method"], "notifications/cancelled", "{told}");
        let answer = stream.message().await.unwrap();
        assert!(answer.to_string().contains("inbox"), "{answer}");
    }
}

/// Nothing is said about it: both are asked while somebody looks, and the client alone
/// before and after.
#[tokio::test]
async fn both_are_asked_while_somebody_looks() {
    let stage = Stage::new(&json!({}), &[]).await;
    let token = stage.world.token("control-token");
    let mut looks = stage.with_token("/api/v1/events?topics=questions", &token);
    let accept = [("accept", "text/event-stream")];
    let events = looks.open(Method::GET, &accept, "").await;
    assert_eq!(events.status, 200);
    let called = super::calling(stage.legacy(&json!({})).await, "count");
    let question = stage.question("permission").await;
    stage.answer(&question, &json!({"action": "allow"})).await;
    assert_eq!(text(&called.await.unwrap()), "1");
    drop(events);
    // Until it is known that nobody looks any more.
    let limit = tokio::time::Instant::now() + super::LONG;
    loop {
        let called = super::calling(stage.legacy(&json!({})).await, "count");
        let known = tokio::time::timeout(std::time::Duration::from_millis(500), called).await;
        if let Ok(answer) = known {
            assert!(answer.unwrap().get("error").is_some());
            break;
        }
        for question in stage.waiting().await {
            stage.answer(&question, &json!({"action": "deny"})).await;
        }
        assert!(tokio::time::Instant::now() < limit, "somebody still looks");
    }
}

/// A modern client came away with its question. What it answers after the inbox has is not
/// what counts, and it gets the outcome.
#[tokio::test]
async fn a_modern_client_gets_the_outcome_when_it_comes_back() {
    let stage = Stage::new(&json!({"askAt": "both"}), &[]).await;
    let mut client = stage.client("/mcp/e");
    let call = json!({"name": "count", "arguments": {}});
    let asked = client.modern("tools/call", call.clone()).await.message();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let question = stage.question("permission").await;
    assert_eq!(question["alsoClient"], true);
    assert_eq!(
        stage.answer(&question, &json!({"action": "allow"})).await.0,
        200
    );
    let mut again = call;
    again["requestState"] = asked["result"]["requestState"].clone();
    again["inputResponses"] = json!({"switchboard-consent": {"action": "decline"}});
    let answer = client.modern("tools/call", again.clone()).await.message();
    assert_eq!(text(&answer), "1", "{answer}");
    // Once.
    let answer = client.modern("tools/call", again).await.message();
    assert!(answer.get("error").is_some(), "{answer}");
    // A legacy client may have another copy of the server, which counts for itself.
    let counted = json!({"name": "counted", "arguments": {}});
    let answer = client.modern("tools/call", counted).await.message();
    assert_eq!(text(&answer), "1", "{answer}");
}
