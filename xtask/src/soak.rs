//! `cargo xtask soak NAME`: what wants more rounds than fit into a run of all
//! tests, run as often as asked. Rounds are numbered by their seed; what was seen
//! is added up in `docs/design/soak.md`, and the next run goes on behind it.

mod tally;
mod tried;

use crate::cargo::{FULL, cargo, whole};
use crate::setup::{self, Tools};
use crate::steps::status;
use crate::{paths, test};
use anyhow::{Context, Result};
use std::{
    fs,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
};
use tally::Tally;

/// Names the folder of the programs that tests start, where it is not their own.
const PROGRAMS: &str = "SWITCHBOARD_TEST_PROGRAMS";

/// Options of `cargo xtask soak`.
#[derive(clap::Args)]
pub struct Options {
    /// What to run
    name: Name,
    /// The first round's seed (behind the last one that was run unless given)
    #[arg(long)]
    seed: Option<u64>,
    /// How many rounds (1000 of `orphans` and `sessions`, 200 of `audit`, 100 of `properties`, `screen`, `history`, `restarts` and `cluster`, 70 of `nemeses`, 30 of `partitions` and `workers`, 10 of `replica`, `away`, `suite`, `full` and `sprayed`, 3 of `versions` unless given)
    #[arg(long)]
    rounds: Option<u64>,
    /// How many loops to keep busy beside it (2 for `suite` unless given)
    #[arg(long)]
    busy: Option<usize>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Name {
    /// Two of our three processes killed at once: nobody outlives us
    Orphans,
    /// A gateway killed under load: no record of an answered call is lost
    Audit,
    /// A gateway killed, paused and restarted under load: nothing is lost, repeated or mixed up
    History,
    /// A gateway restarted under load, once a round
    Restarts,
    /// Three replicas and three NATS servers: one of each killed and one replica restarted a round
    Cluster,
    /// The same with pauses of 15 s, several killed at once and a full disk of NATS, one of them a round
    Nemeses,
    /// A replica that is cut off from NATS, from the others, or from both, one of them a round
    Partitions,
    /// Workers that end and are killed, and replicas killed beside them
    Workers,
    /// 9,000 sessions at three replicas, one of which is killed: all answer again within 15 s
    Replica,
    /// Replicas of two versions side by side: what is newer than one knows is left alone
    Versions,
    /// NATS that is away for a minute a round: no call of a local session fails
    Away,
    /// Sessions that are opened and never closed, 1,000 a round, all at one gateway
    Sessions,
    /// Tests of the gateway, with three replicas and each request at any of them
    Sprayed,
    /// Everything that is tried with random values, each round with other ones
    Properties,
    /// The terminal screen under random keys, 10,000 steps a round
    Screen,
    /// All tests, each round once and without a second try
    Suite,
    /// What is tried less often in a run of all tests than it should be, as often as that
    Full,
}

/// How something is run.
struct Plan {
    name: &'static str,
    rounds: u64,
    busy: usize,
    /// How many rounds one start of the tests makes.
    at_a_time: u64,
    run: fn(u64, u64, &Tools) -> Result<()>,
}

impl Name {
    fn plan(self) -> Plan {
        match self {
            Self::Orphans => Plan {
                name: "orphans",
                rounds: 1000,
                busy: 0,
                at_a_time: 20,
                run: orphans,
            },
            Self::Audit => Plan {
                name: "audit",
                rounds: 200,
                busy: 0,
                at_a_time: 20,
                run: audit,
            },
            Self::History => Plan {
                name: "history",
                rounds: 100,
                busy: 0,
                at_a_time: 10,
                run: history,
            },
            Self::Restarts => Plan {
                name: "restarts",
                rounds: 100,
                busy: 0,
                at_a_time: 100,
                run: restarts,
            },
            Self::Cluster => Plan {
                name: "cluster",
                rounds: 100,
                busy: 0,
                at_a_time: 10,
                run: cluster,
            },
            Self::Nemeses => Plan {
                name: "nemeses",
                rounds: 70,
                busy: 0,
                at_a_time: 7,
                run: nemeses,
            },
            Self::Partitions => Plan {
                name: "partitions",
                rounds: 30,
                busy: 0,
                at_a_time: 3,
                run: partitions,
            },
            Self::Workers => Plan {
                name: "workers",
                rounds: 30,
                busy: 0,
                at_a_time: 5,
                run: workers,
            },
            Self::Replica => Plan {
                name: "replica",
                rounds: 10,
                busy: 0,
                at_a_time: 1,
                run: replica,
            },
            Self::Versions => Plan {
                name: "versions",
                rounds: 3,
                busy: 0,
                at_a_time: 1,
                run: versions,
            },
            Self::Away => Plan {
                name: "away",
                rounds: 10,
                busy: 0,
                at_a_time: 1,
                run: away,
            },
            Self::Sessions => Plan {
                name: "sessions",
                rounds: 1000,
                busy: 0,
                at_a_time: u64::MAX,
                run: sessions,
            },
            Self::Sprayed => Plan {
                name: "sprayed",
                rounds: 10,
                busy: 0,
                at_a_time: 1,
                run: sprayed,
            },
            Self::Properties => Plan {
                name: "properties",
                rounds: 100,
                busy: 0,
                at_a_time: 1,
                run: properties,
            },
            Self::Screen => Plan {
                name: "screen",
                rounds: 100,
                busy: 0,
                at_a_time: 20,
                run: screen,
            },
            Self::Suite => Plan {
                name: "suite",
                rounds: 10,
                busy: 2,
                at_a_time: 1,
                run: suite,
            },
            Self::Full => Plan {
                name: "full",
                rounds: 10,
                busy: 0,
                at_a_time: 1,
                run: full,
            },
        }
    }
}

/// Runs the rounds, and writes down after each how far it came.
pub fn run(options: &Options) -> Result<()> {
    let tools = setup::run().context("setup")?;
    let plan = options.name.plan();
    let rounds = options.rounds.unwrap_or(plan.rounds);
    let busy = options.busy.unwrap_or(plan.busy);
    let mut tally = Tally::open(plan.name, options.seed, busy)?;
    println!(
        "{}: {} rounds so far; {rounds} more from seed {} on",
        plan.name, tally.before, tally.first
    );
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..busy {
            scope.spawn(|| spin(&over));
        }
        let ended = go_on(&plan, rounds, &mut tally, &tools);
        over.store(true, Ordering::Relaxed);
        ended
    })?;
    println!("{}: {} rounds in all", plan.name, tally.before + tally.done);
    Ok(())
}

