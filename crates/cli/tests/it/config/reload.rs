//! A running gateway follows its configuration: only what changed is touched,
//! and clients hear of it.

use serde_json::json;
use std::time::Duration;
use switchboard_testkit::world::{World, alive, echo, servers, tool_names, until, until_listed};
use switchboard_testkit::{LEGACY, StdioClient, text_of};

const LONG: Duration = Duration::from_secs(30);
const CHANGED: &str = "notifications/tools/list_changed";

async fn attached(stage: &World) -> StdioClient {
    let mut client = stage.attached(&[]).await;
    client.request("tools/list", json!({})).await;
    client
}

async fn pid(client: &mut StdioClient, server: &str) -> i32 {
    let answer = client.call(&format!("{server}__pid"), json!({})).await;
    text_of(&answer).parse().unwrap()
}

#[tokio::test]
async fn a_change_touches_only_what_it_changes() {
    let stage = World::with(&servers([("keep", echo(&[])), ("change", echo(&[]))]));
    let _gateway = stage.gateway().await;
    let mut client = attached(&stage).await;
    let (keep, change) = (
        pid(&mut client, "keep").await,
        pid(&mut client, "change").await,
    );
    let subscribe = json!({"uri": "change+echo://1"});
    let subscribed = client.request("resources/subscribe", subscribe).await;
    assert!(subscribed.get("result").is_some(), "{subscribed}");
    // A call that is under way while all this happens.
    let waiting = json!({"name": "keep__sleep", "arguments": {"ms": 4000}});
    let waiting = client.start("tools/call", waiting).await;

    stage.configure(&servers([
        ("keep", echo(&[])),
        ("change", echo(&["--name", "changed"])),
        ("new", echo(&[])),
    ]));
    client.notification(CHANGED).await;
    until_listed(&mut client, |names| {
        names.iter().any(|name| name == "new__pid")
    })
    .await;
    assert_eq!(pid(&mut client, "keep").await, keep, "not touched");
    let changed = pid(&mut client, "change").await;
    assert_ne!(changed, change, "started anew");
    until(LONG, || (!alive(change)).then_some(()))
        .await
        .expect("the old one has ended");
    pid(&mut client, "new").await;
    // Its subscription came along.
    client
        .call("change__touch", json!({"uri": "echo://1"}))
        .await;
    client.notification("notifications/resources/updated").await;

    stage.configure(&servers([("keep", echo(&[]))]));
    until_listed(&mut client, |names| {
        names.iter().all(|name| name.starts_with("keep__"))
    })
    .await;
    let gone = client.call("change__pid", json!({})).await;
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
    until(LONG, || (!alive(changed)).then_some(()))
        .await
        .expect("it has ended");
    assert_eq!(pid(&mut client, "keep").await, keep);
    assert_eq!(text_of(&client.response(waiting).await), "slept");
}

#[tokio::test]
async fn half_a_file_changes_nothing() {
    let stage = World::with(&servers([("keep", echo(&[])), ("other", echo(&[]))]));
    let gateway = stage.gateway().await;
    let mut client = attached(&stage).await;
    let keep = pid(&mut client, "keep").await;
    stage.write(stage.settings(), "{\"mcpServers\": {\"keep\": ");
    gateway
        .wait_for_line("cannot be used; what runs goes on")
        .await;
    assert_eq!(pid(&mut client, "keep").await, keep);
    stage.configure(&servers([("keep", echo(&[]))]));
    until_listed(&mut client, |names| {
        names.iter().all(|name| name.starts_with("keep__"))
    })
    .await;
    assert_eq!(pid(&mut client, "keep").await, keep);
}

#[tokio::test]
async fn an_administrators_file_that_cannot_be_read_shuts_everything() {
    let stage = World::with(&servers([("keep", echo(&[])), ("other", echo(&[]))]));
    let _gateway = stage.gateway().await;
    let mut client = attached(&stage).await;
    let keep = pid(&mut client, "keep").await;
    stage.write(stage.path("etc/managed-mcp.json"), "{");
    until_listed(&mut client, <[String]>::is_empty).await;
    until(LONG, || (!alive(keep)).then_some(()))
        .await
        .expect("it has ended");
}

