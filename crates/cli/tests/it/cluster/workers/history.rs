//! Clients that ask all replicas in turn for a server that workers run, while replicas are
//! killed and workers end.

use super::super::Fleet;
use rustix::process::Signal;
use serde_json::json;
use switchboard_testkit::{
    DEADLINE,
    world::{echo, servers, soak_rounds, tries},
};

/// Clients that call at the same time.
const LANES: usize = 4;

#[tokio::test]
async fn no_promise_is_broken_while_workers_end_and_replicas_die() {
    // What a process logs on its one channel is nobody's call: each client has its own.
    let alone = json!({"type": "worker", "isolation": "session"});
    let mut fleet = Fleet::of_workers(2, alone).await;
    // One that may not be run again.
    let mut notes = echo(&["--writes"]);
    notes["isolation"] = json!("session");
    let offered = servers([("notes", notes)]);
    let mut workers = vec![
        fleet.worker_with("one", &offered, &[]).await,
        fleet.worker_with("two", &offered, &[]).await,
    ];
    fleet.until_all_are_known().await;
    let load = fleet.work(LANES, "notes__progress").await;
    for round in 0..soak_rounds().unwrap_or(tries(2, 30)) {
        load.answered(40).await;
        let mut ends = workers.remove(0);
        ends.program.signal(Signal::TERM);
        ends.program.wait(DEADLINE).await;
        let name = ["one", "two"][round % 2];
        workers.push(fleet.worker_with(name, &offered, &[]).await);
        load.answered(40).await;
        let replica = async {
            fleet.replicas[round % 2].kill().await;
            fleet.again(round % 2).await;
        };
        load.hurts(replica).await;
        // Without a word, too: what it ran is over, and nothing of it is run again.
        load.answered(40).await;
        let worker = async {
            workers.remove(0).kill().await;
            let name = ["two", "one"][round % 2];
            workers.push(fleet.worker_with(name, &offered, &[]).await);
        };
        load.hurts(worker).await;
    }
    load.answered(40).await;
    load.end().await;
}
