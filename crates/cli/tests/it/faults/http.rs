//! The faults of "On the way" in `docs/design/faults.md`, with a server over HTTP that commits them.

use crate::support::evil::{Evil, assert_blames};
use serde_json::json;
use std::time::Duration;
use switchboard_testkit::world::{self, Client, Gateway, World, servers};
use switchboard_testkit::{DEADLINE, LATE, LEGACY, Program, bin, record, text_of};

const BOTH: [bool; 2] = [false, true];

#[tokio::test]
async fn row_5_a_reply_to_another_id() {
    for modern in BOTH {
        let mut evil = Evil::http("wrong-id", &[], modern).await;
        let answer = evil.strike().await;
        assert!(answer.get("error").is_some(), "{answer}");
        evil.works_again("wrong-id").await;
    }
}

#[tokio::test]
async fn row_23_replies_for_others_on_the_stream() {
    for modern in BOTH {
        let mut evil = Evil::http("sse-orphans", &[], modern).await;
        for _ in 0..3 {
            assert_eq!(text_of(&evil.strike().await), "struck");
        }
    }
}

/// Fault 25: the server has forgotten the session. The call was not carried
/// out, so it is sent again, once, in a new session.
#[tokio::test]
async fn row_25_a_session_that_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("record");
    let evil = Program::new(bin("evil-http"))
        .args([
            "--http",
            "0",
            "--mode",
            "session-404",
            "--after",
            "4",
            "--era",
            "legacy",
            "--record",
        ])
        .arg(&seen)
        .spawn();
    let gateway = Gateway::start(&servers([("evil", world::address(&evil).await)])).await;
    let mut client = Client::new(&gateway, "/mcp/evil", false).await;
    for n in 0..12 {
        let answer = client.try_call("ok", json!({})).await;
        assert!(answer.get("result").is_some(), "call {n}: {answer}");
    }
    let all = record::read(&seen).unwrap();
    let count = |text: &str| {
        all.iter()
            .filter(|m| String::from_utf8_lossy(m).contains(text))
            .count()
    };
    let (hellos, calls) = (count("\"initialize\""), count("\"tools/call\""));
    eprintln!("figure: 12 calls took {hellos} sessions and {calls} requests");
    assert!(hellos > 1, "no session was forgotten");
    assert_eq!(
        calls,
        12 + hellos - 1,
        "each is sent again once, and no more"
    );
}

/// A refusal that a server has thought better of does not outlive the gateway: its next
/// start uses the server as before.
#[tokio::test]
async fn a_refusal_that_is_over_is_forgotten() {
    let evil = Program::new(bin("evil-http"))
        .args(["--http", "0", "--mode", "status-401", "--times", "1"])
        .spawn();
    let world = World::with(&servers([("evil", world::address(&evil).await)]));
    for (life, tools) in [["ok", "strike", "ok", "ok"].as_slice(), &["ok"]]
        .into_iter()
        .enumerate()
    {
        let mut client = world.client(&["--only", "evil"]);
        client.initialize(LEGACY).await;
        for tool in tools {
            let answer = client.call(tool, json!({})).await;
            let is_let_in = answer["result"].get("content").is_some();
            assert!(
                is_let_in || *tool == "strike",
                "life {life}, {tool}: {answer}"
            );
        }
        // It ends with its input, and has written by then what the next one reads.
        client.close();
        client.program.wait(DEADLINE).await;
    }
}

/// Fault 26: the server has shown a few times that it is there, and then nothing
/// comes any more on the stream of a call. The call ends, within two keep-alives
/// of the usual fifteen seconds, and was sent once.
#[tokio::test]
async fn row_26_the_stream_of_a_call_falls_silent() {
    let one = async |modern: bool| {
        let era = if modern { "modern" } else { "legacy" };
        let args = ["--limit", "4", "--delay", "200", "--era", era];
        let mut evil = Evil::http("half-open-sse", &args, modern).await;
        evil.client.http.deadline = Duration::from_secs(100);
        let (answer, took) = evil.timed_strike().await;
        assert_blames(&answer, "evil");
        let text = answer.to_string();
        assert!(text.contains("fell silent for 30s"), "{text}");
        assert!(took < Duration::from_secs(60), "{era}: {took:?}");
        evil.client.http.deadline = DEADLINE;
        evil.works_again(era).await;
        evil.other_works(era).await;
        assert_eq!(evil.stats().await["fitting"], 1, "sent once");
    };
    tokio::join!(one(false), one(true));
}

