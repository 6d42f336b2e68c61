//! A server of which only so many copies may run.

use super::{super::Fleet, pid};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use switchboard_testkit::world::{alive, children, until};

#[tokio::test]
async fn a_server_of_one_copy_runs_at_one_worker_and_one_that_was_away_gives_it_up() {
    let fleet = Fleet::of_workers(2, json!({"type": "worker", "copies": 1})).await;
    let workers = [
        fleet.worker("one", &[]).await,
        fleet.worker("two", &[]).await,
    ];
    let mut clients = [
        fleet.replicas[0].legacy().await,
        fleet.replicas[1].legacy().await,
    ];
    let first = pid(&mut clients[0]).await;
    assert_eq!(pid(&mut clients[1]).await, first, "there is one");
    let mut holder = None;
    for worker in &workers {
        if children(worker.pid().await).contains(&first) {
            holder = Some(worker);
        }
    }
    let holder = holder.expect("one of them runs it");
    let paused = Pid::from_raw(holder.pid().await).unwrap();
    kill_process(paused, Signal::STOP).unwrap();
    let second = pid(&mut clients[0]).await;
    assert_ne!(first, second);
    assert_eq!(pid(&mut clients[1]).await, second);
    kill_process(paused, Signal::CONT).unwrap();
    let line = "another worker may run this server by now: it is ended here";
    holder.program.wait_for_line(line).await;
    until(super::AGAIN, || (!alive(first)).then_some(()))
        .await
        .expect("its process has ended");
    for client in &mut clients {
        assert_eq!(pid(client).await, second);
    }
}
