//! What is refused, and said: workers that are not what they say, and servers that nobody
//! offers.

use super::{
    super::{AGAIN, Fleet},
    any,
};
use http::StatusCode;
use serde_json::json;
use switchboard_testkit::{
    HttpClient, LEGACY,
    world::{World, echo, servers},
};

const REFUSED: &str = "has not its certificate, or not the cluster's key: it is refused";

#[tokio::test]
async fn a_worker_is_who_its_certificate_says_and_nobody_else() {
    let fleet = Fleet::of_workers(1, any()).await;
    fleet.certify_worker("home").await;
    let world = World::with(&servers([("notes", echo(&[]))]));
    // Another's name, with a certificate of its own.
    let named = fleet.launch_worker(&world, "home", &["--name", "other"]);
    let (status, _, said) = named.output(AGAIN).await;
    assert_eq!(status.code(), Some(3), "{said}");
    assert!(said.contains("--worker makes one"), "{said}");
    // A replica's certificate.
    let replica = fleet.launch_worker(&world, "r0", &[]);
    let (status, _, said) = replica.output(AGAIN).await;
    assert_eq!(status.code(), Some(3), "{said}");
    // No name at all that NATS or a file could make up for: offers that are not there.
    let missing = fleet.launch_worker(&world, "home", &["--offer", "nothing"]);
    let (status, _, said) = missing.output(AGAIN).await;
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(said.contains("--offer"), "{said}");
}

/// A certificate of a worker opens nothing that is for replicas.
#[tokio::test]
async fn a_worker_s_certificate_is_no_replica_s() {
    let fleet = Fleet::of_workers(1, any()).await;
    fleet.certify_worker("home").await;
    let world = World::with(&fleet.servers);
    let stranger = fleet.launch(&world, &fleet.folder.join("home.pem"), &[]);
    let url = stranger.url().await;
    let client = fleet.replicas[0].legacy().await;
    let mut there = HttpClient::new(&format!("{url}/mcp"));
    there.headers = client.headers.clone();
    let ping = super::super::ping();
    let reply = there.post(ping.clone()).await;
    assert_ne!(reply.status, StatusCode::OK, "{reply:?}");
    let line = "who came as a replica has a worker's certificate: it is refused";
    fleet.replicas[0].program.wait_for_line(line).await;
    // And nobody gives it a request, although it says that it is a replica.
    let mut theirs = HttpClient::new(&format!("{url}/mcp"));
    theirs.initialize(LEGACY).await;
    let reply = fleet.replicas[0].as_well(&theirs).post(ping).await;
    assert_ne!(reply.status, StatusCode::OK, "{reply:?}");
}

/// Who has a certificate and not the key learns nothing, and a replica says so.
#[tokio::test]
async fn a_worker_without_the_key_is_refused() {
    let fleet = Fleet::of_workers(1, any()).await;
    fleet.certify_worker("home").await;
    let key = fleet
        .world
        .write("other.key", format!("{}\n", "ab".repeat(32)));
    let world = World::with(&servers([("notes", echo(&[]))]));
    let worker = world
        .launch(&["worker", "--join", &fleet.nats.url()])
        .arg("--cluster-key-file")
        .arg(&key)
        .arg("--cluster-cert")
        .arg(fleet.folder.join("home.pem"))
        .spawn();
    let line = "is not sealed with this cluster's key: it is not believed";
    worker.wait_for_line(line).await;
    let mut client = fleet.replicas[0].legacy().await;
    let said = client.call("notes__pid", json!({})).await.to_string();
    assert!(said.contains("no worker is connected"), "{said}");
    assert!(fleet.workers().await.is_empty());
    // The same at the replica's own door, for whoever knows where that is.
    let address = fleet.status().await[0]["address"]
        .as_str()
        .unwrap()
        .to_owned();
    let pem = fleet.folder.join("home.pem");
    let status = super::knock::at(&address, &pem, "home").await;
    assert_eq!(status, "403", "it is refused");
    fleet.replicas[0].program.wait_for_line(REFUSED).await;
}
