//! What a client keeps when its gateway ends and begins again.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, time::Duration};
use switchboard_testkit::{
    EventStream, HttpClient, LEGACY, Program,
    history::{History, Life, Nemesis},
    text_of,
    world::{Client, World, address, echo_http, news, servers},
};

const SOON: Duration = Duration::from_secs(20);

/// A world with a server that outlives gateways.
async fn world() -> (World, Program) {
    let server = echo_http(&[]);
    let world = World::with(&servers([("far", address(&server).await)]));
    (world, server)
}

async fn legacy(life: &Life<'_>, path: &str) -> HttpClient {
    let mut client = HttpClient::new(&format!("{}{path}", life.url()));
    client.initialize(LEGACY).await;
    client
}

async fn suffer(life: &mut Life<'_>, nemesis: Nemesis) {
    life.suffer(nemesis, &History::default()).await;
}

/// Everything that is kept, with where.
fn kept(world: &World) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = world.path("home/.local/state/switchboard/sessions");
    let all = world.everything().into_iter();
    all.filter(|(path, _)| path.starts_with(&folder)).collect()
}

async fn hears(stream: &mut EventStream, method: &str) -> Value {
    loop {
        let message = news(stream, SOON).await.expect("something is told");
        if message["method"] == method {
            return message;
        }
    }
}

#[tokio::test]
async fn a_session_goes_on_after_a_restart_and_after_a_kill() {
    let (world, _server) = world().await;
    let mut life = Life::begin(&world, &["--no-auth"]).await;
    for path in ["/mcp", "/mcp/far"] {
        let tool = |name: &str| match path {
            "/mcp" => format!("far__{name}"),
            _ => name.to_owned(),
        };
        let mut client = legacy(&life, path).await;
        let uri = json!({"uri": "echo://1"});
        client
            .request("logging/setLevel", json!({"level": "error"}))
            .await;
        let said = client.request("resources/subscribe", uri.clone()).await;
        assert!(said.get("result").is_some(), "{said}");
        for nemesis in [Nemesis::Restart, Nemesis::Kill] {
            suffer(&mut life, nemesis).await;
            let said = client
                .call(&tool("echo"), json!({"nonce": "still me"}))
                .await;
            assert_eq!(text_of(&said), "still me", "{path} {nemesis:?}");
            let mut general = client.listen().await;
            assert_eq!(general.status, StatusCode::OK);
            // What it listened to, it hears again, as soon as the server was asked.
            let told = async {
                loop {
                    client.call(&tool("touch"), uri.clone()).await;
                    let short = Duration::from_millis(200);
                    if let Some(message) = news(&mut general, short).await
                        && message["method"] == "notifications/resources/updated"
                    {
                        return message;
                    }
                }
            };
            let told = tokio::time::timeout(SOON, told).await.expect("it is told");
            assert_eq!(told["params"]["uri"], "echo://1", "{path} {nemesis:?}");
            // And its level is what it was.
            for (level, heard) in [("warning", 0), ("error", 1)] {
                let log = json!({"level": level, "text": "canary"});
                let params = json!({"name": tool("log"), "arguments": log});
                let stream = client.stream("tools/call", params).await;
                let notices = match stream.is_events() {
                    true => switchboard_testkit::world::to_the_end(stream).await.0,
                    false => Vec::new(),
                };
                assert_eq!(notices.len(), heard, "{path} {nemesis:?} {level}");
            }
        }
        let ended = client.send(Method::DELETE, &[], "").await;
        assert_eq!(ended.status, StatusCode::OK);
    }
}

/// What servers say outside calls is kept as well: whoever comes back for what it had not
/// read gets it, once and in order.
#[tokio::test]
async fn what_belongs_to_no_request_is_told_in_the_next_life() {
    let (world, _server) = world().await;
    let mut life = Life::begin(&world, &["--no-auth"]).await;
    let mut client = legacy(&life, "/mcp/far").await;
    let uris: Vec<String> = (0..4).map(|number| format!("echo://{number}")).collect();
    for uri in &uris {
        let said = client.request("resources/subscribe", json!({"uri": uri}));
        assert!(said.await.get("result").is_some());
    }
    let mut general = client.listen().await;
    let mut ids = Vec::new();
    for uri in &uris {
        client.call("touch", json!({"uri": uri})).await;
        let event = updated(&mut general).await.expect("it is told");
        assert_eq!(event.json()["params"]["uri"], **uri);
        ids.push(event.id.expect("a number"));
    }
    drop(general);
    // When this was answered, all before it is on disk.
    let slow = json!({"name": "echo", "arguments": {"nonce": "n", "delayMs": 200}});
    switchboard_testkit::world::to_the_end(client.stream("tools/call", slow).await).await;
    for nemesis in [Nemesis::Kill, Nemesis::Restart, Nemesis::Kill] {
        suffer(&mut life, nemesis).await;
        for seen in 0..uris.len() {
            let headers = [
                ("accept", "text/event-stream"),
                ("last-event-id", &*ids[seen]),
            ];
            let mut again = client.open(Method::GET, &headers, "").await;
            assert_eq!(again.status, StatusCode::OK);
            for uri in &uris[seen + 1..] {
                let event = updated(&mut again).await.expect("it is told");
                assert_eq!(
                    event.json()["params"]["uri"],
                    **uri,
                    "{nemesis:?} after {seen}"
                );
            }
        }
    }
}

