//! The plain dialect: its own guide's examples, as a client without a library
//! would send them.

use crate::support::scripted::{self, Scripted};
use http::Method;
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{config, echo, switchboard};
use switchboard_testkit::{EventStream, HttpClient, Program};

struct Plain {
    base: String,
    program: Program,
}

impl Plain {
    /// At its own paths (`serve --plain`), or below `/plain`.
    async fn start(own_paths: bool, servers: &Value) -> Self {
        let servers = config(servers);
        let flag = if own_paths { "--plain" } else { "--http" };
        let program = switchboard()
            .args([
                "--mcp-config",
                &servers,
                "serve",
                "--no-auth",
                "--names",
                "bare",
            ])
            .args([flag, "127.0.0.1:0"])
            .spawn();
        let base = if own_paths {
            let line = program.wait_for_line("plain dialect on http://").await;
            line.split(" on ").last().expect("an address").to_owned()
        } else {
            format!("{}/plain", program.url().await)
        };
        Self { base, program }
    }

    fn at(&self, path: &str) -> HttpClient {
        HttpClient::new(&format!("{}/{path}", self.base))
    }

    /// Opens the stream; gives it and the client id from its first message.
    async fn connect(&self) -> (EventStream, String) {
        let mut stream = self.at("sse").open(Method::GET, &[], "").await;
        assert_eq!(stream.status, 200);
        assert!(stream.is_events());
        assert!(!stream.headers.contains_key("access-control-allow-origin"));
        let first = stream.next().await.expect("a first message");
        assert_eq!((first.name.as_deref(), first.id.as_deref()), (None, None));
        assert!(
            first
                .raw
                .starts_with(b"data: {\"type\":\"connected\",\"clientId\":\"")
        );
        let first = first.json();
        let keys: Vec<&String> = first.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["type", "clientId"]);
        let id = first["clientId"].as_str().expect("an id").to_owned();
        assert_eq!(id.len(), 32, "128 bits: {id}");
        (stream, id)
    }

    async fn post(&self, body: &Value) -> (u16, Value) {
        let reply = self.at("messages").post(body.to_string()).await;
        let text = reply.body.clone();
        let body = serde_json::from_slice(&text).unwrap_or_else(|_| panic!("no JSON: {text:?}"));
        (reply.status.as_u16(), body)
    }
}

fn invoke(client: &str, id: &str, name: &str, parameters: Value) -> Value {
    json!({
        "id": id, "type": "invoke_tool",
        "content": {"name": name, "parameters": parameters},
        "clientId": client,
    })
}

/// A server whose only tool is the one in the guide's examples.
fn guide() -> Value {
    let script = r#"
import sys, json
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    if m["method"] == "initialize":
        r = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "guide", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "runShellCommand", "description": "Run a terminal command in the system shell",
             "inputSchema": {"type": "object", "properties": {"command": {"type": "string", "description": "The shell command to execute", "examples": ["ls -la"]}}, "required": ["command"]}}]}
    elif m["method"] == "tools/call":
        c = m["params"]["arguments"]["command"]
        if c == "fail": r = {"content": [{"type": "text", "text": "it failed"}], "isError": True}
        else: r = {"content": [{"type": "text", "text": "total 32\ndrwxr-xr-x  5 user user 4096 May 10 12:34 .\n"}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "no"}}), flush=True); continue
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"#;
    json!({"shell": {"command": "python3", "args": ["-c", script]}})
}

