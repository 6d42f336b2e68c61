//! `cargo xtask ci`: what a change is held to besides working: format, invariants,
//! lints, builds with parts left out, what calls may cost, dependencies. The tests are `cargo xtask test`.

use crate::bench::budgets;
use crate::cargo::{cargo, has, whole};
use crate::deny;
use crate::features;
use crate::steps::{self, Step, status};
use crate::tidy;
use anyhow::{Result, ensure};

/// Options of `cargo xtask ci`.
#[derive(clap::Args)]
pub struct Options {
    /// Run the remaining steps after one has failed
    #[arg(long)]
    keep_going: bool,
    /// Fail where what calls cost cannot be counted, after trying to install valgrind
    #[arg(long)]
    must_count: bool,
}

/// Runs the checks, the cheapest first.
pub fn run(options: &Options) -> Result<()> {
    let mut list = vec![
        Step::new("fmt", || status(cargo(["fmt", "--all", "--check"]))),
        Step::new("tidy", || tidy::run(&tidy::Options::default())),
        Step::new("clippy", || {
            let mut command = whole(["clippy", "--workspace", "--all-targets"]);
            status(command.args(["--", "-D", "warnings"]))
        }),
        Step::new("features", || features::run(&features::Options::default())),
    ];
    let mut left_out = Vec::new();
    if options.must_count || budgets::can_count() {
        list.push(Step::new("budgets", || budgets::hold(options.must_count)));
    } else {
        left_out.push((
            "budgets",
            "valgrind is not installed (the package `valgrind`), so that nobody knows whether calls cost more than they did",
        ));
    }
    if has("deny") {
        list.push(Step::new("deny", || {
            ensure!(deny::check()?, "cargo deny found something");
            Ok(())
        }));
    } else {
        left_out.push((
            "deny",
            "cargo-deny is not installed ('cargo xtask deny' installs and runs it)",
        ));
    }
    steps::run("ci", &list, &left_out, options.keep_going)
}
