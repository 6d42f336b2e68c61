//! Replicas that die or end, and NATS that does.

use super::{Fleet, ping, until_ok};
use http::{Method, StatusCode};
use rustix::process::Signal;
use serde_json::json;
use std::time::{Duration, Instant};
use switchboard_testkit::{
    HttpClient, text_of,
    world::{to_the_end, tries},
};

/// Sessions of one replica, and the replica.
async fn sessions(fleet: &Fleet, at: usize, count: usize) -> Vec<HttpClient> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(fleet.replicas[at].legacy().await);
    }
    all
}

#[tokio::test]
async fn sessions_of_a_replica_that_was_killed_answer_again_at_the_others() {
    let mut fleet = Fleet::start(3).await;
    let all = sessions(&fleet, 0, tries(30, 3000)).await;
    let mut speaks = all[0].clone_for(&[]);
    let level = json!({"level": "error"});
    speaks.request("logging/setLevel", level).await;
    // A call that is under way, at the one that dies, through another.
    let file = fleet.world.path("effects");
    let arguments = json!({"steps": 1000, "intervalMs": 50, "marker": "once", "file": file});
    let params = json!({"name": "far__progress", "arguments": arguments});
    let mut through = fleet.replicas[1].as_well(&speaks);
    let mut stream = through.stream("tools/call", params).await;
    let first = stream.next().await.expect("an event").id.expect("a number");

    fleet.replicas[0].kill().await;
    let begun = Instant::now();
    let (mut slowest, mut asked) = (Duration::ZERO, Vec::new());
    for (at, client) in all.iter().enumerate() {
        let mut client = fleet.replicas[1 + at % 2].as_well(client);
        asked.push(tokio::spawn(async move { until_ok(&mut client).await }));
    }
    for one in asked {
        slowest = slowest.max(one.await.unwrap());
    }
    println!(
        "{} sessions answered again after {:?} at most, {:?} in all",
        all.len(),
        slowest,
        begun.elapsed()
    );
    // At every other one, whoever has taken them over.
    for client in &all {
        for replica in &fleet.replicas[1..] {
            let said = replica
                .as_well(client)
                .call("far__echo", json!({"nonce": "still me"}))
                .await;
            assert_eq!(text_of(&said), "still me");
        }
    }
    // What was under way is told to be unknown, and was not made again.
    for replica in &fleet.replicas[1..] {
        let headers = [("accept", "text/event-stream"), ("last-event-id", &*first)];
        let again = replica
            .as_well(&speaks)
            .open(Method::GET, &headers, "")
            .await;
        let (_, answer) = to_the_end(again).await;
        assert_eq!(answer["error"]["data"]["outcome"], "unknown", "{answer}");
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), "once\n");
}

/// One that ends in good order gives its sessions away: nobody waits, and nothing fails.
#[tokio::test]
async fn sessions_of_a_replica_that_ends_go_on_at_once() {
    let mut fleet = Fleet::start(2).await;
    let all = sessions(&fleet, 0, 20).await;
    let ending = fleet.replicas.remove(0);
    ending.program.signal(Signal::TERM);
    let other = &fleet.replicas[0];
    for client in &all {
        let mut client = other.as_well(client);
        let reply = client.post(ping()).await;
        assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
    }
    drop(ending);
}

