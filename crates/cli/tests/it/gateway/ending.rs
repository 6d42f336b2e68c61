//! `serve` on stdio comes to its end: what is in flight is answered, and servers
//! have the time to end well that they have everywhere else.

use rustix::process::Signal;
use serde_json::{Value, json};
use std::{path::Path, time::Duration};
use switchboard_testkit::world::{Client, World, echo, servers, until};
use switchboard_testkit::{Channel, LEGACY, Program, initialize_params, text_of};
use tokio::io::AsyncWriteExt;

const LONG: Duration = Duration::from_secs(60);

/// What a script writes to us before it closes its end.
async fn pipe(mut program: Program, after: &[Value]) -> Vec<Value> {
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params(LEGACY)});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let lines = [hello, ready].into_iter().chain(after.iter().cloned());
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let mut stdin = program.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).await.unwrap();
    drop(stdin);
    let (status, out, err) = program.output(LONG).await;
    assert_eq!(status.code(), Some(0), "{err}");
    let out = String::from_utf8(out).unwrap();
    out.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn answer(to: u64, all: &[Value]) -> &Value {
    let found = all.iter().find(|message| message["id"] == to);
    found.unwrap_or_else(|| panic!("no answer to {to}: {all:?}"))
}

fn requests() -> [Value; 2] {
    let call = json!({"name": "a__sleep", "arguments": {"ms": 700}});
    [
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call}),
    ]
}

fn two() -> World {
    World::with(&servers([("a", echo(&[])), ("b", echo(&[]))]))
}

#[tokio::test]
async fn a_script_gets_all_its_answers() {
    let stage = two();
    let all = pipe(stage.launch(&["serve", "--direct"]).spawn(), &requests()).await;
    assert_eq!(answer(1, &all)["result"]["protocolVersion"], LEGACY);
    assert!(answer(2, &all)["result"]["tools"].is_array());
    assert_eq!(text_of(answer(3, &all)), "slept");
}

#[tokio::test]
async fn a_script_behind_a_gateway_does_too() {
    let stage = two();
    let _gateway = stage.gateway().await;
    let all = pipe(stage.launch(&["serve"]).spawn(), &requests()).await;
    assert!(answer(2, &all)["result"]["tools"].is_array());
    assert_eq!(text_of(answer(3, &all)), "slept");
}

/// A server that hears no signal, and saves when its input ends, which takes a while.
fn saves(file: &Path) -> Value {
    let text = format!(
        r#"trap '' INT TERM
        while read -r line; do
            id=${{line#*\"id\":}}; id=${{id%%[,\}}]*}}
            case "$line" in
                *'"initialize"'*) printf '{{"jsonrpc":"2.0","id":%s,"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}\n' "$id" ;;
                *'"tools/list"'*) printf '{{"jsonrpc":"2.0","id":%s,"result":{{"tools":[]}}}}\n' "$id" ;;
            esac
        done
        sleep 0.3; echo saved > '{}'"#,
        file.display()
    );
    json!({"command": "/bin/sh", "args": ["-c", text], "era": "legacy"})
}

#[tokio::test]
async fn a_server_that_has_to_save_has_the_time() {
    for signal in [None, Some(Signal::TERM), Some(Signal::INT)] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("saved");
        let stage = World::with(&servers([("a", saves(&file)), ("b", echo(&[]))]));
        let mut client = stage.client(&["--direct"]);
        client.initialize(LEGACY).await;
        client.request("tools/list", json!({})).await;
        match signal {
            None => client.close(),
            Some(signal) => client.program.signal(signal),
        }
        let status = client.program.wait(LONG).await;
        assert_eq!(status.code(), Some(0), "{}", client.program.stderr());
        assert!(file.exists(), "{signal:?}");
    }
}

/// A server over HTTP takes the connection and never says a word.
#[tokio::test]
async fn a_server_that_never_answers_keeps_nobody() {
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", mute.local_addr().unwrap());
    let stage = World::with(&servers([("a", json!({"type": "http", "url": url}))]));
    let mut client = stage.client(&["--direct"]);
    let hello = initialize_params(LEGACY);
    client.start("initialize", hello).await;
    mute.accept().unwrap();
    client.close();
    // Far less than the start of a server may take, even on a busy machine.
    let ended = until(Duration::from_secs(25), || client.program.ended());
    let ended = ended.await.expect("it ends all the same");
    assert_eq!(ended.code(), Some(0), "{}", client.program.stderr());
}

/// A call that outlives the time to finish: its client is told, on the stream or as JSON,
/// that nobody knows what became of it.
#[tokio::test]
async fn calls_that_outlive_the_gateway_are_told() {
    let stage = two();
    let mut gateway = stage.gateway_with(&["--no-auth"]).await;
    let url = gateway.url().await;
    let call = json!({"name": "a__sleep", "arguments": {"ms": 300_000}});
    let mut calls = Vec::new();
    for (modern, accept) in [
        (false, "application/json, text/event-stream"),
        (false, "application/json"),
        (false, "text/event-stream"),
        (true, "application/json, text/event-stream"),
        (true, "application/json"),
    ] {
        let mut client = Client::new(&url, "/mcp", modern).await;
        client.http.deadline = LONG;
        client.list("tools/list", "tools", "name").await;
        client.http.headers.insert("accept".into(), accept.into());
        let call = call.clone();
        let asked = tokio::spawn(async move { client.request("tools/call", call).await });
        calls.push((modern, accept, asked));
    }
    let root = url.trim_end_matches('/').trim_end_matches("/mcp");
    let sockets = root.replace("http://", "ws://");
    let mut channels = Vec::new();
    for mut channel in [
        Channel::sse(&format!("{root}/sse"), &[]).await,
        Channel::ws(&format!("{sockets}/ws"), &[]).await,
    ] {
        channel.deadline = LONG;
        channel.initialize(LEGACY).await;
        let asked = channel.start("tools/call", call.clone());
        channels.push((channel, asked));
    }
    let mut lines = stage.attached(&[]).await;
    lines.deadline = LONG;
    let asked = lines.start("tools/call", call).await;
    // The servers themselves say that all of them have reached one: each era has its own.
    let mut modern = Client::new(&url, "/mcp", true).await;
    let sleeping = json!({"sleeping": true});
    let count = json!({"name": "a__cancelled", "arguments": sleeping});
    loop {
        let of_modern = modern.call("a__cancelled", sleeping.clone()).await;
        let of_legacy = lines.request("tools/call", count.clone()).await;
        if of_modern == "2" && text_of(&of_legacy) == "6" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    drop(modern);
    gateway.signal(Signal::TERM);
    for (modern, accept, asked) in calls {
        let answer = asked.await.unwrap();
        let error = &answer["error"];
        assert_eq!(error["code"], -32603, "{modern} {accept}: {answer}");
        assert_eq!(
            error["data"]["outcome"], "unknown",
            "{modern} {accept}: {answer}"
        );
        let text = error["message"].as_str().unwrap_or_default();
        assert!(text.contains("the gateway has ended"), "{answer}");
    }
    for (mut channel, asked) in channels {
        let answer = channel.response(asked).await;
        assert_eq!(answer["error"]["data"]["outcome"], "unknown", "{answer}");
    }
    let answer = lines.response(asked).await;
    let text = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(text.contains("carried out is"), "{answer}");
    gateway.wait(LONG).await;
}
