//! Who may set breakpoints and let go what they hold, and who may not.

use super::{Stage, at, calling, text};
use http::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn two_answer_at_once_and_one_is_told() {
    let stage = Stage::new(&[]).await;
    stage.hold("tool:count", "call").await;
    for round in 1..=5 {
        let called = calling(stage.legacy().await, "count", json!({}));
        let held = stage.one_held().await;
        let (release, edit) = (
            json!({"action": "release"}),
            json!({"action": "edit", "content": {}}),
        );
        let (first, second) =
            tokio::join!(stage.answer(&held, &release), stage.answer(&held, &edit));
        let mut statuses = [first.0.as_u16(), second.0.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{first:?} {second:?}");
        assert_eq!(text(&called.await.unwrap()), round.to_string());
    }
}

/// A client sees that its own call is held, and has no part in letting it go; another knows
/// nothing of it.
#[tokio::test]
async fn whoever_calls_does_not_let_it_go() {
    let stage = Stage::new(&[]).await;
    stage.world.run(&["token", "create", "other"]).await.ok();
    let other = stage.world.token("tokens/other");
    let own = stage.world.token("tokens/default");
    stage.hold("tool:count", "call").await;
    let called = calling(stage.legacy().await, "count", json!({}));
    let held = stage.one_held().await;
    let answers = [
        json!({"action": "release"}),
        json!({"action": "edit", "content": {}}),
        json!({"action": "refuse"}),
    ];
    for answer in &answers {
        for (token, status) in [(other.as_str(), 404), (own.as_str(), 403), ("wrong", 401)] {
            let asked = stage.api_as(token, Method::POST, &at(&held), answer).await;
            assert_eq!(asked.0.as_u16(), status, "{answer}: {}", asked.1);
        }
    }
    let seen = stage
        .api_as(&other, Method::GET, "questions", &Value::Null)
        .await
        .1;
    assert_eq!(seen["questions"], json!([]));
    let seen = stage
        .api_as(&own, Method::GET, "questions", &Value::Null)
        .await
        .1;
    assert_eq!(seen["questions"][0]["id"], held["id"]);
    let reveal = format!("{}/reveal", at(&held));
    assert_eq!(
        stage
            .api_as(&own, Method::POST, &reveal, &Value::Null)
            .await
            .0,
        403
    );
    for (verb, path, body) in [
        (Method::GET, "breakpoints", Value::Null),
        (Method::POST, "breakpoints", json!({"filter": "tool:*"})),
        (Method::DELETE, "breakpoints", Value::Null),
        (Method::DELETE, "breakpoints/1", Value::Null),
    ] {
        for (token, status) in [(own.as_str(), 403), ("wrong", 401)] {
            let asked = stage.api_as(token, verb.clone(), path, &body).await;
            assert_eq!(asked.0.as_u16(), status, "{verb} {path}: {}", asked.1);
        }
    }
    assert!(!called.is_finished());
    stage.say(&held, json!({"action": "release"})).await;
    assert_eq!(text(&called.await.unwrap()), "1");
    // An answer that is held is not read beside.
    stage.api(Method::DELETE, "breakpoints", &Value::Null).await;
    stage.hold("tool:count", "result").await;
    let mut listens = stage.with_token("/api/v1/events?topics=questions", &own);
    let mut events = listens.listen().await;
    let called = calling(stage.legacy().await, "count", json!({}));
    let held = stage.one_held().await;
    assert_eq!(held["about"]["content"][0]["text"], "2");
    let told = events.message().await.expect("an event");
    let seen = stage
        .api_as(&own, Method::GET, "questions", &Value::Null)
        .await
        .1;
    let one = stage
        .api_as(&own, Method::GET, &at(&held), &Value::Null)
        .await
        .1;
    for seen in [&told["question"], &seen["questions"][0], &one] {
        assert_eq!(
            (&seen["kind"], &seen["about"]),
            (&json!("held"), &Value::Null),
            "{seen}"
        );
    }
    stage.say(&held, json!({"action": "refuse"})).await;
    assert!(called.await.unwrap().get("error").is_some());
}

/// What makes no sense is refused, with the place where it does not.
#[tokio::test]
async fn what_makes_no_sense_is_told() {
    let stage = Stage::new(&[]).await;
    for (body, field) in [
        (json!({}), json!("/filter")),
        (json!({"filter": "   "}), json!("/filter")),
        (json!({"filter": "nonsense:x"}), json!("/filter")),
        (json!({"filter": "a ".repeat(3000)}), json!("/filter")),
        (json!({"filter": 7}), json!("/filter")),
        (json!({"filter": "tool:x", "at": "nowhere"}), json!("/at")),
        (
            json!({"filter": "tool:x", "wehre": "call"}),
            json!("/wehre"),
        ),
        (json!([]), Value::Null),
    ] {
        let (status, said) = stage.api(Method::POST, "breakpoints", &body).await;
        assert_eq!(status, 400, "{said}");
        if !field.is_null() {
            assert_eq!(said["field"], field, "{said}");
        }
    }
    for _ in 0..32 {
        stage.hold("tool:nothing", "call").await;
    }
    let set = json!({"filter": "tool:nothing"});
    let (status, said) = stage.api(Method::POST, "breakpoints", &set).await;
    assert_eq!((status.as_u16(), &said["code"]), (429, &json!("too-many")));
    stage.api(Method::DELETE, "breakpoints", &Value::Null).await;
    stage.hold("tool:echo", "call").await;
    let called = calling(stage.legacy().await, "echo", json!({"nonce": "a"}));
    let held = stage.one_held().await;
    for wrong in [
        json!({"action": "allow"}),
        json!({"action": "edit"}),
        json!({"action": "edit", "content": 7}),
        json!({"action": "edit", "content": [1]}),
        json!({"action": "edit", "content": {}, "more": 1}),
        json!({"action": ["release"]}),
        json!({}),
    ] {
        let (status, said) = stage.answer(&held, &wrong).await;
        assert_eq!(status, 400, "{wrong}: {said}");
    }
    assert!(!called.is_finished(), "it is still held");
    stage.say(&held, json!({"action": "release"})).await;
    assert_eq!(text(&called.await.unwrap()), "a");
}

/// What a breakpoint holds, keeps back or changes in an answer its client does not read
/// beside: neither in its calls, nor by looking for a text in them.
#[tokio::test]
async fn a_clients_own_token_does_not_show_what_is_kept_from_it() {
    let stage = Stage::new(&[]).await;
    stage
        .api(Method::POST, "tap", &json!({"armed": true}))
        .await;
    let own = stage.world.token("tokens/default");
    let sees = async |id: u64| {
        let path = format!("calls/{id}");
        let (status, detail) = stage.api_as(&own, Method::GET, &path, &Value::Null).await;
        assert_eq!(status, 200, "{detail}");
        let mut messages = detail["messages"].as_array().unwrap().iter();
        let is_shown = messages.any(|one| one["edge"] == "from-server");
        // Only what the server answers has this.
        let path = format!("calls?only={id}&filter=%22type%22");
        let (_, found) = stage.api_as(&own, Method::GET, &path, &Value::Null).await;
        (is_shown, !found["calls"].as_array().unwrap().is_empty())
    };
    stage.hold("tool:pid", "result").await;
    for answer in [
        json!({"action": "refuse"}),
        json!({"action": "edit", "content": {"content": []}}),
    ] {
        let called = calling(stage.legacy().await, "pid", json!({}));
        let held = stage.one_held().await;
        let id = held["call"].as_u64().expect("a call");
        assert_eq!(held["about"]["content"][0]["type"], "text", "{held}");
        assert_eq!(sees(id).await, (false, false), "while it is held");
        stage.say(&held, answer).await;
        called.await.unwrap();
        assert_eq!(sees(id).await, (false, false), "after it was");
        let whole = stage.get(&format!("calls/{id}")).await;
        let mut messages = whole["messages"].as_array().unwrap().iter();
        let is_there = messages.any(|one| one["edge"] == "from-server");
        assert!(is_there, "whoever may see everything does: {whole}");
    }
}
