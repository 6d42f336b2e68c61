//! A real server that somebody else wrote: `server-everything`, over stdio and
//! over streamable HTTP.

use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{self, Gateway, servers};
use switchboard_testkit::{Program, text_of};

/// `cargo xtask test` installs the server and says where it is.
fn installed(variable: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set: run `cargo xtask test`, which installs server-everything")
    })
}

fn over_stdio() -> Value {
    json!({
        "command": installed("SWITCHBOARD_TEST_NODE"),
        "args": [installed("SWITCHBOARD_TEST_EVERYTHING"), "stdio"],
    })
}

/// The server on a port of its own, and its entry.
async fn over_http() -> (Program, Value) {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let server = Program::new(installed("SWITCHBOARD_TEST_NODE"))
        .args([
            installed("SWITCHBOARD_TEST_EVERYTHING"),
            "streamableHttp".to_owned(),
        ])
        .env("PORT", port.to_string())
        .spawn();
    server.wait_for_line("listening on port").await;
    let entry = json!({"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")});
    (server, entry)
}

/// Runs a command of the program to its end.
async fn run(entry: &Value, args: &[&str]) -> (Option<i32>, String, String) {
    let program = world::switchboard()
        .args([
            "--strict-mcp-config",
            "--mcp-config",
            &world::config(&servers([("everything", entry.clone())])),
        ])
        .args(args)
        .spawn();
    let (status, out, err) = program.output(Duration::from_secs(60)).await;
    (status.code(), String::from_utf8(out).unwrap(), err)
}

async fn commands_work(entry: &Value) {
    let (code, out, err) = run(entry, &["list", "--json"]).await;
    assert_eq!(code, Some(0), "{out}\n{err}");
    assert!(
        out.contains("everything") && out.contains("connected"),
        "{out}"
    );

    let (code, out, err) = run(entry, &["tools", "--json"]).await;
    assert_eq!(code, Some(0), "{out}\n{err}");
    for tool in ["echo", "get-sum", "trigger-long-running-operation"] {
        assert!(out.contains(&format!("\"{tool}\"")), "{tool} in {out}");
    }

    let (code, out, err) = run(
        entry,
        &["call", "everything__echo", "-a", "message=over and out"],
    )
    .await;
    assert_eq!(code, Some(0), "{out}\n{err}");
    assert!(out.contains("over and out"), "{out}");
    let (code, out, err) = run(
        entry,
        &["call", "everything__get-sum", "{\"a\":2,\"b\":40}"],
    )
    .await;
    assert_eq!(code, Some(0), "{out}\n{err}");
    assert!(out.contains("42"), "{out}");
    let (code, ..) = run(entry, &["call", "everything__no-such-tool"]).await;
    assert_ne!(code, Some(0));
}

/// Through the gateway, with a client that shows progress.
async fn progress_is_seen(entry: &Value) {
    let gateway = Gateway::start(&servers([("everything", entry.clone())])).await;
    for path in ["/mcp/everything", "/mcp"] {
        let mut client = gateway.legacy(path).await;
        let name = "trigger-long-running-operation";
        let name = if path == "/mcp" {
            format!("everything__{name}")
        } else {
            name.to_owned()
        };
        let arguments = json!({"duration": 1, "steps": 4});
        let params =
            json!({"name": name, "arguments": arguments, "_meta": {"progressToken": "mine"}});
        let mut stream = client.stream("tools/call", params).await;
        let mut steps = Vec::new();
        let answer = loop {
            let message = stream.message().await.unwrap();
            match message["method"].as_str() {
                Some("notifications/progress") => {
                    assert_eq!(message["params"]["progressToken"], "mine");
                    steps.push(message["params"]["progress"].as_u64().unwrap());
                }
                Some(_) => {}
                None => break message,
            }
        };
        assert_eq!(steps, [1, 2, 3, 4], "{path}");
        assert!(text_of(&answer).contains("completed"), "{answer}");
    }
    // A modern client of a server that is not, across the bridge.
    let mut client = gateway.client("/mcp/everything");
    let params = json!({"name": "echo", "arguments": {"message": "across"}});
    let answer = client.modern("tools/call", params).await.message();
    assert!(text_of(&answer).contains("across"), "{answer}");
}

#[tokio::test]
async fn everything_over_stdio() {
    let entry = over_stdio();
    commands_work(&entry).await;
    progress_is_seen(&entry).await;
}

#[tokio::test]
async fn everything_over_http() {
    let (_server, entry) = over_http().await;
    commands_work(&entry).await;
    progress_is_seen(&entry).await;
}