/// One that was paused for longer than others wait, and then goes on, gives up what
/// others have taken over; who waits there for the answer to a call gets it.
#[tokio::test]
async fn a_replica_that_was_paused_gives_up_what_others_have_taken() {
    let fleet = Fleet::start(2).await;
    let [one, other] = &fleet.replicas[..] else {
        panic!("two replicas")
    };
    let client = one.legacy().await;
    // Longer than others wait for it.
    let arguments = json!({"steps": 250, "intervalMs": 100});
    let params = json!({"name": "far__progress", "arguments": arguments});
    let mut stream = one.as_well(&client).stream("tools/call", params).await;
    stream.next().await.expect("an event");
    let worker = switchboard_testkit::world::worker_of(one.program.pid()).await;
    let worker = rustix::process::Pid::from_raw(worker).unwrap();
    rustix::process::kill_process(worker, Signal::STOP).unwrap();
    until_ok(&mut other.as_well(&client)).await;
    rustix::process::kill_process(worker, Signal::CONT).unwrap();
    one.program
        .wait_for_line("sessions that another replica has now ended here")
        .await;
    // Both lead to the one that has it.
    for replica in [one, other] {
        until_ok(&mut replica.as_well(&client)).await;
    }
    let (_, answer) = to_the_end(stream).await;
    assert!(answer["result"]["content"].is_array(), "{answer}");
}

#[tokio::test]
async fn without_nats_own_sessions_go_on_and_no_session_is_unknown() {
    let mut fleet = Fleet::start(3).await;
    let client = fleet.replicas[0].legacy().await;
    let theirs = fleet.replicas[2].legacy().await;
    fleet.nats.kill(0).await;
    fleet.replicas[2].kill().await;
    for replica in &fleet.replicas[..2] {
        let said = replica
            .as_well(&client)
            .call("far__echo", json!({"nonce": "still me"}))
            .await;
        assert_eq!(text_of(&said), "still me", "its owner is reached directly");
    }
    let [mut one, mut other] = [0, 1].map(|at| fleet.replicas[at].as_well(&theirs));
    let (one, other) = tokio::join!(one.post(ping()), other.post(ping()));
    for reply in [one, other] {
        assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE, "{reply:?}");
        assert!(reply.header("retry-after").is_some(), "{reply:?}");
    }
    // New ones are made; they are not kept, and work all the same.
    let new = fleet.replicas[0].legacy().await;
    for replica in &fleet.replicas[..2] {
        let reply = replica.as_well(&new).post(ping()).await;
        assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
    }
    fleet.nats.restart(0).await;
    for client in [&client, &theirs, &new] {
        for replica in &fleet.replicas[..2] {
            until_ok(&mut replica.as_well(client)).await;
        }
    }
}

/// What is owed on a stream that began while NATS was away is known to its client alone, and
/// that is enough: whoever it comes back to tells it that nobody knows what became of its call.
#[tokio::test]
async fn a_stream_that_could_not_be_kept_is_told_to_be_unknown() {
    let mut fleet = Fleet::start(2).await;
    let client = fleet.replicas[0].legacy().await;
    fleet.nats.kill(0).await;
    let mut calls = fleet.replicas[0].as_well(&client);
    let arguments = json!({"steps": 1000, "intervalMs": 50, "marker": "m"});
    let params = json!({"name": "far__progress", "arguments": arguments});
    let mut stream = calls.stream("tools/call", params).await;
    let first = stream.next().await.expect("an event").id.expect("a number");
    fleet.replicas[0].kill().await;
    fleet.nats.restart(0).await;
    let mut there = fleet.replicas[1].as_well(&client);
    until_ok(&mut there).await;
    for _ in 0..2 {
        let headers = [("accept", "text/event-stream"), ("last-event-id", &*first)];
        let again = there.open(Method::GET, &headers, "").await;
        let (_, answer) = to_the_end(again).await;
        assert_eq!(answer["error"]["data"]["outcome"], "unknown", "{answer}");
    }
}

#[tokio::test]
async fn the_death_of_any_one_nats_server_is_not_noticed() {
    let nats = switchboard_testkit::nats::Nats::three().await;
    let mut fleet = Fleet::on(nats, 2).await;
    let client = fleet.replicas[0].legacy().await;
    for victim in 0..fleet.nats.len() {
        fleet.nats.kill(victim).await;
        for replica in &fleet.replicas {
            let reply = replica.as_well(&client).post(ping()).await;
            assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
        }
        fleet.nats.restart(victim).await;
    }
    fleet.replicas[0].kill().await;
    until_ok(&mut fleet.replicas[1].as_well(&client)).await;
}
