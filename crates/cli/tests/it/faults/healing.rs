//! Servers that go away and come back, servers that never come, and what is
//! known of them from the last time.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};
use std::{
    collections::HashSet,
    path::Path,
    time::{Duration, Instant},
};
use switchboard_testkit::world::{World, address, command, echo, echo_http, servers, until};
use switchboard_testkit::{LATE, LEGACY, Program, StdioClient, bin, text_of};

const LONG: Duration = Duration::from_secs(30);

/// A gateway, and a client that is attached to it.
async fn attached(stage: &World) -> (Program, StdioClient) {
    let gateway = stage.gateway().await;
    (gateway, stage.attached(&[]).await)
}

fn kill(pid: &str) {
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
}

fn times(file: &Path) -> usize {
    std::fs::read_to_string(file)
        .unwrap_or_default()
        .lines()
        .count()
}

#[tokio::test]
async fn a_process_that_is_killed_comes_back_and_nothing_runs_twice() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("count");
    let stage = World::with(&servers([("a", echo(&[])), ("b", echo(&[]))]));
    let (_gateway, mut client) = attached(&stage).await;
    for round in 1..=3 {
        let pid = text_of(&client.call("a__pid", json!({})).await).to_owned();
        let counting = json!({"name": "a__count", "arguments": {"file": file, "delayMs": 60_000}});
        let waiting = client.start("tools/call", counting).await;
        until(LONG, || (times(&file) == round).then_some(()))
            .await
            .expect("the call is under way");
        kill(&pid);
        let answer = client.response(waiting).await;
        let text = answer["error"]["message"].as_str().unwrap();
        assert!(
            text.contains("went away during the call") && text.contains("unknown"),
            "{text}"
        );
        // No action of anybody's: the next call works.
        let again = text_of(&client.call("a__pid", json!({})).await).to_owned();
        assert_ne!(again, pid);
        assert_eq!(times(&file), round, "none was executed twice");
    }
}

#[tokio::test]
async fn a_call_that_does_no_harm_is_made_again() {
    let stage = World::with(&servers([("a", echo(&[])), ("b", echo(&[]))]));
    let (_gateway, mut client) = attached(&stage).await;
    let pid = text_of(&client.call("a__pid", json!({})).await).to_owned();
    let sleeping = json!({"name": "a__sleep", "arguments": {"ms": 1500}});
    let waiting = client.start("tools/call", sleeping).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    kill(&pid);
    assert_eq!(text_of(&client.response(waiting).await), "slept");
}

