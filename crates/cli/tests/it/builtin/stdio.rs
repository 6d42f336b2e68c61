//! Built-in servers on their own: they end when they are told to, and so does
//! everything that they have started.

use crate::support;
use crate::support::serving;

use rustix::process::Signal;
use serde_json::json;
use serving::{alive, until};
use std::time::Duration;
use support::{run, switchboard};
use switchboard_testkit::{LEGACY, StdioClient};

const SOON: Duration = Duration::from_secs(30);

/// A shell with a process of its own; the client, and the process's number.
async fn busy_shell() -> (StdioClient, i32) {
    let args = ["builtin", "shell", "--enable-shell", "--root", "/"];
    let mut client = StdioClient::new(switchboard().args(args).spawn());
    client.initialize(LEGACY).await;
    let command = json!({"command": "trap '' TERM; sleep 1000 & wait"});
    let started = client.call("startProcess", command).await;
    let pid = started["result"]["structuredContent"]["pid"].as_i64();
    let pid = i32::try_from(pid.unwrap_or_else(|| panic!("{started}"))).unwrap();
    assert!(alive(pid));
    (client, pid)
}

async fn ends(pid: i32) {
    let gone = until(SOON, || (!alive(pid)).then_some(())).await;
    assert!(gone.is_some(), "process {pid} was left behind");
}

#[tokio::test]
async fn a_signal_ends_a_server_with_0_and_what_it_started() {
    for signal in [Signal::INT, Signal::TERM] {
        let (mut client, pid) = busy_shell().await;
        client.program.signal(signal);
        let status = client.program.wait(SOON).await;
        assert_eq!(status.code(), Some(0), "{signal:?}");
        ends(pid).await;
    }
}

#[tokio::test]
async fn the_end_of_input_ends_it_too() {
    let (mut client, pid) = busy_shell().await;
    client.close();
    assert_eq!(client.program.wait(SOON).await.code(), Some(0));
    ends(pid).await;
}

/// A client that goes without a word is no fault.
#[tokio::test]
async fn no_input_at_all_is_an_end_too() {
    let ended = run(switchboard().args(["builtin", "system"])).await;
    assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "{ended:?}");
}

#[tokio::test]
async fn nothing_outlives_a_server_that_was_killed() {
    let (mut client, pid) = busy_shell().await;
    client.program.signal(Signal::KILL);
    client.program.wait(SOON).await;
    ends(pid).await;
}

/// stdout carries messages alone, whatever comes in, and each server has its say.
#[tokio::test]
async fn stdout_is_the_protocol_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for args in [
        vec!["files", "--root", path],
        vec!["shell", "--enable-shell", "--root", path],
        vec!["system"],
        vec!["memory", "--data", path],
        vec!["tools", "--folder", path],
    ] {
        let launch = switchboard().arg("builtin").args(&args);
        let mut client = StdioClient::new(launch.spawn());
        client.send_raw(b"no message at all").await;
        client.initialize(LEGACY).await;
        let tools = client.request("tools/list", json!({})).await;
        assert!(tools["result"]["tools"].is_array(), "{args:?}: {tools}");
        client.close();
        assert_eq!(client.program.wait(SOON).await.code(), Some(0), "{args:?}");
    }
}

#[tokio::test]
async fn data_that_cannot_be_used_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "no folder").unwrap();
    let args = ["builtin", "memory", "--data", file.to_str().unwrap()];
    let ended = run(switchboard().args(args)).await;
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.err.contains("the memory in"), "{ended:?}");
}
