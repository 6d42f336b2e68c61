//! Built-in servers on their own on network addresses: under their own names on
//! every route, behind the same door as a gateway, ending when they are told to.

use http::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    net::TcpListener,
    time::{Duration, Instant},
};
use switchboard_testkit::world::{alive, run, switchboard, until};
use switchboard_testkit::{Channel, HttpClient, LATE, LEGACY, Program};

const SOON: Duration = Duration::from_secs(30);

/// Each server with what it needs, and a call that it answers: a tool, its
/// arguments, and a word of the answer.
fn all(folder: &str) -> Vec<(Vec<&str>, &'static str, Value, &'static str)> {
    let say = json!({"name": "say", "description": "Says it.", "command": ["echo", "said so"]});
    std::fs::write(format!("{folder}/say.tool.json"), say.to_string()).unwrap();
    vec![
        (
            vec!["files", "--root", folder],
            "list",
            json!({}),
            "say.tool.json",
        ),
        (
            vec!["shell", "--enable-shell", "--root", folder],
            "runShellCommand",
            json!({"command": "echo $((6 * 7))"}),
            "42",
        ),
        (vec!["system"], "health", json!({}), "ok"),
        (
            vec!["memory", "--data", folder],
            "remember",
            json!({"text": "the moon is far"}),
            "moon",
        ),
        (
            vec!["tools", "--folder", folder],
            "say",
            json!({}),
            "said so",
        ),
    ]
}

/// A server that listens everywhere, with the door open.
async fn listening(args: &[&str]) -> (Program, String, String) {
    let program = switchboard()
        .arg("builtin")
        .args(args)
        .args([
            "--http",
            "127.0.0.1:0",
            "--plain",
            "127.0.0.1:0",
            "--no-auth",
        ])
        .spawn();
    let base = program.url().await;
    let plain = program.wait_for_line("plain dialect on http://").await;
    let plain = plain.split(" on ").last().unwrap().to_owned();
    (program, base, plain)
}

#[tokio::test]
async fn every_server_on_every_face_under_its_own_names() {
    let folder = tempfile::tempdir().unwrap();
    for (args, tool, arguments, word) in all(folder.path().to_str().unwrap()) {
        let (program, base, plain) = listening(&args).await;
        let call = json!({"name": tool, "arguments": arguments});
        let ws = base.replace("http://", "ws://");
        let mut channels = [
            ("http", Channel::http(&format!("{base}/mcp"), &[])),
            (
                "http, by name",
                Channel::http(&format!("{base}/mcp/{}", args[0]), &[]),
            ),
            ("sse", Channel::sse(&format!("{base}/sse"), &[]).await),
            ("ws", Channel::ws(&format!("{ws}/ws"), &[]).await),
        ];
        for (face, channel) in &mut channels {
            channel.initialize(LEGACY).await;
            let listed = channel.request("tools/list", json!({})).await;
            let names = listed["result"]["tools"].as_array().unwrap();
            let named = names.iter().any(|listed| listed["name"] == tool);
            assert!(named, "{args:?} {face}: {listed}");
            let answer = channel.request("tools/call", call.clone()).await;
            assert_ne!(
                answer["result"]["isError"], true,
                "{args:?} {face}: {answer}"
            );
            assert!(
                answer.to_string().contains(word),
                "{args:?} {face}: {answer}"
            );
            // Its own answer, not a gateway's: a result.
            let nobody = json!({"name": "nobody", "arguments": {}});
            let answer = channel.request("tools/call", nobody).await;
            assert_eq!(
                answer["result"]["isError"], true,
                "{args:?} {face}: {answer}"
            );
        }
        let answer = channels[0].1.modern("tools/call", call).await;
        assert!(
            answer.to_string().contains(word),
            "{args:?} modern: {answer}"
        );
        for at in [format!("{base}/plain/tools"), format!("{plain}/tools")] {
            let listed = HttpClient::new(&at).send(Method::GET, &[], "").await;
            let listed = String::from_utf8_lossy(&listed.body).into_owned();
            assert!(
                listed.contains(&format!("\"name\":\"{tool}\"")),
                "{at}: {listed}"
            );
        }
        // What is not a message is answered, and ends nothing.
        let refused = HttpClient::new(&format!("{base}/mcp"))
            .post("no message")
            .await;
        assert_eq!(refused.status, 400, "{args:?}");
        // Open streams do not keep it: they end, and clients see that.
        program.signal(Signal::TERM);
        let told = Instant::now();
        let (status, out, err) = program.output(SOON).await;
        let took = told.elapsed();
        assert_eq!(status.code(), Some(0), "{args:?}: {err}");
        assert!(took < Duration::from_secs(8) + LATE, "{args:?}: {took:?}");
        assert!(out.is_empty(), "{args:?}: stdout is not ours: {out:?}");
    }
}

