//! Processes that nobody uses: they end, are missed by nobody, and are there again when
//! they are needed.

use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};
use switchboard_testkit::{
    HttpClient, LEGACY, text_of,
    world::{Gateway, World, answering, children, echo, servers, until},
};

/// How long a process may be unused.
const IDLE: Duration = Duration::from_millis(400);
/// How long anything may take on a machine that has other things to do.
const LIMIT: Duration = Duration::from_secs(60);

fn resting(args: &[&str]) -> Value {
    let mut entry = echo(args);
    entry["idleTimeout"] = json!(IDLE.as_millis() as u64);
    entry
}

async fn gateway(world: &World) -> (Gateway, i32) {
    let (program, url) = world.serve(&["--no-auth"]).await;
    let noted = until(LIMIT, || (!world.notes().is_empty()).then_some(())).await;
    noted.expect("a note is left");
    let gateway = Gateway { program, url };
    let worker = gateway.worker().await;
    (gateway, worker)
}

async fn until_children(worker: i32, right: impl Fn(&[i32]) -> bool) -> Vec<i32> {
    let found = until(LIMIT, || {
        let now = children(worker);
        right(&now).then_some(now)
    });
    let what = || format!("they do not end or begin: {:?}", children(worker));
    found.await.unwrap_or_else(|| panic!("{}", what()))
}

async fn pid(client: &mut HttpClient, tool: &str) -> i32 {
    let answer = client.call(tool, json!({})).await;
    text_of(&answer)
        .parse()
        .unwrap_or_else(|_| panic!("{answer}"))
}

async fn tools(client: &mut HttpClient) -> BTreeSet<String> {
    let listed = client.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().expect("a list");
    let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
    tools.iter().map(name).collect()
}

async fn leave(mut client: HttpClient) {
    let reply = client.send(http::Method::DELETE, &[], "").await;
    assert!(reply.status.is_success(), "{reply:?}");
}

fn state(rows: &Value, name: &str) -> Value {
    let rows = rows.as_array().expect("rows");
    let row = rows.iter().find(|row| row["name"] == name);
    row.unwrap_or_else(|| panic!("{name} in {rows:?}")).clone()
}

#[tokio::test]
async fn a_process_that_nobody_uses_ends_until_it_is_needed() {
    let world = World::with(&servers([
        ("asked", resting(&["--era", "legacy"])),
        ("quiet", resting(&["--era", "legacy"])),
    ]));
    let (gateway, worker) = gateway(&world).await;
    let mut client = gateway.legacy("/mcp").await;
    let all = tools(&mut client).await;
    assert!(
        all.contains("asked__pid") && all.contains("quiet__pid"),
        "{all:?}"
    );
    let asked = pid(&mut client, "asked__pid").await;
    // Whoever called the one is there still; the other was only listed.
    until_children(worker, |now| now == [asked]).await;
    assert_eq!(tools(&mut client).await, all, "nobody misses it");
    let status = world.run(&["status", "--json"]).await.ok().json();
    let (there, gone) = (
        state(&status[0]["servers"], "asked"),
        state(&status[0]["servers"], "quiet"),
    );
    assert_eq!(
        (&there["state"], &gone["state"]),
        (&json!("connected"), &json!("asleep"))
    );
    assert_eq!(gone["copies"], 0);
    assert!(there["used"]["memory"].as_u64() > Some(100_000), "{there}");
    assert_eq!(there["used"]["processes"], 1);
    assert_eq!(gone["used"], Value::Null);
    // Who looks at it does not wake it.
    let listed = world.run(&["list", "--json"]).await.ok().json();
    let (there, gone) = (state(&listed, "asked"), state(&listed, "quiet"));
    assert_eq!(gone["state"], "asleep");
    assert_eq!(
        (&gone["tools"], &gone["era"]),
        (&there["tools"], &json!("legacy"))
    );
    let listed = world.run(&["list"]).await.ok();
    assert!(listed.out.contains("asleep  14 tools"), "{}", listed.out);
    assert!(listed.out.contains(" MiB, "), "{}", listed.out);
    assert_eq!(children(worker), [asked]);
    // Whoever needs it has it.
    let quiet = pid(&mut client, "quiet__pid").await;
    assert!(children(worker).contains(&quiet));
    // Nobody is left: both end.
    leave(client).await;
    until_children(worker, <[i32]>::is_empty).await;
    let mut client = gateway.legacy("/mcp").await;
    assert_eq!(tools(&mut client).await, all);
    assert!(children(worker).is_empty(), "who only lists starts nothing");
    let again = pid(&mut client, "asked__pid").await;
    assert_ne!(again, asked);
    // None of that was an accident.
    let said = gateway.program.stderr();
    assert!(!said.contains("the connection ended"), "{said}");
    assert!(said.contains("nobody uses it"), "{said}");
}

