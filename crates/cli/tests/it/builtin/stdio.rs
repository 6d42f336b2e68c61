//! Built-in servers on their own: they end when they are told to, and so does
//! everything that they have started.

use rustix::process::Signal;
use serde_json::json;
use std::time::Duration;
use switchboard_testkit::world::{alive, run, switchboard, until};
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

/// The same rules hold as on every face of ours.
#[tokio::test]
async fn what_comes_in_is_read_as_everywhere() {
    let mut client = StdioClient::new(switchboard().args(["builtin", "system"]).spawn());
    client.initialize(LEGACY).await;
    let mut said = async |line: &str| {
        client.send_raw(line).await;
        client.next().await
    };
    let answer = said("{nope").await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(null), &json!(-32700))
    );
    let answer = said(r#"[{"jsonrpc":"2.0","id":5,"method":"ping"}]"#).await;
    assert_eq!(
        answer["error"]["code"], -32600,
        "no batches in this revision: {answer}"
    );
    let answer = said(r#"{"jsonrpc":"2.0","id":6,"method":"tools/call"}"#).await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(6), &json!(-32602))
    );
    let answer = said(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#).await;
    assert_eq!(answer["id"], 1.5, "{answer}");
    let answer = said(r#"{"jsonrpc":"2.0","id":"x","method":"no/such"}"#).await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!("x"), &json!(-32601))
    );
    // A key in another spelling could be read otherwise by somebody else.
    let answer = said(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"health","Name":"time"}}"#).await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(7), &json!(-32602))
    );
}

/// A call is given up by the older name for it, too.
#[tokio::test]
async fn a_call_is_given_up_by_either_name() {
    let args = ["builtin", "shell", "--enable-shell", "--root", "/"];
    for method in ["notifications/cancelled", "$/cancelRequest"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let mut client = StdioClient::new(switchboard().args(args).spawn());
        client.initialize(LEGACY).await;
        let command = format!(
            "echo $$ > '{0}.new'; mv '{0}.new' '{0}'; sleep 1000",
            file.display()
        );
        let call = json!({"name": "runShellCommand", "arguments": {"command": command}});
        let waiting = client.start("tools/call", call).await;
        let started = until(SOON, || std::fs::read_to_string(&file).ok()).await;
        let pid: i32 = started.expect("it runs").trim().parse().unwrap();
        let key = if method.starts_with('$') {
            "id"
        } else {
            "requestId"
        };
        client.notify(method, json!({ key: waiting })).await;
        ends(pid).await;
    }
}

/// What happens to the server itself is said on stderr, and nothing of it on stdout.
#[tokio::test]
async fn its_life_is_told_on_stderr() {
    let mut client = StdioClient::new(switchboard().args(["builtin", "system"]).spawn());
    client
        .program
        .wait_for_line("running on standard streams")
        .await;
    client.initialize(LEGACY).await;
    client.close();
    assert_eq!(client.program.wait(SOON).await.code(), Some(0));
    client.program.wait_for_line("shutting down").await;
}
