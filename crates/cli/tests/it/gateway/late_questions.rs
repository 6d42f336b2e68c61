//! A question that comes in the moment in which an answer stops being a plain one:
//! it is asked all the same.

use serde_json::json;
use switchboard_testkit::HttpClient;
use switchboard_testkit::world::Gateway;

/// A legacy server that asks just before five seconds are over, and goes on talking
/// until after that. What it gets is answered with what it was told.
const LATE: &str = r#"
import sys, json, time, threading
out = threading.Lock()
def say(message):
    with out:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
def late(call):
    time.sleep(4.8)
    schema = {"type": "object", "properties": {"x": {"type": "string"}}}
    say({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {"message": "which?", "requestedSchema": schema}})
    for n in range(60):
        time.sleep(0.008)
        say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": call["params"]["_meta"]["progressToken"], "progress": n}})
for line in sys.stdin:
    m = json.loads(line)
    if m.get("id") == "q":
        say({"jsonrpc": "2.0", "id": call["id"], "result": {"content": [{"type": "text", "text": json.dumps(m)}]}})
    if "id" not in m or "method" not in m: continue
    if m["method"] == "initialize":
        r = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "late", "version": "1"}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
    elif m["method"] == "tools/call":
        call = m
        threading.Thread(target=late, args=(m,), daemon=True).start()
        continue
    else:
        say({"jsonrpc": "2.0", "id": m["id"], "error": {"code": -32601, "message": "no"}})
        continue
    say({"jsonrpc": "2.0", "id": m["id"], "result": r})
"#;

#[tokio::test]
async fn a_question_is_asked_whenever_it_comes() {
    let entry = json!({"command": "python3", "args": ["-c", LATE]});
    let gateway = Gateway::start(&json!({ "s": entry })).await;
    let mut client: HttpClient = gateway.client("/mcp/s");
    let params = json!({"name": "t", "arguments": {}, "_meta": {"progressToken": "p"}});
    let reply = client.modern("tools/call", params.clone()).await;
    let asked = reply.messages().pop().expect("an answer");
    let requests = asked["result"]["inputRequests"].as_object();
    let requests = requests.unwrap_or_else(|| panic!("{asked}"));
    let key = requests.keys().next().expect("a question").clone();
    let mut again = params;
    again["requestState"] = asked["result"]["requestState"].clone();
    again["inputResponses"] = json!({key: {"action": "accept", "content": {"x": "the answer"}}});
    let reply = client.modern("tools/call", again).await;
    let answer = reply.messages().pop().expect("an answer");
    assert!(answer.to_string().contains("the answer"), "{answer}");
}
