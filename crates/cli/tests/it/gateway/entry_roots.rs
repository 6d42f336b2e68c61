//! The `roots` of an entry are what its server hears, whoever asks on whichever
//! face.

use crate::support::scripted::{Scripted, able_to, tools};
use serde_json::{Value, json};
use switchboard_testkit::world::{config, run_with, switchboard};
use switchboard_testkit::{HttpClient, LEGACY, StdioClient, text_of};

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

/// A modern server that wants roots before it answers, and a form filled in where
/// `form` says so.
fn modern(folder: &tempfile::TempDir, form: bool) -> (Scripted, Value) {
    let mut requests = json!({"roots-1": {"method": "roots/list"}});
    if form {
        let schema = json!({"type": "object", "properties": {"x": {"type": "string"}}});
        requests["form-1"] = json!({"method": "elicitation/create",
            "params": {"message": "which?", "requestedSchema": schema}});
    }
    let wants = json!({"resultType": "input_required", "requestState": "the server's",
        "inputRequests": requests});
    let done = json!({"resultType": "complete", "content": [{"type": "text", "text": "done"}]});
    let [_, hello] = able_to(&json!({"tools": {}}));
    let script = Scripted::new(
        "modern",
        &[
            hello,
            tools(&["t"]),
            json!({"method": "tools/call", "match": "inputResponses", "reply": done.to_string()}),
            json!({"method": "tools/call", "reply": wants.to_string()}),
        ],
    );
    let mut entry = script.stdio();
    entry["roots"] = json!([folder.path()]);
    (script, entry)
}

/// The server was told that there are roots, and got the entry's in its second
/// round, with its own state.
fn heard_in_rounds(script: &Scripted, folder: &tempfile::TempDir, face: &str, form: bool) {
    let record = script.record();
    let calls: Vec<Value> = record
        .lines()
        // Each line begins with its length.
        .filter_map(|line| serde_json::from_str(line.split_once(':')?.1).ok())
        .filter(|message: &Value| message["method"] == "tools/call")
        .collect();
    let [first, second] = calls.as_slice() else {
        panic!("{face}: two rounds: {record}");
    };
    let able = &first["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert!(able["roots"].is_object(), "{face}: {first}");
    let uri = format!("file://{}", folder.path().display());
    let responses = &second["params"]["inputResponses"];
    assert_eq!(
        responses["roots-1"]["roots"],
        json!([{"uri": uri}]),
        "{face}: {second}"
    );
    assert_eq!(second["params"]["requestState"], "the server's", "{face}");
    assert_eq!(responses.get("form-1").is_some(), form, "{face}: {second}");
}

async fn gateway(entry: &Value) -> (switchboard_testkit::Program, String) {
    let servers = config(&json!({"s": entry}));
    let args = ["serve", "--http", "127.0.0.1:0", "--no-auth"];
    let launch = switchboard().args(["--mcp-config", &servers]).args(args);
    let program = launch.spawn();
    let url = program.url().await;
    (program, url)
}

#[tokio::test]
async fn a_modern_server_gets_them_on_every_face() {
    let folder = tempfile::tempdir().unwrap();
    let (script, entry) = modern(&folder, false);
    let run = run_with(&json!({"s": entry}), &["call", "t"]).await;
    assert_eq!(run.out, "done\n", "{run:?}");
    heard_in_rounds(&script, &folder, "call", false);
    for capabilities in [json!({}), json!({"roots": {"listChanged": true}})] {
        let (script, entry) = modern(&folder, false);
        let servers = config(&json!({"s": entry}));
        let launch = switchboard().args(["--mcp-config", &servers, "serve"]);
        let mut client = StdioClient::new(launch.spawn());
        let params = json!({"protocolVersion": LEGACY, "capabilities": capabilities,
            "clientInfo": {"name": "c", "version": "1"}});
        client.request("initialize", params).await;
        client.notify("notifications/initialized", json!({})).await;
        let called = client.call("s__t", json!({})).await;
        assert_eq!(text_of(&called), "done", "{called}");
        heard_in_rounds(&script, &folder, &format!("stdio {capabilities}"), false);
    }
    for (path, tool) in [("/mcp", "s__t"), ("/mcp/s", "t")] {
        for modern_client in [false, true] {
            let (script, entry) = modern(&folder, false);
            let (_gateway, url) = gateway(&entry).await;
            let mut client = HttpClient::new(&format!("{url}{path}"));
            let nothing = json!({"io.modelcontextprotocol/clientCapabilities": {}});
            let params = json!({"name": tool, "arguments": {}, "_meta": nothing});
            let called = if modern_client {
                client.modern("tools/call", params).await.message()
            } else {
                client.initialize(LEGACY).await;
                client.call(tool, json!({})).await
            };
            assert_eq!(text_of(&called), "done", "{called}");
            heard_in_rounds(&script, &folder, &format!("{path} {modern_client}"), false);
        }
    }
}

/// What else it asks is the client's, and the round goes on with both.
#[tokio::test]
async fn what_else_a_modern_server_asks_is_the_client_s() {
    let folder = tempfile::tempdir().unwrap();
    let filled = json!({"action": "accept", "content": {"x": "y"}});
    let (script, entry) = modern(&folder, true);
    let servers = config(&json!({"s": entry}));
    let launch = switchboard().args(["--mcp-config", &servers, "serve"]);
    let mut client = StdioClient::new(launch.spawn());
    client.initialize(LEGACY).await;
    let form = filled.clone();
    client.on_request(move |method, _| {
        assert_eq!(method, "elicitation/create", "roots are not asked for");
        json!({ "result": form })
    });
    let called = client.call("s__t", json!({})).await;
    assert_eq!(text_of(&called), "done", "{called}");
    heard_in_rounds(&script, &folder, "legacy", true);
    for (path, tool) in [("/mcp", "s__t"), ("/mcp/s", "t")] {
        let (script, entry) = modern(&folder, true);
        let (_gateway, url) = gateway(&entry).await;
        let mut client = HttpClient::new(&format!("{url}{path}"));
        let mut params = json!({"name": tool, "arguments": {}});
        let asked = client.modern("tools/call", params.clone()).await.message();
        let requests = asked["result"]["inputRequests"].as_object();
        let requests = requests.unwrap_or_else(|| panic!("{asked}"));
        let keys: Vec<&String> = requests.keys().collect();
        assert_eq!(keys.len(), 1, "{asked}");
        assert_eq!(requests[keys[0]]["method"], "elicitation/create", "{asked}");
        params["requestState"] = asked["result"]["requestState"].clone();
        params["inputResponses"] = json!({keys[0]: filled});
        let called = client.modern("tools/call", params).await.message();
        assert_eq!(text_of(&called), "done", "{path}: {called}");
        heard_in_rounds(&script, &folder, path, true);
    }
}