/// The same on the server's own stream: it is opened again.
#[tokio::test]
async fn row_26_the_servers_own_stream_falls_silent() {
    let args = "--limit 4 --delay 200 --era legacy --on GET --times 1";
    let args: Vec<&str> = args.split(' ').collect();
    let mut evil = Evil::http("half-open-sse", &args, false).await;
    let opened_again = async {
        while evil.stats().await["gets"] == 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), opened_again)
        .await
        .expect("a second stream");
    assert_eq!(evil.stats().await["initializes"], 1, "the session goes on");
}

/// A server that never sends a keep-alive may be silent for as long as the call
/// may take, and no longer.
#[tokio::test]
async fn row_26_a_stream_without_a_byte_ends_with_the_calls_limit() {
    for modern in BOTH {
        let remote = Program::new(bin("evil-http"))
            .args(["--http", "0", "--mode", "half-open-sse"])
            .spawn();
        let mut entry = world::address(&remote).await;
        entry["timeout"] = 1500.into();
        let mut evil = Evil::with(entry, modern, Some(remote)).await;
        let (answer, took) = evil.timed_strike().await;
        assert!(answer.get("error").is_some(), "{answer}");
        assert!(answer.to_string().contains("evil"), "{answer}");
        let limits = Duration::from_millis(1500)..Duration::from_secs(10);
        assert!(limits.contains(&took), "{took:?}");
        evil.works_again("half-open-sse").await;
        evil.other_works("half-open-sse").await;
    }
}

#[tokio::test]
async fn row_28_streams_that_are_too_much_memory() {
    for mode in ["sse-huge-event", "sse-huge-line"] {
        for modern in BOTH {
            let mut evil = Evil::http(mode, &[], modern).await;
            evil.works_again(mode).await;
            let before = evil.peak().await;
            assert_blames(&evil.strike().await, "evil");
            evil.other_works(mode).await;
            let grown = evil.peak().await - before;
            eprintln!("figure: {mode} cost {grown} MiB");
            assert!(
                grown <= 64,
                "{mode}: twice the cap is 64 MiB, it grew by {grown} MiB"
            );
            evil.works_again(mode).await;
        }
    }
}

#[tokio::test]
async fn row_28_streams_that_are_odd_but_legal() {
    for (mode, args) in [
        ("sse-comments", &["--limit", "200000"][..]),
        ("sse-line-ends", &[]),
        ("sse-event-names", &[]),
    ] {
        for modern in BOTH {
            let mut evil = Evil::http(mode, args, modern).await;
            evil.works_again(mode).await;
            let before = evil.peak().await;
            let answer = evil.strike().await;
            assert!(answer.get("result").is_some(), "{mode}: {answer}");
            let grown = evil.peak().await - before;
            assert!(grown <= 16, "{mode}: it grew by {grown} MiB");
        }
    }
}

#[tokio::test]
async fn row_28_streams_that_end_too_early() {
    for mode in ["sse-no-reply", "sse-cut-event"] {
        for modern in BOTH {
            let mut evil = Evil::http(mode, &[], modern).await;
            evil.client.http.deadline = DEADLINE;
            let (answer, took) = evil.timed_strike().await;
            assert!(answer.get("error").is_some(), "{mode}: {answer}");
            assert!(took < Duration::from_secs(15) + LATE, "{mode}: {took:?}");
            evil.works_again(mode).await;
        }
    }
}

