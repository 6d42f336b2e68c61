//! Clients that ask all replicas in turn while replicas and NATS are hurt.

use super::Fleet;
use rustix::process::Signal;
use switchboard_testkit::{
    DEADLINE,
    nats::Nats,
    world::{soak_rounds, tries},
};

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
    let load = fleet.work(LANES, "far__progress").await;
    let rounds = soak_rounds().unwrap_or(tries(1, 20));
    for round in 0..rounds {
        let one = round % 3;
        for hurts in [
            Hurts::Kill(one),
            Hurts::Nats(one),
            Hurts::Restart((one + 1) % 3),
        ] {
            // Of all lanes: those whose replica has gone have theirs back.
            load.answered(60).await;
            load.hurts(suffer(&mut fleet, hurts)).await;
        }
    }
    load.answered(60).await;
    load.end().await;
}
