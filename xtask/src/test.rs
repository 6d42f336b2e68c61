//! `cargo xtask test`: what a newcomer runs to see that everything works.

use crate::cargo::whole;
use crate::steps::{self, Step, status};
use crate::{conformance, faults, setup};
use anyhow::{Context, Result, anyhow};
use std::{
    cell::{Cell, OnceCell},
    num::NonZero,
    process::Command,
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

/// Options of `cargo xtask test`.
#[derive(clap::Args)]
pub struct Options {
    /// Leave the conformance suite out
    #[arg(long)]
    quick: bool,
    /// Run the remaining steps after one has failed
    #[arg(long)]
    keep_going: bool,
    /// What random values come from; printed, so that a run can be had again
    #[arg(long)]
    seed: Option<u64>,
}

/// Installs what is needed, builds once, and runs everything that is tested.
pub fn run(options: &Options) -> Result<()> {
    setup::nextest().context("setup")?;
    // Waits for registries while the build waits for the processor.
    let installing = Cell::new(Some(thread::spawn(setup::run)));
    let installed = OnceCell::new();
    let tools = || installed.get().context("setup failed");
    let seed = options.seed.unwrap_or_else(any_seed);
    println!("seed {seed}: the same random values come with --seed {seed}");
    let mut list = vec![
        Step::new("faults", || faults::run(&faults::Options::default())),
        // Everything that the tests run, compiled the way they compile it:
        // 'cargo build' would choose other features and build it all twice.
        Step::new("build", || {
            status(whole(["nextest", "run", "--workspace", "--no-run"]))
        }),
        Step::new("setup", || {
            let waited = installing.take().context("setup ran already")?.join();
            let tools = waited.map_err(|_| anyhow!("setup panicked"))??;
            installed.set(tools).map_err(|_| anyhow!("setup ran twice"))
        }),
        Step::new("tests", || {
            status(everything(seed).envs(tools()?.variables()))
        }),
        Step::new("doctests", || {
            let mut command = whole(["test", "--doc", "--workspace"]);
            status(command.envs(tools()?.variables()))
        }),
    ];
    let mut left_out = Vec::new();
    if options.quick {
        left_out.push(("conformance", "--quick was given"));
    } else {
        list.push(Step::new("conformance", || {
            conformance::run(&conformance::Options::everything())
        }));
    }
    steps::run("test", &list, &left_out, options.keep_going)
}

/// All tests, once, with random values that come from `seed`. Most of them wait
/// most of the time (for processes, for limits that have to pass), so there are
/// more at once than cores.
pub fn everything(seed: u64) -> Command {
    let cores = thread::available_parallelism().map_or(2, NonZero::get);
    let mut command = whole(["nextest", "run", "--workspace"]);
    let threads = (4 * cores).to_string();
    command
        .args(["--test-threads", &threads])
        .envs(seeded(seed));
    command
}

/// Tests of the gateway with three replicas in the place of one, each request at any of
/// them. Not those of servers that clients share over stdio, which each replica has its own.
pub fn sprayed(seed: u64) -> Command {
    let only = "package(=switchboard-cli) & test(/^gateway::(no_crossing|bridge|\
        sharing::(equal_progress_tokens_do_not_meet|\
        each_client_has_its_own_level|capabilities_are_each_clients_own))/)";
    let mut command = whole(["nextest", "run", "--workspace", "-E", only]);
    command
        .envs(seeded(seed))
        .env("SWITCHBOARD_TEST_SPRAYED", "1");
    command
}

/// The variables by which tests are told what random values come from.
pub fn seeded(seed: u64) -> [(&'static str, String); 2] {
    ["PROPTEST_RNG_SEED", "SWITCHBOARD_SOAK_SEED"].map(|name| (name, seed.to_string()))
}

/// Another one each second.
fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(1, |since| since.as_secs())
}
