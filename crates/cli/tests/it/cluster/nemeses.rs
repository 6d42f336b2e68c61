//! What else is done to a cluster while clients ask all replicas in turn: replicas that are
//! paused for longer than they are waited for, several that die at once, networks that come
//! apart, a disk of NATS that is full.

use super::{Fleet, Replica, load::Load};
use rustix::process::{Pid, Signal, kill_process};
use std::{net::TcpListener, time::Duration};
use switchboard_testkit::{
    gate::Gate,
    nats::Nats,
    world::{soak_rounds, soak_seed, worker_of},
};

/// Longer than what a replica says of itself lasts.
const PAUSE: Duration = Duration::from_secs(15);
/// Clients that call at the same time.
const LANES: usize = 6;

/// What is done to a cluster of three.
#[derive(Clone, Copy, Debug)]
enum Hurts {
    /// A replica is paused.
    Pause,
    /// Two replicas are killed at once.
    Replicas,
    /// A replica is killed, and with it the server of NATS that leads.
    ReplicaAndLeader,
    /// The server of NATS that leads is killed.
    Leader,
    /// A server of NATS is paused.
    PauseNats,
    /// All servers of NATS are killed at once.
    AllNats,
    /// The disk of one server of NATS is full.
    FullDisk,
}

const ALL: [Hurts; 7] = [
    Hurts::Pause,
    Hurts::Replicas,
    Hurts::ReplicaAndLeader,
    Hurts::Leader,
    Hurts::PauseNats,
    Hurts::AllNats,
    Hurts::FullDisk,
];

async fn signal(replica: &Replica, signal: Signal) {
    let pid = worker_of(replica.program.pid()).await;
    let pid = Pid::from_raw(pid).expect("a process");
    kill_process(pid, signal).expect("it is there");
}

async fn suffer(fleet: &mut Fleet, hurts: Hurts, one: usize) {
    let other = (one + 1) % 3;
    match hurts {
        Hurts::Pause => {
            signal(&fleet.replicas[one], Signal::STOP).await;
            tokio::time::sleep(PAUSE).await;
            signal(&fleet.replicas[one], Signal::CONT).await;
        }
        Hurts::Replicas => {
            for dies in [one, other] {
                fleet.replicas[dies].kill().await;
            }
            for dies in [one, other] {
                fleet.again(dies).await;
            }
        }
        Hurts::ReplicaAndLeader => {
            let leader = fleet.nats.leader();
            fleet.replicas[one].kill().await;
            fleet.nats.restart(leader).await;
            fleet.again(one).await;
        }
        Hurts::Leader => {
            let leader = fleet.nats.leader();
            fleet.nats.restart(leader).await;
        }
        Hurts::PauseNats => {
            fleet.nats.stop(one);
            tokio::time::sleep(PAUSE).await;
            fleet.nats.cont(one);
        }
        Hurts::AllNats => {
            for node in 0..3 {
                fleet.nats.kill(node).await;
            }
            fleet.nats.restart_dead().await;
        }
        Hurts::FullDisk => {
            fleet.nats.fill(2);
            tokio::time::sleep(PAUSE / 3).await;
            fleet.nats.restart(2).await;
        }
    }
}

/// Does it between calls that are answered.
async fn amid(load: &Load, what: impl std::fmt::Debug, hurting: impl Future<Output = ()>) {
    load.answered(30).await;
    println!("{what:?}");
    // It is well again once calls are answered as before.
    let hurting = async {
        hurting.await;
        load.answered(10).await;
    };
    load.hurts(hurting).await;
}

/// One of them a round, by its seed.
#[tokio::test]
async fn no_promise_is_broken_by_pauses_pairs_and_a_full_disk() {
    let (first, rounds) = (soak_seed(), soak_rounds().unwrap_or(1));
    let each = (first..first + rounds).map(|seed| (seed, ALL[seed % ALL.len()]));
    let each: Vec<(usize, Hurts)> = each.collect();
    let fills = each.iter().any(|(_, it)| matches!(it, Hurts::FullDisk));
    let nats = match fills {
        true => Nats::three_with_a_small_disk().await,
        false => Nats::three().await,
    };
    let mut fleet = Fleet::on(nats, 3).await;
    let load = fleet.work(LANES, "far__progress").await;
    for (seed, hurts) in each {
        let one = (seed / ALL.len()) % 3;
        amid(&load, hurts, suffer(&mut fleet, hurts, one)).await;
    }
    load.answered(30).await;
    load.end().await;
}

/// A network that comes apart: a replica that does not reach NATS, one that others do not
/// reach, and both.
#[tokio::test]
async fn no_promise_is_broken_where_the_network_comes_apart() {
    let (first, rounds) = (soak_seed(), soak_rounds().unwrap_or(1));
    let mut fleet = Fleet::start(0).await;
    let nats = fleet.nats.url().trim_start_matches("nats://").to_owned();
    let (mut to_nats, mut to_it) = (Vec::new(), Vec::new());
    for number in 0..3 {
        let name = format!("r{number}");
        fleet.certify(&fleet.folder.clone(), &name).await;
        let way = Gate::to(&nats).await;
        let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let listens = free.expect("a free port").to_string();
        let comes = Gate::to(&listens).await;
        let address = comes.address();
        let more = [
            "--cluster-listen",
            &listens,
            "--cluster-advertise",
            &address,
        ];
        let by = format!("nats://{}", way.address());
        let replica = fleet.replica_by(&by, &name, &more).await;
        fleet.replicas.push(replica);
        to_nats.push(way);
        to_it.push(comes);
    }
    fleet.until_all_are_known().await;
    let load = fleet.work(LANES, "far__progress").await;
    for seed in first..first + rounds {
        let one = (seed / 3) % 3;
        let cut: Vec<&Gate> = match seed % 3 {
            0 => vec![&to_nats[one]],
            1 => vec![&to_it[one]],
            _ => vec![&to_nats[one], &to_it[one]],
        };
        let hurting = async {
            cut.iter().for_each(|gate| gate.close());
            tokio::time::sleep(PAUSE).await;
            cut.iter().for_each(|gate| gate.open());
        };
        amid(&load, ("cut off", seed % 3, one), hurting).await;
    }
    load.answered(30).await;
    load.end().await;
}
