//! `cargo xtask contract`: all that was asked for, with the tests that show each
//! row. A row without a test that exists is a failure; what is not built is
//! counted aloud.

use crate::shown::{Page, Row};
use anyhow::{Result, ensure};

/// The page.
const PAGE: Page = Page {
    file: "docs/design/contract.md",
    rows: "demands",
    cells: 3,
    is_id: is_one,
};
/// The chapters, each with the number of its last row, so that none can get lost.
const CHAPTERS: [(char, u32); 8] = [
    ('P', 13),
    ('T', 10),
    ('C', 8),
    ('N', 10),
    ('G', 8),
    ('A', 6),
    ('M', 3),
    ('V', 5),
];

/// Prints the page and says what is missing.
pub fn run() -> Result<()> {
    let rows = PAGE.read()?;
    check(&rows)?;
    PAGE.report(&rows)
}

/// A letter and a number.
fn is_one(id: &str) -> bool {
    let mut letters = id.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_uppercase())
        && letters.as_str().parse::<u32>().is_ok()
}

/// Every demand has a row, and there are no others.
fn check(rows: &[Row]) -> Result<()> {
    let ids = CHAPTERS
        .iter()
        .flat_map(|(letter, last)| (1..=*last).map(move |number| format!("{letter}{number}")));
    let ids: Vec<String> = ids.collect();
    let missing: Vec<&str> = ids
        .iter()
        .filter(|id| !rows.iter().any(|row| row.id == **id))
        .map(String::as_str)
        .collect();
    let file = PAGE.file;
    ensure!(
        missing.is_empty(),
        "{file} has no row for {}",
        missing.join(", ")
    );
    let strange = rows.iter().find(|row| !ids.contains(&row.id));
    ensure!(
        strange.is_none(),
        "{file}: nobody asked for {}",
        strange.map_or("", |row| row.id.as_str())
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_demand_may_go_and_none_may_come() {
        let rows = PAGE.parse("| P1 | x | a.rs::b |").unwrap();
        let fault = check(&rows).unwrap_err().to_string();
        assert!(fault.contains("no row for P2, P3"), "{fault}");
        assert!(PAGE.parse("| id | x | shown by |").unwrap().is_empty());
    }

    /// The page itself, so that the tests alone notice what is missing.
    #[test]
    fn the_page_is_whole() {
        run().unwrap();
    }
}
