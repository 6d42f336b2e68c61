//! Faults 12 and 27: lists and results that are too much, and streams that tell
//! us to come back at once, or never.

use crate::support::evil::Evil;
use serde_json::json;
use std::time::{Duration, Instant};
use switchboard_testkit::world::{Client, address};
use switchboard_testkit::{LATE, Program, bin, record};

/// Fault 12: what is too much is left out, named, and costs nobody else anything.
#[tokio::test]
async fn row_12_more_than_anybody_can_list_memory() {
    for (mode, said) in [
        ("tools-many", "more than 2048 items"),
        ("description-huge", "WARN"),
    ] {
        let evil = Evil::stdio(mode, &["--era", "legacy"], false).await;
        let mut client = Client::new(&evil.gateway, "/mcp", false).await;
        client.http.deadline = Duration::from_secs(60);
        let names = client.list("tools/list", "tools", "name").await;
        assert!(
            names.iter().any(|name| name == "echo__echo"),
            "{mode}: {names:?}"
        );
        assert!(
            !names.iter().any(|name| name.starts_with("evil__")),
            "{mode}"
        );
        evil.other_works(mode).await;
        let peak = evil.peak().await;
        assert!(peak < 300, "{mode}: {peak} MiB");
        evil.logged(&["evil", said]).await;
    }
}

#[tokio::test]
async fn row_12_a_result_of_a_gigabyte_memory() {
    let mut evil = Evil::stdio("huge-result", &["--era", "legacy"], false).await;
    evil.client.http.deadline = Duration::from_secs(60);
    let answer = evil.strike().await;
    let text = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(
        text.contains("\"evil\"") && text.contains("longer than 33554432 bytes"),
        "{answer}"
    );
    evil.other_works("huge-result").await;
    // It lost that answer, and neither its connection nor its process.
    evil.works_again("huge-result").await;
    assert_eq!(evil.stats().await["calls"], 3);
    let peak = evil.peak().await;
    assert!(peak < 300, "{peak} MiB");
}

/// Fault 27: a server's word on when to come back is bounded both ways.
#[tokio::test]
async fn row_27_a_hostile_retry() {
    let folder = tempfile::tempdir().unwrap();
    for mode in ["retry-zero", "retry-huge"] {
        let file = folder.path().join(mode);
        let remote = Program::new(bin("evil-http"))
            .args([
                "--http",
                "0",
                "--mode",
                mode,
                "--record",
                file.to_str().unwrap(),
            ])
            .spawn();
        let mut entry = address(&remote).await;
        entry["timeout"] = 4000.into();
        let mut evil = Evil::with(entry, false, Some(remote)).await;
        evil.client.http.deadline = Duration::from_secs(30);
        let before = record::read(&file).unwrap_or_default().len();
        let begun = Instant::now();
        let answer = evil.client.try_call("strike", json!({})).await;
        assert!(answer.get("error").is_some(), "{mode}: {answer}");
        assert!(
            begun.elapsed() < Duration::from_secs(10) + LATE,
            "{mode}: {:?}",
            begun.elapsed()
        );
        let asked = record::read(&file).unwrap_or_default().len() - before;
        assert!(asked < 40, "{mode}: asked {asked} times within 4 s");
        evil.works_again(mode).await;
    }
}
