//! Two copies of one server behind `/mcp`: everything of each can be reached,
//! and what happens to one does not disturb the other.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::time::Duration;
use switchboard_testkit::world::{Client, Gateway, address, command, echo, echo_http, servers};
use switchboard_testkit::{DEADLINE, EventStream, LATE, Program, bin};

/// Everything that a client can do, with each of the two.
async fn each_is_reached(all: &Value, modern: bool) {
    let gateway = Gateway::start(all).await;
    let mut client = Client::new(&gateway, "/mcp", modern).await;
    let tools = client.list("tools/list", "tools", "name").await;
    let prompts = client.list("prompts/list", "prompts", "name").await;
    let resources = client.list("resources/list", "resources", "uri").await;
    let templates = client
        .list(
            "resources/templates/list",
            "resourceTemplates",
            "uriTemplate",
        )
        .await;
    let mut pids = Vec::new();
    for (server, other) in [("left", "right"), ("right", "left")] {
        let own = |name: &str| format!("{server}__{name}");
        let uri = format!("{server}+echo://1");
        assert!(tools.contains(&own("echo")), "{tools:?}");
        assert!(prompts.contains(&own("greet")), "{prompts:?}");
        assert!(resources.contains(&uri), "{resources:?}");
        assert!(
            templates.contains(&format!("{server}+echo://{{n}}")),
            "{templates:?}"
        );

        let nonce = client.call(&own("echo"), json!({"nonce": server})).await;
        assert_eq!(nonce, server);
        pids.push(client.call(&own("pid"), json!({})).await);

        let read = client.result("resources/read", json!({"uri": uri})).await;
        assert_eq!(read["contents"][0]["text"], "echo 1");
        assert_eq!(read["contents"][0]["uri"], uri.as_str(), "it leads back");

        let params = json!({"name": own("greet"), "arguments": {"name": server}});
        let prompt = client.result("prompts/get", params).await;
        assert_eq!(
            prompt["messages"][0]["content"]["text"],
            format!("Greet {server}.")
        );

        let argument = json!({"name": "name", "value": "o"});
        for reference in [
            json!({"type": "ref/prompt", "name": own("greet")}),
            json!({"type": "ref/resource", "uri": format!("{server}+echo://{{n}}")}),
        ] {
            let params = json!({"ref": reference, "argument": argument});
            let result = client.result("completion/complete", params).await;
            assert_eq!(result["completion"]["values"], json!(["one", "two"]));
        }

        let mut news = subscribe(&mut client, &uri).await;
        let touch = |server: &str| format!("{server}__touch");
        client.call(&touch(other), json!({"uri": "echo://1"})).await;
        client
            .call(&touch(server), json!({"uri": "echo://1"}))
            .await;
        let update = news.message().await.unwrap();
        assert_eq!(update["method"], "notifications/resources/updated");
        assert_eq!(update["params"]["uri"], uri.as_str());
        let more = news.next_within(Duration::from_millis(150)).await;
        assert!(
            more.is_none(),
            "told of another server's resource: {more:?}"
        );
        unsubscribe(&mut client, &uri).await;
    }
    assert_ne!(pids[0], pids[1], "both are the same copy");
    ambiguous(&mut client).await;
}

