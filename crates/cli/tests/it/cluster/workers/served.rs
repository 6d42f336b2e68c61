//! A server of a worker is used like any other.

use super::{super::Fleet, any, pid};
use http::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use switchboard_testkit::{
    HttpClient, text_of,
    world::{able_to, to_the_end},
};

const SOON: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_worker_s_server_is_one_of_those_of_every_replica() {
    let fleet = Fleet::of_workers(2, any()).await;
    let _home = fleet.worker("home", &["--label", "place=home"]).await;
    let mut pids = Vec::new();
    for replica in &fleet.replicas {
        let mut client = replica.legacy().await;
        pids.push(pid(&mut client).await);
        for nonce in ["n".to_owned(), "x".repeat(3_000_000)] {
            let said = client.call("notes__echo", json!({"nonce": nonce})).await;
            assert_eq!(text_of(&said), nonce);
        }
        let listed = client.request("tools/list", json!({})).await;
        assert!(listed.to_string().contains("notes__echo"), "{listed}");
    }
    assert_eq!(pids[0], pids[1], "it is the same process");
    let workers = fleet.workers().await;
    let [home] = &workers[..] else {
        panic!("{workers:?}")
    };
    assert_eq!(home["worker"], "home");
    assert_eq!(home["offers"], json!(["notes"]));
    assert_eq!(home["labels"], json!({"place": "home"}));
    let world = &fleet.replicas[0].world;
    let got = world.run(&["get", "notes", "--json"]).await.ok().json();
    assert!(got.to_string().contains("worker"), "{got}");
    let listed = world.run(&["list", "--json"]).await.ok().json();
    assert!(listed.to_string().contains("connected"), "{listed}");
}

/// Progress, questions and cancellations cross as they would without a worker, in both eras.
#[tokio::test]
async fn what_belongs_to_a_call_crosses_both_ways() {
    let fleet = Fleet::of_workers(1, any()).await;
    let _home = fleet.worker("home", &[]).await;
    let replica = &fleet.replicas[0];
    let able = json!({"elicitation": {"form": {}}});
    let mut client = able_to(&replica.url, "/mcp", able).await;
    pid(&mut client).await;
    let params = json!({"name": "notes__progress", "arguments": {"steps": 3, "intervalMs": 200},
        "_meta": {"progressToken": "mine"}});
    let (told, answer) = to_the_end(client.stream("tools/call", params).await).await;
    assert_eq!(text_of(&answer), "3 steps");
    let is_progress = |it: &Value| it["params"]["progressToken"] == "mine";
    assert!(told.iter().any(is_progress), "{told:?}");

    let params = json!({"name": "notes__elicit", "arguments": {"message": "well?"}});
    let mut stream = client.stream("tools/call", params.clone()).await;
    let question = stream.message().await.expect("a question");
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert_eq!(question["params"]["message"], "[notes] well?");
    let content = json!({"action": "accept", "content": {"answer": "yes, really"}});
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": content});
    client.post(answer.to_string()).await;
    let (_, answer) = to_the_end(stream).await;
    assert!(text_of(&answer).contains("yes, really"), "{answer}");

    // A modern client is asked by what the call brings, and comes again with the answer.
    let mut modern = HttpClient::new(&format!("{}/mcp", replica.url));
    let asked = modern.modern("tools/call", params.clone()).await.message();
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required", "{asked}");
    let requests = result["inputRequests"].as_object().expect("questions");
    let (name, request) = requests.iter().next().expect("a question");
    assert_eq!(request["method"], "elicitation/create", "{request}");
    let mut again = params;
    again["inputResponses"] = json!({name: content});
    again["requestState"] = result["requestState"].clone();
    let said = modern.modern("tools/call", again).await.message();
    assert!(said.to_string().contains("yes, really"), "{said}");

    let params = json!({"name": "notes__sleep", "arguments": {"ms": 600_000}});
    let slow = json!({"jsonrpc": "2.0", "id": "slow", "method": "tools/call", "params": params});
    let stream = client.open(Method::POST, &[], slow.to_string()).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": "slow"}});
    client.post(cancel.to_string()).await;
    let begun = Instant::now();
    while text_of(&client.call("notes__cancelled", json!({})).await) != "1" {
        assert!(begun.elapsed() < SOON, "the server was not told");
    }
    drop(stream);
}

/// Those who share a server are led to the same worker by every replica; each of those who
/// do not has its own, and they are spread.
#[tokio::test]
async fn copies_are_spread_and_shared_as_the_entry_says() {
    let entry = json!({"type": "worker", "isolation": "session", "workers": ["w*"]});
    let fleet = Fleet::of_workers(1, entry).await;
    let _other = fleet.worker("home", &[]).await;
    let [one, two] = [fleet.worker("w1", &[]).await, fleet.worker("w2", &[]).await];
    let mut clients = Vec::new();
    let mut pids = std::collections::HashSet::new();
    for _ in 0..4 {
        let mut client = fleet.replicas[0].legacy().await;
        pids.insert(pid(&mut client).await);
        clients.push(client);
    }
    assert_eq!(pids.len(), 4, "each has its own");
    let begun = Instant::now();
    loop {
        let workers = fleet.workers().await;
        let links = |name: &str| {
            let named = workers.iter().find(|worker| worker["worker"] == name);
            named.map_or(0, |worker| worker["links"].as_u64().unwrap_or(0))
        };
        // A client asks by one link; what was asked for before there was one may have another.
        if links("w1") >= 2 && links("w2") >= 2 {
            assert_eq!(links("home"), 0, "{workers:?}");
            break;
        }
        assert!(begun.elapsed() < SOON, "{workers:?}");
    }
    drop((one, two));
}

/// Asks until this is said of the server: a replica hears of a worker first, and then of
/// what it offers.
async fn until_said(client: &mut HttpClient, text: &str) {
    let begun = Instant::now();
    loop {
        let said = client.call("notes__pid", json!({})).await.to_string();
        if said.contains(text) {
            return;
        }
        assert!(begun.elapsed() < SOON, "{said}");
    }
}

/// What an entry asks for decides which workers run it; where none does, that is said.
#[tokio::test]
async fn a_server_runs_where_its_entry_says() {
    let entry = json!({"type": "worker", "server": "other", "labels": {"gpu": "yes"}});
    let fleet = Fleet::of_workers(1, entry).await;
    let mut client = fleet.replicas[0].legacy().await;
    until_said(&mut client, "no worker is connected").await;
    let _home = fleet.worker("home", &[]).await;
    until_said(&mut client, "no worker offers").await;
    let both = super::servers([("other", super::echo(&[])), ("notes", super::echo(&[]))]);
    let _plain = fleet.worker_with("plain", &both, &[]).await;
    until_said(&mut client, "are not what the entry asks for").await;
    let gpu = fleet
        .worker_with("gpu", &both, &["--label", "gpu=yes", "--offer", "other"])
        .await;
    pid(&mut client).await;
    assert!(!gpu.program.stderr().contains("in vain"));
}