#[tokio::test]
async fn a_remote_server_that_is_restarted_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("count");
    let server = echo_http(&[]);
    let url = server.url().await;
    let port = url
        .trim_end_matches("/mcp")
        .rsplit(':')
        .next()
        .unwrap()
        .to_owned();
    let stage = World::with(&servers([("a", address(&server).await), ("b", echo(&[]))]));
    let (_gateway, mut client) = attached(&stage).await;
    client.call("a__pid", json!({})).await;
    let counting = json!({"name": "a__count", "arguments": {"file": file, "delayMs": 60_000}});
    let waiting = client.start("tools/call", counting).await;
    until(LONG, || (times(&file) == 1).then_some(()))
        .await
        .expect("the call is under way");
    drop(server);
    let answer = client.response(waiting).await;
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("server \"a\""),
        "{answer}"
    );
    let restarted = || {
        Program::new(bin("echo-server"))
            .args(["--http", &port])
            .spawn()
    };
    let server = restarted();
    server.url().await;
    // Somebody may have to ask twice while it is away, but nobody has to do anything.
    let works = async {
        loop {
            let answer = client.call("a__pid", json!({})).await;
            if answer.get("result").is_some() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(LONG, works)
        .await
        .expect("it works again");
    assert_eq!(times(&file), 1, "none was executed twice");
}

/// A server that takes its time before it says anything.
fn slow(seconds: f64) -> Value {
    let line = format!(
        "sleep {seconds}; exec '{}' --stdio",
        bin("echo-server").display()
    );
    json!({"command": "sh", "args": ["-c", line]})
}

fn listed(answer: &Value) -> HashSet<String> {
    let tools = answer["result"]["tools"].as_array().unwrap();
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
    names
        .filter_map(|name| Some(name.split_once("__")?.0.to_owned()))
        .collect()
}

#[tokio::test]
async fn fifty_servers_of_which_seven_are_no_good() {
    const SLOWEST: f64 = 2.5;
    let mut all = Map::new();
    for n in 0..42 {
        all.insert(format!("good{n}"), echo(&[]));
    }
    all.insert("good42".into(), slow(SLOWEST));
    all.insert("absent".into(), json!({"command": "/nonexistent/program"}));
    all.insert(
        "dies".into(),
        json!({"command": "sh", "args": ["-c", "echo no database >&2; exit 3"]}),
    );
    all.insert("mute".into(), json!({"command": "true"}));
    all.insert(
        "closed".into(),
        json!({"type": "http", "url": "http://127.0.0.1:9/mcp"}),
    );
    all.insert(
        "crashes".into(),
        command("evil-stdio", ["--mode", "crash-start"]),
    );
    all.insert(
        "hangs".into(),
        command("evil-stdio", ["--mode", "hang-start"]),
    );
    all.insert(
        "sleeps".into(),
        json!({"command": "sleep", "args": ["600"]}),
    );
    assert_eq!(all.len(), 50);
    let stage = World::with(&Value::Object(all));
    let mut client = stage.client(&["--direct"]);
    client.deadline = Duration::from_secs(60);
    let started = Instant::now();
    client.initialize(LEGACY).await;
    let good: HashSet<String> = (0..43).map(|n| format!("good{n}")).collect();
    loop {
        let seen = listed(&client.request("tools/list", json!({})).await);
        if seen.is_superset(&good) {
            break;
        }
        client
            .notification("notifications/tools/list_changed")
            .await;
    }
    let usable = started.elapsed();
    for n in 0..43 {
        let answer = client.call(&format!("good{n}__pid"), json!({})).await;
        assert!(answer.get("result").is_some(), "{answer}");
    }
    eprintln!(
        "the slowest good server needs {SLOWEST} s; all 43 listed after {usable:?}, called after {:?}",
        started.elapsed()
    );
    assert!(
        usable < Duration::from_secs_f64(SLOWEST) + Duration::from_secs(15) + LATE,
        "{usable:?}"
    );

    // The reasons read well.
    let ran = stage.run(&["list", "--json"]);
    let rows = tokio::time::timeout(Duration::from_secs(120), ran)
        .await
        .unwrap()
        .ok()
        .json();
    let reason = |name: &str| {
        let row = rows
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["name"] == name)
            .unwrap();
        assert_eq!(row["state"], "failed", "{row}");
        row["reason"].as_str().unwrap().to_owned()
    };
    for (name, words) in [
        ("absent", "/nonexistent/program"),
        ("dies", "no database"),
        ("closed", "127.0.0.1:9"),
        ("hangs", "did not start within"),
        ("sleeps", "did not start within"),
    ] {
        let reason = reason(name);
        assert!(reason.contains(words), "{name}: {reason}");
        eprintln!("{name}: {reason}");
    }
}

#[tokio::test]
async fn a_start_shows_what_was_known_last() {
    let folder = tempfile::tempdir().unwrap();
    let shut = folder.path().join("shut");
    // None says anything while the gate is shut.
    let line = format!(
        "while [ -e '{}' ]; do sleep 0.1; done; exec '{}' --stdio",
        shut.display(),
        bin("echo-server").display()
    );
    let entry = json!({"command": "sh", "args": ["-c", line]});
    let all: Map<String, Value> = (0..20).map(|n| (format!("s{n}"), entry.clone())).collect();
    let stage = World::with(&Value::Object(all));
    let begin = || -> StdioClient { stage.client(&["--direct"]) };
    let mut client = begin();
    client.deadline = Duration::from_secs(60);
    client.initialize(LEGACY).await;
    while listed(&client.request("tools/list", json!({})).await).len() < 20 {
        client
            .notification("notifications/tools/list_changed")
            .await;
    }
    client.request("prompts/list", json!({})).await;
    client.close();
    client.program.wait(LONG).await;
    let kept = std::fs::read_dir(stage.home().join(".cache/switchboard/catalogs")).unwrap();
    assert_eq!(kept.count(), 20);

    std::fs::write(&shut, "").unwrap();
    let mut client = begin();
    let started = Instant::now();
    let hello = client.initialize(LEGACY).await;
    assert!(hello["capabilities"].get("prompts").is_some(), "{hello}");
    let met = started.elapsed();
    let asked = Instant::now();
    let answer = client.request("tools/list", json!({})).await;
    let listing = asked.elapsed();
    assert_eq!(listed(&answer).len(), 20);
    eprintln!("start and initialize {met:?}, first tools/list {listing:?}");
    // What is shown can be called: it waits for its server.
    std::fs::remove_file(&shut).unwrap();
    let answer = client.call("s7__echo", json!({"nonce": "x"})).await;
    assert_eq!(text_of(&answer), "x");
}

