//! What is held goes on as it is, goes on changed, or does not: calls and answers.

use super::{LONG, Stage, calling, calling_modern, error, text};
use http::Method;
use serde_json::{Value, json};

const ERAS: [[&str; 2]; 2] = [["--era", "legacy"], ["--era", "modern"]];

/// Both eras on this side and on the server's.
#[tokio::test]
async fn a_call_is_held_until_somebody_lets_it_go() {
    for server in ERAS {
        let stage = Stage::new(&server).await;
        stage.hold("tool:echo", "call").await;
        for modern in [false, true] {
            let call = |nonce: &str, legacy| match modern {
                false => calling(legacy, "echo", json!({"nonce": nonce})),
                true => calling_modern(stage.modern(), "echo", json!({"nonce": nonce})),
            };
            let called = call("as it is", stage.legacy().await);
            let held = stage.one_held().await;
            assert_eq!(held["point"], "call");
            assert_eq!(
                (&held["server"], &held["name"]),
                (&json!("e"), &json!("echo"))
            );
            assert_eq!(held["about"], json!({"nonce": "as it is"}));
            assert_eq!(held["answers"], json!(["release", "edit", "refuse"]));
            assert!(!called.is_finished(), "it waits");
            let listed = stage.get(&format!("calls/{}", held["call"])).await;
            assert_eq!(listed["call"]["outcome"], "waiting");
            stage.say(&held, json!({"action": "release"})).await;
            assert_eq!(text(&called.await.unwrap()), "as it is", "{server:?}");

            let called = call("as it was", stage.legacy().await);
            let held = stage.one_held().await;
            let edit = json!({"action": "edit", "content": {"nonce": "changed"}});
            stage.say(&held, edit).await;
            assert_eq!(text(&called.await.unwrap()), "changed", "{server:?}");

            let called = call("never", stage.legacy().await);
            let held = stage.one_held().await;
            stage.say(&held, json!({"action": "refuse"})).await;
            let answer = called.await.unwrap();
            let told = error(&answer);
            assert!(
                told.contains("a person refused it") && told.contains("nothing was sent"),
                "{answer}"
            );
        }
    }
}

#[tokio::test]
async fn an_answer_is_held_until_somebody_lets_it_go() {
    for server in ERAS {
        let stage = Stage::new(&server).await;
        stage.hold("tool:count", "result").await;
        for (round, modern) in [(0, false), (1, true)] {
            let call = |legacy| match modern {
                false => calling(legacy, "count", json!({})),
                true => calling_modern(stage.modern(), "count", json!({})),
            };
            let called = call(stage.legacy().await);
            let held = stage.one_held().await;
            assert_eq!(
                (&held["point"], &held["name"]),
                (&json!("result"), &json!("count"))
            );
            let count = (3 * round + 1).to_string();
            assert_eq!(
                held["about"]["content"][0]["text"], *count,
                "the server has done it"
            );
            stage.say(&held, json!({"action": "release"})).await;
            assert_eq!(text(&called.await.unwrap()), count);

            let called = call(stage.legacy().await);
            let held = stage.one_held().await;
            let mut content = held["about"].clone();
            content["content"][0]["text"] = json!("as if");
            let edit = json!({"action": "edit", "content": content});
            stage.say(&held, edit).await;
            let answer = called.await.unwrap();
            assert_eq!(text(&answer), "as if", "{server:?} {answer}");

            let called = call(stage.legacy().await);
            let held = stage.one_held().await;
            stage.say(&held, json!({"action": "refuse"})).await;
            let answer = called.await.unwrap();
            assert!(
                error(&answer).contains("the server was asked, and has answered"),
                "{answer}"
            );
        }
    }
}

