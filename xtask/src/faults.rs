//! `cargo xtask faults`: the catalogue of faults, with the tests that show each
//! row. A row without a test that exists is a failure.

use crate::{
    cargo::whole,
    shown::{Page, Row},
};
use anyhow::{Result, ensure};

/// The catalogue.
const PAGE: Page = Page {
    file: "docs/design/faults.md",
    rows: "faults",
    cells: 4,
    is_id: |id| id.parse::<u32>().is_ok(),
};
/// The last of the catalogue, so that rows cannot get lost at its end.
const LAST: u32 = 118;
/// Numbers that were never given.
const NEVER_GIVEN: [u32; 5] = [71, 76, 89, 98, 106];

/// Options of `cargo xtask faults`.
#[derive(clap::Args, Default)]
pub struct Options {
    /// Run the tests that take minutes, too
    #[arg(long)]
    soak: bool,
}

/// Prints the catalogue and says what is missing.
pub fn run(options: &Options) -> Result<()> {
    let rows = PAGE.read()?;
    check(&rows)?;
    PAGE.report(&rows)?;
    if options.soak {
        let status = whole([
            "nextest",
            "run",
            "-p",
            "switchboard-cli",
            "--test",
            "it",
            "--run-ignored",
            "only",
            "faults::soak",
        ])
        .status()?;
        ensure!(status.success(), "soak: {status}");
    }
    Ok(())
}

/// Every number of the catalogue has a row.
fn check(rows: &[Row]) -> Result<()> {
    let has = |id: &String| rows.iter().any(|row| row.id == *id);
    let given = (1..=LAST).filter(|id| !NEVER_GIVEN.contains(id));
    let missing: Vec<String> = given
        .map(|id| id.to_string())
        .filter(|id| !has(id))
        .collect();
    ensure!(
        missing.is_empty(),
        "{} has no row for {}",
        PAGE.file,
        missing.join(", ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_of_the_catalogue_may_go() {
        let rows = PAGE.parse("| 1 | x | y | a.rs::b |").unwrap();
        let fault = check(&rows).unwrap_err().to_string();
        assert!(fault.contains("no row for 2, 3"), "{fault}");
    }

    /// The page itself, so that the tests alone notice what is missing.
    #[test]
    fn the_catalogue_is_whole() {
        run(&Options { soak: false }).unwrap();
    }
}