fn go_on(plan: &Plan, rounds: u64, tally: &mut Tally, tools: &Tools) -> Result<()> {
    while tally.done < rounds {
        let count = plan.at_a_time.min(rounds - tally.done);
        let seed = tally.first + tally.done;
        println!("\n=== {}: {count} from seed {seed} on", plan.name);
        let ended = (plan.run)(seed, count, tools);
        let found = ended.as_ref().err();
        tally.add(count, found.map(|error| format!("seed {seed}: {error:#}")))?;
        ended?;
    }
    Ok(())
}

/// One core's work, for nothing.
fn spin(over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

fn orphans(seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    let only = "binary(=orphans) & test(=orphans_of_any_two_at_once)";
    one(only, seed, rounds, tools)
}

fn audit(seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    let only =
        "test(=gateway::audit::a_killed_gateway_loses_no_record_of_a_call_that_was_answered)";
    one(only, seed, rounds, tools)
}

fn history(seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    let only = "test(=lives::history::no_promise_is_broken_whatever_is_done_to_a_gateway)";
    one(only, seed, rounds, tools)
}

fn restarts(seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    let only = "test(=lives::history::many_restarts_under_load_lose_nothing)";
    one(only, seed, rounds, tools)
}

fn cluster(seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    let only = "test(=cluster::history::no_promise_is_broken_whatever_is_done_to_a_cluster)";
    one(only, seed, rounds, tools)
}

fn nemeses(seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    let only = "test(=cluster::nemeses::no_promise_is_broken_by_pauses_pairs_and_a_full_disk)";
    one(only, seed, rounds, tools)
}

fn partitions(seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    let only = "test(=cluster::nemeses::no_promise_is_broken_where_the_network_comes_apart)";
    one(only, seed, rounds, tools)
}

fn workers(seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    let only =
        "test(=cluster::workers::history::no_promise_is_broken_while_workers_end_and_replicas_die)";
    one(only, seed, rounds, tools)
}

/// With optimised programs: its limit is one of time.
fn replica(seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    let only = "test(=cluster::many::all_sessions_answer_again_after_a_replica_was_killed)";
    optimised(only, seed, rounds, tools)
}

/// With a second program, of the same sources, that says and writes all in the next form.
fn versions(seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    let mut build = cargo(["build", "--workspace", "--bins", "--features"]);
    build.arg(format!("{},switchboard-gateway/next-form", FULL[1]));
    status(build)?;
    let folder = paths::target()?.join("next-form");
    fs::create_dir_all(&folder)?;
    let next = folder.join("switchboard");
    // Not over one that a run which was broken off may still have open.
    let _ = fs::remove_file(&next);
    fs::copy(paths::program("debug", "switchboard")?, &next).context("the program")?;
    let only =
        "test(=cluster::versions::replicas_of_two_versions_leave_alone_what_they_do_not_know)";
    let mut command = soaked(only, seed, rounds, tools);
    command.args(["--run-ignored", "all"]);
    command.env("SWITCHBOARD_TEST_NEXT", next);
    status(command)
}

fn away(seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    let only = "test(=cluster::away::no_call_of_a_local_session_fails_while_nats_is_away)";
    one(only, seed, rounds, tools)
}

/// With optimised programs: without that most of their memory is code.
fn sessions(seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    let only = "test(=lives::many::more_sessions_than_memory_has_room_for)";
    optimised(only, seed, rounds, tools)
}

/// One test, as it is built for all runs, of programs as they are built for a release.
fn optimised(only: &str, seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    let mut build = whole(["build", "--release", "--bins"]);
    build.args([
        "--package",
        "switchboard-cli",
        "--package",
        "switchboard-testkit",
    ]);
    status(build)?;
    let mut command = soaked(only, seed, rounds, tools);
    command.env(PROGRAMS, paths::target()?.join("release"));
    status(command)
}

/// One test, which is told how many rounds are wanted.
fn one(only: &str, seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    status(soaked(only, seed, rounds, tools))
}

fn soaked(only: &str, seed: u64, rounds: u64, tools: &Tools) -> Command {
    let mut command = whole(["nextest", "run", "--workspace", "--profile", "soak"]);
    command
        .args(["--no-capture", "-E", only])
        .env("SWITCHBOARD_SOAK_ROUNDS", rounds.to_string())
        .envs(test::seeded(seed))
        .envs(tools.variables());
    command
}

fn sprayed(seed: u64, _rounds: u64, tools: &Tools) -> Result<()> {
    status(test::sprayed(seed).envs(tools.variables()))
}

fn properties(seed: u64, _rounds: u64, tools: &Tools) -> Result<()> {
    // Whoever is tried with random values is in one of these.
    let only = "package(=switchboard-wire) + binary(=decoders) \
        + test(/^(alike|bridge|matrix|subscriptions|http::sse|tool::acceptable|permission)::/)";
    let mut command = whole(["nextest", "run", "--workspace", "-E", only]);
    status(command.envs(test::seeded(seed)).envs(tools.variables()))
}

fn screen(seed: u64, rounds: u64, tools: &Tools) -> Result<()> {
    let only = "test(=random::random_keys_on_random_states)";
    let mut command = cargo(["nextest", "run", "-p", "switchboard-screen", "--no-capture"]);
    // Drawing is all it does: some optimising makes it ten times as fast, and what is
    // asserted in such builds still is.
    command
        .args(["-E", only])
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env("CARGO_TARGET_DIR", paths::root().join("target/soak"))
        .env("SWITCHBOARD_SOAK_ROUNDS", rounds.to_string())
        .envs(test::seeded(seed))
        .envs(tools.variables());
    status(command)
}

fn suite(seed: u64, _rounds: u64, tools: &Tools) -> Result<()> {
    let mut command = test::everything(seed);
    status(command.args(["--retries", "0"]).envs(tools.variables()))
}

fn full(seed: u64, _rounds: u64, tools: &Tools) -> Result<()> {
    // Whoever asks `world::tries` how often.
    let only = "test(=gateway::no_crossing::nothing_crosses_between_200_clients_with_equal_ids) \
        + test(=builtin::faces::a_link_that_is_swapped_leads_nowhere) \
        + test(/^faults::queues::small_notices_that_(modern|legacy)_/) \
        + binary(=orphans) & test(/^orphans_of_(the_|one_and_then)/)";
    let mut command = whole(["nextest", "run", "--workspace", "--no-capture", "-E", only]);
    command
        .env("SWITCHBOARD_TEST_FULL", "1")
        .envs(test::seeded(seed))
        .envs(tools.variables());
    status(command)
}