#[tokio::test]
async fn the_guides_examples() {
    for own_paths in [true, false] {
        let plain = Plain::start(own_paths, &guide()).await;
        let (mut stream, client) = plain.connect().await;

        // Invocation, and the result on both channels.
        let sent = invoke(
            &client,
            "msg-1683721046123",
            "runShellCommand",
            json!({"command": "ls -la"}),
        );
        let (status, answer) = plain.post(&sent).await;
        assert_eq!(status, 200, "{answer}");
        let text = "total 32\ndrwxr-xr-x  5 user user 4096 May 10 12:34 .\n";
        let expected = json!({
            "id": "msg-1683721046123", "type": "tool_result",
            "content": {"content": [{"type": "text", "text": text}]},
        });
        assert_eq!(answer, expected);
        assert_eq!(stream.message().await, Some(expected));

        // The error's shape, on the stream and by HTTP.
        let sent = invoke(&client, "msg-1683721046123", "unknownTool", json!({}));
        let (status, answer) = plain.post(&sent).await;
        assert_eq!(status, 400);
        assert_eq!(
            answer,
            json!({"error": "Tool not found", "message": "Tool 'unknownTool' not found"})
        );
        let told = stream.message().await.expect("an error");
        assert_eq!(
            told,
            json!({
                "id": "msg-1683721046123", "type": "error",
                "error": {"message": "Tool 'unknownTool' not found", "code": "TOOL_NOT_FOUND"},
            })
        );

        // Failed execution.
        let (status, answer) = plain
            .post(&invoke(
                &client,
                "m",
                "runShellCommand",
                json!({"command": "fail"}),
            ))
            .await;
        assert_eq!(
            (status, &answer),
            (
                500,
                &json!({"error": "Tool execution failed", "message": "it failed"})
            )
        );
        let told = stream.message().await.expect("an error");
        assert_eq!(
            told["error"],
            json!({"message": "it failed", "code": "EXECUTION_ERROR"})
        );

        // Bad parameters.
        for parameters in [json!({}), json!({"command": 7})] {
            let (status, answer) = plain
                .post(&invoke(&client, "m", "runShellCommand", parameters))
                .await;
            assert_eq!(
                (status, &answer["error"]),
                (400, &json!("Invalid parameters")),
                "{answer}"
            );
            let told = stream.message().await.expect("an error");
            assert_eq!(told["error"]["code"], "INVALID_PARAMETERS");
        }

        // Discovery.
        let reply = plain.at("tools").send(Method::GET, &[], "").await;
        let listed: Value = serde_json::from_slice(&reply.body).expect("JSON");
        assert_eq!(
            listed,
            json!({
                "count": 1,
                "tools": [{
                    "name": "runShellCommand",
                    "description": "Run a terminal command in the system shell",
                    "parameters": {"command": {
                        "type": "string", "description": "The shell command to execute", "required": true,
                    }},
                    "examples": ["runShellCommand({ \"command\": \"ls -la\" })"],
                }],
            })
        );
    }
}

