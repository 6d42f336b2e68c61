//! The page on which rounds are added up.

use super::tried;
use crate::paths;
use anyhow::{Context, Result};
use std::{
    fs,
    io::{Seek as _, Write as _},
    path::PathBuf,
    time::Instant,
};

/// Where the rounds are added up.
const PAGE: &str = "docs/design/soak.md";

/// The row of this run on the page, which other runs write to as well.
pub struct Tally {
    page: PathBuf,
    /// As it was written last.
    row: String,
    commit: String,
    name: &'static str,
    busy: usize,
    /// The first round of this run.
    pub first: u64,
    /// The rounds of earlier runs.
    pub before: u64,
    /// Those of this one.
    pub done: u64,
    begun: Instant,
}

impl Tally {
    pub fn open(name: &'static str, seed: Option<u64>, busy: usize) -> Result<Self> {
        let page = paths::root().join(PAGE);
        let text = fs::read_to_string(&page).context(PAGE)?;
        let rows: Vec<(u64, u64)> = text.lines().filter_map(|row| counted(row, name)).collect();
        let next = rows.iter().map(|(seed, rounds)| seed + rounds).max();
        Ok(Self {
            page,
            commit: tried::commit(PAGE)?,
            name,
            busy,
            first: seed.or(next).unwrap_or(1),
            before: rows.iter().map(|(_, rounds)| rounds).sum(),
            done: 0,
            begun: Instant::now(),
            row: String::new(),
        })
    }

    /// Counts these, and writes the row anew.
    pub fn add(&mut self, rounds: u64, finding: Option<String>) -> Result<()> {
        self.done += rounds;
        let row = format!(
            "| {} | {} | {} | {} | {} | {} | {} |\n",
            self.commit,
            self.name,
            self.first,
            self.done,
            self.busy,
            self.begun.elapsed().as_secs() / 60,
            finding.map_or_else(|| "none".into(), |text| text.replace(['|', '\n'], " ")),
        );
        let before = std::mem::replace(&mut self.row, row);
        let mut page = fs::File::options()
            .read(true)
            .write(true)
            .open(&self.page)
            .context(PAGE)?;
        page.lock().context(PAGE)?;
        let text = std::io::read_to_string(&page).context(PAGE)?;
        let text = with_row(&text, &before, &self.row);
        page.rewind()?;
        page.set_len(0)?;
        page.write_all(text.as_bytes()).context(PAGE)
    }
}

/// A page with a row in the place of what it was before, or at the end.
fn with_row(text: &str, before: &str, row: &str) -> String {
    match text.contains(before) && !before.is_empty() {
        true => text.replacen(before, row, 1),
        false => format!("{text}{row}"),
    }
}

/// First seed and rounds of a row, if it is one of `name`.
fn counted(row: &str, name: &str) -> Option<(u64, u64)> {
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    match cells[..] {
        [_, _, own, seed, rounds, ..] if own == name => {
            Some((seed.parse().ok()?, rounds.parse().ok()?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{counted, with_row};

    #[test]
    fn a_row_takes_its_own_place_beside_others() {
        let page = with_row("head\n", "", "one 1\n");
        let page = with_row(&page, "", "other 1\n");
        let page = with_row(&page, "one 1\n", "one 2\n");
        assert_eq!(page, "head\none 2\nother 1\n");
    }

    #[test]
    fn rows_are_counted_for_what_was_run() {
        let row = "| abc123-dirty | orphans | 21 | 40 | 0 | 3 | none |";
        assert_eq!(counted(row, "orphans"), Some((21, 40)));
        assert_eq!(counted(row, "suite"), None);
        assert_eq!(
            counted("| commit | what | first seed | rounds |", "what"),
            None
        );
    }
}
