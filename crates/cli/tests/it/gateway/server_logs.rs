//! What servers write to stderr is kept, and `logs` shows it.

use rustix::process::Signal;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::MetadataExt, time::Duration};
use switchboard_testkit::world::{World, command, echo, servers, until};
use switchboard_testkit::{LEGACY, bin};
use tokio::io::{AsyncBufReadExt, BufReader};

const LONG: Duration = Duration::from_secs(60);

/// A server that says this on stderr, and works.
fn talks(text: &str) -> Value {
    let line = format!(
        "printf '{text}' >&2; exec '{}' --stdio",
        bin("echo-server").display()
    );
    json!({"command": "/bin/sh", "args": ["-c", line]})
}

#[tokio::test]
async fn what_a_server_said_is_there_when_it_has_gone() {
    let all = servers([
        ("a", talks("one\\nthe \\033[31mred\\033[0m one\\nthe end")),
        ("b", echo(&[])),
    ]);
    let stage = World::with(&all);
    let ran = stage.run(&["call", "a__echo", "-a", "nonce=x", "--direct"]);
    assert_eq!(ran.await.out, "x\n");
    let ran = stage.run(&["logs", "a"]).await.ok();
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("--- process "), "{ran:?}");
    assert_eq!(lines[1], "one");
    assert!(
        lines[2].contains("red") && !lines[2].contains('\u{1b}'),
        "{ran:?}"
    );
    assert_eq!(lines[3], "the end");

    // For its user alone.
    let folder = stage.home().join(".local/state/switchboard/servers");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("a.log")), 0o600);

    // One that has said nothing, and one that is not there.
    let ran = stage.run(&["logs", "b"]).await.ok();
    assert_eq!(ran.out, "");
    assert!(ran.err.contains("nothing that b wrote"), "{ran:?}");
    let ran = stage.run(&["logs", "aa"]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[tokio::test]
async fn it_is_shown_while_it_is_written() {
    let stage = World::with(&servers([("a", talks("hello\\n")), ("b", echo(&[]))]));
    let mut following = stage.launch(&["logs", "a", "--follow"]).spawn();
    let mut client = stage.client(&["--direct"]);
    client.initialize(LEGACY).await;
    client.request("tools/list", json!({})).await;
    drop(following.stdin.take());
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    let mut said = async || lines.next_line().await.unwrap().unwrap();
    let head = tokio::time::timeout(LONG, said()).await.expect("its start");
    assert!(head.starts_with("--- process "), "{head}");
    assert_eq!(tokio::time::timeout(LONG, said()).await.unwrap(), "hello");
    following.signal(Signal::INT);
    assert_eq!(following.wait(LONG).await.code(), Some(0));
}

/// More than may be kept: the end of it is, and no more than that.
#[tokio::test]
async fn a_flood_is_bounded_on_disk() {
    let stage = World::with(&servers([
        (
            "a",
            command(
                "evil-stdio",
                ["--mode", "stderr-flood", "--limit", "134217728"],
            ),
        ),
        ("b", echo(&[])),
    ]));
    let mut client = stage.client(&["--direct"]);
    client.initialize(LEGACY).await;
    client.call("a__ok", json!({})).await;
    let folder = stage.home().join(".local/state/switchboard/servers");
    let aside = folder.join("a.log.1");
    until(LONG, || aside.exists().then_some(()))
        .await
        .expect("it is put aside");
    let length = |name: &str| fs::metadata(folder.join(name)).map_or(0, |file| file.len());
    let all = length("a.log") + length("a.log.1");
    assert!(all <= 64 * 1024 * 1024, "{all}");
}
