//! What is held and not let go: time runs out, whoever called gives up or leaves, there is no
//! more room, the gateway ends. Nothing reaches the server then.

use super::{LONG, Stage, calling, error, text};
use http::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use switchboard_testkit::world::echo;
use tokio::task::JoinSet;

/// The entry's own time-out, for a call and for an answer.
#[tokio::test]
async fn it_ends_by_its_own_time() {
    let mut entry = echo(&[]);
    entry["timeout"] = json!(2000);
    let stage = Stage::with(json!({"e": entry}), &json!({})).await;
    let id = stage.hold("tool:count", "call").await;
    let called = calling(stage.legacy().await, "count", json!({}));
    let held = stage.one_held().await;
    let took = held["until"].as_u64().unwrap() - held["at"].as_u64().unwrap();
    assert_eq!(took, 2000);
    let answer = called.await.unwrap();
    let told = error(&answer);
    assert!(
        told.contains("nobody let it go within 2 s; nothing was sent"),
        "{answer}"
    );
    stage.is_over(&held, "timed-out").await;
    stage
        .api(Method::DELETE, &format!("breakpoints/{id}"), &Value::Null)
        .await;
    assert_eq!(stage.counted().await, "0");
    stage.hold("tool:count", "result").await;
    let called = calling(stage.legacy().await, "count", json!({}));
    let held = stage.one_held().await;
    let answer = called.await.unwrap();
    assert!(error(&answer).contains("nobody let it go"), "{answer}");
    assert!(error(&answer).contains("the server was asked"), "{answer}");
    stage.is_over(&held, "timed-out").await;
}

/// After it was let go it has all its time.
#[tokio::test]
async fn what_is_let_go_has_its_time_again() {
    let mut entry = echo(&[]);
    entry["timeout"] = json!(4000);
    let stage = Stage::with(json!({"e": entry}), &json!({})).await;
    stage.hold("tool:echo", "call").await;
    let slow = json!({"nonce": "slow", "delayMs": 2500});
    let called = calling(stage.legacy().await, "echo", slow);
    let held = stage.one_held().await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    stage.say(&held, json!({"action": "release"})).await;
    assert_eq!(text(&called.await.unwrap()), "slow");
}

#[tokio::test]
async fn the_client_gives_its_call_up() {
    let stage = Stage::new(&[]).await;
    for at in ["call", "result"] {
        let id = stage.hold("tool:count", at).await;
        let client = stage.legacy().await;
        let mut beside = client.clone_for(&[]);
        let called = calling(client, "count", json!({}));
        let held = stage.one_held().await;
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": 1}});
        // The ids of a client that has come in begin after its handshake.
        for id in 1..=3 {
            let mut cancel = cancel.clone();
            cancel["params"]["requestId"] = json!(id);
            beside.post(cancel.to_string()).await;
        }
        stage.is_over(&held, "withdrawn").await;
        called.abort();
        stage
            .api(Method::DELETE, &format!("breakpoints/{id}"), &Value::Null)
            .await;
    }
    assert_eq!(stage.counted().await, "1", "the one whose answer was held");
}

#[tokio::test]
async fn the_client_leaves() {
    let stage = Stage::new(&[]).await;
    stage.hold("tool:count", "call").await;
    let mut client = stage.legacy().await;
    let params = json!({"name": "count", "arguments": {}});
    let stream = client.stream("tools/call", params.clone()).await;
    let held = stage.one_held().await;
    drop(stream);
    client.send(Method::DELETE, &[], "").await;
    stage.is_over(&held, "withdrawn").await;
    // One without a session, which closes its stream.
    let mut params = params;
    params["_meta"] = json!({"io.modelcontextprotocol/clientCapabilities": {}});
    let stream = stage.modern().modern_stream("tools/call", params).await;
    let held = stage.one_held().await;
    drop(stream);
    stage.is_over(&held, "withdrawn").await;
    // One that may not come in any more.
    stage.world.run(&["token", "create", "other"]).await.ok();
    let client = stage.legacy_as(&stage.world.token("tokens/other")).await;
    let called = calling(client, "count", json!({}));
    let held = stage.one_held().await;
    assert_eq!(held["principal"], "other");
    stage.world.run(&["token", "revoke", "other"]).await.ok();
    stage.is_over(&held, "withdrawn").await;
    called.abort();
    assert_eq!(stage.counted().await, "0");
}