/// A tool's own failure is a result; what no tool answers is an error, and stays one.
#[tokio::test]
async fn failures_are_held_where_they_are_wanted() {
    let stage = Stage::new(&[]).await;
    stage.hold("error", "both").await;
    let fine = calling(stage.legacy().await, "echo", json!({"nonce": "fine"}));
    assert_eq!(text(&fine.await.unwrap()), "fine", "it did not fail");
    let called = calling(stage.legacy().await, "echo", json!({}));
    let held = stage.one_held().await;
    assert_eq!(
        (&held["point"], &held["about"]["isError"]),
        (&json!("result"), &json!(true))
    );
    stage.say(&held, json!({"action": "release"})).await;
    assert_eq!(called.await.unwrap()["result"]["isError"], true);

    let called = calling(stage.legacy().await, "nowhere", json!({}));
    let held = stage.one_held().await;
    assert_eq!(
        (&held["point"], &held["about"]["code"]),
        (&json!("error"), &json!(-32602))
    );
    for wrong in [
        json!({"content": []}),
        json!({"code": 1.5, "message": "x"}),
        json!("x"),
    ] {
        let edit = json!({"action": "edit", "content": wrong});
        let (status, said) = stage.answer(&held, &edit).await;
        assert_eq!(
            (status.as_u16(), &said["field"]),
            (400, &json!("/content")),
            "{said}"
        );
    }
    let edit = json!({"action": "edit", "content": {"code": -32000, "message": "other words"}});
    stage.say(&held, edit).await;
    let answer = called.await.unwrap();
    assert_eq!(
        (&answer["error"]["code"], error(&answer)),
        (&json!(-32000), "other words")
    );
}

/// What is let go crosses byte for byte, and what a person has changed is marked as that.
#[tokio::test]
async fn what_was_changed_is_marked_and_nothing_else_is() {
    let stage = Stage::new(&[]).await;
    stage
        .api(Method::POST, "tap", &json!({"armed": true}))
        .await;
    stage.hold("tool:echo", "both").await;
    let rows = async |number: &Value| {
        let detail = stage.get(&format!("calls/{number}")).await;
        let messages = detail["messages"].as_array().unwrap().clone();
        let edits = messages
            .iter()
            .flat_map(|one| one["edits"].as_array().unwrap().clone());
        let rows: Vec<String> = edits
            .map(|edit| edit["row"].as_str().unwrap_or("none").to_owned())
            .collect();
        (rows, detail["call"]["edited"].clone())
    };
    let called = calling(stage.legacy().await, "echo", json!({"nonce": "a"}));
    let held = stage.one_held().await;
    stage.say(&held, json!({"action": "release"})).await;
    let held = stage.one_held().await;
    assert_eq!(held["point"], "result");
    stage.say(&held, json!({"action": "release"})).await;
    called.await.unwrap();
    let (marks, edited) = rows(&held["call"]).await;
    assert_eq!(
        (marks.iter().all(|row| row == "S1"), edited),
        (true, json!(false)),
        "{marks:?}"
    );

    let called = calling(stage.legacy().await, "echo", json!({"nonce": "a"}));
    let held = stage.one_held().await;
    let edit = json!({"action": "edit", "content": {"nonce": "b"}});
    stage.say(&held, edit).await;
    let held = stage.one_held().await;
    let edit = json!({"action": "edit", "content": {"content": [{"type": "text", "text": "c"}]}});
    stage.say(&held, edit).await;
    assert_eq!(text(&called.await.unwrap()), "c");
    let (marks, edited) = rows(&held["call"]).await;
    assert_eq!(edited, true);
    for row in ["S1", "B1", "B2"] {
        assert!(marks.iter().any(|mark| mark == row), "{row}: {marks:?}");
    }
    assert!(!marks.iter().any(|mark| mark == "none"), "{marks:?}");
}

