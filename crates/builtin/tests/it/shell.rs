//! Commands: good ones, and ones that never end, flood, or leave others behind.

use crate::common::{self, Client, is_alive, until};
use serde_json::{Value, json};
use std::{
    fs,
    time::{Duration, Instant},
};
use switchboard_builtin::Shell;
use switchboard_testkit::LATE;
use tempfile::TempDir;

async fn connected() -> (TempDir, Client) {
    let directory = tempfile::tempdir().expect("a directory");
    let shell = Shell::enabled("1", &[directory.path().to_path_buf()], common::protection())
        .expect("a shell");
    let client = Client::connect(shell.session()).await;
    (directory, client)
}

#[tokio::test]
async fn a_command_and_its_result() {
    let (directory, mut client) = connected().await;
    fs::create_dir(directory.path().join("d")).unwrap();
    let answer = client
        .call(
            "runShellCommand",
            json!({
                "command": "pwd; echo \"$GREETING\" >&2; cat; exit 3",
                "cwd": "d", "env": { "GREETING": "hello" }, "stdin": "given",
            }),
        )
        .await;
    let pwd = directory.path().canonicalize().unwrap().join("d");
    assert_eq!(answer["stdout"], format!("{}\ngiven", pwd.display()));
    assert_eq!(
        (&answer["stderr"], &answer["exitCode"]),
        (&json!("hello\n"), &json!(3))
    );
    assert_eq!(answer["timedOut"], false);
    let answer = client
        .call("runShellCommand", json!({ "command": "kill -9 $$" }))
        .await;
    assert_eq!(
        (answer.get("exitCode"), &answer["signal"]),
        (None, &json!(9))
    );
    let answer = client
        .call("runShellCommand", json!({ "command": "cat" }))
        .await;
    assert_eq!(
        answer["exitCode"], 0,
        "stdin is closed when nothing is given"
    );
}

#[tokio::test]
async fn bad_arguments() {
    let (_directory, mut client) = connected().await;
    for (arguments, expected) in [
        (
            json!({ "command": "true", "cwd": ".." }),
            "outside the allowed",
        ),
        (
            json!({ "command": "true", "cwd": "/" }),
            "outside the allowed",
        ),
        (
            json!({ "command": "true", "cwd": "nowhere" }),
            "does not exist",
        ),
        (json!({ "command": "echo a\0b" }), "NUL"),
        (json!({ "command": "true", "env": { "A": "b\0c" } }), "NUL"),
        (
            json!({ "command": "true", "env": { "A=B": "c" } }),
            "environment variable",
        ),
        (json!({ "command": "  \n" }), "empty"),
    ] {
        let error = client.error("runShellCommand", arguments.clone()).await;
        assert!(error.contains(expected), "{arguments}: {error}");
        if arguments.get("cwd").is_some() {
            client.error("startProcess", arguments).await;
        }
    }
    for arguments in [
        json!({ "command": "" }),
        json!({ "command": ["ls"] }),
        json!({ "command": "true", "timeoutMs": 0 }),
        json!({ "command": "true", "timeoutMs": 1e12 }),
        json!({ "command": "true", "env": { "A": 1 } }),
    ] {
        let text = client.fail("runShellCommand", arguments).await;
        assert!(text.starts_with("Validation error"), "{text}");
    }
}

#[tokio::test]
async fn secrets_of_ours_are_not_inherited() {
    let (_directory, mut client) = connected().await;
    let answer = client
        .call("runShellCommand", json!({ "command": "env" }))
        .await;
    let shown = answer["stdout"].as_str().unwrap();
    assert!(shown.contains("PATH="), "{shown}");
    assert!(
        !shown.contains("CARGO_PKG_") && !shown.contains("NEXTEST"),
        "what the test runner has is not passed on: {shown}"
    );
}

