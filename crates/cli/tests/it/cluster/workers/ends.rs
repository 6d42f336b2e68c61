//! Workers and replicas that die or end.

use super::{super::Fleet, any, pid};
use rustix::process::Signal;
use serde_json::json;
use std::time::{Duration, Instant};
use switchboard_testkit::{
    text_of,
    world::{alive, children, to_the_end, until},
};

const SOON: Duration = Duration::from_secs(30);
/// Calls of one client while a worker ends.
const CALLS: usize = 60;

/// What was under way is told, and was made once; what is asked next goes to the other.
#[tokio::test]
async fn calls_of_a_worker_that_was_killed_are_told_and_others_go_elsewhere() {
    let fleet = Fleet::of_workers(1, any()).await;
    let mut workers = vec![
        fleet.worker("one", &[]).await,
        fleet.worker("two", &[]).await,
    ];
    let mut client = fleet.replicas[0].legacy().await;
    let first = pid(&mut client).await;
    let mut at = None;
    for (number, worker) in workers.iter().enumerate() {
        if children(worker.pid().await).contains(&first) {
            at = Some(number);
        }
    }
    let mut dies = workers.remove(at.expect("one of them runs it"));
    let file = fleet.world.path("effects");
    let arguments = json!({"file": file, "delayMs": 600_000});
    let params = json!({"name": "notes__count", "arguments": arguments});
    let stream = client.stream("tools/call", params).await;
    let begun = || file.exists().then_some(());
    until(SOON, begun).await.expect("it is under way");
    dies.kill().await;
    let (_, answer) = to_the_end(stream).await;
    let said = answer["error"].to_string();
    assert!(said.contains("worker"), "{answer}");
    println!("{answer}");
    let begun = Instant::now();
    let second = pid(&mut client).await;
    println!("another worker answered after {:?}", begun.elapsed());
    assert_ne!(first, second);
    assert_eq!(std::fs::read_to_string(file).unwrap(), "once\n");
    until(SOON, || (!alive(first)).then_some(()))
        .await
        .expect("nothing of a killed worker is left");
}

/// The process of a worker outlives the replica that uses it, without the calls of that one.
#[tokio::test]
async fn a_replica_that_was_killed_leaves_the_server_to_the_others() {
    let mut fleet = Fleet::of_workers(2, any()).await;
    let _home = fleet.worker("home", &[]).await;
    let mut other = fleet.replicas[1].legacy().await;
    let before = pid(&mut other).await;
    let mut client = fleet.replicas[0].legacy().await;
    assert_eq!(pid(&mut client).await, before);
    let slow = json!({"name": "notes__sleep", "arguments": {"ms": 600_000}});
    let _under_way = client.stream("tools/call", slow).await;
    fleet.replicas[0].kill().await;
    let begun = Instant::now();
    while text_of(&other.call("notes__cancelled", json!({})).await) != "1" {
        assert!(begun.elapsed() < SOON, "the server was not told");
    }
    assert_eq!(pid(&mut other).await, before);
}

/// One that ends in good order finishes what it has; what comes next goes to the other, and
/// nothing fails of what others ask meanwhile.
#[tokio::test]
async fn a_worker_that_ends_loses_nothing() {
    let fleet = Fleet::of_workers(1, any()).await;
    let one = fleet.worker("one", &[]).await;
    let mut client = fleet.replicas[0].legacy().await;
    pid(&mut client).await;
    let _two = fleet.worker("two", &[]).await;
    let file = fleet.world.path("effects");
    let mut others = Vec::new();
    for _ in 0..4 {
        let mut other = fleet.replicas[0].legacy().await;
        let arguments = json!({"file": file, "delayMs": 30});
        others.push(tokio::spawn(async move {
            for _ in 0..CALLS {
                let said = other.call("notes__count", arguments.clone()).await;
                assert!(said.get("result").is_some(), "{said}");
            }
        }));
    }
    let arguments = json!({"nonce": "to the end", "delayMs": 2000});
    let params = json!({"name": "notes__echo", "arguments": arguments});
    let slow = client.stream("tools/call", params).await;
    one.program.signal(Signal::TERM);
    let (_, answer) = to_the_end(slow).await;
    assert_eq!(text_of(&answer), "to the end");
    for other in others {
        other.await.expect("nothing fails");
    }
    let effects = std::fs::read_to_string(file).unwrap();
    assert_eq!(effects.lines().count(), 4 * CALLS, "each was made once");
    let mut one = one;
    one.program.wait(super::AGAIN).await;
    pid(&mut client).await;
    let workers = fleet.workers().await;
    let ends = workers.iter().find(|worker| worker["worker"] == "one");
    assert!(
        ends.is_none_or(|one| one["draining"] == true),
        "{workers:?}"
    );
}