#[tokio::test]
async fn switching_and_reconnecting_act_at_once() {
    let stage = World::with(&servers([("a", echo(&[])), ("b", echo(&[]))]));
    let _gateway = stage.gateway().await;
    let mut client = attached(&stage).await;
    let (a, b) = (pid(&mut client, "a").await, pid(&mut client, "b").await);

    let ran = stage.run(&["reconnect", "a", "--json"]).await.ok();
    assert_eq!(ran.json()[0]["health"], "connected");
    let again = pid(&mut client, "a").await;
    assert_ne!(again, a);
    assert_eq!(pid(&mut client, "b").await, b, "not touched");
    let ran = stage.run(&["reconnect", "all"]).await.ok();
    assert!(
        ran.out.contains("a  connected") && ran.out.contains("b  connected"),
        "{ran:?}"
    );
    let unknown = stage.run(&["reconnect", "bb"]).await;
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    // Without a name there is a choice, but only where somebody can make it.
    let which = stage.run(&["disable"]).await;
    assert_eq!(which.code, Some(2), "{which:?}");
    assert!(
        which.err.contains("hint: switchboard disable NAME, or all"),
        "{which:?}"
    );

    stage.run(&["disable", "a"]).await.ok();
    let listed = tool_names(&mut client).await;
    assert!(
        listed.iter().all(|name| name.starts_with("b__")),
        "{listed:?}"
    );
    stage.run(&["enable", "a"]).await.ok();
    let listed = tool_names(&mut client).await;
    assert!(
        listed.iter().any(|name| name.starts_with("a__")),
        "{listed:?}"
    );
    pid(&mut client, "a").await;
}

#[tokio::test]
async fn without_a_gateway_reconnect_says_so() {
    let stage = World::with(&json!({}));
    let ran = stage.run(&["reconnect", "all"]).await;
    assert_eq!(ran.code, Some(4));
    assert!(
        ran.err.contains("no gateway is running") && ran.err.contains("switchboard up"),
        "{ran:?}"
    );
}

/// A client that starts `serve` itself needs no restart either.
#[tokio::test]
async fn serve_on_stdio_follows_its_files() {
    let stage = World::with(&servers([("keep", echo(&[])), ("other", echo(&[]))]));
    let mut client = stage.client(&[]);
    client.initialize(LEGACY).await;
    let keep = pid(&mut client, "keep").await;
    stage.configure(&servers([("keep", echo(&[])), ("new", echo(&[]))]));
    client.notification(CHANGED).await;
    until_listed(&mut client, |names| {
        names.iter().any(|name| name == "new__pid")
            && !names.iter().any(|name| name.starts_with("other__"))
    })
    .await;
    pid(&mut client, "new").await;
    assert_eq!(pid(&mut client, "keep").await, keep, "not touched");
}

/// The second server of a client that began with one comes with its names, and
/// the first keeps its own.
#[tokio::test]
async fn a_second_server_on_stdio_renames_nothing() {
    let stage = World::with(&servers([("keep", echo(&[]))]));
    let mut client = stage.client(&[]);
    client.initialize(LEGACY).await;
    let keep = pid(&mut client, "keep").await;
    stage.configure(&servers([("keep", echo(&[])), ("new", echo(&[]))]));
    client.notification(CHANGED).await;
    until_listed(&mut client, |names| {
        ["keep__pid", "new__pid"].map(|name| names.iter().any(|one| one == name)) == [true; 2]
    })
    .await;
    assert_eq!(pid(&mut client, "keep").await, keep, "not touched");
    pid(&mut client, "new").await;
}

/// `up` brings servers along that have no entry: they are known by name, with
/// and without a gateway that runs.
#[tokio::test]
async fn what_up_brings_along_can_be_switched_off() {
    let stage = World::with(&json!({}));
    let off = stage.run(&["disable", "system"]).await.ok();
    assert_eq!(off.out, "system switched off\n");
    let unknown = stage.run(&["disable", "sistem"]).await;
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    let up = stage.launch(&["up", "--port", "0", "--root", "."]).spawn();
    up.url().await;
    let noted = until(LONG, || (!stage.notes().is_empty()).then_some(()));
    noted.await.expect("a note is left");
    let has = async |server: &str| {
        let listed = stage.run(&["tools", "--json"]).await.ok().json();
        let mut tools = listed.as_array().unwrap().iter();
        tools.any(|tool| tool["server"] == server)
    };
    assert!(has("memory").await && !has("system").await);
    stage.run(&["disable", "memory"]).await.ok();
    assert!(!has("memory").await && has("files").await);
    stage.run(&["enable", "memory"]).await.ok();
    stage.run(&["enable", "system"]).await.ok();
    assert!(has("memory").await && has("system").await);
    // All that runs is meant, and all that is off.
    let all = stage.run(&["disable", "all"]).await.ok();
    for name in ["files", "system", "memory"] {
        assert!(all.out.contains(&format!("{name} switched off")), "{all:?}");
    }
    assert!(!has("files").await);
    let all = stage.run(&["enable", "all"]).await.ok();
    assert!(all.out.contains("files switched on"), "{all:?}");
    assert!(has("files").await);
}
