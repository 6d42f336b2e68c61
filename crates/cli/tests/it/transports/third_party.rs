//! Servers that somebody else wrote, over the transports that they have:
//! server-everything over HTTP+SSE, supergateway over WebSocket, and the SDK as
//! it was in its first months.

use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{config, run_with, switchboard};
use switchboard_testkit::{Channel, LEGACY, Program, bin, text_of};

/// `cargo xtask test` installs these and says where they are.
fn installed(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set: run `cargo xtask test`"))
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

fn node() -> switchboard_testkit::Launch {
    Program::new(installed("SWITCHBOARD_TEST_NODE"))
}

fn client(entry: &Value) -> Channel {
    let servers = config(&json!({"e": entry}));
    Channel::stdio(
        switchboard()
            .args(["--mcp-config", &servers, "serve", "--only", "e"])
            .spawn(),
    )
}

#[tokio::test]
async fn server_everything_over_sse() {
    let port = free_port();
    let server = node()
        .args([installed("SWITCHBOARD_TEST_EVERYTHING"), "sse".to_owned()])
        .env("PORT", port.to_string())
        .spawn();
    server.wait_for_line(&port.to_string()).await;
    // Named, and found.
    for entry in [
        json!({"type": "sse", "url": format!("http://127.0.0.1:{port}/sse")}),
        json!({"url": format!("http://127.0.0.1:{port}/sse")}),
    ] {
        let mut client = client(&entry);
        let hello = client.initialize(LEGACY).await;
        assert!(
            hello["serverInfo"]["name"]
                .as_str()
                .is_some_and(|name| name.contains("everything")),
            "{hello}"
        );
        let listed = client.request("tools/list", json!({})).await;
        assert!(
            listed["result"]["tools"]
                .as_array()
                .is_some_and(|tools| tools.len() > 5),
            "{listed}"
        );
        let reply = client.call("echo", json!({"message": "hello"})).await;
        assert!(text_of(&reply).contains("hello"), "{reply}");
        let params = json!({
            "name": "trigger-long-running-operation", "arguments": {"duration": 1, "steps": 2},
            "_meta": {"progressToken": "p"},
        });
        let reply = client.request("tools/call", params).await;
        assert!(reply["result"]["isError"] != true, "{reply}");
        client.notification("notifications/progress").await;
    }
}

#[tokio::test]
async fn supergateway_over_websocket() {
    let port = free_port();
    let echo = format!("{} --stdio --era legacy", bin("echo-server").display());
    let server = node()
        .arg(installed("SWITCHBOARD_TEST_SUPERGATEWAY"))
        .args(["--stdio", &echo, "--outputTransport", "ws"])
        .args([
            "--port",
            &port.to_string(),
            "--messagePath",
            "/message",
            "--logLevel",
            "info",
        ])
        .spawn();
    let url = format!("ws://127.0.0.1:{port}/message");
    for _ in 0..200 {
        if tokio::net::TcpStream::connect(("127.0.0.1", port))
            .await
            .is_ok()
        {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let mut client = client(&json!({"url": url}));
    let hello = client.initialize(LEGACY).await;
    assert_eq!(
        hello["serverInfo"]["name"],
        "echo-server",
        "{}",
        server.stderr()
    );
    let listed = client.request("tools/list", json!({})).await;
    assert!(
        listed["result"]["tools"]
            .as_array()
            .is_some_and(|tools| tools.len() > 5),
        "{listed}"
    );
    assert_eq!(
        text_of(&client.call("echo", json!({"nonce": "n"})).await),
        "n"
    );
    let params = json!({
        "name": "progress", "arguments": {"steps": 2, "intervalMs": 20}, "_meta": {"progressToken": "p"},
    });
    assert_eq!(
        text_of(&client.request("tools/call", params).await),
        "2 steps"
    );
    client.notification("notifications/progress").await;
}

#[tokio::test]
async fn the_sdk_in_its_first_months() {
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/old-sdk-server.mjs"
    );
    for sdk in ["SWITCHBOARD_TEST_SDK_0_5", "SWITCHBOARD_TEST_SDK_1_0"] {
        let sdk = installed(sdk);
        let port = free_port();
        let server = node().args([fixture, &sdk, &port.to_string()]).spawn();
        server.wait_for_line("listening on").await;
        for entry in [
            json!({"command": installed("SWITCHBOARD_TEST_NODE"), "args": [fixture, sdk]}),
            json!({"url": format!("http://127.0.0.1:{port}/sse")}),
        ] {
            let servers = json!({"old": entry});
            let listed = run_with(&servers, &["list", "--json"]).await;
            let listed = listed.json();
            assert_eq!(listed[0]["state"], "connected", "{listed}");
            assert_eq!(listed[0]["tools"], 1, "{listed}");
            let called = run_with(
                &servers,
                &["call", "old__add", r#"{"a":2,"b":3}"#, "--json"],
            )
            .await;
            assert_eq!(called.json()["content"][0]["text"], "5", "{called:?}");
        }
    }
}