#[tokio::test]
async fn a_signal_ends_it_with_0_and_what_it_started() {
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_str().unwrap();
        let (mut program, base, _) = listening(&["shell", "--enable-shell", "--root", root]).await;
        let mut client = HttpClient::new(&format!("{base}/mcp"));
        client.initialize(LEGACY).await;
        let command = json!({"command": "trap '' TERM; sleep 1000 & wait"});
        let started = client.call("startProcess", command).await;
        let pid = started["result"]["structuredContent"]["pid"].as_i64();
        let pid = i32::try_from(pid.unwrap_or_else(|| panic!("{started}"))).unwrap();
        assert!(alive(pid));
        program.signal(signal);
        let status = program.wait(SOON).await;
        if signal != Signal::KILL {
            assert_eq!(status.code(), Some(0), "{signal:?}");
        }
        let gone = until(SOON, || (!alive(pid)).then_some(())).await;
        assert!(gone.is_some(), "process {pid} was left behind");
    }
}

#[tokio::test]
async fn the_door_is_that_of_a_gateway() {
    let program = switchboard()
        .args(["builtin", "system", "--http", "127.0.0.1:0"])
        .spawn();
    let base = program.url().await;
    let mut open = HttpClient::new(&format!("{base}/healthz"));
    assert_eq!(open.send(Method::GET, &[], "").await.status, 200);
    let mut stranger = HttpClient::new(&format!("{base}/mcp"));
    let refused = stranger.modern("tools/list", json!({})).await;
    assert_eq!(refused.status, 401);
    let file = program
        .home()
        .join(".local/share/switchboard/tokens/default");
    let token = std::fs::read_to_string(&file);
    let token = token.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let bearer = format!("Bearer {}", token.trim());
    let mut client = HttpClient::new(&format!("{base}/mcp")).header("authorization", &bearer);
    let listed = client.modern("tools/list", json!({})).await;
    assert_eq!(listed.status, 200, "{listed:?}");
}

#[tokio::test]
async fn what_cannot_be_is_said_before_anything_listens() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (args, code, says) in [
        (
            vec!["system", "--http", taken.as_str()],
            2,
            "cannot listen on",
        ),
        (vec!["system", "--http", "0.0.0.0:0"], 2, "--allow-remote"),
        (vec!["system", "--no-auth"], 2, "--http"),
        (
            vec!["shell", "--http", "127.0.0.1:0"],
            2,
            "the shell is off",
        ),
        (
            vec![
                "files",
                "--root",
                "/no/such/folder",
                "--http",
                "127.0.0.1:0",
            ],
            3,
            "/no/such/folder",
        ),
    ] {
        let ended = run(switchboard().arg("builtin").args(&args)).await;
        assert_eq!(ended.code, Some(code), "{args:?}: {ended:?}");
        assert!(ended.err.contains(says), "{args:?}: {ended:?}");
        assert!(!ended.err.contains("listening on"), "{args:?}: {ended:?}");
    }
}