#[tokio::test]
async fn what_turns_out_different_is_corrected() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("server.sh");
    let write = |line: String| std::fs::write(&script, line).unwrap();
    write(format!(
        "exec '{}' --stdio --era legacy",
        bin("echo-server").display()
    ));
    let entry = json!({"command": "sh", "args": [script]});
    let stage = World::with(&servers([("s", entry), ("other", echo(&[]))]));
    let mut client = stage.client(&["--direct"]);
    client.initialize(LEGACY).await;
    assert_eq!(
        listed(&client.request("tools/list", json!({})).await).len(),
        2
    );
    client.close();
    client.program.wait(LONG).await;

    // Another server, in another era, behind the same entry.
    write(format!(
        "sleep 1; exec '{}' builtin system",
        env!("CARGO_BIN_EXE_switchboard")
    ));
    let mut client = stage.client(&["--direct"]);
    client.initialize(LEGACY).await;
    let has = |answer: &Value, name: &str| {
        answer["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .any(|tool| tool["name"] == name)
    };
    let first = client.request("tools/list", json!({})).await;
    assert!(has(&first, "s__echo"), "{first}");
    client
        .notification("notifications/tools/list_changed")
        .await;
    let second = client.request("tools/list", json!({})).await;
    assert!(
        has(&second, "s__health") && !has(&second, "s__echo"),
        "{second}"
    );

    // And the other way round: what is remembered of eras is no obstacle.
    client.close();
    client.program.wait(LONG).await;
    write(format!(
        "exec '{}' --stdio --era modern",
        bin("echo-server").display()
    ));
    let ran = stage
        .run(&["call", "s__echo", "-a", "nonce=y", "--direct"])
        .await;
    assert_eq!(ran.out, "y\n", "{ran:?}");
    write(format!(
        "exec '{}' --stdio --era legacy",
        bin("echo-server").display()
    ));
    let ran = stage
        .run(&["call", "s__echo", "-a", "nonce=z", "--direct"])
        .await;
    assert_eq!(ran.out, "z\n", "{ran:?}");
}

/// Fault 44: for a moment after a server has gone it takes nothing, and its end
/// is not known. Nothing of a call made then has left, so it waits for the next copy.
#[tokio::test]
async fn row_44_calls_right_after_a_servers_death_wait_for_the_next_copy() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("server.sh");
    // Its input is closed a good while before it ends.
    let text = r#"
        while read -r line; do
            id=${line#*\"id\":}; id=${id%%[,\}]*}
            case "$line" in
                *'"initialize"'*) result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
                *'"tools/list"'*) result='{"tools":[{"name":"go","inputSchema":{"type":"object"}},{"name":"pid","inputSchema":{"type":"object"}}]}' ;;
                *'"go"'*) exec 0</dev/null; result='{"content":[{"type":"text","text":"gone"}]}' ;;
                *'"pid"'*) result='{"content":[{"type":"text","text":"'$$'"}]}' ;;
                *) continue ;;
            esac
            printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
            case "$line" in *'"go"'*) sleep 1; exit 3 ;; esac
        done
    "#;
    std::fs::write(&script, text).unwrap();
    let entry = json!({"command": "/bin/sh", "args": [script], "era": "legacy"});
    let stage = World::with(&servers([("a", entry)]));
    let _gateway = stage.gateway().await;
    let mut client = stage.attached(&[]).await;
    let before = text_of(&client.call("a__pid", json!({})).await).to_owned();
    assert_eq!(text_of(&client.call("a__go", json!({})).await), "gone");
    // The first of these may be lost on the way: it was written, and then nobody read it.
    let mut waiting = Vec::new();
    for _ in 0..20 {
        waiting.push(
            client
                .start("tools/call", json!({"name": "a__pid", "arguments": {}}))
                .await,
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut served = 0;
    while !waiting.is_empty() {
        let answer = client.next().await;
        let Some(at) = waiting.iter().position(|id| answer["id"] == *id) else {
            continue;
        };
        waiting.remove(at);
        match answer["error"]["message"].as_str() {
            Some(text) => assert!(text.contains("went away during the call"), "{text}"),
            None => {
                assert_ne!(text_of(&answer), before, "by the next copy");
                served += 1;
            }
        }
    }
    assert!(served > 0, "none waited for the next copy");
}
