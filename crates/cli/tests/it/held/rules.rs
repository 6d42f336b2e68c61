//! What is really sent is what rules decide about, what somebody says yes to, and what is on
//! record.

use super::{LONG, Stage, at, calling, error, text};
use http::Method;
use serde_json::{Value, json};
use switchboard_testkit::world::echo;
use tokio::time::Instant;

/// What is forbidden is not held: nobody can let it go.
#[tokio::test]
async fn what_is_forbidden_is_refused_at_once() {
    let stage = Stage::with(json!({"e": echo(&[])}), &json!({"deny": ["mcp__e__count"]})).await;
    stage.hold("server:e", "both").await;
    let answer = stage.legacy().await.call("count", json!({})).await;
    assert!(error(&answer).contains("not permitted"), "{answer}");
    assert!(stage.all_held().await.is_empty());
}

/// A rule that comes while it is held forbids it.
#[tokio::test]
async fn a_rule_that_came_meanwhile_counts() {
    let stage = Stage::new(&[]).await;
    stage.hold("tool:count", "call").await;
    let called = calling(stage.legacy().await, "count", json!({}));
    let held = stage.one_held().await;
    stage.world.write_settings(&json!({
        "mcpServers": {"e": echo(&[])},
        "permissions": {"deny": ["mcp__e__count"]},
        "observe": {"audit": {"sync": "each", "arguments": true}},
    }));
    let limit = Instant::now() + LONG;
    loop {
        let listed = stage.legacy().await.request("tools/list", json!({})).await;
        if !listed.to_string().contains("\"count\"") {
            break;
        }
        assert!(Instant::now() < limit, "{listed}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    stage.say(&held, json!({"action": "release"})).await;
    let answer = called.await.unwrap();
    assert!(error(&answer).contains("not permitted"), "{answer}");
}

/// Somebody says yes to what is sent, not to what was asked first.
#[tokio::test]
async fn somebody_is_asked_about_the_changed_call() {
    let stage = Stage::with(json!({"e": echo(&[])}), &json!({"ask": ["mcp__e__echo"]})).await;
    let control = stage.world.token("control-token");
    let mut listens = stage.with_token("/api/v1/events?topics=questions", &control);
    let _events = listens.listen().await;
    stage.hold("tool:echo", "call").await;
    let called = calling(stage.legacy().await, "echo", json!({"nonce": "first"}));
    let held = stage.one_held().await;
    let edit = json!({"action": "edit", "content": {"nonce": "second"}});
    stage.say(&held, edit).await;
    let limit = Instant::now() + LONG;
    let question = loop {
        let all = stage.get("questions").await;
        let mut all = all["questions"].as_array().unwrap().clone().into_iter();
        if let Some(found) = all.find(|one| one["kind"] == "permission") {
            break found;
        }
        assert!(Instant::now() < limit, "nobody is asked");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert_eq!(question["about"], json!({"nonce": "second"}));
    assert!(!called.is_finished());
    stage.say(&question, json!({"action": "allow"})).await;
    assert_eq!(text(&called.await.unwrap()), "second");
}

/// The record says what was sent, that it was changed and by whom, and who set what.
#[tokio::test]
async fn it_is_on_record() {
    let stage = Stage::new(&[]).await;
    let id = stage.hold("tool:echo", "both").await;
    let plain = calling(stage.legacy().await, "echo", json!({"nonce": "b"}));
    for _ in 0..2 {
        let held = stage.one_held().await;
        stage.say(&held, json!({"action": "release"})).await;
    }
    plain.await.unwrap();
    let called = calling(stage.legacy().await, "echo", json!({"nonce": "a"}));
    let held = stage.one_held().await;
    let edit = json!({"action": "edit", "content": {"nonce": "b"}});
    stage.say(&held, edit).await;
    let held = stage.one_held().await;
    let edit = json!({"action": "edit", "content": {"content": []}});
    stage.say(&held, edit).await;
    called.await.unwrap();
    stage
        .api(Method::DELETE, &format!("breakpoints/{id}"), &Value::Null)
        .await;
    let calls = stage.records("call").await;
    let calls: Vec<&Value> = calls.iter().filter(|call| call["tool"] == "echo").collect();
    let [plain, changed] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    assert_eq!(
        changed["edited"],
        json!(["arguments", "answer"]),
        "{changed}"
    );
    assert_eq!(plain.get("edited"), None);
    assert_eq!(changed["arguments"], json!({"nonce": "b"}));
    assert_eq!(changed["argumentsSha256"], plain["argumentsSha256"]);
    assert_eq!(changed["decision"], "allowed", "{changed}");
    let answers = stage.records("answer").await;
    let said: Vec<&Value> = answers.iter().map(|answer| &answer["answer"]).collect();
    assert_eq!(said, ["release", "release", "edit", "edit"]);
    assert!(
        answers
            .iter()
            .all(|answer| answer["by"] == "control" && answer["kind"] == "held")
    );
    let set = stage.records("breakpoint").await;
    let changes: Vec<&Value> = set.iter().map(|one| &one["change"]).collect();
    assert_eq!(changes, ["set", "removed"]);
    assert_eq!(set[0]["filter"], "tool:echo");
}

/// Secrets are not shown, are sent as they were where they are left alone, and never is the
/// word for them.
#[tokio::test]
async fn secrets_are_put_back() {
    let stage = Stage::new(&[]).await;
    stage.hold("tool:echo", "both").await;
    let arguments = json!({"nonce": {"password": "hunter22hunter22", "n": 1}});
    let called = calling(stage.legacy().await, "echo", arguments);
    let held = stage.one_held().await;
    assert_eq!(held["about"]["nonce"]["password"], "[redacted]", "{held}");
    let edit = |nonce: Value| json!({"action": "edit", "content": {"nonce": nonce}});
    let elsewhere = edit(json!({"password": "[redacted]", "copy": "[redacted]"}));
    let (status, said) = stage.answer(&held, &elsewhere).await;
    assert_eq!(
        (status.as_u16(), &said["field"]),
        (400, &json!("/content/nonce/copy"))
    );
    let (status, whole) = stage
        .api(Method::POST, &format!("{}/reveal", at(&held)), &Value::Null)
        .await;
    assert_eq!(status, 200);
    assert_eq!(whole["about"]["nonce"]["password"], "hunter22hunter22");
    let changed = edit(json!({"password": "[redacted]", "n": 2}));
    stage.say(&held, changed).await;
    let held = stage.one_held().await;
    let shown = held["about"].to_string();
    assert!(!shown.contains("hunter22"), "{shown}");
    stage
        .say(&held, json!({"action": "edit", "content": held["about"]}))
        .await;
    let answer = called.await.unwrap();
    let told: Value = serde_json::from_str(text(&answer)).unwrap();
    assert_eq!(told, json!({"password": "hunter22hunter22", "n": 2}));
}