#[tokio::test]
async fn control_sequences_are_written_out_unless_raw() {
    let (_directory, mut client) = connected().await;
    let command = r"printf '\033]0;owned\007\033[2Jred\r\n\377'; printf '\033[31m' >&2";
    let answer = client
        .call("runShellCommand", json!({ "command": command }))
        .await;
    assert_eq!(
        answer["stdout"],
        "\\u{1b}]0;owned\\u{7}\\u{1b}[2Jred\r\n\u{fffd}"
    );
    assert_eq!(answer["stderr"], "\\u{1b}[31m");
    let answer = client
        .call(
            "runShellCommand",
            json!({ "command": command, "raw": true }),
        )
        .await;
    assert_eq!(
        answer["stdout"],
        "\u{1b}]0;owned\u{7}\u{1b}[2Jred\r\n\u{fffd}"
    );
}

#[tokio::test]
async fn a_command_that_never_ends() {
    let (directory, mut client) = connected().await;
    let begun = Instant::now();
    let result = client
        .raw_call("runShellCommand", json!({
            "command": "trap '' INT TERM; echo started; sleep 1000 & echo $! > pid; while :; do sleep 1; done",
            "timeoutMs": 500,
        }))
        .await;
    assert!(begun.elapsed() < Duration::from_secs(5) + LATE);
    assert_eq!(result["isError"], true);
    assert_eq!(result["structuredContent"]["timedOut"], true);
    assert_eq!(result["structuredContent"]["stdout"], "started\n");
    let said: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert!(
        said["error"]
            .as_str()
            .unwrap()
            .contains("stopped after 500 ms")
    );
    let pid = fs::read_to_string(directory.path().join("pid")).unwrap();
    until("the grandchild is gone", || !is_alive(&pid)).await;
}

