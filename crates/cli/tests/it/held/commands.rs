//! `switchboard traffic break`, and answers to what it holds.

use super::{Stage, calling, error, text};
use serde_json::json;
use switchboard_testkit::world::World;

#[tokio::test]
async fn breakpoints_are_set_shown_and_removed() {
    let stage = Stage::new(&[]).await;
    let world = &stage.world;
    let none = world.run(&["traffic", "break"]).await.ok();
    assert_eq!(none.out, "No breakpoints are set: nothing is held.\n");
    let set = world
        .run(&["traffic", "break", "server:e", "tool:echo"])
        .await
        .ok();
    assert!(
        set.out.contains("holds calls: server:e tool:echo"),
        "{}",
        set.out
    );
    let words = ["traffic", "break", "--at", "result", "tool:count", "--json"];
    let set = world.run(&words).await.json();
    assert_eq!(set["breakpoints"][1]["at"], "result");
    let id = set["breakpoints"][1]["id"].to_string();
    let left = world.run(&["traffic", "break", "--remove", &id]).await.ok();
    assert!(!left.out.contains("count"), "{}", left.out);
    let wrong = world.run(&["traffic", "break", "--remove", &id]).await;
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    let nowhere = world.run(&["traffic", "break", "server:nobody"]).await.ok();
    assert!(nowhere.err.contains("no server \"nobody\""), "{nowhere:?}");
    world
        .run(&["traffic", "break", "--remove", "all"])
        .await
        .ok();
    let set = ["traffic", "break", "server:e", "tool:echo"];
    world.run(&set).await.ok();
    let wrong = world.run(&["traffic", "break", "nonsense:x"]).await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");

    let sly = json!({"nonce": "a\u{202e}b\u{1b}[2K"});
    let called = calling(stage.legacy().await, "echo", sly);
    let held = stage.one_held().await;
    let id = held["id"].as_str().unwrap();
    let shown = world.run(&["inbox"]).await.ok();
    assert!(
        shown.out.contains("is held before it is called"),
        "{}",
        shown.out
    );
    assert!(!shown.out.contains(['\u{202e}', '\u{1b}']), "{}", shown.out);
    let unsaid = world.run(&["answer", id]).await;
    assert!(
        unsaid.err.contains("release, edit, refuse"),
        "{}",
        unsaid.err
    );
    world
        .run(&["answer", id, "edit", "--set", "nonce=plain"])
        .await
        .ok();
    assert_eq!(text(&called.await.unwrap()), "plain");
    let called = calling(stage.legacy().await, "echo", json!({"nonce": "a"}));
    let held = stage.one_held().await;
    let id = held["id"].as_str().unwrap();
    world.run(&["answer", &id[..8], "refuse"]).await.ok();
    assert!(error(&called.await.unwrap()).contains("a person refused it"));
    let left = world
        .run(&["traffic", "break", "--remove", "all"])
        .await
        .ok();
    assert_eq!(left.out, "No breakpoints are set: nothing is held.\n");
}

/// A call that was typed and is kept back: its server has not answered, and a script sees
/// that by how the command ends.
#[tokio::test]
async fn a_typed_call_that_is_refused_is_no_answer_of_its_server() {
    let stage = Stage::new(&[]).await;
    stage.hold("tool:count", "call").await;
    let calling = stage.world.run(&["call", "e__count"]);
    let refusing = async {
        let held = stage.one_held().await;
        stage.answer(&held, &json!({"action": "refuse"})).await
    };
    let (ran, (status, said)) = tokio::join!(calling, refusing);
    assert_eq!(status, 200, "{said}");
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.err.contains("a person refused it"), "{ran:?}");
    assert!(!ran.err.contains("answered with an error"), "{ran:?}");
}

/// Whoever looks at a call later sees that it was held, and who refused it; the record of
/// calls says the same.
#[tokio::test]
async fn who_refused_a_call_that_was_held_is_shown() {
    let stage = Stage::new(&[]).await;
    stage.hold("tool:echo", "call").await;
    stage.hold("tool:echo", "result").await;
    let called = calling(stage.legacy().await, "echo", json!({"nonce": "a"}));
    let held = stage.one_held().await;
    stage.answer(&held, &json!({"action": "release"})).await;
    let held = stage.one_held().await;
    let call = held["call"].to_string();
    let shown = stage.world.run(&["traffic", "show", &call]).await;
    let says = |line: &str| assert!(shown.out.lines().any(|said| said == line), "{shown:?}");
    says("held before it was called: release by control");
    says("its answer was held: waits");
    stage.answer(&held, &json!({"action": "refuse"})).await;
    assert!(error(&called.await.unwrap()).contains("a person kept it back"));
    let shown = stage.world.run(&["traffic", "show", &call]).await;
    assert!(
        shown
            .out
            .contains("\nits answer was held: refuse by control\n"),
        "{shown:?}"
    );
    let recorded = stage.records("call").await;
    let of_it = |record: &&serde_json::Value| {
        let number = record["call"].to_string();
        number == call
    };
    let one = recorded.iter().find(of_it).expect("a record");
    assert_eq!(
        one["held"],
        json!([
            {"at": "call", "answer": "release", "by": "control"},
            {"at": "answer", "answer": "refuse", "by": "control"},
        ]),
        "{one}"
    );
    let answers = stage.records("answer").await;
    assert_eq!(answers.iter().filter(of_it).count(), 2, "{answers:?}");
}

#[tokio::test]
async fn without_a_gateway_it_is_told() {
    let world = World::new();
    let ran = world.run(&["traffic", "break", "tool:x"]).await;
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(ran.err.contains("switchboard up"), "{}", ran.err);
}