/// What both have needs a server; what nobody has is said plainly.
async fn ambiguous(client: &mut Client) {
    let answer = client
        .request("resources/read", json!({"uri": "echo://1"}))
        .await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let candidates = answer["error"]["data"]["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 2, "{answer}");
    let answer = client.try_call("echo", json!({"nonce": "x"})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let answer = client.try_call("middle__echo", json!({"nonce": "x"})).await;
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

/// A stream on which updates of this resource come.
async fn subscribe(client: &mut Client, uri: &str) -> EventStream {
    if !client.modern {
        let news = client.http.listen().await;
        client
            .result("resources/subscribe", json!({"uri": uri}))
            .await;
        return news;
    }
    let filter = json!({"notifications": {"resourceSubscriptions": [uri]}});
    let mut news = client.stream("subscriptions/listen", filter).await;
    let first = news.message().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    news
}

/// The next update of a resource, whatever else is told before it.
async fn next_update(news: &mut EventStream) -> Value {
    let search = async {
        loop {
            let message = news.message().await.expect("the stream lives on");
            if message["method"] == "notifications/resources/updated" {
                return message;
            }
        }
    };
    let found = tokio::time::timeout(DEADLINE, search).await;
    found.expect("an update of the resource")
}

async fn unsubscribe(client: &mut Client, uri: &str) {
    if !client.modern {
        client
            .result("resources/unsubscribe", json!({"uri": uri}))
            .await;
    }
}

#[tokio::test]
async fn legacy_client_of_processes() {
    each_is_reached(&servers([("left", echo(&[])), ("right", echo(&[]))]), false).await;
}

#[tokio::test]
async fn modern_client_of_processes() {
    each_is_reached(&servers([("left", echo(&[])), ("right", echo(&[]))]), true).await;
}

#[tokio::test]
async fn both_clients_of_a_process_and_an_address() {
    let right = echo_http(&[]);
    let all = servers([("left", echo(&[])), ("right", address(&right).await)]);
    each_is_reached(&all, false).await;
    each_is_reached(&all, true).await;
}

fn kill(pid: &str) {
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

/// Calls of one server, one after the other, until it is told to stop.
struct Canary {
    stop: tokio::sync::oneshot::Sender<()>,
    calls: tokio::task::JoinHandle<()>,
}

impl Canary {
    async fn start(gateway: &Gateway, modern: bool) -> Self {
        let mut client = Client::new(gateway, "/mcp", modern).await;
        let pid = client.call("right__pid", json!({})).await;
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        let calls = tokio::spawn(async move {
            let mut calls = 0;
            // On a fast machine the other's trouble is over soon: what comes
            // right after it must be undisturbed, too.
            while calls <= 10 || stopped.try_recv().is_err() {
                calls += 1;
                let count = client.call("right__count", json!({})).await;
                assert_eq!(count, calls.to_string(), "a call was lost or came twice");
                assert_eq!(
                    client.call("right__pid", json!({})).await,
                    pid,
                    "it was restarted"
                );
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        Self { stop, calls }
    }

    async fn undisturbed(self) {
        self.stop.send(()).unwrap();
        let calls = self.calls.await;
        calls.expect("no call of the other server failed");
    }
}

/// One is killed in the middle of a call, again and again.
async fn one_dies(modern: bool) {
    let gateway = Gateway::start(&servers([("left", echo(&[])), ("right", echo(&[]))])).await;
    let mut client = Client::new(&gateway, "/mcp", modern).await;
    let canary = Canary::start(&gateway, modern).await;
    let uri = "left+echo://2";
    let mut news = subscribe(&mut client, uri).await;
    for _ in 0..3 {
        let pid = client.call("left__pid", json!({})).await;
        let mut waiting = Client::new(&gateway, "/mcp", modern).await;
        // One that acts: it may have been carried out, so it is not made again.
        let acting = json!({"delayMs": 30_000});
        let sleeping = tokio::spawn(async move { waiting.try_call("left__count", acting).await });
        tokio::time::sleep(Duration::from_millis(100)).await;
        kill(&pid);
        // The call in flight fails at once, and says whose fault it is.
        let answer = tokio::time::timeout(DEADLINE, sleeping).await;
        let answer = answer
            .expect("the call in flight ends with its server")
            .unwrap();
        assert!(
            answer["error"]["message"]
                .as_str()
                .unwrap()
                .contains("left"),
            "{answer}"
        );
        let tools = client.list("tools/list", "tools", "name").await;
        assert!(
            tools.contains(&"left__echo".to_owned()),
            "its tools vanished"
        );
        assert!(tools.contains(&"right__echo".to_owned()));
        // It comes back when it is needed.
        let again = client.call("left__pid", json!({})).await;
        assert_ne!(again, pid);
        // And what was subscribed stays so.
        client.call("left__touch", json!({"uri": "echo://2"})).await;
        let update = next_update(&mut news).await;
        assert_eq!(update["params"]["uri"], uri);
    }
    canary.undisturbed().await;
}

#[tokio::test]
async fn one_dies_and_comes_back_legacy() {
    one_dies(false).await;
}

#[tokio::test]
async fn one_dies_and_comes_back_modern() {
    one_dies(true).await;
}

/// The same over HTTP: the address is dead for a while.
#[tokio::test]
async fn an_address_dies_and_comes_back() {
    let left = echo_http(&["--name", "first"]);
    let entry = address(&left).await;
    let port = entry["url"].as_str().unwrap().rsplit(':').next().unwrap();
    let port = port.trim_end_matches("/mcp").to_owned();
    let gateway = Gateway::start(&servers([("left", entry), ("right", echo(&[]))])).await;
    for modern in [false, true] {
        let mut client = Client::new(&gateway, "/mcp", modern).await;
        assert_eq!(client.call("left__echo", json!({"nonce": "a"})).await, "a");
    }
    let canary = Canary::start(&gateway, false).await;
    drop(left);
    let mut client = Client::new(&gateway, "/mcp", false).await;
    let answer = client.try_call("left__echo", json!({"nonce": "b"})).await;
    assert!(
        answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("left"),
        "{answer}"
    );
    let _left = Program::new(bin("echo-server"))
        .args(["--http", &port])
        .spawn();
    // Attempts are spaced out, so it may take a moment.
    for modern in [false, true] {
        let mut client = Client::new(&gateway, "/mcp", modern).await;
        let mut back = false;
        for _ in 0..40 {
            let answer = client.try_call("left__echo", json!({"nonce": "c"})).await;
            back = answer.get("result").is_some();
            if back {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert!(back, "modern {modern}: it never came back");
    }
    canary.undisturbed().await;
}

/// A cursor is a place in the list, whoever comes or goes meanwhile.
#[tokio::test]
async fn cursors_survive() {
    let many = |n: &str| command("evil-stdio", ["--mode", "tools-many", "--limit", n]);
    let all = servers([("a", many("600")), ("b", many("600"))]);
    let gateway = Gateway::start(&all).await;
    for modern in [false, true] {
        let mut client = Client::new(&gateway, "/mcp", modern).await;
        let first = client.result("tools/list", json!({})).await;
        let cursor = first["nextCursor"].as_str().unwrap().to_owned();
        let stats = client.call("a__stats", json!({})).await;
        let stats: Value = serde_json::from_str(&stats).unwrap();
        kill(&stats["pid"].to_string());
        let after = client.result("tools/list", json!({"cursor": cursor})).await;
        // Another gateway, with the same servers, goes on where the first stopped.
        let other = Gateway::start(&all).await;
        let mut client = Client::new(&other, "/mcp", modern).await;
        let elsewhere = client.result("tools/list", json!({"cursor": cursor})).await;
        assert_eq!(after["tools"], elsewhere["tools"]);
        let names = |page: &Value| -> Vec<String> {
            let tools = page["tools"].as_array().unwrap();
            tools.iter().map(|tool| tool["name"].to_string()).collect()
        };
        let mut seen = names(&first);
        assert_eq!(seen.len(), 1000);
        seen.extend(names(&after));
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!((seen.len(), count), (1206, 1206), "none twice, none lost");
        assert!(after.get("nextCursor").is_none());
        let answer = client
            .request("tools/list", json!({"cursor": "made-up"}))
            .await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

/// A server that never starts costs the first list a moment, and the others nothing.
#[tokio::test]
async fn one_that_hangs_does_not_hold_up_the_other() {
    let all = servers([
        ("left", command("evil-stdio", ["--mode", "hang-start"])),
        ("right", echo(&[])),
    ]);
    let gateway = Gateway::start(&all).await;
    let mut client = Client::new(&gateway, "/mcp", true).await;
    let started = std::time::Instant::now();
    let tools = client.list("tools/list", "tools", "name").await;
    assert!(tools.contains(&"right__echo".to_owned()), "{tools:?}");
    assert!(
        started.elapsed() < Duration::from_secs(6) + LATE,
        "{:?}",
        started.elapsed()
    );
    assert_eq!(client.call("right__echo", json!({"nonce": "n"})).await, "n");
}