/// The next event that says that a resource was changed.
async fn updated(stream: &mut EventStream) -> Option<switchboard_testkit::sse::Event> {
    while let Some(event) = stream.next_within(SOON).await {
        let has_data = event.data.as_ref().is_some_and(|data| !data.is_empty());
        if has_data && event.json()["method"] == "notifications/resources/updated" {
            return Some(event);
        }
    }
    None
}

/// Lists may be others after a restart, and nobody else could tell.
#[tokio::test]
async fn who_comes_back_is_told_to_list_anew() {
    let (world, _server) = world().await;
    let mut life = Life::begin(&world, &["--no-auth"]).await;
    let mut client = legacy(&life, "/mcp").await;
    suffer(&mut life, Nemesis::Restart).await;
    let mut general = client.listen().await;
    hears(&mut general, "notifications/tools/list_changed").await;
}

#[tokio::test]
async fn what_has_ended_stays_ended_and_what_never_was_is_unknown() {
    let (world, _server) = world().await;
    let mut life = Life::begin(&world, &["--no-auth"]).await;
    let mut ended = legacy(&life, "/mcp").await;
    let mut elsewhere = legacy(&life, "/mcp").await;
    let mut rests = legacy(&life, "/mcp").await;
    ended.send(Method::DELETE, &[], "").await;
    suffer(&mut life, Nemesis::Kill).await;
    // Its first request afterwards is its last.
    assert_eq!(
        rests.send(Method::DELETE, &[], "").await.status,
        StatusCode::OK
    );
    suffer(&mut life, Nemesis::Kill).await;
    let session = elsewhere.headers["mcp-session-id"].clone();
    let nobodys = "0".repeat(32);
    let mut never = ended.clone_for(&[("mcp-session-id", &*nobodys)]);
    let url = format!("{}/mcp/far", life.url());
    let mut wrong_path = HttpClient::new(&url).header("mcp-session-id", &session);
    for client in [&mut ended, &mut rests, &mut never, &mut wrong_path] {
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let reply = client.post(ping.to_string()).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND);
        assert_eq!(reply.message()["error"]["message"], "Session not found");
    }
    let said = elsewhere.request("ping", json!({})).await;
    assert!(said.get("result").is_some(), "{said}");
}

#[tokio::test]
async fn a_session_comes_back_for_its_own_principal_alone() {
    let (world, _server) = world().await;
    for name in ["alice", "bob"] {
        world.run(&["token", "create", name]).await.ok();
    }
    let token = |name: &str| {
        let file = format!("home/.local/share/switchboard/tokens/{name}");
        format!("Bearer {}", world.read(file).trim())
    };
    let mut life = Life::begin(&world, &[]).await;
    let url = format!("{}/mcp", life.url());
    let mut alice = HttpClient::new(&url).header("authorization", &token("alice"));
    alice.initialize(LEGACY).await;
    suffer(&mut life, Nemesis::Kill).await;
    let mut bob = alice.clone_for(&[("authorization", &*token("bob"))]);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    assert_eq!(bob.post(ping.clone()).await.status, StatusCode::NOT_FOUND);
    assert_eq!(alice.post(ping).await.status, StatusCode::OK);
}

/// Whoever reads the files learns neither who was there nor what was said, and nobody
/// else can read them.
#[tokio::test]
async fn nothing_that_is_kept_can_be_read() {
    let (world, _server) = world().await;
    let life = Life::begin(&world, &[]).await;
    let token = world.read("home/.local/share/switchboard/tokens/default");
    let token = token.trim();
    let url = format!("{}/mcp", life.url());
    let mut client = HttpClient::new(&url).header("authorization", &format!("Bearer {token}"));
    client.initialize(LEGACY).await;
    client
        .request("resources/subscribe", json!({"uri": "echo://1"}))
        .await;
    let slow = json!({"nonce": "canary-result", "delayMs": 200});
    let params = json!({"name": "far__echo", "arguments": slow});
    let stream = client.stream("tools/call", params).await;
    assert!(stream.is_events());
    switchboard_testkit::world::to_the_end(stream).await;
    let session = client.headers["mcp-session-id"].clone();
    let words = [&*session, token, "canary-result", "echo://1", "clientInfo"];
    let kept = kept(&world);
    assert!(
        kept.iter()
            .any(|(path, _)| path.ends_with("ledger.sqlite3"))
    );
    for (path, content) in kept {
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
        for word in words {
            let found = content
                .windows(word.len())
                .any(|part| part == word.as_bytes());
            assert!(!found, "{word} is in {}", path.display());
        }
    }
}

