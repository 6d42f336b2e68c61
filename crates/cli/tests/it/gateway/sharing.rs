//! Clients that share a server: what each of them asked for stays its own.
//! Interleaved subscriptions have a test of their own (`host/tests/it/subscriptions.rs`).

use crate::support::dialogue;
use http::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    time::{Duration, Instant},
};
use switchboard_testkit::world::{
    self, Client, Gateway, World, able_to, command, echo, http, news, servers, to_the_end, until,
};
use switchboard_testkit::{LATE, LEGACY, record, text_of};
use tokio::task::JoinSet;

const LONG: Duration = Duration::from_secs(30);

/// One server of the handshake era that everybody shares.
fn shared() -> Value {
    servers([("echo", echo(&["--era", "legacy"]))])
}

#[tokio::test]
async fn equal_progress_tokens_do_not_meet() {
    let gateway = Gateway::start(&shared()).await;
    let mut running = JoinSet::new();
    for n in 1..=8_u64 {
        let modern = n % 2 == 0;
        let mut client = Client::new(&gateway, "/mcp/echo", modern).await;
        running.spawn(async move {
            let steps = 3 + n;
            let params = json!({"name": "progress", "arguments": {"steps": steps, "intervalMs": 5},
                "_meta": {"progressToken": "the same"}});
            let (told, answer) = to_the_end(client.stream("tools/call", params).await).await;
            assert_eq!(text_of(&answer), format!("{steps} steps"));
            let own: Vec<_> = told.iter().map(|said| &said["params"]).collect();
            assert!(
                own.iter().all(|said| said["progressToken"] == "the same"),
                "{own:?}"
            );
            assert!(
                own.iter().all(|said| said["total"] == steps),
                "somebody else's: {own:?}"
            );
            assert_eq!(
                own.last().map(|said| &said["progress"]),
                Some(&json!(steps))
            );
        });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
}

/// What a recording server was asked for, by method.
fn levels(record: &Path) -> Vec<String> {
    let messages = record::read(record).unwrap_or_default();
    let parsed = messages
        .iter()
        .filter_map(|raw| serde_json::from_slice::<Value>(raw).ok());
    parsed
        .filter(|message| message["method"] == "logging/setLevel")
        .map(|message| {
            message["params"]["level"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        })
        .collect()
}

/// The server is asked for the most verbose level that anybody wants, and for
/// less when whoever wanted that has gone.
#[tokio::test]
async fn the_server_hears_the_most_verbose_level() {
    let folder = tempfile::tempdir().unwrap();
    let (script, record) = (folder.path().join("script"), folder.path().join("record"));
    let hello = json!({"protocolVersion": LEGACY, "capabilities": {"logging": {}, "tools": {}},
        "serverInfo": {"name": "r", "version": "1"}});
    let lines = [
        json!({"method": "initialize", "reply": hello.to_string()}),
        json!({"method": "logging/setLevel", "reply": "{}"}),
    ];
    fs::write(&script, lines.map(|line| line.to_string()).join("\n")).unwrap();
    let args = [
        "--stdio",
        "--era",
        "legacy",
        "--script",
        script.to_str().unwrap(),
        "--record",
        record.to_str().unwrap(),
    ];
    let gateway = Gateway::start(&servers([("r", command("recorder", args))])).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        clients.push(Client::new(&gateway, "/mcp/r", false).await);
    }
    let mut heard: Vec<&str> = Vec::new();
    for (at, level, told) in [
        (0, "error", true),
        (1, "debug", true),
        (2, "warning", false),
        (0, "alert", false),
        (1, "notice", true),
    ] {
        clients[at]
            .result("logging/setLevel", json!({"level": level}))
            .await;
        heard.extend(told.then_some(level));
        assert_eq!(levels(&record), heard, "after {level}");
    }
    // The most verbose goes: the next but one is enough.
    clients[1].http.send(Method::DELETE, &[], "").await;
    heard.push("warning");
    let seen = until(LONG, || (levels(&record) == heard).then_some(())).await;
    assert!(seen.is_some(), "{:?} and not {heard:?}", levels(&record));
}

/// Each client hears its own level and above, also where the server cannot say
/// whose call it logs about, and also after the server came back.
#[tokio::test]
async fn each_client_has_its_own_level() {
    let gateway = Gateway::start(&shared()).await;
    let mut quiet = Client::new(&gateway, "/mcp/echo", false).await;
    let mut chatty = Client::new(&gateway, "/mcp/echo", false).await;
    quiet
        .result("logging/setLevel", json!({"level": "error"}))
        .await;
    chatty
        .result("logging/setLevel", json!({"level": "debug"}))
        .await;
    for round in 0..2 {
        for (client, own) in [(&mut quiet, 1), (&mut chatty, 3)] {
            let mut heard = 0;
            for level in ["debug", "warning", "critical"] {
                let params = json!({"name": "log", "arguments": {"level": level, "text": "x"}});
                let (told, _) = to_the_end(client.stream("tools/call", params).await).await;
                heard += told.len();
            }
            assert_eq!(heard, own, "round {round}");
        }
        let pid = quiet.call("pid", json!({})).await;
        kill(&pid);
        let back = async {
            while quiet
                .try_call("pid", json!({}))
                .await
                .get("error")
                .is_some()
            {}
        };
        tokio::time::timeout(LONG, back)
            .await
            .expect("it comes back");
    }
}

fn kill(pid: &str) {
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
}

/// What one client can do is not what another can.
#[tokio::test]
async fn capabilities_are_each_clients_own() {
    let gateway = Gateway::start(&shared()).await;
    let mut able = Client::new(&gateway, "/mcp/echo", false).await;
    let mut bare = able_to(&gateway, "/mcp/echo", json!({})).await;
    let mut sampler = able_to(&gateway, "/mcp/echo", json!({"sampling": {}})).await;
    for _ in 0..2 {
        let (questions, answer) = dialogue::call(&mut able, "elicit", json!({})).await;
        assert_eq!(questions.len(), 1, "{answer}");
        for client in [&mut bare, &mut sampler] {
            let answer = client.call("elicit", json!({})).await;
            assert!(answer.to_string().contains("-32601"), "{answer}");
        }
    }
}

/// A question that cannot be told apart is answered with an error and logged
/// once. From then on clients take turns, and each is asked its own question.
#[tokio::test]
async fn after_a_question_that_is_nobodys_clients_take_turns() {
    let stage = World::with(&shared());
    let gateway =
        Gateway::launch(stage.launch(&["serve", "--http", "127.0.0.1:0", "--no-auth"])).await;
    let mut one = Client::new(&gateway, "/mcp/echo", false).await;
    let mut two = Client::new(&gateway, "/mcp/echo", false).await;
    let params = json!({"name": "elicit", "arguments": {"message": "the first"}});
    let mut first = one.stream("tools/call", params).await;
    let question = first.message().await.unwrap();
    assert_eq!(question["params"]["message"], "the first");
    let answer = two.try_call("elicit", json!({"message": "whose?"})).await;
    assert!(
        answer.to_string().contains("nothing says whose"),
        "{answer}"
    );
    // Whoever is asked has given the turn back: the next one's question is its own.
    let params = json!({"name": "elicit", "arguments": {"message": "the second"}});
    let mut second = two.stream("tools/call", params).await;
    let its_own = news(&mut second, LONG).await.expect("its turn");
    assert_eq!(its_own["params"]["message"], "the second");
    for (client, stream, question) in [
        (&mut one, &mut first, question),
        (&mut two, &mut second, its_own),
    ] {
        let reply =
            json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
        client.http.post(reply.to_string()).await;
        let answer = news(stream, LONG).await.expect("an answer");
        assert!(text_of(&answer).contains("decline"), "{answer}");
    }

    let mut running = JoinSet::new();
    for n in 0..6 {
        // Modern ones without a key would all be the same client.
        let path = format!("/mcp/@client{n}/echo");
        let mut client = Client::new(&gateway, &path, n % 3 == 2).await;
        running.spawn(async move {
            for round in 0..3 {
                let own = format!("client {n}, round {round}");
                let (questions, answer) =
                    dialogue::call(&mut client, "elicit", json!({"message": own})).await;
                let asked: Vec<_> = questions.iter().map(|q| &q["params"]["message"]).collect();
                assert_eq!(asked, [&json!(own)], "{answer}");
                assert!(text_of(&answer).contains("blue"), "{answer}");
            }
        });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
    let said = gateway.program.stderr();
    let warnings = said.matches("could not be told apart").count();
    assert_eq!(warnings, 1, "{said}");
    // It is written down in a moment, for those who ask later.
    let mut told = String::new();
    for _ in 0..100 {
        told = stage.run(&["explain", "echo"]).await.ok().out;
        if told.contains("\"isolation\": \"session\"") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{told}");
}

/// A reader that stops costs nobody else anything; when it reads on it has
/// missed progress, but not the newest, and not its answer.
#[tokio::test]
async fn a_reader_that_stops() {
    const STEPS: u64 = 6000;
    let gateway = Gateway::start(&shared()).await;
    let mut stopped = Client::new(&gateway, "/mcp/echo", false).await;
    let mut other = Client::new(&gateway, "/mcp/echo", false).await;
    let params = json!({"name": "progress", "arguments": {"steps": STEPS, "intervalMs": 0},
        "_meta": {"progressToken": "p".repeat(4000)}});
    let mut stream = stopped.stream("tools/call", params).await;
    stream.message().await.unwrap();
    let begun = Instant::now();
    let mut calls = 0;
    while begun.elapsed() < Duration::from_secs(3) {
        let nonce = format!("n{calls}");
        let asked = Instant::now();
        assert_eq!(other.call("echo", json!({"nonce": nonce})).await, nonce);
        assert!(
            asked.elapsed() < Duration::from_secs(5) + LATE,
            "{:?}",
            asked.elapsed()
        );
        calls += 1;
    }
    let worker = gateway.worker().await;
    let memory = world::kib(worker, "status", "VmHWM") / 1024;
    assert!(memory < 200, "{memory} MiB");
    // Progress is still coming, or has been dropped: either way it ends well.
    let (told, answer) = to_the_end(stream).await;
    assert_eq!(text_of(&answer), format!("{STEPS} steps"));
    assert!(
        (told.len() as u64) < STEPS,
        "nothing was dropped: the reader never stopped"
    );
    assert_eq!(
        told.last().unwrap()["params"]["progress"],
        STEPS,
        "the newest is kept"
    );
}

/// After the server died its three subscriptions are there again before anybody
/// can call it.
#[tokio::test]
async fn a_reconnect_with_three_subscriptions() {
    let gateway = Gateway::start(&shared()).await;
    let mut one = Client::new(&gateway, "/mcp/echo", false).await;
    let mut two = Client::new(&gateway, "/mcp/echo", false).await;
    let (mut of_one, mut of_two) = (one.http.listen().await, two.http.listen().await);
    for uri in ["echo://1", "echo://2"] {
        one.result("resources/subscribe", json!({"uri": uri})).await;
    }
    for uri in ["echo://2", "echo://3"] {
        two.result("resources/subscribe", json!({"uri": uri})).await;
    }
    for _ in 0..3 {
        let pid = one.call("pid", json!({})).await;
        kill(&pid);
        let back = async {
            loop {
                let answer = one.try_call("pid", json!({})).await;
                if answer.get("result").is_some() && text_of(&answer) != pid {
                    return;
                }
            }
        };
        tokio::time::timeout(LONG, back)
            .await
            .expect("it comes back");
        for uri in ["echo://1", "echo://2", "echo://3"] {
            one.call("touch", json!({"uri": uri})).await;
        }
        for (stream, own) in [
            (&mut of_one, ["echo://1", "echo://2"]),
            (&mut of_two, ["echo://2", "echo://3"]),
        ] {
            let mut heard = BTreeSet::new();
            while heard.len() < 2 {
                let message = news(stream, LONG).await.expect("an update");
                if message["method"] == "notifications/resources/updated" {
                    heard.insert(message["params"]["uri"].as_str().unwrap().to_owned());
                }
            }
            assert_eq!(heard, own.map(String::from).into());
        }
    }
}

/// Modern clients have no session: the key that they give tells them apart,
/// and without one all of a principal are the same client.
#[tokio::test]
async fn a_key_tells_modern_clients_apart() {
    let mut entry = echo(&[]);
    entry["isolation"] = "session".into();
    let gateway = Gateway::launch(http(&servers([("echo", entry)]))).await;
    let mut pids: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (who, path, header) in [
        ("a", "/mcp/@a/echo", None),
        ("a", "/mcp/@a/echo", None),
        ("a", "/mcp/echo", Some("a")),
        ("b", "/mcp/@b/echo", None),
        ("nobody", "/mcp/echo", None),
        ("nobody", "/mcp/echo", None),
    ] {
        let mut client = Client::new(&gateway, path, true).await;
        if let Some(key) = header {
            client
                .http
                .headers
                .insert("switchboard-client".into(), key.into());
        }
        let pid = client.call("pid", json!({})).await;
        pids.entry(who).or_default().insert(pid);
    }
    assert!(pids.values().all(|copies| copies.len() == 1), "{pids:?}");
    let all: BTreeSet<_> = pids.values().flatten().collect();
    assert_eq!(all.len(), 3, "{pids:?}");
}

/// The roots of an entry are told by us; a client's own are not for a server
/// that it shares.
#[tokio::test]
async fn roots_of_an_entry() {
    let mut entry = echo(&["--era", "legacy"]);
    entry["roots"] = json!(["/srv/one", "file:///srv/two"]);
    let gateway = Gateway::start(&servers([("echo", entry)])).await;
    for able in [json!({}), json!({"roots": {}})] {
        let mut client = able_to(&gateway, "/mcp/echo", able).await;
        let told = client.call("roots", json!({})).await;
        let told: Value = serde_json::from_str(text_of(&told)).unwrap();
        let both = json!([{"uri": "file:///srv/one"}, {"uri": "file:///srv/two"}]);
        assert_eq!(told["roots"], both, "{told}");
    }
}
