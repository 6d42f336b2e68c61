//! Whether the servers are there that must be, and how much is logged, changed while a
//! gateway runs.

use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::{
    HttpClient,
    world::{World, echo, http as gateway_over_http, run, servers, until},
};

const LONG: Duration = Duration::from_secs(60);

fn required(mut entry: Value) -> Value {
    entry["required"] = json!(true);
    entry
}

async fn ready(url: &str) -> (u16, String) {
    let mut client = HttpClient::new(&format!("{url}/readyz"));
    let reply = client.send(http::Method::GET, &[], "").await;
    let text = String::from_utf8_lossy(&reply.body).into_owned();
    (reply.status.as_u16(), text)
}

#[tokio::test]
async fn a_gateway_is_ready_once_its_required_servers_are_there() {
    let world = World::with(&servers([
        ("must", required(echo(&[]))),
        ("never", required(json!({"command": "/nowhere/at/all"}))),
        ("may", json!({"command": "/nowhere/either"})),
    ]));
    // With tokens: this is open all the same.
    let (_gateway, url) = world.serve(&[]).await;
    let mut seen = (0, String::new());
    for _ in 0..600 {
        seen = ready(&url).await;
        if seen.1.contains("1 of 2") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(
        seen,
        (503, "not ready: 1 of 2 required servers\n".to_owned())
    );
    // The one that cannot be started is given up, and that is heard of.
    world.configure(&servers([("must", required(echo(&[])))]));
    for _ in 0..600 {
        seen = ready(&url).await;
        if seen.0 == 200 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(seen, (200, "ready: 1 of 1 required servers\n".to_owned()));
}

#[tokio::test]
async fn how_much_is_logged_is_changed_in_a_running_gateway() {
    let world = World::with(&servers([("a", echo(&[]))]));
    let gateway = world.gateway_with(&["--log", "warn"]).await;
    let now = world.run(&["log", "--json"]).await.json();
    assert_eq!(now[0]["log"], "warn");
    let told = world.run(&["log", "warn", "host=debug"]).await.ok();
    assert!(told.out.contains("logs warn,host=debug"), "{}", told.out);
    let call = ["call", "a__echo", "nonce=n"];
    world.run(&call).await.ok();
    let logged = until(LONG, || {
        let log = gateway.stderr();
        (log.contains("switchboard_host") && log.contains("DEBUG")).then_some(())
    });
    logged.await.expect("the host says more now");
    assert!(!gateway.stderr().contains("DEBUG switchboard_gateway"));
    let wrong = world.run(&["log", "loud"]).await;
    assert_eq!(wrong.code, Some(2));
}

#[tokio::test]
async fn the_log_goes_to_a_file_or_as_the_journal_wants_it() {
    let world = World::new();
    let file = world.path("logs/own.log");
    let all = servers([("a", echo(&[]))]);
    let launch = gateway_over_http(&all)
        .args(["--log", "debug", "--log-file"])
        .arg(&file);
    let gateway = switchboard_testkit::world::Gateway::launch(launch).await;
    let mut client = gateway.legacy("/mcp").await;
    client.call("a__echo", json!({"nonce": "canary"})).await;
    drop(gateway);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("DEBUG") && text.contains("a__echo"), "{text}");
    assert!(!text.contains("canary"), "{text}");
    // A variable that names another file than stderr says nothing.
    let ran = run(gateway_over_http(&all)
        .env("JOURNAL_STREAM", "1:1")
        .args(["--log", "loud"]))
    .await;
    assert!(ran.err.contains("is no level"), "{}", ran.err);
}
