//! `cargo xtask test`: every gate, in the order in which a fault is cheapest
//! to find.

use crate::cargo::{cargo, has};
use crate::table::Table;
use crate::{conformance, deny, setup};
use anyhow::{Context, Result, bail, ensure};
use std::process::Command;
use std::time::Instant;

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

type Step<'a> = (&'a str, Box<dyn Fn() -> Result<()> + 'a>);

/// Runs the steps and says how each ended.
pub fn run(options: &Options) -> Result<()> {
    // Everything below needs these, so a failure here is not a step's.
    let started = Instant::now();
    let tools = setup::run().context("setup")?;
    let mut report = Report::new();
    report.add("setup", started, "passed");

    let deny_present = has("deny");
    let mut steps: Vec<Step> = vec![
        (
            "fmt",
            Box::new(|| status(cargo(["fmt", "--all", "--check"]))),
        ),
        (
            "clippy",
            Box::new(|| {
                status(cargo([
                    "clippy",
                    "--workspace",
                    "--all-targets",
                    "--",
                    "-D",
                    "warnings",
                ]))
            }),
        ),
        (
            "build",
            // Everything that the tests run, compiled the way they compile it:
            // 'cargo build' would choose other features and build it all twice.
            Box::new(|| status(cargo(["nextest", "run", "--workspace", "--no-run"]))),
        ),
        (
            "nextest",
            Box::new(|| {
                let mut command = cargo(["nextest", "run", "--workspace"]);
                status(with(&mut command, &tools))
            }),
        ),
        (
            "doctests",
            Box::new(|| {
                let mut command = cargo(["test", "--doc", "--workspace"]);
                status(with(&mut command, &tools))
            }),
        ),
    ];
    if deny_present {
        steps.push((
            "deny",
            Box::new(|| {
                ensure!(deny::check()?, "cargo deny found something");
                Ok(())
            }),
        ));
    }
    if !options.quick {
        steps.push((
            "conformance",
            Box::new(|| conformance::run(&conformance::Options::everything())),
        ));
    }

    let mut failed: Vec<&str> = Vec::new();
    for (name, step) in &steps {
        if !failed.is_empty() && !options.keep_going {
            report.add(name, Instant::now(), "not reached");
            continue;
        }
        println!("\n=== {name}");
        let started = Instant::now();
        let result = match step() {
            Ok(()) => "passed",
            Err(error) => {
                eprintln!("{name}: {error:#}");
                failed.push(name);
                "FAILED"
            }
        };
        report.add(name, started, result);
    }
    if !deny_present {
        report.add("deny", Instant::now(), "NOT RUN: no cargo-deny");
    }
    if options.quick {
        report.add("conformance", Instant::now(), "NOT RUN: --quick");
    }
    report.print();
    if !deny_present {
        println!(
            "deny: NOT RUN, cargo-deny is not installed ('cargo xtask deny' installs and runs it)"
        );
    }
    if options.quick {
        println!("conformance: NOT RUN (--quick)");
    }
    if failed.is_empty() {
        println!("test: all steps passed");
        return Ok(());
    }
    bail!("test: failed: {}", failed.join(", "))
}

struct Report {
    table: Table,
    started: Instant,
}

impl Report {
    fn new() -> Self {
        Self {
            table: Table::new(["step", "seconds", "result"]),
            started: Instant::now(),
        }
    }

    fn add(&mut self, name: &str, started: Instant, result: &str) {
        let seconds = format!("{:.1}", started.elapsed().as_secs_f64());
        self.table.row([name.into(), seconds, result.into()]);
    }

    fn print(&self) {
        println!("\n{}", self.table.render());
        println!("{:.0} s in all", self.started.elapsed().as_secs_f64());
    }
}

fn with<'a>(command: &'a mut Command, tools: &setup::Tools) -> &'a mut Command {
    command.envs(tools.variables())
}

fn status<C: std::borrow::BorrowMut<Command>>(mut command: C) -> Result<()> {
    let status = command.borrow_mut().status().context("starting cargo")?;
    ensure!(status.success(), "{status}");
    Ok(())
}
