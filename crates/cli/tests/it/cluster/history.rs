//! Clients that ask all replicas in turn while replicas and NATS are hurt: what happened is
//! noted, and decided afterwards.

use super::Fleet;
use rustix::process::Signal;
use std::time::Duration;
use switchboard_testkit::{
    DEADLINE,
    history::{History, Lanes, What, Work, check},
    nats::Nats,
    world::{soak_rounds, tries},
};

const LONG: Duration = Duration::from_secs(120);
/// Clients that call at the same time.
const LANES: usize = 6;

/// What is done to a cluster.
#[derive(Clone, Copy, Debug)]
enum Hurts {
    /// A replica is killed, and started again.
    Kill(usize),
    /// A replica is asked to end, and started again.
    Restart(usize),
    /// A server of NATS is killed, and started again.
    Nats(usize),
}

async fn suffer(fleet: &mut Fleet, hurts: Hurts) {
    match hurts {
        Hurts::Kill(number) => {
            fleet.replicas[number].kill().await;
            fleet.again(number).await;
        }
        Hurts::Restart(number) => {
            let replica = &mut fleet.replicas[number];
            replica.program.signal(Signal::TERM);
            replica.program.wait(DEADLINE).await;
            fleet.again(number).await;
        }
        Hurts::Nats(number) => fleet.nats.restart(number).await,
    }
}

#[tokio::test]
async fn no_promise_is_broken_whatever_is_done_to_a_cluster() {
    let mut fleet = Fleet::on(Nats::three().await, 3).await;
    let history = History::default();
    let effects = fleet.world.path("effects");
    let work = Work {
        tool: "far__progress".into(),
        effects: effects.clone(),
        steps: 8,
        interval: 15,
    };
    let lanes = Lanes::begin(fleet.callers(LANES, &history, &work).await);
    let rounds = soak_rounds().unwrap_or(tries(1, 20));
    let mut hurt = 0;
    for round in 0..rounds {
        let one = round % 3;
        for hurts in [
            Hurts::Kill(one),
            Hurts::Nats(one),
            Hurts::Restart((one + 1) % 3),
        ] {
            // Of all lanes: those whose replica has gone have theirs back.
            lanes.answered(60, LONG).await;
            history.note(What::Hurt);
            suffer(&mut fleet, hurts).await;
            history.note(What::Well);
            hurt += 1;
        }
    }
    lanes.answered(60, LONG).await;
    lanes.end().await;
    let notes = history.with_effects(&effects);
    assert_eq!(check(&notes), []);
    let answered = notes
        .iter()
        .filter(|it| matches!(it.what, What::Answered { .. }));
    println!("hurt {hurt} times, {} calls answered", answered.count());
}
