//! `cargo xtask test`: what a newcomer runs to see that everything works.

use crate::cargo::cargo;
use crate::steps::{self, Step, status};
use crate::{conformance, faults, setup};
use anyhow::{Context, Result};
use std::{num::NonZero, process::Command};

/// Options of `cargo xtask test`.
#[derive(clap::Args)]
pub struct Options {
    /// Leave the conformance suite out
    #[arg(long)]
    quick: bool,
    /// Run the remaining steps after one has failed
    #[arg(long)]
    keep_going: bool,
}

/// Installs what is needed, builds once, and runs everything that is tested.
pub fn run(options: &Options) -> Result<()> {
    // Everything below needs these, so a failure here is not a step's.
    let tools = setup::run().context("setup")?;
    let mut list = vec![
        Step::new("faults", || faults::run(&faults::Options::default())),
        // Everything that the tests run, compiled the way they compile it:
        // 'cargo build' would choose other features and build it all twice.
        Step::new("build", || {
            status(cargo(["nextest", "run", "--workspace", "--no-run"]))
        }),
        Step::new("tests", || status(everything().envs(tools.variables()))),
        Step::new("doctests", || {
            let mut command = cargo(["test", "--doc", "--workspace"]);
            status(command.envs(tools.variables()))
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

/// All tests, once. Most of them wait most of the time (for processes, for limits
/// that have to pass), so there are more at once than cores.
pub fn everything() -> Command {
    let cores = std::thread::available_parallelism().map_or(2, NonZero::get);
    let mut command = cargo(["nextest", "run", "--workspace", "--test-threads"]);
    command.arg((4 * cores).to_string());
    command
}
