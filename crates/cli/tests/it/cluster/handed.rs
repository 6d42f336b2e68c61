//! What is handed on to the replica that has a session is what it would be there: it ends
//! with whoever may not come in any more, and with the replica that it was asked of.

use super::{Fleet, Replica, ping};
use http::StatusCode;
use rustix::process::Signal;
use serde_json::json;
use std::time::Duration;
use switchboard_testkit::{HttpClient, LEGACY, Reply, nats::Nats};
use tokio::time::sleep;

/// How long a call takes that nobody waits for to its end.
const LONG_MS: u64 = 80_000;

fn sleeping(id: usize) -> String {
    let params = json!({"name": "far__sleep", "arguments": {"ms": LONG_MS}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

/// Replicas that want tokens.
async fn guarded(count: usize) -> Fleet {
    let mut fleet = Fleet::on(Nats::one().await, 0).await;
    fleet.has_tokens = true;
    fleet.grow(count, &[]).await;
    fleet
}

/// Lets somebody in at a replica.
async fn comes_in(replica: &Replica, name: &str) -> HttpClient {
    let made = replica.world.run(&["token", "create", name]).await.ok();
    let bearer = format!("Bearer {}", made.out.trim());
    HttpClient::new(&format!("{}/mcp", replica.url)).header("authorization", &bearer)
}

/// Somebody with a session at the first replica, who asks the second: a client of each.
async fn across(fleet: &Fleet, name: &str) -> (HttpClient, HttpClient) {
    let mut there = comes_in(&fleet.replicas[0], name).await;
    there.initialize(LEGACY).await;
    let mut here = comes_in(&fleet.replicas[1], name).await;
    for name in ["mcp-session-id", "mcp-protocol-version"] {
        here.headers
            .insert(name.to_owned(), there.headers[name].clone());
    }
    super::until_ok(&mut here).await;
    (there, here)
}

fn plainly(client: HttpClient) -> HttpClient {
    client.header("accept", "application/json")
}

#[tokio::test]
async fn what_is_handed_on_is_not_answered_to_a_token_that_was_revoked() {
    let fleet = guarded(2).await;
    let (_, alice) = across(&fleet, "alice").await;
    let mut alice = plainly(alice);
    let calling = tokio::spawn(async move { alice.post(sleeping(1)).await });
    // So that it is under way; if it is not yet, it is refused as well.
    sleep(Duration::from_secs(2)).await;
    let revoked = fleet.replicas[1].world.run(&["token", "revoke", "alice"]);
    revoked.await.ok();
    let reply = calling.await.unwrap();
    assert_eq!(reply.status, StatusCode::UNAUTHORIZED, "{reply:?}");
}

#[tokio::test]
async fn a_replica_that_ends_says_what_became_of_what_it_has_handed_on() {
    let fleet = Fleet::start(2).await;
    let client = fleet.replicas[0].legacy().await;
    let mut client = plainly(fleet.replicas[1].as_well(&client));
    let calling = tokio::spawn(async move { client.post(sleeping(1)).await });
    sleep(Duration::from_secs(2)).await;
    fleet.replicas[1].program.signal(Signal::TERM);
    let reply = calling.await.unwrap();
    let answer = reply.message();
    assert_eq!(answer["error"]["data"]["outcome"], "unknown", "{answer}");
    assert_eq!(answer["id"], 1, "{answer}");
}

/// A request says more on its way to another replica than it said to the first.
#[tokio::test]
async fn heads_as_large_as_any_are_handed_on() {
    let fleet = Fleet::start(2).await;
    let client = fleet.replicas[0].legacy().await;
    for (count, length) in [(80, 10), (1, 63 * 1024), (200, 10), (1, 300 * 1024)] {
        let more = (0..count).map(|number| (format!("x-more-{number}"), "a".repeat(length)));
        let more: Vec<_> = more.collect();
        let more: Vec<_> = more
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        let at = |replica: &Replica| replica.as_well(&client).clone_for(&more);
        let (own, handed) = (
            at(&fleet.replicas[0]).post(ping()).await,
            at(&fleet.replicas[1]).post(ping()).await,
        );
        assert_eq!(own.status, handed.status, "{count} of {length}");
        assert_eq!(
            own.status == StatusCode::OK,
            count < 100 && length < 64 * 1024
        );
    }
}

/// One of several has at most half of the way to another replica.
#[tokio::test]
async fn nobody_fills_the_way_to_another_replica_for_others() {
    const ALL: usize = 1024;
    let fleet = guarded(2).await;
    let (_, alice) = across(&fleet, "alice").await;
    let (_, mut bob) = across(&fleet, "bob").await;
    let alice = plainly(alice);
    let mut calls = tokio::task::JoinSet::<Reply>::new();
    for id in 0..ALL * 5 / 8 {
        let mut alice = alice.clone_for(&[]);
        calls.spawn(async move { alice.post(sleeping(id)).await });
        // Shaking hands has a limit, and all of them at once would take longer.
        if id % 8 == 7 {
            sleep(Duration::from_millis(40)).await;
        }
    }
    // Those that have no room are told so at once.
    for _ in 0..ALL / 8 {
        let reply = calls.join_next().await.unwrap().unwrap();
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE, "{reply:?}");
        let said = reply.message()["error"]["message"].to_string();
        assert!(said.contains("yours are 512"), "{said}");
    }
    let reply = bob.post(ping()).await;
    assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
}
