//! Replicas that cannot dial each other: what is for one goes through NATS, and nobody sees
//! the difference.

use super::{AGAIN, Fleet, is_unknown, ping, until_ok, wire::Listener};
use http::{Method, StatusCode};
use serde_json::json;
use std::time::{Duration, Instant};
use switchboard_testkit::text_of;

/// An address where nobody listens.
const NOWHERE: [&str; 2] = ["--cluster-advertise", "127.0.0.1:1"];

impl Fleet {
    async fn undiallable(count: usize) -> Self {
        let mut fleet = Self::start(0).await;
        for number in 0..count {
            let name = format!("r{number}");
            fleet.certify(&fleet.folder.clone(), &name).await;
            let replica = fleet.replica(&name, &NOWHERE).await;
            fleet.replicas.push(replica);
        }
        fleet.until_all_are_known().await;
        fleet
    }
}

#[tokio::test]
async fn what_is_for_a_replica_that_cannot_be_dialled_goes_through_nats() {
    let mut fleet = Fleet::undiallable(2).await;
    let client = fleet.replicas[0].legacy().await;
    let mut other = fleet.replicas[1].as_well(&client);
    // More than may be on its way at once.
    for size in [1, 200_000, 3_000_000] {
        let text = "x".repeat(size);
        let said = other.call("far__echo", json!({"nonce": text})).await;
        assert_eq!(text_of(&said), text, "{size}");
    }
    let mut clients = Vec::new();
    for _ in 0..16 {
        let client = fleet.replicas[0].legacy().await;
        clients.push(fleet.replicas[1].as_well(&client));
    }
    let calls = clients
        .into_iter()
        .enumerate()
        .map(|(number, mut client)| async move {
            let nonce = number.to_string().repeat(10_000);
            let said = client.call("far__echo", json!({"nonce": nonce})).await;
            assert_eq!(text_of(&said), nonce);
        });
    futures_util::future::join_all(calls).await;
    // Both say which way is used.
    let begun = Instant::now();
    loop {
        let status = fleet.status().await;
        let over = status.iter().filter(|row| {
            let others = status.iter().filter(|other| other["id"] != row["id"]);
            let others: Vec<_> = others.map(|other| other["id"].clone()).collect();
            row["overNats"] == json!(others)
        });
        if over.count() == 2 {
            break;
        }
        assert!(begun.elapsed() < AGAIN, "{status:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    for replica in &fleet.replicas {
        let says = "goes through NATS";
        replica.program.wait_for_line(says).await;
    }
    // A session that is ended there has ended here.
    let gone = fleet.replicas[0].legacy().await;
    let ended = fleet.replicas[1]
        .as_well(&gone)
        .send(Method::DELETE, &[], "")
        .await;
    assert!(ended.status.is_success(), "{ended:?}");
    let reply = fleet.replicas[0].as_well(&gone).post(ping()).await;
    assert!(is_unknown(&reply), "{reply:?}");
    // What has gone is taken over as ever.
    fleet.replicas[0].kill().await;
    until_ok(&mut other).await;
    let said = other.call("far__echo", json!({"nonce": "n"})).await;
    assert_eq!(text_of(&said), "n");
}

/// Whoever reaches NATS opens no link, and disturbs none.
#[tokio::test]
async fn messages_that_no_replica_has_sent_are_refused_and_said() {
    let fleet = Fleet::undiallable(2).await;
    let mut listener = Listener::new(&fleet.nats.url()).await;
    let client = fleet.replicas[0].legacy().await;
    let mut other = fleet.replicas[1].as_well(&client);
    // New links, all of whose messages somebody hears, and sends again.
    let calls = (0..4).map(|_| {
        let mut client = fleet.replicas[1].as_well(&client);
        async move { client.call("far__echo", json!({"nonce": "canary"})).await }
    });
    futures_util::future::join_all(calls).await;
    let mut heard = Vec::new();
    let quiet = Duration::from_secs(1);
    while let Ok((subject, payload)) = tokio::time::timeout(quiet, listener.next()).await {
        if subject.contains(".post.") {
            assert!(!String::from_utf8_lossy(&payload).contains("canary"));
            heard.push((subject, payload));
        }
        if heard.len() > 200 {
            break;
        }
    }
    assert!(!heard.is_empty());
    for (subject, payload) in &heard {
        let end = payload.len() - 2;
        listener.publish(subject, &payload[..end]).await;
        let mut altered = payload[..end].to_vec();
        *altered.last_mut().unwrap() ^= 1;
        listener.publish(subject, &altered).await;
        listener.publish(subject, b"short").await;
    }
    let refused = "was not sent by a replica of this cluster";
    for replica in &fleet.replicas {
        replica.program.wait_for_line(refused).await;
    }
    let said = other.call("far__echo", json!({"nonce": "n"})).await;
    assert_eq!(text_of(&said), "n");
    let reply = other.post(ping()).await;
    assert_eq!(reply.status, StatusCode::OK);
}

/// A link that was kept for the next request leads to nobody once its replica was killed.
/// Whoever uses it next hears that at once from NATS, and not when what that replica has said
/// of itself has ended.
#[tokio::test]
async fn a_kept_link_through_nats_to_a_killed_replica_is_no_way() {
    let mut fleet = Fleet::undiallable(2).await;
    let client = fleet.replicas[0].legacy().await;
    let mut other = fleet.replicas[1].as_well(&client);
    let said = other.call("far__echo", json!({"nonce": "n"})).await;
    assert_eq!(text_of(&said), "n");
    // It is quiet for a while.
    tokio::time::sleep(Duration::from_secs(2)).await;
    fleet.replicas[0].kill().await;
    let reply = other.post(ping()).await;
    // What was sent to nobody is not known to have been; what is sent later finds another way.
    assert_eq!(reply.status, StatusCode::BAD_GATEWAY, "{reply:?}");
    let said = reply.message().to_string();
    assert!(said.contains("unknown"), "{said}");
    let log = fleet.replicas[1].program.stderr();
    assert!(log.contains("does not listen any more"), "{log}");
    until_ok(&mut other).await;
}
