//! Clients that ask all replicas in turn for a server that workers run, while replicas are
//! killed and workers end: what happened is noted, and decided afterwards.

use super::super::Fleet;
use rustix::process::Signal;
use serde_json::json;
use std::time::Duration;
use switchboard_testkit::{
    DEADLINE,
    history::{History, Lanes, What, Work, check},
    world::{echo, servers, soak_rounds, tries},
};

const LONG: Duration = Duration::from_secs(120);
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
    let history = History::default();
    let effects = fleet.world.path("effects");
    let work = Work {
        tool: "notes__progress".into(),
        effects: effects.clone(),
        steps: 8,
        interval: 15,
    };
    let lanes = Lanes::begin(fleet.callers(LANES, &history, &work).await);
    for round in 0..soak_rounds().unwrap_or(tries(2, 30)) {
        lanes.answered(40, LONG).await;
        let mut ends = workers.remove(0);
        ends.program.signal(Signal::TERM);
        ends.program.wait(DEADLINE).await;
        let name = ["one", "two"][round % 2];
        workers.push(fleet.worker_with(name, &offered, &[]).await);
        lanes.answered(40, LONG).await;
        history.note(What::Hurt);
        fleet.replicas[round % 2].kill().await;
        fleet.again(round % 2).await;
        history.note(What::Well);
        // Without a word, too: what it ran is over, and nothing of it is run again.
        lanes.answered(40, LONG).await;
        history.note(What::Hurt);
        let mut dies = workers.remove(0);
        dies.kill().await;
        let name = ["two", "one"][round % 2];
        workers.push(fleet.worker_with(name, &offered, &[]).await);
        history.note(What::Well);
    }
    lanes.answered(40, LONG).await;
    lanes.end().await;
    assert_eq!(check(&history.with_effects(&effects)), []);
}
