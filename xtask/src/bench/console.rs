//! `cargo xtask bench console`: what the page in a browser costs its reader, in a real
//! Chromium, with 10,000 calls in its list.

use super::report::{self, Section};
use crate::cargo::cargo;
use crate::paths;
use crate::table::Table;
use anyhow::{Context, Result, ensure};

/// Options of `cargo xtask bench console`.
#[derive(clap::Args)]
pub struct Options {
    /// Put the table into docs/design/performance.md
    #[arg(long)]
    write: bool,
}

/// Measures, and prints a table.
pub fn run(options: &Options) -> Result<()> {
    let mut command = cargo(["nextest", "run", "--package", "switchboard-console"]);
    command
        .args(["--test", "browser", "--run-ignored", "only", "--no-capture"])
        .args(["-E", "test(what_the_page_costs)"]);
    let ran = command.output().context("cargo nextest")?;
    let said = String::from_utf8_lossy(&ran.stdout);
    ensure!(
        ran.status.success(),
        "it was not measured:\n{said}\n{}",
        String::from_utf8_lossy(&ran.stderr)
    );
    let mut table = Table::new(["what", "measured", "goal"]);
    let figures = said.lines().filter_map(|line| {
        let mut parts = line.trim().strip_prefix("figure|")?.split('|');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        Some([next(), next(), next()])
    });
    let mut any = false;
    for figure in figures {
        any = true;
        table.row(figure);
    }
    ensure!(any, "no figures were printed:\n{said}");
    let text = format!(
        "{}\n{} processors ({}); browser and gateway on one machine.\n",
        table.render(),
        std::thread::available_parallelism().map_or(1, usize::from),
        report::processor(),
    );
    println!("{text}");
    if options.write {
        let page = paths::root().join("docs/design/performance.md");
        report::write(&page, Section::Console, &text)?;
        println!("written to {}", page.display());
    }
    Ok(())
}
