//! `cargo xtask bench-instructions --budgets`: four calls, held to what they may cost.
//!
//! What is counted is the program as the tests build it: continuous integration has that
//! one anyhow, and a build that is optimised takes as long as all the rest. It shows a
//! call that does more than it did, and not what an optimiser makes of it.

use super::instructions::{Parts, Programs, stdio};
use super::subjects::upstream;
use crate::cargo::whole;
use crate::steps::status;
use crate::{paths, setup};
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use std::{fmt::Write as _, process::Command};

/// Where budgets are kept.
const PAGE: &str = "docs/design/budgets.md";
/// How much more than its budget a call may cost, in percent; and how much less it has to
/// before the budget should move down.
const MARGIN: u64 = 5;

/// How often a call is counted that costs too much, and each before its budget is written.
const COUNTS: usize = 4;

/// A call that has a budget.
struct Budgeted {
    name: &'static str,
    /// Whether its server is reached by HTTP.
    by_http: bool,
    path: &'static str,
    asks: &'static [&'static str],
    calls: u64,
}

const ALL: [Budgeted; 4] = [
    Budgeted {
        name: "200 bytes, a server on stdio",
        by_http: false,
        path: "/mcp/echo",
        asks: &[],
        calls: 200,
    },
    Budgeted {
        name: "200 bytes, a server on HTTP",
        by_http: true,
        path: "/mcp/echo",
        asks: &[],
        calls: 200,
    },
    Budgeted {
        name: "1 MiB, a server on stdio",
        by_http: false,
        path: "/mcp/echo",
        asks: &["--bytes", "1048576"],
        calls: 3,
    },
    Budgeted {
        name: "a page of tools of all servers",
        by_http: false,
        path: "/mcp",
        asks: &["--list"],
        calls: 200,
    },
];

/// Whether instructions can be counted here.
pub fn can_count() -> bool {
    let version = Command::new("valgrind").arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// Holds the calls to their budgets, with the programs as the tests build them: where the
/// tests ran there is nothing left to build. `install` gets valgrind where it is absent.
pub fn hold(install: bool) -> Result<()> {
    if install && !can_count() {
        setup::apt_install(&paths::scratch("budgets-setup")?, "valgrind")?;
    }
    ensure!(can_count(), "{NO_VALGRIND}");
    status(whole(["test", "--workspace", "--no-run"]))?;
    run(None, false)
}

/// What is said where nothing can be counted.
pub const NO_VALGRIND: &str =
    "valgrind is not installed: install the package `valgrind` and run again";

/// Counts each, and compares or writes.
pub fn run(built: Option<&str>, write: bool) -> Result<()> {
    let profile = built.unwrap_or("debug");
    let programs = Programs::of(profile)?;
    let compiler = compiler()?;
    let page = paths::root().join(PAGE);
    let kept = std::fs::read_to_string(&page).unwrap_or_default();
    let is_same = kept.contains(&compiler);
    let (mut rows, mut over) = (String::new(), Vec::new());
    for one in ALL {
        let budget = budget(&kept, one.name);
        let most = budget
            .filter(|_| is_same && !write)
            .map_or(0, |budget| budget + budget * MARGIN / 100);
        // What is read in one piece or in several depends on what else the machine does,
        // and only ever adds: the least counts.
        let mut counted = u64::MAX;
        for _ in 0..COUNTS {
            counted = counted.min(one.count(&programs)?);
            if counted <= most {
                break;
            }
        }
        writeln!(rows, "| {} | {counted} |", one.name)?;
        println!("  {counted:>10}   budget {budget:?}   {}", one.name);
        let Some(budget) = budget.filter(|_| is_same && !write) else {
            continue;
        };
        if counted > budget + budget * MARGIN / 100 {
            over.push(one.name);
        } else if counted < budget - budget * MARGIN / 100 {
            println!("               it costs less by now: --write moves the budget down");
        }
    }
    if write {
        std::fs::write(&page, written(&compiler, &rows))?;
        return Ok(());
    }
    if !is_same {
        // Whoever has another compiler has done nothing wrong.
        println!(
            "NOT COMPARED: the budgets in {PAGE} are of another compiler than {compiler}; \
             count them anew with --write, from a tree whose calls cost what they should"
        );
    }
    ensure!(
        over.is_empty(),
        "more than {MARGIN} % over budget: {}. What it goes to: --keep and callgrind_annotate. \
         Where it is worth it, --write, and say why in the commit",
        over.join(", ")
    );
    Ok(())
}

impl Budgeted {
    fn count(&self, programs: &Programs) -> Result<u64> {
        let scratch = paths::scratch("budgets")?;
        let running = match self.by_http {
            true => Some(upstream(&programs.server, &scratch)?),
            false => None,
        };
        let entry = match &running {
            Some(running) => json!({"type": "http", "url": running.url}),
            None => stdio(&programs.server),
        };
        let entries = json!({"echo": entry});
        let parts = Parts {
            program: &programs.gateway,
            load: &programs.load,
            entries,
            path: self.path,
            asks: self.asks.to_vec(),
            clients: 1,
            calls: self.calls,
            valgrind: &[],
        };
        let each = parts.each(&[], None)?;
        drop(running);
        std::fs::remove_dir_all(&scratch)?;
        Ok(each.total)
    }
}

/// The compiler, as it names itself.
fn compiler() -> Result<String> {
    let output = Command::new("rustc").arg("--version").output();
    let text = String::from_utf8(output.context("rustc")?.stdout)?;
    match text.trim() {
        "" => bail!("rustc does not say which it is"),
        version => Ok(version.to_owned()),
    }
}

/// What a page says that a call may cost.
fn budget(page: &str, name: &str) -> Option<u64> {
    let mut rows = page.lines().filter_map(|line| {
        let (row, count) = line
            .strip_prefix("| ")?
            .strip_suffix(" |")?
            .split_once(" | ")?;
        (row == name).then(|| count.parse().ok())?
    });
    rows.next()
}

fn written(compiler: &str, rows: &str) -> String {
    format!(
        "# What calls may cost\n\n\
        Instructions of the gateway for one call, counted by callgrind with the program as the\n\
        tests build it (the profile `dev`, {compiler}). `cargo xtask bench-instructions --budgets`\n\
        fails where a call costs {MARGIN} % more; with `--write` it writes this page anew. What is\n\
        shipped costs a small part of this: [performance.md](performance.md) has those figures.\n\n\
        | call | instructions |\n|---|---|\n{rows}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let page = written("rustc 1", "| a call | 12 |\n| b | 3 |\n");
        assert_eq!(
            (budget(&page, "a call"), budget(&page, "b")),
            (Some(12), Some(3))
        );
        assert_eq!(budget(&page, "c"), None);
        assert!(page.contains("rustc 1"));
    }
}
