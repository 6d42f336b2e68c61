//! Clients that share a server which asks: a question, and the page that it
//! sends somebody to, are one client's alone.

use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};
use switchboard_testkit::world::{
    Gateway, able_to, address, command, news, servers, to_the_end, until,
};
use switchboard_testkit::{HttpClient, LEGACY, Program, bin, record, text_of};

const LONG: Duration = Duration::from_secs(30);
const COMPLETE: &str = "notifications/elicitation/complete";
const CHANGED: &str = "notifications/tools/list_changed";

/// A recorder's script and record: its tools, and what calls of them bring.
struct Scripted {
    folder: tempfile::TempDir,
}

impl Scripted {
    fn new(tools: &[&str], calls: &[Value]) -> Self {
        let hello = json!({"protocolVersion": LEGACY, "serverInfo": {"name": "r", "version": "1"},
            "capabilities": {"tools": {"listChanged": true}}});
        let tool = |name: &&str| json!({"name": name, "inputSchema": {"type": "object"}});
        let tools: Vec<Value> = tools.iter().map(tool).collect();
        let mut lines = vec![
            json!({"method": "initialize", "reply": hello.to_string()}),
            json!({"method": "tools/list", "reply": json!({"tools": tools}).to_string()}),
        ];
        lines.extend_from_slice(calls);
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("script"), text.join("\n")).unwrap();
        Self { folder }
    }

    fn args(&self, more: &[&str]) -> Vec<String> {
        let at = |name: &str| self.folder.path().join(name).display().to_string();
        let more = more.iter().map(|word| (*word).to_owned());
        let own = ["--era", "legacy", "--script", &at("script"), "--record"].map(str::to_owned);
        more.chain(own).chain([at("record")]).collect()
    }

    fn record(&self) -> PathBuf {
        self.folder.path().join("record")
    }
}

/// What a call of this tool brings: first these messages, then its name.
fn call(tool: &str, before: &[Value]) -> Value {
    let before: Vec<String> = before.iter().map(Value::to_string).collect();
    json!({"method": "tools/call", "match": format!("\"{tool}\""), "before": before,
        "reply": result(tool).to_string()})
}

fn result(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn form(id: &str, message: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"x": {"type": "string"}}});
    json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create",
        "params": {"message": message, "requestedSchema": schema}})
}

/// The answers that the server got to its question of this id.
fn answers(record: &Path, id: &str) -> Vec<Value> {
    let messages = record::read(record).unwrap_or_default();
    let parsed = messages
        .iter()
        .filter_map(|raw| serde_json::from_slice::<Value>(raw).ok());
    parsed.filter(|message| message["id"] == id).collect()
}

/// A client that fills in forms and opens pages.
async fn asked(gateway: &Gateway) -> HttpClient {
    let able = json!({"elicitation": {"form": {}, "url": {}}});
    let mut client = able_to(gateway, "/mcp/r", able).await;
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    client.post(ready.to_string()).await;
    client
}

fn answer(question: &Value, action: &str) -> String {
    json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": action}}).to_string()
}

/// Nobody but the client that was sent to a page answers for it, and nobody
/// else hears that it is done.
#[tokio::test]
async fn a_page_has_one_owner() {
    let page = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create",
        "params": {"mode": "url", "message": "Sign in", "url": "https://example.com/", "elicitationId": "e1"}});
    let done =
        |id: &str| json!({"jsonrpc": "2.0", "method": COMPLETE, "params": {"elicitationId": id}});
    let changed = json!({"jsonrpc": "2.0", "method": CHANGED});
    let scripted = Scripted::new(
        &["ask", "done"],
        &[
            call("ask", &[page]),
            call("done", &[done("nobody's"), done("e1"), changed]),
        ],
    );
    let entry = command("recorder", scripted.args(&["--stdio"]));
    let gateway = Gateway::start(&servers([("r", entry)])).await;
    let (mut owner, mut other) = (asked(&gateway).await, asked(&gateway).await);
    let (mut to_owner, mut to_other) = (owner.listen().await, other.listen().await);

    let mut stream = owner
        .stream("tools/call", json!({"name": "ask", "arguments": {}}))
        .await;
    let question = news(&mut stream, LONG).await.expect("a question");
    assert_eq!(question["params"]["elicitationId"], "e1", "{question}");
    // Somebody else says yes; the owner says no.
    other.post(answer(&question, "accept")).await;
    owner.post(answer(&question, "decline")).await;
    let (_, reply) = to_the_end(stream).await;
    assert_eq!(text_of(&reply), "ask");
    let heard = answers(&scripted.record(), "q");
    let actions: Vec<_> = heard.iter().map(|it| &it["result"]["action"]).collect();
    assert_eq!(actions, ["decline"], "{heard:?}");

    // The server says so during a call of the other's.
    let params = json!({"name": "done", "arguments": {}});
    let (told, reply) = to_the_end(other.stream("tools/call", params).await).await;
    assert_eq!(text_of(&reply), "done");
    let mut heard = [told, Vec::new()];
    for (stream, heard) in [&mut to_other, &mut to_owner].into_iter().zip(&mut heard) {
        // All are told of this, after the rest.
        while heard.iter().all(|said| said["method"] != CHANGED) {
            heard.push(news(stream, LONG).await.expect("news of the list"));
        }
        heard.retain(|said| said["method"] == COMPLETE);
    }
    assert!(heard[0].is_empty(), "{heard:?}");
    let ids: Vec<_> = heard[1]
        .iter()
        .map(|it| &it["params"]["elicitationId"])
        .collect();
    assert_eq!(ids, ["e1"]);
}

/// A question that comes behind a call's reply, where the reply came, is not put
/// to whoever else happens to have a call in flight.
#[tokio::test]
async fn a_late_question_of_a_finished_call_is_nobodys() {
    let late = format!(
        "[{{\"jsonrpc\":\"2.0\",\"id\":@ID@,\"result\":{}}},{}]",
        result("early"),
        form("late", "whose?")
    );
    let scripted = Scripted::new(
        &["wait", "early"],
        &[
            call("wait", &[form("own", "yours")]),
            json!({"method": "tools/call", "match": "\"early\"", "message": late}),
        ],
    );
    let remote = Program::new(bin("recorder"))
        .args(scripted.args(&["--http", "0"]))
        .spawn();
    let gateway = Gateway::start(&servers([("r", address(&remote).await)])).await;
    let (mut waiting, mut early) = (asked(&gateway).await, asked(&gateway).await);

    let mut stream = waiting
        .stream("tools/call", json!({"name": "wait", "arguments": {}}))
        .await;
    let question = news(&mut stream, LONG).await.expect("a question");
    assert_eq!(question["params"]["message"], "yours");
    let params = json!({"name": "early", "arguments": {}});
    let (told, reply) = to_the_end(early.stream("tools/call", params).await).await;
    assert_eq!((text_of(&reply), told), ("early", Vec::new()));

    let refused = until(LONG, || answers(&scripted.record(), "late").pop()).await;
    let refused = refused.expect("the server is told");
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    waiting.post(answer(&question, "decline")).await;
    let (told, reply) = to_the_end(stream).await;
    assert_eq!((text_of(&reply), told), ("wait", Vec::new()));
}
