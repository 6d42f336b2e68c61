//! The `roots` of an entry are what its server hears, whoever asks on whichever
//! face.

use crate::support::scripted::{Scripted, tools};
use serde_json::{Value, json};
use switchboard_testkit::world::{config, run_with, switchboard};
use switchboard_testkit::{HttpClient, LEGACY, StdioClient};

/// A server that asks for roots in the middle of a call, and its entry. What it
/// heard is in its record.
fn asking(folder: &tempfile::TempDir) -> (Scripted, Value) {
    let question = r#"{"jsonrpc":"2.0","id":"roots-1","method":"roots/list"}"#;
    let reply = json!({"content": [{"type": "text", "text": "done"}]});
    let call = json!({"method": "tools/call", "before": [question], "reply": reply.to_string()});
    let script = Scripted::new("legacy", &[tools(&["t"]), call]);
    let mut entry = script.stdio();
    entry["roots"] = json!([folder.path()]);
    (script, entry)
}

/// The server was told of roots at the handshake, and got the entry's.
fn heard(script: &Scripted, folder: &tempfile::TempDir, face: &str) {
    let record = script.record();
    let greeting = record.lines().find(|line| line.contains("\"initialize\""));
    let greeting = greeting.unwrap_or_else(|| panic!("{face}: {record}"));
    assert!(greeting.contains("roots"), "{face}: {greeting}");
    let answer = record.lines().find(|line| line.contains("roots-1"));
    let answer = answer.unwrap_or_else(|| panic!("{face}: {record}"));
    let uri = format!("file://{}", folder.path().display());
    assert!(answer.contains(&uri), "{face}: {answer}");
}

#[tokio::test]
async fn roots_of_an_entry_on_every_face() {
    let folder = tempfile::tempdir().unwrap();
    // A command.
    let (script, entry) = asking(&folder);
    let run = run_with(&json!({"s": entry}), &["call", "t"]).await;
    assert_eq!(run.out, "done\n", "{run:?}");
    heard(&script, &folder, "call");
    // stdio, run_with a client that has roots of its own and run_with one that has none.
    for capabilities in [
        json!({}),
        json!({"roots": {"listChanged": true}, "sampling": {}}),
    ] {
        let (script, entry) = asking(&folder);
        let servers = config(&json!({"s": entry}));
        let launch = switchboard().args(["--mcp-config", &servers, "serve", "--only", "s"]);
        let mut client = StdioClient::new(launch.spawn());
        let params = json!({"protocolVersion": LEGACY, "capabilities": capabilities,
            "clientInfo": {"name": "c", "version": "1"}});
        client.request("initialize", params).await;
        client.notify("notifications/initialized", json!({})).await;
        let called = client.call("t", json!({})).await;
        assert!(called.get("result").is_some(), "{called}");
        heard(&script, &folder, &format!("stdio {capabilities}"));
    }
    // HTTP, in both eras.
    for modern in [false, true] {
        let (script, entry) = asking(&folder);
        let servers = config(&json!({"s": entry}));
        let gateway = switchboard()
            .args([
                "--mcp-config",
                &servers,
                "serve",
                "--http",
                "127.0.0.1:0",
                "--no-auth",
            ])
            .spawn();
        let mut client = HttpClient::new(&format!("{}/mcp/s", gateway.url().await));
        let params = json!({"name": "t", "arguments": {}});
        let called = if modern {
            client.modern("tools/call", params).await.message()
        } else {
            client.initialize(LEGACY).await;
            client.request("tools/call", params).await
        };
        assert!(called.get("result").is_some(), "{called}");
        heard(&script, &folder, &format!("http, modern {modern}"));
    }
}
