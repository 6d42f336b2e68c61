//! How much can wait at once.

use super::{LONG, Stage};
use http::Method;
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{peak_mib, worker_of};
use tokio::task::JoinSet;

/// The 65th question of a principal is refused, and says which cap it met; what waits is
/// answered as ever.
#[tokio::test]
async fn so_many_of_one_principal_and_no_more() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let mut calls = JoinSet::new();
    for _ in 0..64 {
        let mut client = stage.legacy(&json!({})).await;
        client.deadline = Duration::from_secs(120);
        calls.spawn(async move { client.call("count", json!({})).await });
    }
    let limit = tokio::time::Instant::now() + LONG;
    while stage.waiting().await.len() < 64 {
        assert!(tokio::time::Instant::now() < limit, "not all of them wait");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut client = stage.legacy(&json!({})).await;
    let answer = client.call("count", json!({})).await;
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(
        told.contains("too many questions of this principal"),
        "{told}"
    );
    for question in stage.waiting().await {
        let (status, _) = stage.answer(&question, &json!({"action": "allow"})).await;
        assert_eq!(status, 200);
    }
    while let Some(answer) = calls.join_next().await {
        let answer = answer.unwrap();
        assert!(answer.get("result").is_some(), "{answer}");
    }
    assert_eq!(stage.counted().await, "64");
}

/// What a call is asked about may be large: events say that there is more, one question has
/// all of it, and what was told takes no more room the more of them there are.
#[tokio::test]
async fn events_are_short_and_take_no_more_room_than_so_much() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let token = stage.world.token("control-token");
    let mut listens = stage.with_token("/api/v1/events?topics=questions", &token);
    let mut events = listens.listen().await;
    let worker = worker_of(stage.gateway.pid()).await;
    let large = "lorem ipsum ".repeat(4_500);
    let mut clients = Vec::new();
    for _ in 0..20 {
        clients.push(stage.legacy(&json!({})).await);
    }
    let mut before = 0;
    for round in 0..8 {
        let mut calls = JoinSet::new();
        for mut client in clients.drain(..) {
            let arguments = json!({"large": large});
            calls.spawn(async move {
                let answer = client.call("count", arguments).await;
                (client, answer)
            });
        }
        let limit = tokio::time::Instant::now() + LONG;
        // All of them are a mebibyte to look through: not more often than needed.
        let questions = loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let all = stage.waiting().await;
            if all.len() == 20 {
                break all;
            }
            assert!(tokio::time::Instant::now() < limit, "{} wait", all.len());
        };
        if round == 0 {
            let told = events.message().await.expect("an event");
            assert_eq!(told["question"]["partial"], true, "{told}");
            assert_eq!(told["question"]["about"], Value::Null, "{told}");
            let path = super::at(&told["question"]);
            let (_, whole) = stage.api(Method::GET, &path, &Value::Null).await;
            assert_eq!(whole["about"]["large"], *large, "one has all of it");
        }
        for question in questions {
            let (status, _) = stage.answer(&question, &json!({"action": "deny"})).await;
            assert_eq!(status, 200);
        }
        while let Some(answered) = calls.join_next().await {
            clients.push(answered.expect("an answer").0);
        }
        // What a first few take is what all may.
        if round == 2 {
            before = peak_mib(worker);
        }
    }
    let after = peak_mib(worker);
    assert!(after < before + 30, "{before} MiB, then {after} MiB");
}

/// A client is told how many of its own wait, and of no other's.
#[tokio::test]
async fn a_client_hears_of_its_own_alone() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let made = json!({"name": "ada"});
    let (_, made) = stage.api(Method::POST, "tokens", &made).await;
    let ada = made["token"].as_str().expect("a token").to_owned();
    let others = super::calling(stage.legacy(&json!({})).await, "count");
    stage.question("permission").await;
    let mut listens = stage.with_token("/api/v1/events?topics=questions", &ada);
    let mut events = listens.listen().await;
    let mut client = stage.with_token("/mcp/e", &ada);
    super::hello(&mut client, &json!({})).await;
    let own = super::calling(client, "count");
    let told = tokio::time::timeout(LONG, events.message()).await;
    let told = told.expect("in time").expect("an event");
    assert_eq!(told["question"]["principal"], "ada", "{told}");
    assert_eq!(told["waiting"], 1, "{told}");
    let (_, list) = stage
        .api_as(&ada, Method::GET, "questions", &Value::Null)
        .await;
    assert_eq!(list["waiting"], 1, "{list}");
    for question in stage.waiting().await {
        stage.answer(&question, &json!({"action": "deny"})).await;
    }
    let _ = (own.await, others.await);
}
