//! `cargo xtask soak NAME`: tests that want more rounds than fit into a run of
//! all tests, run as often as asked.

use crate::cargo::cargo;
use crate::setup;
use crate::steps::status;
use anyhow::{Context, Result};

/// Options of `cargo xtask soak`.
#[derive(clap::Args)]
pub struct Options {
    /// What to run
    name: Name,
    /// How many rounds
    #[arg(long, default_value_t = 1000)]
    rounds: u32,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Name {
    /// Two of our three processes killed at once: nobody outlives us
    Orphans,
}

impl Name {
    /// The test program and the test.
    fn test(self) -> (&'static str, &'static str) {
        match self {
            Self::Orphans => ("orphans", "orphans_of_any_two_at_once"),
        }
    }
}

/// Runs the rounds, and prints what the test prints.
pub fn run(options: &Options) -> Result<()> {
    let tools = setup::run().context("setup")?;
    let (program, test) = options.name.test();
    // Both programs' build is the tests' own; `echo` makes the testkit's programs.
    let build = ["--test", program, "--test", "echo"];
    status(cargo(["nextest", "run", "--workspace", "--no-run"]).args(build))?;
    let mut command = cargo(["test", "--workspace"]);
    command
        .args(build)
        .args(["--", "--exact", "--nocapture", test])
        .env("SWITCHBOARD_SOAK_ROUNDS", options.rounds.to_string())
        .envs(tools.variables());
    status(command)
}
