//! Servers that shake hands, say what they have, and end before anybody had
//! anything of them: they are started less and less often, and then not at all.

use serde_json::{Value, json};
use std::{path::Path, time::Duration};
use switchboard_testkit::world::{self, World, echo, servers, until};
use switchboard_testkit::{Program, StdioClient, bin, record};

/// Attempts in a row after which nothing happens by itself (`limits::ATTEMPTS`),
/// and one for each time that a command asks.
const ATTEMPTS: usize = 8;

/// A server that shakes hands, answers what it is asked for its list of tools, and
/// is gone after this method.
fn brief(starts: &Path, last: &str) -> Value {
    let text = format!(
        r#"echo x >> '{}'
        while read -r line; do
            id=${{line#*\"id\":}}; id=${{id%%[,\}}]*}}
            case "$line" in
                *'"initialize"'*) result='{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}' ;;
                *'"tools/list"'*) result='{{"tools":[{{"name":"go","inputSchema":{{"type":"object"}}}}]}}' ;;
                *) result= ;;
            esac
            [ -z "$result" ] || printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$result"
            case "$line" in *'"{last}"'*) echo 'the disk is on fire' >&2; exit 3 ;; esac
        done"#,
        starts.display()
    );
    json!({"command": "/bin/sh", "args": ["-c", text], "era": "legacy"})
}

fn lines(file: &Path) -> usize {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().count()
}

/// How often in a row it ended, as a reason says it.
fn ended(reason: &str) -> usize {
    let count = reason.split_once(" times in a row before it was of any use");
    let count = count.and_then(|(before, _)| before.rsplit_once("ended "));
    count.map_or(0, |(_, count)| count.parse().unwrap())
}

/// What `list` says of the server, once it has ended so often.
async fn reason(stage: &World, times: usize) -> String {
    let asked = async {
        loop {
            let rows = stage.run(&["list", "--json"]).await.ok().json();
            let mut all = rows.as_array().unwrap().iter();
            let row = all.find(|row| row["name"] == "a").unwrap();
            let reason = row["reason"].as_str().unwrap_or_default();
            if ended(reason) >= times {
                return reason.to_owned();
            }
        }
    };
    let asked = tokio::time::timeout(Duration::from_secs(60), asked).await;
    asked.unwrap_or_else(|_| panic!("never said to have ended {times} times"))
}

/// Somebody listens, so that the server is wanted.
async fn listening(stage: &World) -> (Program, StdioClient) {
    let gateway = stage.gateway().await;
    let mut client = stage.attached(&[]).await;
    client.request("tools/list", json!({})).await;
    (gateway, client)
}

#[tokio::test]
async fn row_44_a_server_that_only_shakes_hands_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("starts");
    let stage = World::with(&servers([
        ("a", brief(&starts, "tools/list")),
        ("b", echo(&[])),
    ]));
    let (_gateway, _client) = listening(&stage).await;
    let said = reason(&stage, 3).await;
    assert!(said.contains("the disk is on fire"), "{said}");
    let started = lines(&starts);
    assert!(started <= 2 * ATTEMPTS, "{started} starts");
    // Unless it looks just while the server is there for a moment.
    let told = async {
        loop {
            let found = stage.run(&["doctor"]).await;
            let text = found.out + &found.err;
            if text.contains("in a row before it was of any use") {
                return;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), told)
        .await
        .expect("doctor says so");

    // Somebody who wants it anew gets it at once, and what was does not count.
    let before = lines(&starts);
    stage.run(&["reconnect", "a"]).await;
    assert!(lines(&starts) > before);
    let said = reason(&stage, 2).await;
    let since = lines(&starts) - before;
    assert!(ended(&said) <= since, "{since} starts since: {said}");
}

#[tokio::test]
async fn row_44_pauses_grow_whether_or_not_anybody_asks() {
    let folder = tempfile::tempdir().unwrap();
    let starts = folder.path().join("starts");
    let stage = World::with(&servers([(
        "a",
        brief(&starts, "notifications/initialized"),
    )]));
    let gateway = stage.gateway().await;
    let mut client = stage.attached(&["--only", "a"]).await;
    client.request("tools/list", json!({})).await;
    // Calls do not make it start more often. They say why they fail.
    let mut told = String::new();
    let found = until(Duration::from_secs(60), || {
        let log = gateway.stderr();
        (log.matches("the connection ended").count() >= 4).then_some(())
    });
    found.await.expect("it is started again by itself");
    while !told.contains("before it was of any use") {
        let answer = client.call("go", json!({})).await;
        told = answer["error"]["message"].as_str().unwrap().to_owned();
        // On a slow machine it may have been given up, and a call have asked for it.
        let started = lines(&starts);
        assert!(started <= 2 * ATTEMPTS, "{started} starts");
    }
}

#[tokio::test]
async fn row_44_sessions_that_end_at_once_are_not_made_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("record");
    let evil = Program::new(bin("evil-http"))
        .args(["--http", "0", "--mode", "session-404", "--after", "1"])
        .args(["--era", "legacy", "--record"])
        .arg(&seen)
        .spawn();
    let stage = World::with(&servers([
        ("a", world::address(&evil).await),
        ("b", echo(&[])),
    ]));
    let (_gateway, _client) = listening(&stage).await;
    reason(&stage, 3).await;
    let all = record::read(&seen).unwrap();
    let hello = |message: &&Vec<u8>| {
        let text = String::from_utf8_lossy(message);
        text.contains("\"initialize\"")
    };
    let hellos = all.iter().filter(hello).count();
    // Commands have sessions of their own revision.
    assert!(hellos <= 2 * ATTEMPTS, "{hellos} sessions");
}
