//! A running gateway: stdio clients attach to it, commands use it, and nobody
//! is disturbed when one of them dies.

use futures_util::future::join_all;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, HashSet},
    os::unix::fs::MetadataExt,
    path::Path,
    time::Duration,
};
use switchboard_testkit::world::{self, World, alive, echo, run, servers, until, worker_of};
use switchboard_testkit::{LEGACY, text_of};

const LONG: Duration = Duration::from_secs(30);

fn two() -> Value {
    servers([("left", echo(&[])), ("right", echo(&[]))])
}

/// A call that leaves a trace and then takes long.
fn acting(file: &Path) -> Value {
    json!({"name": "left__count", "arguments": {"file": file, "delayMs": 60_000}})
}

#[tokio::test]
async fn ten_clients_share_one_copy_of_each_server() {
    let stage = World::with(&two());
    let gateway = stage.gateway().await;
    let mut clients = join_all((0..10).map(|_| stage.attached(&[]))).await;

    let mut pids: HashSet<String> = HashSet::new();
    for client in &mut clients {
        for tool in ["left__pid", "right__pid"] {
            pids.insert(text_of(&client.call(tool, json!({})).await).to_owned());
        }
    }
    assert_eq!(pids.len(), 2, "one process of each server: {pids:?}");

    // All at once, under the same ids: each gets its own answers.
    let mut asked = Vec::new();
    for (n, client) in clients.iter_mut().enumerate() {
        for i in 0..5 {
            let nonce = format!("client {n} call {i}");
            let delay = (n * 7 + i * 13) % 50;
            let params =
                json!({"name": "left__echo", "arguments": {"nonce": nonce, "delayMs": delay}});
            asked.push((n, client.start("tools/call", params).await, nonce));
        }
    }
    for (n, client) in clients.iter_mut().enumerate() {
        let mut waiting: HashMap<u64, String> = asked
            .iter()
            .filter(|(of, ..)| *of == n)
            .map(|(_, id, nonce)| (*id, nonce.clone()))
            .collect();
        while !waiting.is_empty() {
            let answer = client.next().await;
            let nonce = answer["id"].as_u64().and_then(|id| waiting.remove(&id));
            assert_eq!(text_of(&answer), nonce.expect("asked by this client"));
        }
    }

    // One dies in the middle of a call, without a word.
    let mut doomed = clients.pop().unwrap();
    let file = stage.home().join("count");
    doomed.start("tools/call", acting(&file)).await;
    until(LONG, || file.exists().then_some(()))
        .await
        .expect("the call is under way");
    let waiting = clients[0]
        .start(
            "tools/call",
            json!({"name": "left__sleep", "arguments": {"ms": 500}}),
        )
        .await;
    doomed.program.signal(Signal::KILL);
    drop(doomed);
    assert_eq!(text_of(&clients[0].response(waiting).await), "slept");
    for client in &mut clients {
        let pid = client.call("left__pid", json!({})).await;
        assert!(pids.contains(text_of(&pid)), "still the same copy");
    }
    // What it had asked for was given up.
    let given_up = async {
        loop {
            let counted = clients[1].call("left__cancelled", json!({})).await;
            if text_of(&counted) == "1" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(LONG, given_up)
        .await
        .expect("the dead client's call is cancelled");
    drop(gateway);
}

#[tokio::test]
async fn modern_clients_and_single_servers_attach_too() {
    let stage = World::with(&two());
    let _gateway = stage.gateway().await;
    let mut all = stage.client(&[]);
    let listed = all.modern("tools/list", json!({})).await;
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(
        names.contains(&"left__pid") && names.contains(&"right__pid"),
        "{names:?}"
    );
    let params = json!({"name": "left__pid", "arguments": {}});
    let shared = all.modern("tools/call", params).await;
    all.program.wait_for_line("attached to the gateway").await;

    // One server alone keeps its own names.
    let mut one = stage.client(&["--only", "left"]);
    let own = one
        .modern("tools/call", json!({"name": "pid", "arguments": {}}))
        .await;
    one.program.wait_for_line("attached to the gateway").await;
    assert_eq!(text_of(&own), text_of(&shared));

    // Other names than the gateway's: servers of its own.
    let mut full = stage.client(&["--names", "full"]);
    full.initialize(LEGACY).await;
    let pid = full.call("mcp__left__pid", json!({})).await;
    assert_ne!(text_of(&pid), text_of(&shared));
    // So does one that does not want to share.
    let mut direct = stage.client(&["--direct"]);
    direct.initialize(LEGACY).await;
    let pid = direct.call("left__pid", json!({})).await;
    assert_ne!(text_of(&pid), text_of(&shared));
}

#[tokio::test]
async fn a_gateway_that_dies_is_told_of() {
    let stage = World::with(&two());
    let gateway = stage.gateway().await;
    let mut client = stage.attached(&[]).await;
    let file = stage.home().join("count");
    let waiting = client.start("tools/call", acting(&file)).await;
    until(LONG, || file.exists().then_some(()))
        .await
        .expect("the call is under way");
    let worker = worker_of(gateway.pid()).await;
    kill_process(Pid::from_raw(worker).unwrap(), Signal::KILL).unwrap();
    let answer = client.response(waiting).await;
    let text = answer["error"]["message"].as_str().unwrap();
    assert!(
        text.contains("has ended") && text.contains("unknown"),
        "{text}"
    );
    // The client stays, and goes on with servers of its own.
    client
        .notification("notifications/tools/list_changed")
        .await;
    let own = client.call("left__echo", json!({"nonce": "still"})).await;
    assert_eq!(text_of(&own), "still");
    drop(gateway);
    until(LONG, || (!alive(worker)).then_some(()))
        .await
        .unwrap();

    // Its note says nothing any more; servers are started as if it had never been.
    let ran = stage
        .run(&["call", "left__echo", "-a", "nonce=x"])
        .await
        .ok();
    assert_eq!(ran.out, "x\n");
    assert!(stage.notes().is_empty(), "the note is taken away");
}

#[tokio::test]
async fn commands_use_the_running_gateway() {
    let stage = World::with(&two());
    let gateway = stage.gateway().await;
    let pid = |ran: world::Ran| ran.ok().out.trim().to_owned();
    let first = pid(stage.run(&["call", "left__pid"]).await);
    assert_eq!(
        first,
        pid(stage.run(&["call", "left__pid"]).await),
        "the same warm copy"
    );
    assert!(
        alive(first.parse().unwrap()),
        "it goes on after the command"
    );
    let own = pid(stage.run(&["call", "left__pid", "--direct"]).await);
    assert_ne!(own, first);

    let through = stage.run(&["list", "--json"]).await.ok().json();
    let direct = stage.run(&["list", "--json", "--direct"]).await.ok().json();
    for (a, b) in through
        .as_array()
        .unwrap()
        .iter()
        .zip(direct.as_array().unwrap())
    {
        for key in [
            "name",
            "scope",
            "file",
            "target",
            "state",
            "version",
            "era",
            "serverInfo",
            "tools",
            "resources",
            "prompts",
        ] {
            assert_eq!(a[key], b[key], "{key}");
        }
    }
    let through = stage.run(&["tools", "--json"]).await.ok().json();
    assert_eq!(
        through,
        stage
            .run(&["tools", "--json", "--direct"])
            .await
            .ok()
            .json()
    );

    // A server that does not come up says why, whoever asks.
    stage.configure(&servers([
        ("left", echo(&[])),
        (
            "dies",
            json!({"command": "sh", "args": ["-c", "echo last words >&2; exit 3"]}),
        ),
    ]));
    let rows = stage.run(&["list", "--json"]).await.ok().json();
    let dies = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == "dies")
        .unwrap();
    assert_eq!(dies["state"], "failed");
    assert!(
        dies["reason"].as_str().unwrap().contains("last words"),
        "{dies}"
    );
    assert_eq!(
        first,
        pid(stage.run(&["call", "left__pid"]).await),
        "an untouched server goes on"
    );
    drop(gateway);
}

#[tokio::test]
async fn an_entry_that_means_something_else_here_is_another_server() {
    let mut entry = echo(&[]);
    entry["env"] = json!({"KEY": "${KEY:-none}"});
    let stage = World::with(&servers([("left", entry)]));
    let _gateway = stage.gateway().await;
    let first = stage.run(&["call", "left__pid"]).await.ok().out;
    assert_eq!(first, stage.run(&["call", "left__pid"]).await.ok().out);
    let other = run(stage.launch(&["call", "left__pid"]).env("KEY", "mine"))
        .await
        .ok()
        .out;
    assert_ne!(first, other);
    let elsewhere = stage.home().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let other = run(stage.launch(&["call", "left__pid"]).cwd(elsewhere))
        .await
        .ok()
        .out;
    assert_ne!(first, other, "it would run in another directory");
}

#[tokio::test]
async fn the_note_is_private_and_goes_with_the_gateway() {
    let stage = World::with(&two());
    let mut gateway = stage.gateway().await;
    let [note] = &stage.notes()[..] else {
        panic!("one note")
    };
    assert_eq!(std::fs::metadata(note).unwrap().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(note).unwrap();
    for secret in [stage.token("control-token"), stage.token("tokens/default")] {
        assert!(!text.contains(&secret), "a note holds no secret");
    }
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.wait(LONG).await.code(), Some(0));
    assert!(stage.notes().is_empty());
}

#[tokio::test]
async fn only_the_control_token_controls() {
    let stage = World::with(&two());
    let gateway = stage.gateway().await;
    let url = gateway.url().await;
    let address = url.strip_prefix("http://").unwrap();
    let (control, client) = (stage.token("control-token"), stage.token("tokens/default"));
    for (path, host, token, status) in [
        ("/api/v1/servers", address, Some(&control), "200"),
        ("/api/v1/servers", address, Some(&client), "403"),
        ("/api/v1/servers", address, None, "401"),
        ("/api/v1/servers", "evil.example", Some(&control), "403"),
        ("/api/v1/nothing", address, Some(&control), "404"),
        // Where commands of earlier versions ask: they are told, and nobody else is.
        ("/api/servers", address, Some(&control), "410"),
        ("/api/nothing", address, Some(&control), "410"),
        ("/api/servers", address, Some(&client), "401"),
        ("/api/servers", address, None, "401"),
        ("/api/servers", "evil.example", Some(&control), "403"),
        ("/attach", address, Some(&control), "401"),
        ("/attach", address, None, "401"),
        ("/attach", address, Some(&client), "426"),
    ] {
        let token = token
            .map(|token| format!("Authorization: Bearer {token}\r\n"))
            .unwrap_or_default();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{token}Connection: close\r\n\r\n");
        let answer = exchange(address, &request).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{path} {host}: {answer}"
        );
    }
}

async fn exchange(address: &str, request: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(LONG, stream.read_to_string(&mut answer))
        .await
        .unwrap()
        .unwrap();
    answer
}
