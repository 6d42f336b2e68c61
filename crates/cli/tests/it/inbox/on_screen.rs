//! The inbox on a real terminal: what waits is seen, read and answered there, and goes on.

use super::{LONG, Stage, calling, text};
use crate::support::tty::Tty;
use serde_json::{Value, json};
use switchboard_testkit::world::{World, echo};

/// The answer of a call that somebody has said something to.
async fn answered(called: tokio::task::JoinHandle<Value>) -> Value {
    let answer = tokio::time::timeout(LONG, called).await;
    answer.expect("the call goes on").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_is_let_through_or_refused() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let mut tty = Tty::start(&stage.world, &[]);
    tty.sees("at 127.0.0.1:");
    let called = calling(stage.legacy(&json!({})).await, "count");
    // It is told wherever one is.
    tty.sees("4 Inbox(1)");
    assert!(!called.is_finished(), "it waits");
    tty.types("4");
    tty.sees_line(&["permission", "count"]);
    tty.types("\r");
    tty.sees("mcp__e__count");
    tty.types("y");
    assert_eq!(text(&answered(called).await), "1");
    tty.until("nothing waits", |text| !text.contains("Inbox("));

    let called = calling(stage.legacy(&json!({})).await, "count");
    tty.sees("4 Inbox(1)");
    tty.types("4n");
    let answer = answered(called).await;
    let told = answer["error"]["message"].as_str().unwrap();
    assert!(told.contains("the answer was no"), "{told}");
    tty.until("nothing waits", |text| !text.contains("Inbox("));
    assert_eq!(stage.counted().await, "1");
    tty.quits();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_a_server_is_filled_in() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let mut tty = Tty::start(&stage.world, &[]);
    tty.sees("at 127.0.0.1:");
    let called = calling(stage.legacy(&json!({})).await, "elicit");
    tty.sees("4 Inbox(1)");
    tty.types("4\r");
    // It is the form at once.
    tty.sees("What shall I say?");
    tty.sees("Ctrl-N decline");
    tty.sees("answer");
    tty.types("hello there\x13");
    let answer = answered(called).await;
    assert!(text(&answer).contains("hello there"), "{answer}");
    tty.until("nothing waits", |text| !text.contains("Inbox("));
    tty.quits();
}

/// What is approved is shown with what is different from what was approved before.
#[tokio::test(flavor = "multi_thread")]
async fn an_approval_shows_the_difference() {
    let world = World::repository();
    world.write_settings(&json!({"mcpServers": {"e": echo(&[])}}));
    let entry = |name: &str| json!({"mcpServers": {"theirs": echo(&["--name", name])}});
    world.write("home/repo/.mcp.json", entry("first").to_string());
    let stage = Stage::serve(world).await;
    let mut tty = Tty::start(&stage.world, &[]);
    tty.sees("4 Inbox(1)");
    // The key that approves opens the page with all of it first.
    tty.types("4y");
    tty.sees("Inbox › question");
    tty.sees("first");
    tty.types("Gy");
    tty.until("nothing waits", |text| !text.contains("Inbox("));
    let calls = |nonce: &str| {
        let nonce = format!("nonce={nonce}");
        let words = ["call", "mcp__theirs__echo", "-a", &nonce];
        stage.world.show(&words)
    };
    assert!(calls("one").ok().out.contains("one"));

    let changed = entry("second").to_string();
    stage.world.write("home/repo/.mcp.json", changed);
    tty.sees("4 Inbox(1)");
    tty.types("4\r");
    tty.sees("Inbox › question");
    tty.types("G");
    tty.until("both are shown", |text| {
        let line = |sign: &str, word: &str| {
            let has = |line: &str| line.trim_start().starts_with(sign) && line.contains(word);
            text.lines().any(has)
        };
        line("-", "first") && line("+", "second")
    });
    assert_ne!(calls("two").code, Some(0), "nobody has said yes to it");
    tty.types("y");
    tty.until("nothing waits", |text| !text.contains("Inbox("));
    assert!(calls("three").ok().out.contains("three"));
    tty.quits();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_that_changed_is_approved() {
    let stage = Stage::with_a_changed_definition().await;
    let mut tty = Tty::start(&stage.world, &[]);
    tty.sees_line(&["s", "connected"]);
    tty.types("r");
    tty.sees("4 Inbox(1)");
    tty.types("4\r");
    tty.until("what was and what is", |text| {
        text.contains("as it was") && text.contains("something else")
    });
    let mut client = stage.client("/mcp/s");
    super::hello(&mut client, &json!({})).await;
    let listed = client.request("tools/list", json!({})).await;
    assert!(!listed.to_string().contains("something else"), "{listed}");
    tty.types("Gy");
    tty.until("nothing waits", |text| !text.contains("Inbox("));
    let listed = client.request("tools/list", json!({})).await;
    assert!(listed.to_string().contains("something else"), "{listed}");
    stage.nothing_waits().await;
    tty.quits();
}
