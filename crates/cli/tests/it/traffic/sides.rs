//! What `traffic show` says is what went over the wires, on both sides and between all
//! eras; what it marks as changed is the difference, and each mark has its row.

use super::{ids, shown};
use crate::support::crossing::{Face, Side, contains};
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex},
};
use switchboard_testkit::{
    DEADLINE, HttpClient, Program, bin,
    corpus::META,
    world::{self, World, servers},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

/// Tells progress, asks one thing, and answers.
const TOOL: &str = "test_streaming_elicitation";
const RESULT: &str = r#"{"action":"accept","content":{"detail":"bl\u0075e"}}"#;

/// What went over a server's wire, as bytes, whatever they are.
struct Recorded {
    entry: Value,
    heard: Heard,
    _server: Option<Program>,
}

enum Heard {
    /// What `tee` wrote, to the server and from it.
    Files(PathBuf, PathBuf),
    Bytes(Arc<Mutex<(Vec<u8>, Vec<u8>)>>),
}

impl Recorded {
    async fn new(world: &World, side: Side, era: &str) -> Self {
        let program = bin("conformance-server");
        match side {
            Side::Stdio => {
                let (to, from) = (world.path("to-server"), world.path("from-server"));
                let line = format!(
                    "tee '{}' | '{}' --stdio --era {era} | tee '{}'",
                    to.display(),
                    program.display(),
                    from.display()
                );
                Self {
                    entry: json!({"command": "sh", "args": ["-c", line]}),
                    heard: Heard::Files(to, from),
                    _server: None,
                }
            }
            Side::Http => {
                let server = Program::new(&program)
                    .args(["--http", "0", "--era", era])
                    .spawn();
                let url = server.url().await;
                let (address, heard) = relay(&url).await;
                Self {
                    entry: json!({"type": "http", "url": address}),
                    heard: Heard::Bytes(heard),
                    _server: Some(server),
                }
            }
        }
    }

    /// To the server, and from it.
    fn heard(&self) -> (Vec<u8>, Vec<u8>) {
        match &self.heard {
            Heard::Files(to, from) => {
                let read = |path: &PathBuf| std::fs::read(path).unwrap_or_default();
                (read(to), read(from))
            }
            Heard::Bytes(both) => both.lock().expect("nobody panics").clone(),
        }
    }
}

/// Stands in front of an HTTP server, and remembers what passes in both directions.
async fn relay(url: &str) -> (String, Arc<Mutex<(Vec<u8>, Vec<u8>)>>) {
    let rest = url.strip_prefix("http://").expect("an address");
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let own = listener.local_addr().expect("an address");
    let (authority, heard) = (authority.to_owned(), Arc::default());
    let all: Arc<Mutex<(Vec<u8>, Vec<u8>)>> = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let Ok(server) = TcpStream::connect(&authority).await else {
                continue;
            };
            let (client_read, client_write) = client.into_split();
            let (server_read, server_write) = server.into_split();
            tokio::spawn(copy(client_read, server_write, all.clone(), true));
            tokio::spawn(copy(server_read, client_write, all.clone(), false));
        }
    });
    (format!("http://{own}/{path}"), heard)
}

async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    heard: Arc<Mutex<(Vec<u8>, Vec<u8>)>>,
    up: bool,
) {
    let mut chunk = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = from.read(&mut chunk).await {
        {
            let mut heard = heard.lock().expect("nobody panics");
            let side = if up { &mut heard.0 } else { &mut heard.1 };
            side.extend_from_slice(&chunk[..length]);
        }
        if to.write_all(&chunk[..length]).await.is_err() {
            return;
        }
    }
}

/// What a client sent and got, as bytes.
#[derive(Default)]
struct Wire {
    sent: Vec<Vec<u8>>,
    came: Vec<Vec<u8>>,
}

fn request(modern: bool, more: &str) -> String {
    let meta = if modern { META } else { "" };
    format!(
        r#"{{"jsonrpc": "2.0","id":"c\u0061ll","method":"tools/call","params":{{"name":"s__{TOOL}","arguments":{{"odd" : 1.0}}{more},"_meta":{{{meta}"progressToken":"tok"}}}}}}"#
    )
}

