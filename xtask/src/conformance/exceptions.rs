//! `conformance/exceptions.md`: checks that succeed directly and cannot
//! through a gateway, each with its reason.

use anyhow::{Context, Result, bail, ensure};
use std::path::Path;

/// A row of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Exception {
    /// Whether it is about client and server of different eras.
    pub across: bool,
    /// The revision.
    pub version: String,
    /// The scenario.
    pub scenario: String,
    /// The check's id.
    pub check: String,
}

impl Exception {
    /// Whether this is about that check.
    pub fn covers(&self, across: bool, version: &str, scenario: &str, check: &str) -> bool {
        self.across == across
            && self.version == version
            && self.scenario == scenario
            && self.check == check
    }
}

/// Reads the table. A row without a reason is an error.
pub fn load(path: &Path) -> Result<Vec<Exception>> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    parse(&text).with_context(|| path.display().to_string())
}

fn parse(text: &str) -> Result<Vec<Exception>> {
    let mut found = Vec::new();
    let mut in_table = false;
    for (number, line) in text.lines().enumerate() {
        let Some(row) = line.trim().strip_prefix('|') else {
            in_table = false;
            continue;
        };
        let row = row.strip_suffix('|').unwrap_or(row);
        let cells: Vec<&str> = row
            .split('|')
            .map(|cell| cell.trim().trim_matches('`'))
            .collect();
        let [eras, version, scenario, check, reason] = cells[..] else {
            bail!("line {}: five cells are needed", number + 1);
        };
        if !in_table {
            ensure!(
                [eras, version, scenario, check, reason]
                    == ["eras", "version", "scenario", "check", "reason"],
                "line {}: the columns are eras, version, scenario, check, reason",
                number + 1
            );
            in_table = true;
        } else if !eras.starts_with([':', '-']) {
            ensure!(
                super::VERSIONS.contains(&version),
                "line {}: {version} is not a revision that is tested",
                number + 1
            );
            ensure!(!reason.is_empty(), "line {}: no reason", number + 1);
            ensure!(
                ["same", "across"].contains(&eras),
                "line {}: eras are same or across",
                number + 1
            );
            found.push(Exception {
                across: eras == "across",
                version: version.into(),
                scenario: scenario.into(),
                check: check.into(),
            });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "# Title\n\n| eras | version | scenario | check | reason |\n|---|---|---|---|---|\n";

    #[test]
    fn rows_are_read() -> Result<()> {
        let rows = parse(&format!(
            "{HEAD}| same | 2025-11-25 | `s` | `c` | because |\n"
        ))?;
        assert!(rows.len() == 1 && rows[0].covers(false, "2025-11-25", "s", "c"));
        Ok(())
    }

    #[test]
    fn an_empty_table_is_fine() -> Result<()> {
        assert_eq!(parse(HEAD)?, []);
        Ok(())
    }

    #[test]
    fn faults_are_named() {
        for row in [
            "| same | 2025-11-25 | s | c | |",
            "| same | 2025-11-25 | s | c |",
            "| same | 1999-01-01 | s | c | because |",
            "| both | 2025-11-25 | s | c | because |",
        ] {
            let error = parse(&format!("{HEAD}{row}\n")).err();
            assert!(error.is_some_and(|e| e.to_string().starts_with("line 5:")));
        }
    }
}
