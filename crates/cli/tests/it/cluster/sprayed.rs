//! Requests of one session at all replicas, in turn.

use super::{Fleet, is_unknown, ping, until_ok};
use http::{Method, StatusCode};
use serde_json::json;
use std::time::Duration;
use switchboard_testkit::{
    text_of,
    world::{news, to_the_end},
};

const SOON: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_session_is_the_same_at_every_replica() {
    let fleet = Fleet::start(3).await;
    for opened_at in &fleet.replicas {
        let client = opened_at.legacy().await;
        let session = client.headers["mcp-session-id"].clone();
        let parts: Vec<usize> = session.split('.').map(str::len).collect();
        assert_eq!(parts, [16, 32, 16], "{session}");
        for replica in &fleet.replicas {
            let mut client = replica.as_well(&client);
            for n in 0..5 {
                let nonce = format!("{} {n}", replica.url);
                let said = client.call("far__echo", json!({"nonce": nonce})).await;
                assert_eq!(text_of(&said), nonce);
            }
            // Large, both ways.
            let large = "x".repeat(300_000);
            let said = client.call("far__echo", json!({"nonce": large})).await;
            assert_eq!(text_of(&said).len(), large.len());
            // Events as they come.
            let arguments = json!({"steps": 3, "intervalMs": 60, "marker": "m"});
            let params = json!({"name": "far__progress", "arguments": arguments});
            let mut stream = client.stream("tools/call", params).await;
            assert!(stream.is_events());
            let first = stream.next().await.expect("an event").id.expect("a number");
            let (seen, answer) = to_the_end(stream).await;
            assert_eq!((seen.len(), text_of(&answer)), (3, "m"));
            // And the same once more, resumed at another one.
            for other in &fleet.replicas {
                let headers = [("accept", "text/event-stream"), ("last-event-id", &*first)];
                let again = other.as_well(&client).open(Method::GET, &headers, "").await;
                let (seen, answer) = to_the_end(again).await;
                assert_eq!((seen.len(), text_of(&answer)), (3, "m"));
            }
        }
    }
}

#[tokio::test]
async fn what_servers_say_reaches_a_session_through_any_replica() {
    let fleet = Fleet::start(2).await;
    let [one, other] = &fleet.replicas[..] else {
        panic!("two replicas")
    };
    let mut client = one.legacy().await;
    let mut there = other.as_well(&client);
    let uri = json!({"uri": "echo://1"});
    let said = there.request("resources/subscribe", uri.clone()).await;
    assert!(said.get("result").is_some(), "{said}");
    let mut general = there.listen().await;
    assert_eq!(general.status, StatusCode::OK);
    client.call("far__touch", uri).await;
    let told = loop {
        let message = news(&mut general, SOON).await.expect("something is told");
        if message["method"] == "notifications/resources/updated" {
            break message;
        }
    };
    assert_eq!(told["params"]["uri"], "echo://1");
}

#[tokio::test]
async fn a_session_that_was_ended_at_one_replica_has_ended_at_all() {
    let fleet = Fleet::start(2).await;
    let [one, other] = &fleet.replicas[..] else {
        panic!("two replicas")
    };
    let mut client = one.legacy().await;
    let mut there = other.as_well(&client);
    let ended = there.send(Method::DELETE, &[], "").await;
    assert_eq!(ended.status, StatusCode::OK);
    for client in [&mut client, &mut there] {
        let reply = client.post(ping()).await;
        assert!(is_unknown(&reply), "{reply:?}");
    }
}

/// A replica that has just come is not known to the others yet. Who is asked for a session
/// of it must not take it for dead: two would have the session then, each with another log
/// level, and one of them would have it still when it has ended.
#[tokio::test]
async fn a_session_of_a_replica_that_has_just_come_is_left_to_it() {
    let mut fleet = Fleet::start(1).await;
    for number in 1..4 {
        let name = format!("r{number}");
        fleet.certify(&fleet.folder.clone(), &name).await;
        let new = fleet.replica(&name, &[]).await;
        let mut client = new.legacy().await;
        let mut there = fleet.replicas[0].as_well(&client);
        // At once, and at another one.
        until_ok(&mut there).await;
        let level = json!({"level": "error"});
        let said = client.request("logging/setLevel", level).await;
        assert!(said.get("result").is_some(), "{said}");
        let params = json!({"name": "far__log", "arguments": {"level": "debug", "text": "x"}});
        let (told, _) = to_the_end(there.stream("tools/call", params).await).await;
        assert!(told.is_empty(), "{told:?}");
        let ended = client.send(Method::DELETE, &[], "").await;
        assert_eq!(ended.status, StatusCode::OK);
        for client in [&mut client, &mut there] {
            let reply = client.post(ping()).await;
            assert!(is_unknown(&reply), "{reply:?}");
        }
        fleet.replicas.push(new);
    }
}

#[tokio::test]
async fn the_replicas_are_shown() {
    let fleet = Fleet::start(2).await;
    let shown = fleet.status().await;
    assert_eq!(shown.len(), 2);
    for replica in &shown {
        assert_eq!(replica["id"].as_str().unwrap().len(), 16);
        assert_eq!(replica["draining"], false);
        let address = replica["address"].as_str().unwrap();
        assert!(address.starts_with("127.0.0.1:"), "{address}");
    }
    assert_ne!(shown[0]["certificate"], shown[1]["certificate"]);
    let (url, key) = (fleet.nats.url(), fleet.key());
    let args = [
        "cluster",
        "status",
        "--cluster",
        &url,
        "--cluster-key-file",
        &key,
    ];
    let text = fleet.world.run(&args).await.ok().out;
    assert_eq!(text.matches("sessions in memory").count(), 2, "{text}");
    // How far the store is, as soon as somebody has said so a second time.
    let begun = std::time::Instant::now();
    while !fleet.status().await.iter().any(|row| row["lagMs"].is_u64()) {
        assert!(begun.elapsed() < SOON);
    }
}
