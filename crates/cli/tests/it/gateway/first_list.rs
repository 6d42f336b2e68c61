//! The first list after a start: it waits for servers that are starting, as long as
//! its client can wait, and says which of them it is without.

use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs,
    time::{Duration, Instant},
};
use switchboard_testkit::world::{Client, Gateway, World, echo, servers, to_the_end};
use switchboard_testkit::{LEGACY, StdioClient, bin, text_of};

/// A client that lists once, and waits for half a minute.
const PATIENT: &str = "claude-code";
/// One that waits for five seconds.
const IMPATIENT: &str = "opencode";
/// How long the first list waits for whoever is neither of them.
const FIRST_LIST: Duration = Duration::from_secs(8);
/// Well before the patient one has waited for as long as it can, and after longer
/// than a silent server is waited for.
const EARLY: Duration = Duration::from_secs(20);

/// A server that does this first, in a shell, and then is an echo server. Where the
/// file is there it does nothing for ever.
fn after(first: &str, stuck: &str) -> Value {
    let server = bin("echo-server");
    let script = format!(
        "[ -e {stuck} ] && exec sleep 600; {first}; exec {} --stdio --era legacy",
        server.display()
    );
    json!({"command": "/bin/sh", "args": ["-c", script]})
}

/// Says for some seconds that it is about to start.
const TALKS: &str = "for i in 1 2 3 4 5 6 7 8 9 10; do echo soon >&2; sleep 0.5; done";
/// Computes for some seconds and says nothing.
const WORKS: &str = "end=$(($(date +%s) + 5)); while [ $(date +%s) -lt $end ]; do :; done";

fn hung() -> Value {
    json!({"command": "/bin/sh", "args": ["-c", "exec sleep 600"]})
}

/// Goes on saying that it is about to start until the file is there.
fn until_there(file: &str) -> Value {
    let wait = format!("while [ ! -e {file} ]; do echo soon >&2; sleep 0.3; done");
    after(&wait, "/nowhere/at-all")
}

/// Shakes hands under this name.
async fn greet(client: &mut StdioClient, name: &str) -> Value {
    let params = json!({"protocolVersion": LEGACY, "capabilities": {},
        "clientInfo": {"name": name, "version": "1"}});
    let hello = client.request("initialize", params).await;
    client.notify("notifications/initialized", json!({})).await;
    hello["result"].clone()
}

/// The servers whose tools are in a list.
fn listed(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array().expect("a list");
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    let mut servers: Vec<String> = names
        .filter_map(|name| Some(name.split_once("__")?.0.to_owned()))
        .collect();
    servers.dedup();
    servers
}

/// What the log messages among these say.
fn said(messages: &[Value]) -> String {
    let logs = messages
        .iter()
        .filter(|message| message["method"] == "notifications/message");
    let texts = logs.map(|log| log["params"]["data"].as_str().unwrap_or_default());
    texts.collect::<Vec<_>>().join("\n")
}

/// Four that are there at once, one that says it is coming and one that only works.
fn six(stuck: &str) -> Value {
    let quick = || after(":", stuck);
    servers([
        ("a", quick()),
        ("b", quick()),
        ("c", quick()),
        ("d", quick()),
        ("talks", after(TALKS, stuck)),
        ("works", after(WORKS, stuck)),
    ])
}

const SIX: [&str; 6] = ["a", "b", "c", "d", "talks", "works"];

#[tokio::test]
async fn a_client_that_lists_once_sees_all_tools_and_the_next_start_knows_them() {
    let world = World::new();
    let stuck = world.path("stuck");
    world.configure(&six(&stuck.display().to_string()));
    let mut client = world.client(&[]);
    greet(&mut client, PATIENT).await;
    let first = client.request("tools/list", json!({})).await;
    // Whoever lists once may end us at once: nothing is left to be written.
    client.program.signal(Signal::KILL);
    assert_eq!(listed(&first), SIX);
    drop(client);
    // Now none of them ever starts.
    fs::write(&stuck, "").expect("a file in our own folder");
    let mut client = world.client(&[]);
    let began = Instant::now();
    greet(&mut client, PATIENT).await;
    let second = client.request("tools/list", json!({})).await;
    assert!(began.elapsed() < EARLY, "{:?}", began.elapsed());
    assert_eq!(second["result"]["tools"], first["result"]["tools"]);
    assert_eq!(said(&client.notifications), "");
}

#[tokio::test]
async fn one_that_says_nothing_is_not_waited_for_and_the_client_is_told() {
    let world = World::with(&servers([("hung", hung()), ("quick", echo(&[]))]));
    let mut client = world.client(&[]);
    let began = Instant::now();
    let hello = greet(&mut client, PATIENT).await;
    let list = client.request("tools/list", json!({})).await;
    assert!(began.elapsed() < EARLY, "{:?}", began.elapsed());
    assert_eq!(listed(&list), ["quick"]);
    // It set no level, and is told before its answer.
    let told = said(&client.notifications);
    assert!(
        told.contains("tools/list") && told.contains("hung"),
        "{told}"
    );
    assert!(!told.contains("quick"), "{told}");
    assert!(hello["capabilities"]["logging"].is_object(), "{hello}");
    // It may have anything: the others' lists can be asked for later.
    assert!(hello["capabilities"]["prompts"].is_object(), "{hello}");
}

