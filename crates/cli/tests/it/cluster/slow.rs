//! Replicas that live and are not heard of: slow ones, and those that are cut off from NATS.

use super::{Fleet, ping, until_ok};
use http::StatusCode;
use serde_json::json;
use switchboard_testkit::{gate::Gate, text_of, world::to_the_end};

/// What it said of itself has ended, since NATS does not hear it; the other replica does, and
/// goes on to ask it. Nothing that is under way there is given up.
#[tokio::test]
async fn a_replica_that_only_nats_does_not_hear_is_not_taken_for_dead() {
    let mut fleet = Fleet::start(1).await;
    let way = Gate::to(fleet.nats.url().trim_start_matches("nats://")).await;
    fleet.certify(&fleet.folder.clone(), "r1").await;
    let through = format!("nats://{}", way.address());
    let cut_off = fleet.replica_by(&through, "r1", &[]).await;
    fleet.replicas.push(cut_off);
    fleet.until_all_are_known().await;
    let client = fleet.replicas[1].legacy().await;
    let mut there = fleet.replicas[0].as_well(&client);
    // Longer than what it has said of itself lasts.
    let arguments = json!({"steps": 80, "intervalMs": 250, "marker": "m"});
    let params = json!({"name": "far__progress", "arguments": arguments});
    let mut calls = fleet.replicas[0].as_well(&client);
    let stream = calls.stream("tools/call", params).await;
    way.close();
    let line = "it is not taken for dead";
    while !fleet.replicas[0].program.stderr().contains(line) {
        let reply = there.post(ping()).await;
        assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    let (_, answer) = to_the_end(stream).await;
    assert_eq!(text_of(&answer), "m", "{answer}");
    // It is heard of again, and has its session still.
    way.open();
    let line = "other replicas may have taken this one for dead";
    fleet.replicas[1].program.wait_for_line(line).await;
    for replica in &fleet.replicas {
        let reply = replica.as_well(&client).post(ping()).await;
        assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
    }
    let log = fleet.replicas[1].program.stderr();
    assert!(!log.contains("another replica has now ended here"), "{log}");
    // And once it has gone, the other takes the session over.
    fleet.replicas[1].kill().await;
    until_ok(&mut there).await;
}
