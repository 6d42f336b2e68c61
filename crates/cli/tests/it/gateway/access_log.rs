//! A line for each request, where somebody asks for it.

use serde_json::{Value, json};
use std::{os::unix::fs::PermissionsExt, path::Path, time::Duration};
use switchboard_testkit::{
    LEGACY,
    world::{Gateway, World, echo, http, servers, until},
};

const LONG: Duration = Duration::from_secs(60);

/// The lines of a file, once there are as many.
async fn lines(file: &Path, count: usize) -> Vec<Value> {
    let found = until(LONG, || {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        (lines.len() >= count).then_some(lines)
    });
    found.await.expect("the lines are written")
}

#[tokio::test]
async fn each_request_has_a_line_in_either_era() {
    let world = World::new();
    let file = world.path("logs/access.log");
    let all = servers([("a", echo(&[])), ("b", echo(&[]))]);
    let launch = http(&all).args(["--access-log-format", "json", "--access-log"]);
    let gateway = Gateway::launch(launch.arg(&file)).await;
    let mut client = gateway.legacy("/mcp").await;
    client.call("a__echo", json!({"nonce": "canary-1"})).await;
    client
        .call("b__nothing", json!({"nonce": "canary-2"}))
        .await;
    let mut modern = gateway.client("/mcp/b");
    let call = json!({"name": "echo", "arguments": {"nonce": "canary-3"}});
    modern.modern("tools/call", call).await;
    // What we answer ourselves has a line as well, in either era.
    client.request("tools/list", json!({})).await;
    client.request("ping", json!({})).await;
    gateway.client("/mcp").modern("tools/list", json!({})).await;
    gateway.client("/mcp").modern("ping", json!({})).await;
    let lines = lines(&file, 8).await;
    assert_eq!(lines.len(), 8, "one each: {lines:#?}");
    for (method, era, outcome) in [
        ("initialize", "legacy", "ok"),
        ("tools/list", "legacy", "ok"),
        ("ping", "legacy", "ok"),
        ("tools/list", "modern", "ok"),
        ("ping", "modern", "failed"),
    ] {
        let is_it = |line: &&Value| line["method"] == method && line["era"] == era;
        let found = lines.iter().find(is_it);
        let line = found.unwrap_or_else(|| panic!("{method} in {lines:#?}"));
        assert_eq!(line["outcome"], outcome, "{line}");
        assert!(line.get("server").is_none(), "{line}");
        assert_eq!(
            line["bytesOut"].as_u64() > Some(0),
            outcome == "ok",
            "{line}"
        );
    }
    let of = |tool: &str| {
        let found = lines.iter().find(|line| line["tool"] == tool);
        found.unwrap_or_else(|| panic!("{tool} in {lines:?}"))
    };
    let first = of("a__echo");
    assert_eq!(first["server"], "a");
    assert_eq!(first["method"], "tools/call");
    assert_eq!(
        (&first["era"], &first["outcome"]),
        (&json!("legacy"), &json!("ok"))
    );
    assert!(first["client"].is_string(), "{first}");
    assert!(first["bytesIn"].as_u64() > Some(0) && first["bytesOut"].as_u64() > Some(0));
    assert!(first["durationMs"].as_f64() >= first["serverMs"].as_f64());
    assert!(first.get("fault").is_none(), "{first}");
    let wrong = of("b__nothing");
    assert_ne!(wrong["outcome"], "ok");
    assert!(wrong["fault"].is_string(), "{wrong}");
    assert_eq!(of("echo")["era"], "modern");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(!text.contains("canary"), "{text}");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn settings_ask_for_it_too() {
    let world = World::with(&servers([("a", echo(&[]))]));
    let mut settings: Value = serde_json::from_str(&world.read(world.settings())).unwrap();
    settings["observe"] = json!({"accessLog": {"file": "~/access.log"}});
    world.write_settings(&settings);
    let mut client = world.client(&["--only", "a"]);
    client.initialize(LEGACY).await;
    client.call("echo", json!({"nonce": "n"})).await;
    client.close();
    let wanted = || {
        let text = std::fs::read_to_string(world.path("home/access.log")).ok()?;
        text.contains(" tool=echo outcome=ok ").then_some(())
    };
    until(LONG, wanted).await.expect("the line is there");
}

#[tokio::test]
async fn one_that_cannot_be_written_is_told_and_nothing_is_served() {
    let all = servers([("a", echo(&[]))]);
    let ran = http(&all).args(["--access-log", "/proc/none/access.log"]);
    let ran = switchboard_testkit::world::run(ran).await;
    assert_ne!(ran.code, Some(0));
    assert!(
        ran.err.contains("access log /proc/none/access.log"),
        "{}",
        ran.err
    );
}
