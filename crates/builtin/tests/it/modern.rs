//! The same servers for clients of 2026-07-28: no handshake, metadata on every
//! request, subscriptions by listening.

use crate::common::{self, Client};
use serde_json::{Value, json};
use std::fs;
use switchboard_builtin::{Files, Memory, Toolbox};

fn with_meta(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

#[tokio::test]
async fn files_are_found_called_and_watched() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().canonicalize().unwrap().join("f");
    fs::write(&file, "1").unwrap();
    let files = Files::new("1", &[directory.path().to_path_buf()], common::protection()).unwrap();
    let mut client = Client::open(files.session());
    let found = client
        .request("server/discover", with_meta(json!({})))
        .await;
    assert!(found["result"]["supportedVersions"].is_array(), "{found}");
    let call = with_meta(json!({ "name": "read", "arguments": { "path": "f" } }));
    let answer = client.request("tools/call", call).await;
    assert_eq!(
        answer["result"]["structuredContent"]["text"], "1",
        "{answer}"
    );
    let call = with_meta(json!({ "name": "nothing", "arguments": {} }));
    let answer = client.request("tools/call", call).await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");

    let uri = format!("file://{}", file.display());
    let wanted =
        json!({ "notifications": { "resourceSubscriptions": [uri, "file:///etc/passwd"] } });
    client
        .begin("subscriptions/listen", with_meta(wanted))
        .await;
    let accepted = client
        .notice("notifications/subscriptions/acknowledged")
        .await;
    let uris = &accepted["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(uris, &json!([uri]), "{accepted}");
    fs::write(&file, "22").unwrap();
    let notice = client.notice("notifications/resources/updated").await;
    assert_eq!(notice["params"]["uri"], uri);
}

#[tokio::test]
async fn lists_that_change_are_told() {
    let directory = tempfile::tempdir().unwrap();
    let mut tools = Client::open(
        Toolbox::open("1", directory.path(), common::workplace(directory.path()))
            .unwrap()
            .session(),
    );
    let memory = Memory::open("1", &directory.path().join("data")).unwrap();
    let mut memory = Client::open(memory.session());
    for client in [&mut tools, &mut memory] {
        client
            .request("server/discover", with_meta(json!({})))
            .await;
        let wanted =
            json!({ "notifications": { "toolsListChanged": true, "resourcesListChanged": true } });
        client
            .begin("subscriptions/listen", with_meta(wanted))
            .await;
        client
            .notice("notifications/subscriptions/acknowledged")
            .await;
    }
    let manifest = json!({ "name": "a", "description": "A test.", "command": ["true"] });
    fs::write(directory.path().join("a.tool.json"), manifest.to_string()).unwrap();
    tools.notice("notifications/tools/list_changed").await;
    let call = with_meta(json!({ "name": "remember", "arguments": { "text": "x" } }));
    memory.request("tools/call", call).await;
    memory.notice("notifications/resources/list_changed").await;
}