#[tokio::test]
async fn a_command_that_floods() {
    let (_directory, mut client) = connected().await;
    let answer = client
        .call("runShellCommand", json!({
            "command": "echo first; yes | head -c 50000000; echo last; yes err | head -c 5000000 >&2; echo oops >&2",
            "maxOutputBytes": 1000,
        }))
        .await;
    let text = answer["stdout"].as_str().unwrap();
    assert!(
        text.len() < 1200 && text.starts_with("first\n") && text.ends_with("last\n"),
        "{}",
        text.len()
    );
    assert!(text.contains("bytes left out"));
    let text = answer["stderr"].as_str().unwrap();
    assert!(
        text.len() < 100_000 && text.starts_with("err\n") && text.ends_with("oops\n"),
        "{}",
        text.len()
    );
    let left_out = answer["leftOutBytes"].as_u64().unwrap();
    assert!(left_out > 54_000_000, "{left_out}");
    // And one that never stops flooding.
    let result = client
        .raw_call(
            "runShellCommand",
            json!({ "command": "yes", "timeoutMs": 500 }),
        )
        .await;
    assert_eq!(result["structuredContent"]["timedOut"], true);
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_stopped() {
    let (directory, mut client) = connected().await;
    let begun = Instant::now();
    let answer = client
        .call("runShellCommand", json!({
            "command": "sleep 1000 & echo $! > one; setsid sh -c 'echo $$ > two; exec sleep 1000' & \
                        while [ ! -s two ]; do sleep 0.05; done; echo done",
        }))
        .await;
    assert!(
        begun.elapsed() < Duration::from_secs(10) + LATE,
        "the pipe that they hold is not waited for"
    );
    assert_eq!(answer["stdout"], "done\n");
    for file in ["one", "two"] {
        let pid = fs::read_to_string(directory.path().join(file)).unwrap();
        until("it is gone", || !is_alive(&pid)).await;
    }
}

#[tokio::test]
async fn a_cancelled_command_ends() {
    let (directory, mut client) = connected().await;
    let params = json!({ "name": "runShellCommand", "arguments": { "command": "echo $$ > pid; exec sleep 1000" } });
    let id = client.begin("tools/call", params).await;
    let file = directory.path().join("pid");
    until("it runs", || {
        fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n'))
    })
    .await;
    let cancelled = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id },
    });
    client.send(cancelled).await;
    let pid = fs::read_to_string(&file).unwrap();
    until("it is gone", || !is_alive(&pid)).await;
    assert!(client.request("ping", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn background_processes() {
    let (_directory, mut client) = connected().await;
    let started = client
        .call("startProcess", json!({ "command": "echo ready; while read line; do echo \"got $line\" >&2; done; exit 4" }))
        .await;
    let id = started["id"].clone();
    assert_eq!(started["running"], true);
    let read = client
        .call("readProcess", json!({ "id": id, "waitMs": 5000 }))
        .await;
    assert_eq!(read["output"], "ready\n");
    let read = client
        .call("readProcess", json!({ "id": id, "waitMs": 50 }))
        .await;
    assert_eq!(read["output"], "");
    client
        .call("writeProcess", json!({ "id": id, "text": "one\n" }))
        .await;
    let read = client
        .call("readProcess", json!({ "id": id, "waitMs": 5000 }))
        .await;
    assert_eq!(read["output"], "got one\n");
    client
        .call("writeProcess", json!({ "id": id, "close": true }))
        .await;
    let mut read = Value::Null;
    for _ in 0..100 {
        read = client
            .call("readProcess", json!({ "id": id, "waitMs": 100 }))
            .await;
        if read["process"]["running"] == false {
            break;
        }
    }
    assert_eq!(read["process"]["exitCode"], 4);
    let error = client
        .error("writeProcess", json!({ "id": id, "text": "x" }))
        .await;
    assert!(error.contains("closed"), "{error}");
    assert_eq!(
        client.call("listProcesses", json!({})).await["processes"][0]["id"],
        id
    );
    client.call("stopProcess", json!({ "id": id })).await;
    for tool in ["readProcess", "writeProcess", "stopProcess"] {
        let error = client.error(tool, json!({ "id": id })).await;
        assert!(error.contains("no process"), "{error}");
    }
}

#[tokio::test]
async fn background_output_and_numbers_are_bounded() {
    let (directory, mut client) = connected().await;
    let flood = client
        .call(
            "startProcess",
            json!({ "command": "yes | head -c 3000000; printf end" }),
        )
        .await;
    let mut dropped = 0;
    let mut text = String::new();
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let read = client
            .call(
                "readProcess",
                json!({ "id": flood["id"], "maxBytes": 1_000_000, "waitMs": 100 }),
            )
            .await;
        dropped += read["droppedBytes"].as_u64().unwrap();
        text.push_str(read["output"].as_str().unwrap());
        if read["process"]["running"] == false && read["hasMore"] == false {
            break;
        }
    }
    assert_eq!(dropped + text.len() as u64, 3_000_003);
    assert!(text.ends_with("end"));
    client
        .call("stopProcess", json!({ "id": flood["id"] }))
        .await;

    for number in 0..16 {
        let command = format!("trap '' INT TERM; echo $$ > pid{number}; while :; do sleep 1; done");
        client
            .call("startProcess", json!({ "command": command }))
            .await;
    }
    let error = client
        .error("startProcess", json!({ "command": "true" }))
        .await;
    assert!(error.contains("too many"), "{error}");
    let pids: Vec<String> = {
        let files: Vec<_> = (0..16)
            .map(|number| directory.path().join(format!("pid{number}")))
            .collect();
        until("all run", || {
            files
                .iter()
                .all(|file| fs::read_to_string(file).is_ok_and(|pid| pid.ends_with('\n')))
        })
        .await;
        files
            .iter()
            .map(|file| fs::read_to_string(file).unwrap())
            .collect()
    };
    let begun = Instant::now();
    let id = client.call("listProcesses", json!({})).await["processes"][0]["id"].clone();
    let stopped = client.call("stopProcess", json!({ "id": id })).await;
    assert_eq!(
        (&stopped["running"], &stopped["signal"]),
        (&json!(false), &json!(9))
    );
    assert!(begun.elapsed() < Duration::from_secs(3) + LATE);
    client.close().await;
    until("all end with the connection", || {
        !pids.iter().any(|pid| is_alive(pid))
    })
    .await;
}

#[tokio::test]
async fn a_running_command_ends_with_the_connection() {
    let (directory, mut client) = connected().await;
    let command = "trap '' INT TERM; echo $$ > pid; while :; do sleep 1; done";
    let params = json!({ "name": "runShellCommand", "arguments": { "command": command } });
    client.begin("tools/call", params).await;
    let file = directory.path().join("pid");
    until("it runs", || {
        fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n'))
    })
    .await;
    let pid = fs::read_to_string(&file).unwrap();
    client.close().await;
    until("it is gone", || !is_alive(&pid)).await;
}
