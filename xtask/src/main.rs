//! Development only: `cargo xtask setup|test|ci|cluster|simulate|soak|conformance|bench|bench-list|bench-start|bench-instructions|deny|docs|features|faults|peers|contract|tidy`.
//!
//! What the tests need is installed here by package name, and what continuous
//! integration runs is started here, so that both are the same on every
//! machine.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people at a terminal: printing is its purpose"
)]
#![allow(unreachable_pub, reason = "a program has no outside")]

mod bench;
mod cargo;
mod ci;
mod cluster;
mod conformance;
mod contract;
mod deny;
mod docs;
mod faults;
mod features;
mod paths;
mod peers;
mod process;
mod setup;
mod shown;
mod simulate;
mod soak;
mod steps;
mod table;
mod test;
mod tidy;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Tasks of the Switchboard workspace")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what the tests need into the cache directory
    Setup,
    /// Install what the tests need, build once, run everything that is tested
    Test(test::Options),
    /// What a change is held to besides: format, lints, dependencies
    Ci(ci::Options),
    /// Run a test with as many rounds as wanted
    Soak(soak::Options),
    /// Several gateways as one on this machine, with a load, and one killed now and then
    Cluster(cluster::Options),
    /// What many replicas and workers would do to each other, counted
    Simulate(simulate::Options),
    /// Run the official MCP conformance suite
    Conformance(conformance::Options),
    /// Measure the gateway against no proxy at all and against nginx
    Bench(bench::Options),
    /// Measure time and memory of `list` with nothing configured
    BenchList(bench::list::Options),
    /// Measure how soon a start shows the tools of slow servers
    BenchStart(bench::start::Options),
    /// Count the instructions of a small call
    BenchInstructions(bench::instructions::Options),
    /// Measure a request in our HTTP pool beside hyper-util's
    BenchPool,
    /// Check licences, bans and sources, installing cargo-deny if it is absent
    Deny,
    /// Write the generated pages, and what the pages of the guide show
    Docs,
    /// The crate `switchboard` with parts left out: it compiles, and small ones stay small
    Features(features::Options),
    /// Real clients and servers by package name: each lists and calls
    Peers(peers::Options),
    /// The catalogue of faults, with the test that shows each
    Faults(faults::Options),
    /// All that was asked for, with the tests that show each row
    Contract,
    /// What ARCHITECTURE.md says always holds, looked for in the sources
    Tidy(tidy::Options),
}

fn main() -> ExitCode {
    process::end_children_on_signals();
    let done = match Cli::parse().command {
        Command::Setup => setup::run().map(|tools| tools.print()),
        Command::Test(options) => test::run(&options),
        Command::Ci(options) => ci::run(&options),
        Command::Soak(options) => soak::run(&options),
        Command::Cluster(options) => cluster::run(&options),
        Command::Simulate(options) => simulate::run(&options),
        Command::Conformance(options) => conformance::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::BenchList(options) => bench::list::run(&options),
        Command::BenchStart(options) => bench::start::run(&options),
        Command::BenchInstructions(options) => bench::instructions::run(&options),
        Command::BenchPool => bench::pool::run(),
        Command::Deny => deny::run(),
        Command::Docs => docs::run(),
        Command::Features(options) => features::run(&options),
        Command::Peers(options) => peers::run(&options),
        Command::Faults(options) => faults::run(&options),
        Command::Contract => contract::run(),
        Command::Tidy(options) => tidy::run(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
