//! A list of steps, run in order, with a table of how each ended.

use crate::table::Table;
use anyhow::{Context, Result, bail, ensure};
use std::{borrow::BorrowMut, process::Command, time::Instant};

/// One thing that has to be green.
pub struct Step<'a> {
    name: &'static str,
    run: Box<dyn Fn() -> Result<()> + 'a>,
}

impl<'a> Step<'a> {
    /// A step of this name.
    pub fn new(name: &'static str, run: impl Fn() -> Result<()> + 'a) -> Self {
        Self {
            name,
            run: Box::new(run),
        }
    }
}

/// Runs the steps of `task`. What was left out is said where it is read last.
pub fn run(
    task: &str,
    steps: &[Step],
    left_out: &[(&'static str, &str)],
    keep_going: bool,
) -> Result<()> {
    let all = Instant::now();
    let mut table = Table::new(["step", "seconds", "result"]);
    let mut failed: Vec<&str> = Vec::new();
    for step in steps {
        if !failed.is_empty() && !keep_going {
            table.row([step.name.into(), "0.0".into(), "not reached".into()]);
            continue;
        }
        println!("\n=== {}", step.name);
        let started = Instant::now();
        let result = match (step.run)() {
            Ok(()) => "passed",
            Err(error) => {
                eprintln!("{}: {error:#}", step.name);
                failed.push(step.name);
                "FAILED"
            }
        };
        let seconds = format!("{:.1}", started.elapsed().as_secs_f64());
        table.row([step.name.into(), seconds, result.into()]);
    }
    for (name, why) in left_out {
        table.row([(*name).into(), String::new(), format!("NOT RUN: {why}")]);
    }
    println!("\n{}", table.render());
    println!("{:.0} s in all", all.elapsed().as_secs_f64());
    for (name, why) in left_out {
        println!("{name}: NOT RUN, {why}");
    }
    if !failed.is_empty() {
        bail!("{task}: failed: {}", failed.join(", "));
    }
    println!("{task}: all steps passed");
    Ok(())
}

/// Runs a command to its end, which must be a success.
pub fn status(mut command: impl BorrowMut<Command>) -> Result<()> {
    let status = command
        .borrow_mut()
        .status()
        .with_context(|| format!("starting {:?}", command.borrow().get_program()))?;
    ensure!(status.success(), "{status}");
    Ok(())
}
