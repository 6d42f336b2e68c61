//! `cargo xtask soak NAME`: what wants more rounds than fit into a run of all
//! tests, run as often as asked. What was seen is added to `docs/design/soak.md`.

use crate::cargo::cargo;
use crate::setup::{self, Tools};
use crate::steps::status;
use crate::{paths, test};
use anyhow::{Context, Result, bail};
use std::{
    fs::OpenOptions,
    io::Write,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    time::Instant,
};

/// Options of `cargo xtask soak`.
#[derive(clap::Args)]
pub struct Options {
    /// What to run
    name: Name,
    /// How many rounds (1000 of `orphans`, 10 of `suite` unless given)
    #[arg(long)]
    rounds: Option<u32>,
    /// How many loops to keep busy beside it (2 for `suite` unless given)
    #[arg(long)]
    busy: Option<usize>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Name {
    /// Two of our three processes killed at once: nobody outlives us
    Orphans,
    /// All tests, each round once and without a second try
    Suite,
}

/// Runs the rounds, and writes down how they ended.
pub fn run(options: &Options) -> Result<()> {
    let tools = setup::run().context("setup")?;
    let (name, rounds, busy) = match options.name {
        Name::Orphans => ("orphans", options.rounds.unwrap_or(1000), 0),
        Name::Suite => ("suite", options.rounds.unwrap_or(10), 2),
    };
    let busy = options.busy.unwrap_or(busy);
    let (over, begun) = (AtomicBool::new(false), Instant::now());
    let (done, ended) = std::thread::scope(|scope| {
        for _ in 0..busy {
            scope.spawn(|| spin(&over));
        }
        let ended = match options.name {
            Name::Orphans => orphans(rounds, &tools),
            Name::Suite => suite(rounds, &tools),
        };
        over.store(true, Ordering::Relaxed);
        ended
    });
    let outcome = ended
        .as_ref()
        .map_or_else(|e| format!("{e:#}"), |()| "none".into());
    let minutes = begun.elapsed().as_secs() / 60;
    note(&format!(
        "| {} | {name} | {done} | {busy} | {minutes} | {outcome} |",
        commit()?
    ))?;
    ended
}

/// One core's work, for nothing.
fn spin(over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}

fn orphans(rounds: u32, tools: &Tools) -> (u32, Result<()>) {
    // Both programs' build is the tests' own; `it` of the testkit makes its programs.
    let build = ["--test", "orphans", "--test", "it"];
    let mut built = cargo(["nextest", "run", "--workspace", "--no-run"]);
    let mut command = cargo(["test", "--workspace"]);
    command
        .args(build)
        .args(["--", "--exact", "--nocapture", "orphans_of_any_two_at_once"])
        .env("SWITCHBOARD_SOAK_ROUNDS", rounds.to_string())
        .envs(tools.variables());
    match status(built.args(build)).and_then(|()| status(command)) {
        Ok(()) => (rounds, Ok(())),
        Err(error) => (0, Err(error)),
    }
}

fn suite(rounds: u32, tools: &Tools) -> (u32, Result<()>) {
    for round in 1..=rounds {
        println!("\n=== round {round} of {rounds}");
        let mut command = test::everything();
        command.args(["--retries", "0"]).envs(tools.variables());
        if let Err(error) = status(command) {
            return (round, Err(error.context(format!("round {round} failed"))));
        }
    }
    (rounds, Ok(()))
}

/// The commit that was tried.
fn commit() -> Result<String> {
    let mut git = Command::new("git");
    git.current_dir(paths::root());
    let said = git.args(["describe", "--always", "--dirty"]).output()?;
    if !said.status.success() {
        bail!("git does not say which commit this is");
    }
    Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
}

fn note(row: &str) -> Result<()> {
    let file = paths::root().join("docs/design/soak.md");
    let mut file = OpenOptions::new().append(true).open(&file)?;
    writeln!(file, "{row}").context("docs/design/soak.md")
}
