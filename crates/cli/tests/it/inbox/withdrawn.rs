//! Questions that nobody waits for any more: an answer to them reaches nothing.

use super::{LONG, Stage, at, begun, calling};
use http::Method;
use serde_json::{Value, json};

async fn is_told(stage: &Stage, question: &Value, status: &str) {
    let limit = tokio::time::Instant::now() + LONG;
    loop {
        let (_, seen) = stage.api(Method::GET, &at(question), &Value::Null).await;
        if seen["status"] == status {
            break;
        }
        assert!(tokio::time::Instant::now() < limit, "{seen}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let (code, said) = stage.answer(question, &json!({"action": "allow"})).await;
    assert_eq!(
        (code.as_u16(), &said["code"]),
        (409, &json!("conflict")),
        "{said}"
    );
}

#[tokio::test]
async fn the_client_has_left() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let mut client = stage.legacy(&json!({})).await;
    let stream = begun(&mut client, "count").await;
    let question = stage.question("permission").await;
    drop(stream);
    let ended = client.send(Method::DELETE, &[], "").await;
    assert!(ended.status.is_success(), "{}", ended.status);
    is_told(&stage, &question, "withdrawn").await;
    assert_eq!(stage.counted().await, "0");
}

#[tokio::test]
async fn the_client_gives_its_call_up() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let client = stage.legacy(&json!({})).await;
    let mut beside = client.clone_for(&[]);
    let called = calling(client, "count");
    let question = stage.question("permission").await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    beside.post(cancel.to_string()).await;
    is_told(&stage, &question, "withdrawn").await;
    called.abort();
    assert_eq!(stage.counted().await, "0");
}

#[tokio::test]
async fn a_rule_forbids_it_meanwhile() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let called = calling(stage.legacy(&json!({})).await, "count");
    let question = stage.question("permission").await;
    let mut settings = super::settings(&json!({"askAt": "inbox"}), &[]);
    settings["permissions"] = json!({"deny": ["mcp__e__count"]});
    stage.world.write_settings(&settings);
    let answer = called.await.unwrap();
    assert!(answer.get("error").is_some(), "{answer}");
    is_told(&stage, &question, "withdrawn").await;
    assert_eq!(stage.counted().await, "0");
}

#[tokio::test]
async fn the_token_is_revoked_meanwhile() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    stage.world.run(&["token", "create", "other"]).await.ok();
    let mut other = stage.with_token("/mcp/e", &stage.world.token("tokens/other"));
    super::hello(&mut other, &json!({})).await;
    let called = calling(other, "count");
    let question = stage.question("permission").await;
    assert_eq!(question["principal"], "other");
    stage.world.run(&["token", "revoke", "other"]).await.ok();
    is_told(&stage, &question, "withdrawn").await;
    called.abort();
    assert_eq!(stage.counted().await, "0");
}

/// A client that is known to give up early is refused before it does.
#[tokio::test]
async fn nobody_answers_in_time() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let mut client = stage.client("/mcp/e");
    let params = json!({"protocolVersion": switchboard_testkit::LEGACY, "capabilities": {},
        "clientInfo": {"name": "codex-mcp-client", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let reply = client.post(hello.to_string()).await;
    let session = reply.header("mcp-session-id").unwrap().to_owned();
    client.headers.insert("mcp-session-id".into(), session);
    client.deadline = std::time::Duration::from_secs(120);
    let called = calling(client, "count");
    let question = stage.question("permission").await;
    let (at, until) = (
        question["at"].as_u64().unwrap(),
        question["until"].as_u64().unwrap(),
    );
    assert_eq!(until - at, 58_000);
    let answer = called.await.unwrap();
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(told.contains("nobody answered within 58 s"), "{told}");
    is_told(&stage, &question, "timed-out").await;
    assert_eq!(stage.counted().await, "0");
}

/// A modern client that closes its stream has given its call up.
#[tokio::test]
async fn a_modern_client_has_left() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let params = json!({"name": "count", "arguments": {}, "_meta": {
        "io.modelcontextprotocol/clientCapabilities": {}}});
    let stream = stage
        .client("/mcp/e")
        .modern_stream("tools/call", params)
        .await;
    let question = stage.question("permission").await;
    drop(stream);
    is_told(&stage, &question, "withdrawn").await;
    assert_eq!(stage.counted().await, "0");
}
