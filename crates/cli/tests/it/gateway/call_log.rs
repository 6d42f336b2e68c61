//! What a gateway logs of the calls that it carries.

use serde_json::json;
use std::time::Duration;
use switchboard_testkit::world::{Gateway, echo, http, servers, until};

const LONG: Duration = Duration::from_secs(60);

/// Waits for a line that has all these words, and gives it.
async fn line(gateway: &Gateway, words: &[&str]) -> String {
    let found = until(LONG, || {
        let log = gateway.program.stderr();
        let mut lines = log.lines();
        let found = lines.find(|line| words.iter().all(|word| line.contains(word)));
        found.map(str::to_owned)
    });
    let found = found.await;
    found.unwrap_or_else(|| panic!("{words:?} is not in {}", gateway.program.stderr()))
}

#[tokio::test]
async fn calls_are_logged_from_their_beginning_to_their_end() {
    let all = servers([("a", echo(&[])), ("b", echo(&[]))]);
    let gateway = Gateway::launch(http(&all).args(["--log", "debug"])).await;
    let mut client = gateway.legacy("/mcp").await;
    client
        .call("a__echo", json!({"nonce": "not for the log"}))
        .await;
    line(&gateway, &["call", "tool=\"a__echo\"", "client="]).await;
    let ended = line(&gateway, &["call ended", "a__echo", "failed=false"]).await;
    assert!(ended.contains("took="), "{ended}");

    client.call("a__nothing", json!({})).await;
    line(&gateway, &["call", "a__nothing", "failed"]).await;

    // One that takes long says so, and when it is given up that is no failure.
    let waiting = json!({"name": "a__sleep", "arguments": {"ms": 120_000}});
    let mut other = gateway.client("/mcp");
    let call = tokio::spawn(async move {
        other.deadline = Duration::from_secs(200);
        other.modern("tools/call", waiting).await
    });
    line(&gateway, &["call still running", "a__sleep", "after=\"30"]).await;
    call.abort();
    line(&gateway, &["call cancelled", "a__sleep"]).await;
    let log = gateway.program.stderr();
    assert!(!log.contains("not for the log"), "{log}");
}

#[tokio::test]
async fn nothing_is_logged_of_calls_unless_somebody_asks() {
    let all = servers([("a", echo(&[])), ("b", echo(&[]))]);
    let gateway = Gateway::start(&all).await;
    let mut client = gateway.legacy("/mcp").await;
    client.call("a__echo", json!({"nonce": "x"})).await;
    client.call("a__echo", json!({"nonce": "y"})).await;
    assert!(!gateway.program.stderr().contains("a__echo"));
}
