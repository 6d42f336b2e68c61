//! Calls on the screen: made, cancelled, saved.

use crate::support::tty::Tty;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use switchboard_testkit::{
    bin,
    world::{World, echo, servers},
};

/// The server has heard of so many calls that were given up. It has a copy of its own for
/// whoever can be asked, so it is the screen that asks it.
fn counts(tty: &mut Tty, many: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        tty.types("2/cancelled\r");
        tty.sees("mcp__echo__cancelled");
        tty.types("\r");
        tty.sees("It takes no arguments");
        tty.types("\x13");
        tty.sees("· done in");
        if tty.text().lines().any(|line| line.trim() == many) {
            return;
        }
        assert!(Instant::now() < until, "{}", tty.text());
    }
}

/// Makes a call that nobody waits for the end of.
fn begins_to_sleep(tty: &mut Tty) {
    tty.types("2/sleep\r");
    tty.sees("mcp__echo__sleep");
    tty.types("\r");
    tty.sees("ms*");
    tty.types("3600000\x13");
    tty.sees("waiting for the answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_takes_long_is_cancelled_by_a_key() {
    // Of one era, so that everybody shares one copy, which counts.
    let world = World::with(&servers([("echo", echo(&["--era", "legacy"]))]));
    let gateway = world.gateway().await;
    let mut tty = Tty::start(&world, &[]);
    tty.sees_line(&["echo", "asleep"]);
    tty.types("r");
    tty.sees_line(&["echo", "connected"]);
    begins_to_sleep(&mut tty);
    // Its number is known when others see it, too.
    tty.types("3");
    tty.sees_line(&["sleep", "running"]);
    tty.types("x");
    tty.sees_line(&["sleep", "cancelled"]);
    counts(&mut tty, "1");

    // And on its own page.
    begins_to_sleep(&mut tty);
    tty.until_typed("x", "cancelled");
    counts(&mut tty, "2");
    tty.quits();
    drop(gateway);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_saved_as_a_cassette() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    let gateway = world.gateway_with(&["--tap"]).await;
    let calls = |nonce: &str| {
        let nonce = format!("nonce={nonce}");
        world.show(&["call", "mcp__echo__echo", "-a", &nonce]).ok();
    };
    calls("first-nonce");
    calls("second-nonce");
    let mut tty = Tty::start(&world, &["ui"]);
    tty.sees("at 127.0.0.1:");
    tty.types("3");
    tty.sees_line(&["echo", "ok"]);
    tty.types("s");
    tty.sees("save to the file: calls.mcp.jsonl");
    tty.types("\r");
    tty.sees("saved: calls.mcp.jsonl");
    let file = world.path("home/calls.mcp.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    for line in text.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
    assert!(text.contains("first-nonce") && text.contains("second-nonce"));
    // It is a server again.
    let entry = json!({"command": bin("switchboard"), "args": ["replay", file]});
    let config = json!({"mcpServers": {"played": entry}}).to_string();
    let words = [
        "--direct",
        "call",
        "mcp__played__echo",
        "-a",
        "nonce=first-nonce",
    ];
    let alone = ["--mcp-config", &config, "--strict-mcp-config"];
    let played = world.show(&[&alone[..], &words[..]].concat()).ok();
    assert!(played.out.contains("first-nonce"), "{played:?}");

    // Nothing is written over; and one call alone is saved from its page.
    tty.types("s\r");
    tty.sees("save calls.mcp.jsonl:");
    tty.types("\r");
    tty.sees("us → server");
    tty.types("s\x15one.mcp.jsonl\r");
    tty.sees("saved: one.mcp.jsonl");
    let text = std::fs::read_to_string(world.path("home/one.mcp.jsonl")).unwrap();
    assert!(
        text.contains("second-nonce") && !text.contains("first-nonce"),
        "{text}"
    );
    tty.quits();
    drop(gateway);
}

/// A tool that asks something: its page says so, and has its answer when that is answered,
/// there or in the inbox.
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_asks_is_come_back_to() {
    let world = World::with(&servers([("echo", echo(&[]))]));
    let gateway = world.gateway().await;
    let mut tty = Tty::start(&world, &[]);
    tty.sees_line(&["echo", "asleep"]);
    tty.types("r");
    tty.sees_line(&["echo", "connected"]);
    for from_inbox in [false, true] {
        tty.types("2/elicit\r");
        tty.sees("mcp__echo__elicit");
        tty.types("\r");
        // The form is there before its fields are.
        tty.sees("›message");
        tty.types("well?\x13");
        tty.sees("It asks you something");
        if from_inbox {
            tty.types("4");
            tty.sees("waits for your answer");
        }
        tty.types("\r");
        tty.sees("Ctrl-N decline");
        tty.types("\x0e");
        tty.sees("elicit · done");
        tty.sees("decline");
    }
    tty.quits();
    drop(gateway);
}