/// Lists are not held, nor what no filter means; where none is set nothing is.
#[tokio::test]
async fn nothing_else_is_held() {
    let stage = Stage::new(&[]).await;
    let id = stage.hold("server:e", "both").await;
    let listed = stage.legacy().await.request("tools/list", json!({})).await;
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    let held = calling(stage.legacy().await, "count", json!({}));
    let question = stage.one_held().await;
    let (status, said) = stage
        .api(Method::DELETE, &format!("breakpoints/{id}"), &Value::Null)
        .await;
    assert_eq!((status.as_u16(), &said["breakpoints"]), (200, &json!([])));
    assert_eq!(said["held"], 1, "what is held stays so: {said}");
    let free = calling(stage.legacy().await, "echo", json!({"nonce": "free"}));
    assert_eq!(text(&free.await.unwrap()), "free");
    stage.hold("tool:other", "both").await;
    let free = calling(stage.legacy().await, "echo", json!({"nonce": "free"}));
    assert_eq!(text(&free.await.unwrap()), "free");
    assert!(!held.is_finished());
    stage.say(&question, json!({"action": "release"})).await;
    assert_eq!(text(&held.await.unwrap()), "1", "and its answer is free");
    let (status, _) = stage
        .api(Method::DELETE, "breakpoints/77", &Value::Null)
        .await;
    assert_eq!(status, 404);
    let said = stage
        .api(Method::DELETE, "breakpoints", &Value::Null)
        .await
        .1;
    assert_eq!(
        (&said["breakpoints"], &said["held"]),
        (&json!([]), &json!(0))
    );
}

/// Prompts and resources as well; a resource has nothing to be changed.
#[tokio::test]
async fn prompts_and_resources_are_held() {
    let stage = Stage::new(&[]).await;
    let mut client = stage.legacy().await;
    let resources = client.request("resources/list", json!({})).await;
    let uri = resources["result"]["resources"][0]["uri"].clone();
    assert!(uri.is_string(), "{resources}");
    stage.hold("server:e", "call").await;
    let mut reader = stage.legacy().await;
    let params = json!({"uri": uri});
    let read = tokio::spawn(async move { reader.request("resources/read", params).await });
    let held = stage.one_held().await;
    assert_eq!(
        (&held["name"], &held["answers"]),
        (&uri, &json!(["release", "refuse"]))
    );
    let edit = json!({"action": "edit", "content": {"uri": "other://"}});
    assert_eq!(stage.answer(&held, &edit).await.0, 400);
    stage.say(&held, json!({"action": "release"})).await;
    let read = read.await.unwrap();
    assert!(read["result"]["contents"].is_array(), "{read}");
}

/// Those who listen are told of breakpoints and of what is held, and a client hears that its
/// call waits.
#[tokio::test]
async fn everybody_is_told() {
    let stage = Stage::new(&[]).await;
    let control = stage.world.token("control-token");
    let mut listens = stage.with_token("/api/v1/events?topics=state,questions", &control);
    let mut events = listens.listen().await;
    let mut next = async |kind: &str| loop {
        let told = tokio::time::timeout(LONG, events.message()).await;
        let told = told.expect("in time").expect("an event");
        if told["kind"] == kind {
            return told;
        }
    };
    stage.hold("tool:echo", "call").await;
    let told = next("breakpoints").await;
    assert_eq!(told["breakpoints"]["breakpoints"][0]["filter"], "tool:echo");
    assert_eq!(told["breakpoints"]["until"], Value::Null, "somebody looks");
    let state = stage.get("state").await;
    assert_eq!(
        state["breakpoints"]["breakpoints"],
        told["breakpoints"]["breakpoints"]
    );
    let mut client = stage.legacy().await;
    let params =
        json!({"name": "echo", "arguments": {"nonce": "a"}, "_meta": {"progressToken": "p"}});
    let mut stream = client.stream("tools/call", params).await;
    let told = next("question").await;
    assert_eq!(
        (&told["question"]["kind"], &told["waiting"]),
        (&json!("held"), &json!(1))
    );
    let progress = stream.message().await.expect("progress");
    assert_eq!(progress["params"]["progressToken"], "p", "{progress}");
    assert!(
        progress["params"]["message"]
            .as_str()
            .unwrap()
            .contains("a person"),
        "{progress}"
    );
    stage
        .say(&told["question"], json!({"action": "release"}))
        .await;
    let answer = loop {
        let told = stream.message().await.expect("the answer");
        if told.get("id").is_some() {
            break told;
        }
    };
    assert_eq!(text(&answer), "a");
}