/// Fault 34: what leads elsewhere is not followed, and nothing leaks there.
#[tokio::test]
async fn row_34_redirects() {
    let canary = "canary-header-5309";
    for mode in [
        "redirect-off-origin",
        "redirect-303",
        "redirect-loop",
        "redirect-scheme",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let seen = folder.path().join("record");
        let evil = Program::new(bin("evil-http"))
            .args(["--http", "0", "--mode", mode, "--record"])
            .arg(&seen)
            .spawn();
        let mut entry = world::address(&evil).await;
        entry["headers"] = json!({"X-Canary": canary});
        let mut evil = Evil::with(entry, true, Some(evil)).await;
        let (answer, took) = evil.timed_strike().await;
        assert_blames(&answer, "evil");
        assert!(took < Duration::from_secs(5) + LATE, "{mode}: {took:?}");
        let second = std::fs::read(folder.path().join("record.second")).unwrap_or_default();
        assert!(
            second.is_empty(),
            "{mode}: {}",
            String::from_utf8_lossy(&second)
        );
        let first = String::from_utf8_lossy(&std::fs::read(&seen).unwrap()).into_owned();
        assert!(first.contains(canary), "its own headers reach it");
        assert!(!answer.to_string().contains(canary), "{answer}");
        evil.works_again(mode).await;
    }
}

/// Fault 35: answers that are none.
#[tokio::test]
async fn row_35_answers_that_are_none() {
    for mode in [
        "html-200",
        "empty-200",
        "empty-202",
        "empty-204",
        "wrong-type",
        "no-type",
        "not-json",
        "status-500",
    ] {
        for modern in BOTH {
            let mut evil = Evil::http(mode, &[], modern).await;
            let (answer, took) = evil.timed_strike().await;
            assert!(took < Duration::from_secs(5) + LATE, "{mode}: {took:?}");
            // One that is right but for its label may be taken.
            if ["wrong-type", "no-type"].contains(&mode) && answer.get("result").is_some() {
                continue;
            }
            assert_blames(&answer, "evil");
            let text = answer.to_string();
            assert!(text.len() < 1500, "{mode}: a short preview, not {text}");
            assert!(!text.contains("canary-token"), "{mode}: {text}");
            evil.works_again(mode).await;
            evil.other_works(mode).await;
        }
    }
}

#[tokio::test]
async fn broken_connections_fail_one_call() {
    for mode in [
        "reset-body",
        "cut-body",
        "close",
        "length-short",
        "length-two",
        "chunked-garbage",
        "bad-status",
        "headers-many",
        "header-huge",
    ] {
        for modern in BOTH {
            let mut evil = Evil::http(mode, &[], modern).await;
            let (answer, took) = evil.timed_strike().await;
            assert!(took < Duration::from_secs(10) + LATE, "{mode}: {took:?}");
            // A body that is longer than announced may have a whole answer in it.
            let cut = mode == "length-short";
            assert!(cut || answer.get("error").is_some(), "{mode}: {answer}");
            evil.works_again(mode).await;
        }
    }
}

/// Fault 112: a call whose bytes have left is not sent again by itself.
#[tokio::test]
async fn a_call_is_never_sent_twice() {
    for mode in [
        "close",
        "reset-body",
        "cut-body",
        "sse-no-reply",
        "status-503",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let seen = folder.path().join("record");
        let remote = Program::new(bin("evil-http"))
            .args(["--http", "0", "--mode", mode, "--record"])
            .arg(&seen)
            .spawn();
        let entry = world::address(&remote).await;
        let mut evil = Evil::with(entry, false, Some(remote)).await;
        let answer = evil.strike().await;
        assert!(answer.get("error").is_some(), "{mode}: {answer}");
        evil.works_again(mode).await;
        let all = record::read(&seen).unwrap();
        let strike = |request: &&Vec<u8>| String::from_utf8_lossy(request).contains("\"strike\"");
        assert_eq!(all.iter().filter(strike).count(), 1, "{mode}");
    }
}