#[tokio::test]
async fn what_somebody_may_come_back_for_stays() {
    let world = World::new();
    let with = |key: &str, value: Value| {
        let mut entry = echo(&["--era", "legacy"]);
        entry[key] = value;
        entry
    };
    world.write_settings(&json!({
        "idleTimeout": IDLE.as_millis() as u64,
        "mcpServers": {
            "quiet": echo(&["--era", "legacy"]),
            "watched": echo(&["--era", "legacy"]),
            "kept": with("idleTimeout", json!("off")),
            "needed": with("required", json!(true)),
            "busy": echo(&["--era", "legacy"]),
        },
    }));
    let (gateway, worker) = gateway(&world).await;
    let mut client = gateway.legacy("/mcp").await;
    tools(&mut client).await;
    until_children(worker, |now| now.len() == 5).await;
    let uri = json!({"uri": "watched+echo://1"});
    let answer = client.request("resources/subscribe", uri).await;
    assert!(answer.get("result").is_some(), "{answer}");
    // A call that takes longer than a process may be unused.
    let url = format!("{}/mcp", gateway.url);
    let long = tokio::spawn(async move {
        let mut other = HttpClient::new(&url);
        other.initialize(LEGACY).await;
        let ms = (IDLE * 8).as_millis() as u64;
        let answer = other.call("busy__sleep", json!({"ms": ms})).await;
        leave(other).await;
        answer
    });
    until_children(worker, |now| now.len() == 4).await;
    let status = world.run(&["status", "--json"]).await.ok().json();
    assert_eq!(state(&status[0]["servers"], "quiet")["state"], "asleep");
    let answer = long.await.expect("it ends");
    assert!(answer.get("result").is_some(), "{answer}");
    // It was in use all the time, and now it is not.
    until_children(worker, |now| now.len() == 3).await;
    tokio::time::sleep(IDLE * 3).await;
    assert_eq!(children(worker).len(), 3, "watched, kept, needed");
    leave(client).await;
    until_children(worker, |now| now.len() == 2).await;
    tokio::time::sleep(IDLE * 3).await;
    let status = world.run(&["status", "--json"]).await.ok().json();
    let servers = &status[0]["servers"];
    for (name, how) in [
        ("kept", "connected"),
        ("needed", "connected"),
        ("watched", "asleep"),
        ("busy", "asleep"),
    ] {
        assert_eq!(state(servers, name)["state"], how, "{name}: {servers}");
    }
}

/// A modern client has no session. On a channel of its own it is there as long as that;
/// over HTTP for as long as its requests are.
#[tokio::test]
async fn a_modern_client_is_there_as_long_as_its_channel() {
    let world = World::with(&servers([("m", resting(&["--era", "modern"]))]));
    let mut client = world.client(&[]);
    let worker = switchboard_testkit::world::worker_of(client.program.pid()).await;
    let call = json!({"name": "m__pid", "arguments": {}});
    let first = client.modern("tools/call", call.clone()).await;
    let first = text_of(&first).to_owned();
    tokio::time::sleep(IDLE * 4).await;
    assert_eq!(children(worker).len(), 1, "its client is there");
    let second = client.modern("tools/call", call.clone()).await;
    assert_eq!(text_of(&second), first);
    drop(client);

    let (gateway, worker) = gateway(&world).await;
    let mut client = gateway.client("/mcp");
    let first = client.modern("tools/call", call.clone()).await.message();
    until_children(worker, <[i32]>::is_empty).await;
    let second = client.modern("tools/call", call).await.message();
    assert_ne!(text_of(&second), text_of(&first));
}

/// How a task is written.
const TASK: &str = r#"times='"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null'"#;

/// A server with one tool, which can only be had as a task.
const TASKS: &str = r#"
    *'"initialize"'*) answer='"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer='"result":{"tools":[{"name":"long","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}' ;;
    *'"tools/call"'*) answer='"result":{"task":{"taskId":"t1","status":"working",'$times'}}' ;;
    *'"tasks/get"'*) answer='"result":{"taskId":"t1","status":"completed",'$times'}' ;;
"#;

#[tokio::test]
async fn a_process_stays_while_a_task_is_open() {
    let mut entry = json!({"command": "sh", "args": ["-c", answering(TASK, TASKS)]});
    entry["idleTimeout"] = json!(IDLE.as_millis() as u64);
    let world = World::with(&servers([("t", entry)]));
    let (gateway, worker) = gateway(&world).await;
    let mut client = gateway.legacy("/mcp/t").await;
    let call = json!({"name": "long", "arguments": {}, "task": {}});
    let answer = client.request("tools/call", call).await;
    assert_eq!(answer["result"]["task"]["taskId"], "t1", "{answer}");
    leave(client).await;
    // Nobody is there, and it works on.
    tokio::time::sleep(IDLE * 5).await;
    assert_eq!(children(worker).len(), 1);
    let mut client = gateway.legacy("/mcp/t").await;
    let answer = client.request("tasks/get", json!({"taskId": "t1"})).await;
    assert_eq!(answer["result"]["status"], "completed", "{answer}");
    leave(client).await;
    until_children(worker, <[i32]>::is_empty).await;
}

/// That it is misspelt is told where it is written.
#[test]
fn what_cannot_be_is_told() {
    let world = World::new();
    let entry = |key: &str, value: Value| {
        let mut entry = echo(&[]);
        entry[key] = value;
        json!({"mcpServers": {"a": entry}})
    };
    let says = |settings: &Value, what: &str| {
        world.write_settings(settings);
        let ran = world.show(&["list", "--no-connect"]);
        let said = format!("{}{}", ran.out, ran.err);
        assert!(said.contains(what), "{said}");
    };
    says(&json!({"idleTimeout": "soon"}), "`idleTimeout` must be");
    says(&entry("idleTimeout", json!(-1)), "idleTimeout");
    says(&entry("limits", json!({"memory": "much"})), "limits.memory");
    says(&entry("limits", json!({"cpu": 0})), "limits.cpu");
    says(&entry("limits", json!({"disk": 1})), "limits.disk");
    says(&entry("Limits", json!({"cpu": 1})), "write `limits`");
}