/// Calls the tool, answers its question, and gets the result.
async fn converse(face: &mut Face, modern: bool) -> Wire {
    let mut wire = Wire::default();
    let first = request(modern, "");
    let result = if modern { "" } else { RESULT };
    let came = face
        .exchange(first.as_bytes(), modern, result.as_bytes())
        .await;
    wire.sent.push(first.into_bytes());
    for message in &came.messages {
        let value: Value = serde_json::from_slice(message).expect("JSON");
        if !modern && value.get("id").is_some() && value.get("method").is_some() {
            let id = &value["id"];
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{RESULT}}}"#);
            wire.sent.push(answer.into_bytes());
        }
    }
    let last: Value = serde_json::from_slice(came.answer()).expect("JSON");
    wire.came.extend(came.messages);
    if modern {
        assert_eq!(last["result"]["resultType"], "input_required", "{last}");
        let asked = last["result"]["inputRequests"]
            .as_object()
            .expect("questions");
        let key = asked.keys().next().expect("a question");
        let state = last["result"].get("requestState");
        let state = state.map_or_else(String::new, |state| format!(r#","requestState":{state}"#));
        let more = format!(r#","inputResponses":{{{}:{RESULT}}}{state}"#, json!(key));
        let again = request(modern, &more);
        let came = face.exchange(again.as_bytes(), modern, b"").await;
        wire.sent.push(again.into_bytes());
        wire.came.extend(came.messages);
    }
    let last = wire.came.last().expect("an answer");
    assert!(contains(last, "blue"), "{}", String::from_utf8_lossy(last));
    wire
}

/// The texts on one edge, of all these calls.
fn texts(calls: &[Value], edge: &str) -> Vec<String> {
    let messages = calls.iter().flat_map(|call| {
        let messages = call["messages"].as_array().expect("a list");
        messages.iter().filter(|one| one["edge"] == edge)
    });
    let text = |one: &Value| one["text"].as_str().expect("it is kept").to_owned();
    messages.map(text).collect()
}

fn strings(messages: &[Vec<u8>]) -> Vec<String> {
    let text = |message: &Vec<u8>| String::from_utf8(message.clone()).expect("text");
    messages.iter().map(text).collect()
}

async fn pair(modern: bool, server_modern: bool, side: Side) {
    let what = format!("modern client: {modern}, modern server: {server_modern}, {side:?}");
    let world = World::new();
    let era = if server_modern { "modern" } else { "legacy" };
    let recorded = Recorded::new(&world, side, era).await;
    world.configure(&servers([("s", recorded.entry.clone())]));
    let gateway = world.gateway_with(&["--no-auth", "--tap"]).await;
    let url = gateway.url().await;
    let mut face = Face::Http(Box::new(HttpClient::new(&format!("{url}/mcp"))));
    if !modern {
        face.initialize().await;
    }
    let wire = converse(&mut face, modern).await;
    let mut calls = Vec::new();
    for id in ids(&world, &format!("tool:{TOOL}")).await {
        calls.push(revealed(&world, &id).await);
    }
    assert_eq!(texts(&calls, "from-client"), strings(&wire.sent), "{what}");
    assert_eq!(texts(&calls, "to-client"), strings(&wire.came), "{what}");
    // The server's own recorder writes when it gets to it.
    let (to, from) = (texts(&calls, "to-server"), texts(&calls, "from-server"));
    let heard = world::until(DEADLINE, || {
        let heard = recorded.heard();
        let all = from.iter().all(|text| contains(&heard.1, text));
        all.then_some(heard)
    });
    let (up, down) = heard.await.unwrap_or_else(|| panic!("{what}: {from:?}"));
    for text in &to {
        assert!(contains(&up, text), "{what}: never sent: {text}");
    }
    if side == Side::Stdio {
        assert_lines(&what, &up, &to);
        assert_lines(&what, &down, &from);
    }
    let asked = |text: &[u8]| String::from_utf8_lossy(text).matches(TOOL).count();
    let shown = to.iter().filter(|text| text.contains(TOOL)).count();
    assert!(shown >= 1 && asked(&up) >= shown, "{what}");
    for call in &calls {
        assert_eq!(call["missing"], 0, "{what}: {call}");
        edits_are_the_difference(&what, call);
    }
    assert_kinds(&what, modern, server_modern, &calls);
}

/// Secrets and all: a sealed state looks like one.
async fn revealed(world: &World, id: &str) -> Value {
    let ran = world
        .run(&["traffic", "show", id, "--json", "--reveal"])
        .await;
    assert_eq!(ran.code, Some(0), "{id}: {}", ran.err);
    ran.json()
}

/// What was recorded about the call is what is shown, line for line.
fn assert_lines(what: &str, heard: &[u8], shown: &[String]) {
    let heard = String::from_utf8(heard.to_vec()).expect("text");
    let concerns = |line: &&str| {
        let value: Value = serde_json::from_str(line).expect("a message on each line");
        let method = value["method"].as_str().unwrap_or_default();
        let is_call = shown.iter().any(|text| text == line);
        let belongs = ["tools/call", "elicitation/create", "notifications/progress"];
        is_call || belongs.contains(&method)
    };
    let lines: Vec<&str> = heard.lines().filter(concerns).collect();
    assert_eq!(lines, shown, "{what}");
}

/// The marks, applied to what a message was made of, give the message; none is idle, and
/// each has its row.
fn edits_are_the_difference(what: &str, call: &Value) {
    let messages = call["messages"].as_array().expect("a list");
    for message in messages {
        let Some(source) = message["madeOf"].as_u64() else {
            let edge = &message["edge"];
            assert!(
                edge == "from-client" || edge == "from-server",
                "{what}: {message}"
            );
            continue;
        };
        let text = message["text"].as_str().expect("it is kept");
        let source = messages[source as usize]["text"]
            .as_str()
            .expect("it is kept");
        let mut value: Value = serde_json::from_str(source).expect("JSON");
        let mut edits: Vec<&Value> = message["edits"]
            .as_array()
            .expect("a list")
            .iter()
            .collect();
        // From behind, so that what is removed moves nothing that comes after it.
        edits.sort_by_key(|edit| std::cmp::Reverse(edit["path"].as_str().map(str::to_owned)));
        for edit in edits {
            assert!(edit["row"].is_string(), "{what}: no row: {edit}");
            apply(&mut value, edit, text);
        }
        let expected: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(value, expected, "{what}: {message}");
    }
}

fn apply(value: &mut Value, edit: &Value, text: &str) {
    let path = edit["path"].as_str().expect("a path");
    let after = edit["span"].as_array().map(|span| {
        let at = |n: usize| span[n].as_u64().expect("a number") as usize;
        serde_json::from_str::<Value>(&text[at(0)..at(1)]).expect("JSON")
    });
    let what = edit["what"].as_str().expect("a word");
    if what == "white-space" {
        return;
    }
    let Some((parent, key)) = path.rsplit_once('/') else {
        *value = after.expect("a value");
        return;
    };
    let key = key.replace("~1", "/").replace("~0", "~");
    let parent = value.pointer_mut(parent).expect("there is a place for it");
    let before = match &parent {
        Value::Array(all) => all.get(key.parse::<usize>().expect("a number")),
        other => other.get(&key),
    };
    match what {
        "added" => assert_eq!(before, None, "{edit}"),
        _ => assert_ne!(before, after.as_ref(), "it changes nothing: {edit}"),
    }
    match (parent, after) {
        (Value::Object(all), Some(after)) => drop(all.insert(key, after)),
        (Value::Object(all), None) => drop(all.shift_remove(&key).expect("it was there")),
        (Value::Array(all), after) => {
            let at = key.parse::<usize>().expect("a number");
            match after {
                Some(after) if at < all.len() => all[at] = after,
                Some(after) => all.push(after),
                None => drop(all.remove(at)),
            }
        }
        other => panic!("{other:?}"),
    }
}

/// Progress, the question, its answer and what was sent again are called so.
fn assert_kinds(what: &str, modern: bool, server_modern: bool, calls: &[Value]) {
    let messages = calls
        .iter()
        .flat_map(|call| call["messages"].as_array().expect("a list"));
    let kinds: Vec<(String, String)> = messages
        .map(|one| {
            let word = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
            (word("edge"), word("kind"))
        })
        .collect();
    let has = |edge: &str, kind: &str| kinds.contains(&(edge.to_owned(), kind.to_owned()));
    assert!(
        has("from-server", "notice") && has("to-client", "notice"),
        "{what}: {kinds:?}"
    );
    assert!(has("to-client", "result"), "{what}: {kinds:?}");
    assert_eq!(has("to-client", "question"), !modern, "{what}: {kinds:?}");
    assert_eq!(
        has("from-server", "question"),
        !server_modern,
        "{what}: {kinds:?}"
    );
    // A parked call goes on with the client's retry, and a bridged one is sent again.
    if modern != server_modern {
        let retry = if modern { "from-client" } else { "to-server" };
        assert!(has(retry, "retry"), "{what}: {kinds:?}");
        assert_eq!(calls.len(), 1, "{what}");
    }
    let is_bridged = calls
        .iter()
        .all(|call| call["call"]["clientEra"] != call["call"]["serverEra"]);
    assert_eq!(is_bridged, modern != server_modern, "{what}");
}

#[tokio::test]
async fn both_sides_are_as_they_were_between_all_eras_over_stdio() {
    for (modern, server_modern) in [(false, false), (false, true), (true, false), (true, true)] {
        pair(modern, server_modern, Side::Stdio).await;
    }
}

#[tokio::test]
async fn both_sides_are_as_they_were_between_all_eras_over_http() {
    for (modern, server_modern) in [(false, false), (false, true), (true, false), (true, true)] {
        pair(modern, server_modern, Side::Http).await;
    }
}

#[tokio::test]
async fn what_is_shown_to_people_has_both_sides_and_the_rows() {
    let world = World::new();
    let recorded = Recorded::new(&world, Side::Stdio, "legacy").await;
    world.configure(&servers([("s", recorded.entry.clone())]));
    let gateway = world.gateway_with(&["--no-auth", "--tap"]).await;
    let url = gateway.url().await;
    let mut face = Face::Http(Box::new(HttpClient::new(&format!("{url}/mcp"))));
    face.initialize().await;
    converse(&mut face, false).await;
    let id = ids(&world, &format!("tool:{TOOL}")).await.remove(0);
    let ran = world.run(&["traffic", "show", &id]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    for part in [
        "client ↔ switchboard",
        "~ S1 /id changed",
        "~ A1 /params/name",
        "question",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    let detail = shown(&world, &id).await;
    assert_eq!(detail["call"]["asked"], 1, "{detail}");
}
