//! A call once more: what repeats without harm at once, what acts after a yes; as another
//! client, with other arguments, and where the result differs.

use super::{calls, ids};
use crate::support::crossing::{Recorder, Side};
use serde_json::{Value, json};
use switchboard_testkit::{
    DEADLINE, HttpClient, LEGACY, Program, record,
    world::{World, echo, servers},
};

const TOOLS: &str = r#"{"tools":[{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"act","inputSchema":{"type":"object"}}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#;

async fn rig(modern: bool) -> (World, Recorder, Program, HttpClient) {
    let script = [
        json!({"method": "tools/list", "reply": TOOLS}),
        json!({"method": "tools/call", "match": "\"blue\"", "reply": r#"{"content":[{"type":"text","text":"blue"}],"n":1.50,"resultType":"complete"}"#}),
        json!({"method": "tools/call", "reply": r#"{"content":[ {"type":"text","text":"done"}],"n":1.50,"resultType":"complete"}"#}),
    ];
    let recorder = Recorder::new(Side::Stdio, &script, modern).await;
    let world = World::with(&servers([("s", recorder.entry.clone())]));
    let gateway = world.gateway_with(&["--no-auth", "--tap"]).await;
    let url = gateway.url().await;
    let mut client = HttpClient::new(&format!("{url}/mcp"));
    client.initialize(LEGACY).await;
    client.request("tools/list", json!({})).await;
    (world, recorder, gateway, client)
}

/// How often a tool was called at the server.
fn called(recorder: &Recorder, tool: &str) -> usize {
    let all = record::read(&recorder.record).expect("a record");
    let is_call = |message: &&Vec<u8>| {
        let message: Value = serde_json::from_slice(message).unwrap_or_default();
        message["method"] == "tools/call" && message["params"]["name"] == tool
    };
    all.iter().filter(is_call).count()
}

#[tokio::test]
async fn what_changes_nothing_is_made_again_and_gives_the_same_bytes() {
    let (world, recorder, _gateway, mut client) = rig(false).await;
    client.call("s__look", json!({"colour": "red"})).await;
    let id = ids(&world, "tool:look").await.remove(0);
    let ran = world
        .run(&["traffic", "replay", &id, "--json", "-n", "3"])
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let replayed = ran.json();
    assert_eq!(replayed["same"], true, "{replayed}");
    assert_eq!(replayed["runs"].as_array().map(Vec::len), Some(3));
    assert_eq!(replayed["runs"][0]["result"]["content"][0]["text"], "done");
    assert_eq!(called(&recorder, "look"), 4);
    let again = calls(&world, "replay").await;
    assert_eq!(again.len(), 3);
    assert_eq!(again[0]["replayOf"].to_string(), id);
    assert_eq!(again[0]["principal"], "console");

    // With another argument.
    let args = ["traffic", "replay", &id, "--json", "--set", "colour=blue"];
    let ran = world.run(&args).await;
    let replayed = ran.json();
    assert_eq!(replayed["same"], false, "{replayed}");
    let paths = replayed["differences"].as_array().expect("a list");
    assert!(
        paths.iter().any(|one| one["path"] == "/content/0/text"),
        "{replayed}"
    );
    let ran = world
        .run(&["traffic", "replay", &id, "--set", "colour=blue"])
        .await;
    assert!(
        ran.out.contains("/content/0/text: \"done\" → \"blue\""),
        "{}",
        ran.out
    );

    // On a command line.
    let ran = world.run(&["traffic", "copy", &id]).await;
    let expected = "switchboard call s__look '{\"colour\":\"red\"}'\n";
    assert_eq!(ran.out, expected, "{}", ran.err);
    let ran = world.run(&["traffic", "copy", &id, "--as", "json"]).await;
    let line: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!(line["params"]["name"], "s__look");
    let ran = world.run(&["traffic", "copy", &id, "--as", "curl"]).await;
    assert!(ran.out.contains("\ncurl -sS http://"), "{}", ran.out);
}

#[tokio::test]
async fn what_acts_is_made_again_only_after_a_yes() {
    let (world, recorder, _gateway, mut client) = rig(false).await;
    client.call("s__act", json!({})).await;
    let id = ids(&world, "tool:act").await.remove(0);
    let ran = world.run(&["traffic", "replay", &id]).await;
    assert_eq!(ran.code, Some(5), "{}", ran.out);
    assert!(ran.err.contains("--yes"), "{}", ran.err);
    assert_eq!(called(&recorder, "act"), 1);
    let ran = world.run(&["traffic", "replay", &id, "--yes"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("byte for byte"), "{}", ran.out);
    assert_eq!(called(&recorder, "act"), 2);
}

#[tokio::test]
async fn another_era_is_reached_through_the_bridge() {
    for server_modern in [false, true] {
        let (world, recorder, _gateway, mut client) = rig(server_modern).await;
        client.call("s__look", json!({})).await;
        let id = ids(&world, "tool:look").await.remove(0);
        let other = if server_modern { "legacy" } else { "modern" };
        let args = ["traffic", "replay", &id, "--json", "--era", other];
        let ran = world.run(&args).await;
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let replayed = ran.json();
        let call = &replayed["runs"][0]["call"];
        assert_eq!(call["clientEra"], other, "{replayed}");
        assert_ne!(call["serverEra"], other, "{replayed}");
        assert_eq!(replayed["runs"][0]["result"]["content"][0]["text"], "done");
        assert_eq!(called(&recorder, "look"), 2);
    }
}

/// Another's secrets are not shown by a replay, and where they are sent once more that is on
/// record; another server gets them after a yes alone.
#[tokio::test]
async fn secrets_of_others_stay_theirs() {
    let secret = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let world = World::with(&servers([("one", echo(&[])), ("two", echo(&[]))]));
    let gateway = world.gateway_with(&["--tap", "--audit"]).await;
    let url = gateway.url().await;
    let token = format!("Bearer {}", world.token("tokens/default"));
    let mut client = HttpClient::new(&format!("{url}/mcp")).header("authorization", &token);
    client.initialize(LEGACY).await;
    client.request("tools/list", json!({})).await;
    let plain = json!({"nonce": "plain"});
    client.call("one__echo", plain).await;
    let hot = json!({"nonce": format!("with {secret}"), "password": "open sesame"});
    client.call("one__echo", hot).await;
    let ids = ids(&world, "tool:echo").await;
    let control = format!("Bearer {}", world.token("control-token"));
    let replay = async |id: &str, body: Value| {
        let at = HttpClient::new(&format!("{url}/api/v1/calls/{id}/replay"));
        let at = at.header("content-type", "application/json");
        let mut client = at.header("authorization", &control);
        let reply = client.post(body.to_string()).await;
        let said: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        (reply.status.as_u16(), said)
    };
    let recorded = async || {
        let ran = world.run(&["audit", "--json"]).await;
        ran.out.matches("\"replay\"").count()
    };
    let (status, said) = replay(&ids[0], json!({"confirmed": true})).await;
    assert_eq!(status, 200, "{said}");
    assert_eq!(said["runs"].as_array().map(Vec::len), Some(1), "{said}");
    let other = json!({"server": "two"});
    let (status, said) = replay(&ids[1], other).await;
    assert_eq!((status, &said["code"]), (409, &json!("confirm")), "{said}");
    assert!(said["error"].to_string().contains("two"), "{said}");
    let set = json!({"confirmed": true, "set": [{"path": "more", "value": 1}]});
    for body in [
        json!({"confirmed": true}),
        set,
        json!({"confirmed": true, "server": "two"}),
    ] {
        let (status, said) = replay(&ids[1], body).await;
        assert_eq!(status, 200, "{said}");
        let said = said.to_string();
        assert!(
            !said.contains(secret) && !said.contains("open sesame"),
            "{said}"
        );
        assert!(said.contains("[redacted]"), "{said}");
    }
    let deadline = std::time::Instant::now() + DEADLINE;
    while recorded().await < 3 {
        assert!(std::time::Instant::now() < deadline, "{}", recorded().await);
    }
    assert_eq!(recorded().await, 3, "and not where there are none");
}
