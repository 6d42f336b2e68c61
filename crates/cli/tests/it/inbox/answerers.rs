//! Several who answer: one wins, the rest are told, and nothing reaches the server twice.

use super::{Stage, at, calling, text};
use http::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn two_answer_at_once() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    for round in 1..=10 {
        let called = calling(stage.legacy(&json!({})).await, "count");
        let question = stage.question("permission").await;
        let allow = json!({"action": "allow"});
        let (first, second) = tokio::join!(
            stage.answer(&question, &allow),
            stage.answer(&question, &allow)
        );
        let mut statuses = [first.0.as_u16(), second.0.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{first:?} {second:?}");
        assert_eq!(text(&called.await.unwrap()), round.to_string());
    }
}

#[tokio::test]
async fn an_answer_twice_is_told() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let called = calling(stage.legacy(&json!({})).await, "count");
    let question = stage.question("permission").await;
    stage.answer(&question, &json!({"action": "deny"})).await;
    assert!(called.await.unwrap().get("error").is_some());
    let (status, said) = stage.answer(&question, &json!({"action": "allow"})).await;
    assert_eq!((status.as_u16(), &said["code"]), (409, &json!("conflict")));
    assert!(
        said["error"].as_str().unwrap().contains("deny by control"),
        "{said}"
    );
    let (status, _) = stage
        .api(
            Method::POST,
            "questions/0123456789abcdef0123",
            &json!({"action": "allow"}),
        )
        .await;
    assert_eq!(status, 404);
    assert_eq!(stage.counted().await, "0");
}

/// A client's token is for its own principal's questions, and those of others are not there.
#[tokio::test]
async fn another_principals_question_is_not_there() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    stage.world.run(&["token", "create", "other"]).await.ok();
    let other = stage.world.token("tokens/other");
    let own = stage.world.token("tokens/default");
    let called = calling(stage.legacy(&json!({})).await, "count");
    let question = stage.question("permission").await;
    let allow = json!({"action": "allow"});
    let (_, seen) = stage
        .api_as(&other, Method::GET, "questions", &Value::Null)
        .await;
    assert_eq!(seen["questions"], json!([]), "{seen}");
    let (status, _) = stage
        .api_as(&other, Method::POST, &at(&question), &allow)
        .await;
    assert_eq!(status, 404);
    let (status, _) = stage
        .api_as("wrong", Method::POST, &at(&question), &allow)
        .await;
    assert_eq!(status, 401);
    assert!(!called.is_finished());
    let (_, seen) = stage
        .api_as(&own, Method::GET, "questions", &Value::Null)
        .await;
    assert_eq!(seen["questions"][0]["id"], question["id"]);
    let (status, said) = stage
        .api_as(&own, Method::POST, &at(&question), &allow)
        .await;
    // Whoever is not to be asked does not answer for the person who is.
    assert_eq!(status, 403, "{said}");
    assert!(!called.is_finished());
    assert_eq!(stage.answer(&question, &allow).await.0, 200);
    assert_eq!(text(&called.await.unwrap()), "1");
}

/// Who answered is on record, and what was asked with is not.
#[tokio::test]
async fn who_answered_is_recorded() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let called = calling(stage.legacy(&json!({})).await, "count");
    let question = stage.question("permission").await;
    stage.answer(&question, &json!({"action": "allow"})).await;
    called.await.unwrap();
    let ran = stage.world.run(&["audit", "--json"]).await.ok();
    let records: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |event: &str| -> Vec<&Value> {
        let all = records.iter();
        all.filter(|record| record["event"] == event).collect()
    };
    let answers = of("answer");
    let [answer] = answers.as_slice() else {
        panic!("{answers:?}");
    };
    assert_eq!(answer["by"], "control");
    assert_eq!(answer["answer"], "allow");
    assert_eq!(answer["principal"], "default");
    assert_eq!(answer["server"], "e");
    // The client that called was not asked: its call says who was.
    let calls = of("call");
    let [call] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    assert_eq!(
        (&call["consent"], &call["consentBy"]),
        (&json!("yes, this time"), &json!("control"))
    );
}

/// A yes from now on holds for the next call as well; nobody is asked again.
#[tokio::test]
async fn an_answer_can_hold_for_later_calls() {
    let world = switchboard_testkit::world::World::repository();
    let mut settings = super::settings(&json!({"askAt": "inbox"}), &[]);
    settings["permissions"] = json!({"defaultMode": "default"});
    world.write_settings(&settings);
    let stage = Stage::serve(world).await;
    let called = calling(stage.legacy(&json!({})).await, "count");
    let question = stage.question("permission").await;
    assert!(
        question["answers"].to_string().contains("allow-always"),
        "{question}"
    );
    stage
        .answer(&question, &json!({"action": "allow-always"}))
        .await;
    assert_eq!(text(&called.await.unwrap()), "1");
    let called = calling(stage.legacy(&json!({})).await, "count");
    assert_eq!(text(&called.await.unwrap()), "2");
}
