//! `switchboard inbox` and `switchboard answer`.

use super::{Stage, calling, text};
use serde_json::{Value, json};
use switchboard_testkit::world::World;

#[tokio::test]
async fn what_waits_is_shown_and_answered() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let world = &stage.world;
    let none = world.run(&["inbox"]).await.ok();
    assert_eq!(none.out, "Nothing waits for a person.\n");
    assert_eq!(world.run(&["inbox", "--json"]).await.json(), json!([]));
    let mut client = stage.legacy(&json!({})).await;
    let called = tokio::spawn(async move {
        let sly = json!({"sly": "a\u{202e}b\u{1b}[2K", "password": "hunter22hunter22"});
        client.call("count", sly).await
    });
    let question = stage.question("permission").await;
    let id = question["id"].as_str().unwrap();
    let shown = world.run(&["inbox"]).await.ok();
    assert!(
        shown.out.contains(id) && shown.out.contains("mcp__e__count"),
        "{}",
        shown.out
    );
    assert!(!shown.out.contains(['\u{202e}', '\u{1b}']), "{}", shown.out);
    assert!(!shown.out.contains("hunter22"), "{}", shown.out);
    let all: Value = world.run(&["inbox", "--json"]).await.json();
    assert_eq!(all[0]["id"], question["id"]);

    let wrong = world.run(&["answer", id, "perhaps"]).await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.err.contains("allow, deny"), "{}", wrong.err);
    let unsaid = world.run(&["answer", id]).await;
    assert_eq!(unsaid.code, Some(2), "{unsaid:?}");
    assert!(unsaid.err.contains("allow, deny"), "{}", unsaid.err);
    let unknown = world.run(&["answer", "ffffffff", "allow"]).await;
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(unknown.err.contains("switchboard inbox"), "{}", unknown.err);

    let done = world.run(&["answer", &id[..8], "allow"]).await.ok();
    assert_eq!(done.out, "Answered: allow\n");
    assert_eq!(text(&called.await.unwrap()), "1");
    let late = world.run(&["answer", id, "deny"]).await;
    assert_eq!(late.code, Some(1), "{late:?}");
    assert!(late.err.contains("answered already"), "{}", late.err);
    let over = world.run(&["inbox", "--all"]).await.ok();
    assert!(
        over.out.contains("answered: allow by control"),
        "{}",
        over.out
    );
}

#[tokio::test]
async fn a_form_is_filled_in_on_the_command_line() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let called = calling(stage.legacy(&json!({})).await, "elicit");
    let question = stage.question("form").await;
    let id = question["id"].as_str().unwrap();
    let words = ["answer", id, "accept", "--set", "answer=42", "--json"];
    let taken = stage.world.run(&words).await.json();
    assert_eq!(taken["question"]["status"], "answered", "{taken}");
    let answer = called.await.unwrap();
    assert!(answer.to_string().contains("42"), "{answer}");
}

#[tokio::test]
async fn without_a_gateway_it_is_told() {
    let world = World::new();
    for words in [&["inbox"][..], &["answer", "x", "allow"]] {
        let ran = world.run(words).await;
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert!(ran.err.contains("switchboard up"), "{}", ran.err);
    }
}

/// Whoever follows the inbox is somebody who looks: clients need not be able to be asked.
#[tokio::test]
async fn what_is_asked_from_now_on_is_followed() {
    let stage = Stage::new(&json!({}), &[]).await;
    let follows = stage.world.launch(&["inbox", "--json", "-f"]).spawn();
    let called = calling_until_it_waits(&stage).await;
    let question = stage.question("permission").await;
    stage.answer(&question, &json!({"action": "allow"})).await;
    assert!(called.await.unwrap().get("result").is_some());
    drop(follows);
}

/// Calls until somebody is asked: it takes a moment until it is known that somebody looks.
async fn calling_until_it_waits(stage: &Stage) -> tokio::task::JoinHandle<Value> {
    let limit = tokio::time::Instant::now() + super::LONG;
    loop {
        let mut called = calling(stage.legacy(&json!({})).await, "count");
        let soon = std::time::Duration::from_millis(300);
        if tokio::time::timeout(soon, &mut called).await.is_err() {
            return called;
        }
        assert!(tokio::time::Instant::now() < limit, "nobody looks");
    }
}

/// The program on a terminal, where somebody types this; what was seen, and how it ended.
async fn at_terminal(stage: &Stage, words: &str, keys: &str) -> (String, Option<i32>) {
    let mut command = stage.world.on_terminal(40, 200, words);
    command
        .env("NO_COLOR", "1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let keys = keys.to_owned();
    let ran = tokio::task::spawn_blocking(move || {
        let mut child = command.spawn().unwrap();
        let mut typing = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut typing, keys.as_bytes()).unwrap();
        let mut seen = String::new();
        let mut screen = child.stdout.take().unwrap();
        std::io::Read::read_to_string(&mut screen, &mut seen).unwrap();
        drop(typing);
        (seen, child.wait().unwrap().code())
    });
    ran.await.unwrap()
}

#[tokio::test]
async fn on_a_terminal_the_question_is_asked() {
    let stage = Stage::new(&json!({"askAt": "inbox"}), &[]).await;
    let called = calling(stage.legacy(&json!({})).await, "count");
    let question = stage.question("permission").await;
    let words = format!("answer {}", question["id"].as_str().unwrap());
    let (seen, code) = at_terminal(&stage, &words, "allow\n").await;
    assert!(
        seen.contains("mcp__e__count") && seen.contains("Answered: allow"),
        "{seen}"
    );
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(text(&called.await.unwrap()), "1");

    let called = calling(stage.legacy(&json!({})).await, "elicit");
    let question = stage.question("form").await;
    let words = format!("answer {}", question["id"].as_str().unwrap());
    let (seen, code) = at_terminal(&stage, &words, "typed here\n").await;
    assert!(seen.contains("server e asks:"), "{seen}");
    assert_eq!(code, Some(0), "{seen}");
    let answer = called.await.unwrap();
    assert!(answer.to_string().contains("typed here"), "{answer}");
}