/// Over HTTP the word is on the stream of the request itself, in either era; a
/// modern client is told where it asked for log messages.
#[tokio::test]
async fn over_http_it_is_said_on_the_stream_of_the_request() {
    for (modern, level, is_told) in [
        (false, None, true),
        (true, Some("warning"), true),
        (true, Some("error"), false),
        (true, None, false),
    ] {
        let gateway = Gateway::start(&servers([("hung", hung()), ("quick", echo(&[]))])).await;
        let mut client = Client::new(&gateway, "/mcp", modern).await;
        let params = match level {
            Some(level) => json!({"_meta": {"io.modelcontextprotocol/logLevel": level}}),
            None => json!({}),
        };
        let stream = client.stream("tools/list", params).await;
        let (told, answer) = to_the_end(stream).await;
        assert_eq!(listed(&answer), ["quick"], "modern {modern}");
        let told = said(&told);
        assert_eq!(
            told.contains("hung"),
            is_told,
            "modern {modern} {level:?}: {told}"
        );
    }
}

/// Somebody of the other era waited for another copy: the wait of who comes later is
/// not over before it has begun.
#[tokio::test]
async fn a_first_client_of_the_other_era_sees_all_tools_whenever_it_comes() {
    let legacy = echo(&["--era", "legacy"]);
    let gateway = Gateway::start(&servers([("a", legacy.clone()), ("b", legacy)])).await;
    let mut old = Client::new(&gateway, "/mcp", false).await;
    let list = old.request("tools/list", json!({})).await;
    assert_eq!(listed(&list), ["a", "b"]);
    // Longer than the first list is waited for, shorter than a start may take.
    tokio::time::sleep(FIRST_LIST + Duration::from_secs(1)).await;
    let mut new = Client::new(&gateway, "/mcp", true).await;
    let list = new.request("tools/list", json!({})).await;
    assert_eq!(listed(&list), ["a", "b"]);
}

#[tokio::test]
async fn what_comes_later_is_announced_to_clients_of_both_eras() {
    let folder = tempfile::tempdir().expect("a folder");
    let there = folder.path().join("there");
    let slow = until_there(&there.display().to_string());
    let all = servers([("quick", echo(&[])), ("slow", slow)]);
    let world = World::with(&all);
    let mut old = world.client(&[]);
    greet(&mut old, IMPATIENT).await;
    let list = old.request("tools/list", json!({})).await;
    assert_eq!(listed(&list), ["quick"]);
    let told = said(&old.notifications);
    assert!(told.contains("slow (it is still starting)"), "{told}");

    let gateway = Gateway::start(&all).await;
    let mut new = Client::new(&gateway, "/mcp", true).await;
    let listening = json!({"notifications": {"toolsListChanged": true}});
    let mut news = new.stream("subscriptions/listen", listening).await;
    let acknowledged = news.message().await.expect("an acknowledgement");
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    let about = json!({"_meta": {
        "io.modelcontextprotocol/clientInfo": {"name": IMPATIENT, "version": "1"}}});
    let list = new.request("tools/list", about).await;
    assert_eq!(listed(&list), ["quick"]);

    old.notifications.clear();
    fs::write(&there, "").expect("a file in our own folder");
    old.notification("notifications/tools/list_changed").await;
    let list = old.request("tools/list", json!({})).await;
    assert_eq!(listed(&list), ["quick", "slow"]);
    let changed = news.message().await.expect("news");
    assert_eq!(changed["method"], "notifications/tools/list_changed");
    let list = new.request("tools/list", json!({})).await;
    assert_eq!(listed(&list), ["quick", "slow"]);
}

/// A list does without a server that is slow to start. A call that names it waits, and
/// where it cannot be had says so.
#[tokio::test]
async fn a_call_waits_for_the_server_that_it_names() {
    let world = World::new();
    let there = world.path("there");
    let wait = format!("while [ ! -e {} ]; do sleep 0.2; done", there.display());
    let broken = json!({"command": "/bin/sh", "args": ["-c", "echo out of order >&2; exit 3"]});
    world.configure(&servers([
        ("broken", broken),
        ("quick", echo(&[])),
        ("silent", after(&wait, "/nowhere/at-all")),
    ]));
    let mut client = world.client(&[]);
    greet(&mut client, IMPATIENT).await;
    let list = client.request("tools/list", json!({})).await;
    assert_eq!(listed(&list), ["quick"]);
    let call =
        |server: &str| json!({"name": format!("{server}__echo"), "arguments": {"nonce": "n"}});
    let opened = async {
        // Longer than a list waits for one that gives no sign of life.
        tokio::time::sleep(Duration::from_secs(4)).await;
        fs::write(&there, "").expect("a file in our own folder");
    };
    let (answer, ()) = tokio::join!(client.request("tools/call", call("silent")), opened);
    assert_eq!(text_of(&answer), "n");
    let answer = client.request("tools/call", call("broken")).await;
    let told = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(
        told.contains("broken") && !told.contains("Unknown"),
        "{answer}"
    );
    let answer = client.request("tools/call", call("nobody")).await;
    assert_eq!(answer["error"]["message"], "Unknown tool: nobody__echo");
}

/// The official inspector's command line lists once.
#[test]
fn the_inspector_sees_all_tools() {
    let installed = |variable: &str| {
        std::env::var(variable)
            .unwrap_or_else(|_| panic!("{variable} is not set: `cargo xtask test` sets it"))
    };
    let world = World::new();
    let stuck = world.path("stuck");
    world.configure(&six(&stuck.display().to_string()));
    let (node, inspector) = (
        installed("SWITCHBOARD_TEST_NODE"),
        installed("SWITCHBOARD_TEST_INSPECTOR"),
    );
    let program = bin("switchboard");
    let target = [
        inspector.as_str(),
        "--cli",
        program.to_str().expect("a path"),
        "serve",
    ];
    let words = [&target[..], &["--method", "tools/list"]].concat();
    let output = world.any(node, &words).output().expect("node runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let list: Value =
        serde_json::from_str(&text).unwrap_or_else(|fault| panic!("{fault}: {output:?}"));
    assert_eq!(listed(&json!({"result": list})), SIX);
}
