//! What a server's form offers and is not shown is sent as it was offered.

use super::{LONG, Stage};
use crate::support::scripted::Scripted;
use http::Method;
use serde_json::{Value, json};
use switchboard_testkit::{LEGACY, world::World};
use tokio::time::Instant;

const KEY: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

/// A server that asks this before it answers.
fn asks(properties: &Value) -> Scripted {
    let hello = json!({"protocolVersion": LEGACY, "capabilities": {"tools": {}},
        "serverInfo": {"name": "scripted", "version": "1"}});
    let tools = json!({"tools": [{"name": "ask", "inputSchema": {"type": "object"}}]});
    let form = json!({"jsonrpc": "2.0", "id": "form-1", "method": "elicitation/create",
        "params": {"message": "which?", "requestedSchema": {"type": "object",
            "properties": properties}}});
    let line = |method: &str, reply: &Value| json!({"method": method, "reply": reply.to_string()});
    Scripted::new(
        "legacy",
        &[
            line("initialize", &hello),
            line("tools/list", &tools),
            json!({"method": "tools/call", "kind": "result",
                "reply": json!({"content": []}).to_string(), "before": [form.to_string()]}),
        ],
    )
}

async fn stage(scripted: &Scripted) -> Stage {
    let world = World::repository();
    world.write_settings(&json!({
        "mcpServers": {"e": scripted.stdio()},
        "approvals": {"askAt": "inbox"},
    }));
    let gateway = world.gateway_with(&[]).await;
    let url = gateway.url().await;
    Stage {
        world,
        gateway,
        url,
    }
}

/// The form, once it is there.
async fn form(stage: &Stage) -> Value {
    let limit = Instant::now() + LONG;
    loop {
        let all = stage.get("questions").await;
        let mut all = all["questions"].as_array().unwrap().clone().into_iter();
        if let Some(found) = all.find(|one| one["kind"] == "form") {
            return found;
        }
        assert!(Instant::now() < limit, "no form");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// What the server was answered.
async fn answered(scripted: &Scripted) -> Value {
    let limit = Instant::now() + LONG;
    loop {
        let record = scripted.record();
        let answer = record.lines().find_map(|line| {
            // Each line says first how long it is.
            let (_, message) = line.split_once(':')?;
            let message: Value = serde_json::from_str(message).ok()?;
            (message["id"] == "form-1").then(|| message["result"].clone())
        });
        if let Some(answer) = answer {
            return answer;
        }
        assert!(Instant::now() < limit, "{record}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_default_that_is_left_alone_is_what_the_server_gave() {
    let scripted = asks(&json!({
        "key": {"type": "string", "default": KEY},
        "which": {"type": "string", "enum": [KEY, "none"]},
        "note": {"type": "string"},
    }));
    let stage = stage(&scripted).await;
    let called = super::calling(stage.legacy().await, "ask", json!({}));
    let form = form(&stage).await;
    assert!(!form.to_string().contains("ghp_"), "{form}");
    assert_eq!(form["schema"]["properties"]["key"]["default"], "[redacted]");
    // Where it stands for nothing that was offered, somebody has to say it anew.
    let wrong = json!({"action": "accept", "content": {"note": "it is [redacted]"}});
    let (status, said) = stage.answer(&form, &wrong).await;
    assert_eq!(
        (status.as_u16(), &said["field"]),
        (400, &json!("/content/note")),
        "{said}"
    );
    // What does not fit says nothing of what was not shown.
    let wrong = json!({"action": "accept", "content": {"which": "other"}});
    let (status, said) = stage.answer(&form, &wrong).await;
    assert_eq!(status, 400, "{said}");
    assert!(!said.to_string().contains("ghp_"), "{said}");
    let content = json!({"key": "[redacted]", "which": "[redacted]", "note": "n"});
    stage
        .say(&form, json!({"action": "accept", "content": content}))
        .await;
    called.await.unwrap();
    let answer = answered(&scripted).await;
    assert_eq!(
        answer["content"],
        json!({"key": KEY, "which": KEY, "note": "n"})
    );
}

/// On a command line as well.
#[tokio::test]
async fn a_default_is_accepted_on_a_command_line() {
    let scripted = asks(&json!({"key": {"type": "string", "default": KEY}}));
    let stage = stage(&scripted).await;
    let called = super::calling(stage.legacy().await, "ask", json!({}));
    let form = form(&stage).await;
    let id = form["id"].as_str().unwrap();
    let words = ["answer", id, "accept", "--set", "key=[redacted]"];
    stage.world.run(&words).await.ok();
    called.await.unwrap();
    assert_eq!(answered(&scripted).await["content"]["key"], KEY);
    let (_, over) = stage
        .api(Method::GET, &super::at(&form), &Value::Null)
        .await;
    assert!(!over.to_string().contains("ghp_"), "{over}");
}