/// An answer that was on its way when the gateway was killed: it was written before the
/// client could see it, and its call is not made again.
#[tokio::test]
async fn an_answer_that_was_there_is_there_after_a_kill() {
    let (world, _server) = world().await;
    let mut life = Life::begin(&world, &["--no-auth"]).await;
    let mut client = legacy(&life, "/mcp").await;
    let file = world.path("effects");
    let arguments = json!({"steps": 3, "intervalMs": 60, "marker": "once", "file": file});
    let params = json!({"name": "far__progress", "arguments": arguments});
    let mut stream = client.stream("tools/call", params).await;
    let first = stream.next().await.expect("an event").id.expect("a number");
    let (seen, _) = switchboard_testkit::world::to_the_end(stream).await;
    assert_eq!(seen.len(), 3);
    suffer(&mut life, Nemesis::Kill).await;
    let headers = [("accept", "text/event-stream"), ("last-event-id", &*first)];
    let again = client.open(Method::GET, &headers, "").await;
    let (seen, answer) = switchboard_testkit::world::to_the_end(again).await;
    assert_eq!((seen.len(), text_of(&answer)), (3, "once"));
    assert_eq!(fs::read_to_string(file).unwrap(), "once\n");
}

#[tokio::test]
async fn a_call_that_was_under_way_is_told_that_nobody_knows() {
    let (world, _server) = world().await;
    let mut life = Life::begin(&world, &["--no-auth"]).await;
    let mut client = legacy(&life, "/mcp").await;
    let file = world.path("effects");
    let arguments = json!({"steps": 1000, "intervalMs": 50, "marker": "once", "file": file});
    let params = json!({"name": "far__progress", "arguments": arguments});
    let mut stream = client.stream("tools/call", params).await;
    let first = stream.next().await.expect("an event").id.expect("a number");
    suffer(&mut life, Nemesis::Kill).await;
    let headers = [("accept", "text/event-stream"), ("last-event-id", &*first)];
    for _ in 0..2 {
        let again = client.open(Method::GET, &headers, "").await;
        let (_, answer) = switchboard_testkit::world::to_the_end(again).await;
        assert_eq!(answer["error"]["data"]["outcome"], "unknown", "{answer}");
        assert_eq!(answer["id"], 1, "{answer}");
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "once\n");
}

/// A ticket for a parked call from an earlier life is nobody's.
#[tokio::test]
async fn a_ticket_of_an_earlier_life_says_to_ask_again() {
    let world = World::with(&servers([(
        "old",
        switchboard_testkit::world::echo(&["--era", "legacy"]),
    )]));
    let mut life = Life::begin(&world, &["--no-auth"]).await;
    let mut client = Client::new(&life.url(), "/mcp/old", true).await;
    let mut params = json!({"name": "elicit", "arguments": {"message": "who?"}});
    let asked = client.request("tools/call", params.clone()).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    suffer(&mut life, Nemesis::Kill).await;
    params["requestState"] = asked["result"]["requestState"].clone();
    let keys = asked["result"]["inputRequests"].as_object().unwrap();
    let answers = keys
        .keys()
        .map(|key| (key.clone(), json!({"action": "accept", "content": {}})));
    params["inputResponses"] = Value::Object(answers.collect());
    let refused = client.request("tools/call", params).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let text = refused["error"]["message"].as_str().unwrap();
    assert!(text.contains("ask again"), "{text}");
}

/// Where nothing can be kept, everything else works, and it is said.
#[tokio::test]
async fn without_a_place_to_keep_them_sessions_end_with_their_gateway() {
    let (world, _server) = world().await;
    world.write("home/.local/state/switchboard/sessions", "in the way");
    let mut life = Life::begin(&world, &["--no-auth"]).await;
    life.program()
        .wait_for_line("sessions of clients end with this gateway")
        .await;
    let mut client = legacy(&life, "/mcp").await;
    let said = client.call("far__echo", json!({"nonce": "n"})).await;
    assert_eq!(text_of(&said), "n");
    suffer(&mut life, Nemesis::Restart).await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    assert_eq!(client.post(ping).await.status, StatusCode::NOT_FOUND);
}