/// So many of a principal and no more; another's still are held, and what somebody is asked
/// otherwise has room of its own.
#[tokio::test]
async fn there_is_room_for_so_many() {
    let stage = Stage::with(
        json!({"e": echo(&[])}),
        &json!({"ask": ["mcp__e__counted"]}),
    )
    .await;
    stage.world.run(&["token", "create", "other"]).await.ok();
    stage.hold("tool:count", "call").await;
    let mut calls = JoinSet::new();
    for _ in 0..32 {
        let mut client = stage.legacy().await;
        calls.spawn(async move { client.call("count", json!({})).await });
    }
    stage.held(32).await;
    let answer = stage.legacy().await.call("count", json!({})).await;
    let told = error(&answer);
    assert!(
        told.contains("too many calls of this principal are held"),
        "{answer}"
    );
    assert_eq!(stage.get("breakpoints").await["missed"], 1);
    let other = stage.legacy_as(&stage.world.token("tokens/other")).await;
    let other = calling(other, "count", json!({}));
    stage.held(33).await;
    // Somebody who looks is asked: this client cannot be.
    let control = stage.world.token("control-token");
    let mut listens = stage.with_token("/api/v1/events?topics=questions", &control);
    let _events = listens.listen().await;
    let asked = calling(stage.legacy().await, "counted", json!({}));
    let limit = tokio::time::Instant::now() + LONG;
    let question = loop {
        let all = stage.get("questions").await;
        let mut all = all["questions"].as_array().unwrap().clone().into_iter();
        if let Some(found) = all.find(|one| one["kind"] == "permission") {
            break found;
        }
        assert!(tokio::time::Instant::now() < limit, "nobody is asked");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    stage.say(&question, json!({"action": "allow"})).await;
    assert_eq!(text(&asked.await.unwrap()), "0");
    for held in stage.held(33).await {
        stage.say(&held, json!({"action": "release"})).await;
    }
    while let Some(answer) = calls.join_next().await {
        let answer = answer.unwrap();
        assert!(answer.get("result").is_some(), "{answer}");
    }
    assert!(other.await.unwrap().get("result").is_some());
}

/// What is too large to be held: a call is refused, an answer goes to its client.
#[tokio::test]
async fn what_is_too_large_is_told() {
    let stage = Stage::new(&[]).await;
    stage.hold("tool:echo", "both").await;
    let large = "lorem ipsum ".repeat(30_000);
    let answer = stage
        .legacy()
        .await
        .call("echo", json!({"nonce": large}))
        .await;
    assert!(error(&answer).contains("too large to be held"), "{answer}");
    stage.api(Method::DELETE, "breakpoints", &Value::Null).await;
    stage.hold("tool:echo", "result").await;
    let answer = stage
        .legacy()
        .await
        .call("echo", json!({"nonce": large}))
        .await;
    assert_eq!(text(&answer), large);
    assert_eq!(stage.get("breakpoints").await["missed"], 2);
    // What a client names is as long as it likes, and is not kept for that.
    stage.hold("server:e", "call").await;
    let long = "n".repeat(500_000);
    let called = calling(stage.legacy().await, &long, json!({}));
    let held = stage.one_held().await;
    assert!(
        held.to_string().len() < 4_000,
        "{} bytes",
        held.to_string().len()
    );
    stage.say(&held, json!({"action": "refuse"})).await;
    assert!(error(&called.await.unwrap()).len() < 1_000);
}

/// A gateway that ends does not wait ten minutes, and sends nothing.
#[tokio::test]
async fn the_gateway_ends_meanwhile() {
    let stage = Stage::new(&[]).await;
    let file = stage.world.path("home/repo/counted");
    stage.hold("tool:count", "call").await;
    let arguments = json!({"file": file.display().to_string()});
    let called = calling(stage.legacy().await, "count", arguments);
    stage.one_held().await;
    let begun = Instant::now();
    let mut gateway = stage.gateway;
    gateway.signal(Signal::TERM);
    gateway.wait(LONG).await;
    assert!(begun.elapsed() < LONG, "{:?}", begun.elapsed());
    called.abort();
    assert!(!file.exists(), "it was sent");
}
