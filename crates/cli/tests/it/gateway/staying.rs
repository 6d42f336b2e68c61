//! A client of `serve` stays when the gateway that served it does not.

use rustix::process::Signal;
use serde_json::json;
use std::time::Duration;
use switchboard_testkit::text_of;
use switchboard_testkit::world::{World, echo, servers, until};

const LONG: Duration = Duration::from_secs(60);

fn two() -> World {
    World::with(&servers([("a", echo(&[])), ("b", echo(&[]))]))
}

/// It asks for nothing again, and hears only that lists may have changed.
#[tokio::test]
async fn with_servers_of_its_own() {
    let stage = two();
    let mut gateway = stage.gateway().await;
    let mut client = stage.attached(&[]).await;
    let before = text_of(&client.call("a__pid", json!({})).await).to_owned();
    gateway.signal(Signal::TERM);
    gateway.wait(LONG).await;
    client
        .notification("notifications/tools/list_changed")
        .await;
    let after = client.call("a__pid", json!({})).await;
    assert_ne!(text_of(&after), before);
    client.close();
    let status = client.program.wait(LONG).await;
    assert_eq!(status.code(), Some(0), "{}", client.program.stderr());
}

#[tokio::test]
async fn with_the_next_gateway() {
    let stage = two();
    let first = stage.gateway().await;
    let mut client = stage.attached(&[]).await;
    client.call("a__pid", json!({})).await;
    let second = stage.launch(&["serve", "--http", "127.0.0.1:0"]).spawn();
    let at = second.url().await;
    let noted = until(LONG, || (stage.notes().len() == 2).then_some(()));
    noted.await.expect("it can be found");
    first.signal(Signal::KILL);
    client
        .notification("notifications/tools/list_changed")
        .await;
    let address = at.trim_end_matches("/mcp");
    client
        .program
        .wait_for_line(&format!("attached to the gateway at {address}"))
        .await;
    let mine = client.call("a__pid", json!({})).await;
    let mut other = stage.attached(&[]).await;
    let theirs = other.call("a__pid", json!({})).await;
    assert_eq!(text_of(&mine), text_of(&theirs), "the same copy");
}

/// A modern client has no handshake that could be made again.
#[tokio::test]
async fn in_the_modern_era_too() {
    let stage = two();
    let mut gateway = stage.gateway().await;
    let mut client = stage.client(&[]);
    let call = json!({"name": "a__pid", "arguments": {}});
    let before = client.modern("tools/call", call.clone()).await;
    client
        .program
        .wait_for_line("attached to the gateway")
        .await;
    gateway.signal(Signal::TERM);
    gateway.wait(LONG).await;
    client.program.wait_for_line("for this client alone").await;
    let after = client.modern("tools/call", call).await;
    assert_ne!(text_of(&after), text_of(&before));
}