#[tokio::test]
async fn unknown_clients_and_malformed_bodies() {
    let plain = Plain::start(true, &json!({"e": echo(&[])})).await;
    let (stream, client) = plain.connect().await;
    let unknown = (
        400,
        json!({"error": "No active SSE connection", "message": "Your session may have expired"}),
    );
    assert_eq!(
        plain
            .post(&invoke("1683721045873", "m", "echo", json!({"nonce": "n"})))
            .await,
        unknown
    );
    assert_eq!(plain.post(&json!({"type": "invoke_tool"})).await, unknown);
    for body in ["", "no", "[]", "{\"clientId\":1,\"clientId\":2}", "{\"a\":"] {
        let reply = plain.at("messages").post(body).await;
        assert_eq!(reply.status, 400, "{body}");
        let text: Value = serde_json::from_slice(&reply.body).expect("JSON");
        assert!(
            text["error"].is_string() && text["message"].is_string(),
            "{text}"
        );
    }
    for body in [
        json!({"clientId": client}),
        json!({"clientId": client, "type": "other"}),
        json!({"clientId": client, "type": "invoke_tool"}),
        json!({"clientId": client, "type": "invoke_tool", "content": {"parameters": {}}}),
        json!({"clientId": client, "type": "invoke_tool", "content": {"name": "echo", "parameters": []}}),
    ] {
        assert_eq!(plain.post(&body).await.0, 400, "{body}");
    }
    // Forms of other sites are not taken, and there is nothing else here.
    let mut form = plain.at("messages").header("content-type", "text/plain");
    assert_eq!(
        form.post(invoke(&client, "m", "echo", json!({"nonce": "n"})).to_string())
            .await
            .status,
        400
    );
    assert_eq!(plain.at("mcp").send(Method::GET, &[], "").await.status, 404);
    assert_eq!(
        plain.at("messages").send(Method::GET, &[], "").await.status,
        405
    );
    let mut rebound = plain.at("tools").header("host", "evil.example");
    assert_eq!(rebound.send(Method::GET, &[], "").await.status, 403);

    // A client whose stream is closed is forgotten.
    assert_eq!(
        plain
            .post(&invoke(&client, "m", "echo", json!({"nonce": "n"})))
            .await
            .0,
        200
    );
    drop(stream);
    let mut last = 0;
    for _ in 0..100 {
        last = plain
            .post(&invoke(&client, "m", "echo", json!({"nonce": "n"})))
            .await
            .0;
        if last == 400 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(last, 400, "{}", plain.program.stderr());
}

#[tokio::test]
async fn parameters_and_results_cross_as_they_are() {
    let plain = Plain::start(true, &json!({"e": echo(&[])})).await;
    let (mut stream, client) = plain.connect().await;
    let body = format!(
        r#"{{"id":18446744073709551617,"type":"invoke_tool","content":{{"name":"echo","parameters":{{"nonce":"n","big":1e400}}}},"clientId":"{client}"}}"#
    );
    let reply = plain.at("messages").post(body).await;
    assert_eq!(reply.status, 200);
    let text = String::from_utf8(reply.body.to_vec()).expect("text");
    assert!(
        text.starts_with(r#"{"id":18446744073709551617,"type":"tool_result","content":{"#),
        "{text}"
    );
    let event = stream.next().await.expect("the same on the stream");
    assert_eq!(event.data.as_deref(), Some(text.as_bytes()));
}

#[tokio::test]
async fn a_token_is_needed_here_too() {
    let servers = config(&json!({"e": echo(&[])}));
    let program = switchboard()
        .args(["--mcp-config", &servers, "serve", "--plain", "127.0.0.1:0"])
        .spawn();
    let line = program.wait_for_line("plain dialect on http://").await;
    let base = line.split(" on ").last().expect("an address").to_owned();
    for path in ["sse", "tools", "messages"] {
        let reply = HttpClient::new(&format!("{base}/{path}"))
            .send(Method::GET, &[], "")
            .await;
        assert_eq!(reply.status, 401, "{path}");
    }
}

#[tokio::test]
async fn a_quiet_stream_pings() {
    let plain = Plain::start(true, &json!({"e": echo(&[])})).await;
    let (mut stream, _) = plain.connect().await;
    let ping = stream
        .next_within(Duration::from_secs(18))
        .await
        .expect("a ping");
    assert_eq!(ping.raw, b": ping\n\n");
}

/// What the schema forbids at any depth is told to the client and does not
/// reach the tool.
#[tokio::test]
async fn parameters_are_checked_as_everywhere() {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["kind"],
    "properties": {
        "kind": {"enum": ["a", "b"]},
        "count": {"type": "integer", "minimum": 3},
        "words": {"type": "array", "items": {"type": "string"}},
        "inner": {"type": "object", "required": ["x"], "properties": {"x": {"type": "number"}}},
    }});
    let list = json!({"tools": [{"name": "t", "inputSchema": schema}]});
    let script = Scripted::new(
        "legacy",
        &[
            json!({"method": "tools/list", "reply": list.to_string()}),
            scripted::call("t"),
        ],
    );
    let plain = Plain::start(false, &json!({"s": script.stdio()})).await;
    let (mut stream, client) = plain.connect().await;
    for (parameters, field) in [
        (json!({}), "kind"),
        (json!({"kind": "c"}), "kind"),
        (json!({"kind": "a", "count": 2}), "count"),
        (json!({"kind": "a", "count": "3"}), "count"),
        (json!({"kind": "a", "words": ["x", 1]}), "words[1]"),
        (json!({"kind": "a", "inner": {}}), "x"),
        (json!({"kind": "a", "more": 1}), "more"),
    ] {
        let (status, answer) = plain
            .post(&invoke(&client, "1", "t", parameters.clone()))
            .await;
        assert_eq!(status, 400, "{parameters}: {answer}");
        assert_eq!(answer["error"], "Invalid parameters", "{answer}");
        let text = answer["message"].as_str().unwrap();
        assert!(text.contains(field), "{field}: {answer}");
        let told = stream.message().await.unwrap();
        assert_eq!(told["error"]["code"], "INVALID_PARAMETERS", "{told}");
    }
    let good = json!({"kind": "a", "count": 3, "words": ["x"], "inner": {"x": 1.5}});
    let (status, answer) = plain.post(&invoke(&client, "2", "t", good)).await;
    assert_eq!(status, 200, "{answer}");
    let calls = script.record();
    let calls = calls.lines().filter(|line| line.contains("tools/call"));
    assert_eq!(calls.count(), 1);
}
