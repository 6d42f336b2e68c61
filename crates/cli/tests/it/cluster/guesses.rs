//! Whoever guesses tokens is as slow at all replicas together as at one; and what a replica
//! does not begin where the others would not know of it.

use super::{AGAIN, Fleet, Replica, is_unknown, ping, private, until_ok};
use http::StatusCode;
use serde_json::json;
use std::time::Duration;
use switchboard_testkit::{HttpClient, LEGACY, nats::Nats, world::World};
use tokio::time::{Instant, sleep};

/// How long the answer to a guess is held back where there are too many.
const HELD_BACK: Duration = Duration::from_millis(250);

const GOOD: &str = "a-good-token-0123456789abcdefghijklmnopqrstuv";

/// Shows this token once; how long the answer took.
async fn shown(url: &str, token: &str) -> (StatusCode, Duration) {
    let client = HttpClient::new(&format!("{url}/mcp"));
    let bearer = format!("Bearer {token}");
    let mut client = client.header("authorization", &bearer);
    let begun = Instant::now();
    let reply = client.post(ping()).await;
    (reply.status, begun.elapsed())
}

/// Shows wrong tokens one after the other, until as many answers in a row as these were
/// held back, or none was.
async fn until_held_back(replica: &Replica, is_wanted: bool) {
    let begun = Instant::now();
    let mut in_a_row = 0;
    while in_a_row < if is_wanted { 4 } else { 2 } {
        let (status, took) = shown(&replica.url, "wrong-token-0123456789").await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
        in_a_row = match (took >= HELD_BACK) == is_wanted {
            true => in_a_row + 1,
            false => 0,
        };
        assert!(begun.elapsed() < AGAIN, "{is_wanted}");
        // So few are no guessing by themselves.
        sleep(HELD_BACK).await;
    }
}

#[tokio::test]
async fn wrong_tokens_are_counted_over_all_replicas() {
    let mut fleet = Fleet::on(Nats::one().await, 0).await;
    let file = World::new();
    let path = file.write("good", format!("{GOOD}\n"));
    private(&path);
    let token = ["--token-file", path.to_str().unwrap()];
    fleet.grow(2, &token).await;
    let [one, other] = &fleet.replicas[..] else {
        unreachable!("there are two")
    };
    // Nobody guesses anywhere.
    until_held_back(other, false).await;
    let guesses = (0..16).map(|_| {
        let url = one.url.clone();
        async move {
            loop {
                shown(&url, "another-wrong-token-0123").await;
            }
        }
    });
    let guessing = futures_util::future::join_all(guesses);
    tokio::pin!(guessing);
    let slowed = async {
        until_held_back(other, true).await;
        // A good token does not wait for that.
        let begun = Instant::now();
        loop {
            let (status, took) = shown(&other.url, GOOD).await;
            assert_ne!(status, StatusCode::UNAUTHORIZED);
            if took < HELD_BACK {
                break;
            }
            assert!(begun.elapsed() < AGAIN);
        }
    };
    tokio::select! {
        biased;
        _ = &mut guessing => unreachable!("it never ends"),
        () = slowed => {}
    }
    // Where nothing can be heard of the others, each counts for itself.
    fleet.nats.kill(0).await;
    let other = &fleet.replicas[1];
    tokio::select! {
        biased;
        _ = &mut guessing => unreachable!("it never ends"),
        () = until_held_back(other, false) => {}
    }
}

#[tokio::test]
async fn a_strict_replica_opens_no_session_that_would_end_with_it() {
    let mut fleet = Fleet::on(Nats::one().await, 0).await;
    fleet.certify(&fleet.folder.clone(), "r0").await;
    let replica = fleet.replica("r0", &["--cluster-strict"]).await;
    fleet.replicas.push(replica);
    fleet.until_all_are_known().await;
    let replica = &fleet.replicas[0];
    let mut before = replica.legacy().await;
    fleet.nats.kill(0).await;
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": LEGACY,
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"}
        }
    });
    let mut client = HttpClient::new(&format!("{}/mcp", replica.url));
    let reply = client.post(initialize.to_string()).await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE, "{reply:?}");
    assert!(reply.header("retry-after").is_some(), "{reply:?}");
    assert!(reply.header("mcp-session-id").is_none(), "{reply:?}");
    assert!(!is_unknown(&reply));
    // What it has goes on.
    until_ok(&mut before).await;
    let nats = &mut fleet.nats;
    nats.restart(0).await;
    let begun = Instant::now();
    let url = format!("{}/mcp", fleet.replicas[0].url);
    while HttpClient::new(&url)
        .post(initialize.to_string())
        .await
        .status
        != StatusCode::OK
    {
        assert!(begun.elapsed() < AGAIN);
        sleep(Duration::from_millis(100)).await;
    }
}
