//! `cargo xtask faults`: the catalogue of faults, with the tests that show each
//! row. A row without a test that exists is a failure.

use crate::{cargo::cargo, paths};
use anyhow::{Context, Result, bail, ensure};
use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
};

/// Where the catalogue is.
const PAGE: &str = "docs/faults.md";
/// How the last column of a row begins that nothing can show yet.
const NOT_BUILT: &str = "**not built yet**:";
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

/// One row of the page.
#[derive(Debug)]
struct Row {
    id: u32,
    what: String,
    shown: Shown,
}

#[derive(Debug)]
enum Shown {
    /// By these tests: file and name.
    Tests(Vec<(String, String)>),
    /// It is about something that does not exist; what.
    NotBuilt(String),
}

/// Prints the catalogue and says what is missing.
pub fn run(options: &Options) -> Result<()> {
    let root = paths::root();
    let text = std::fs::read_to_string(root.join(PAGE)).context(PAGE)?;
    let rows = read(&text)?;
    let mut files = Files::default();
    let (mut missing, mut not_built) = (Vec::new(), Vec::new());
    for row in &rows {
        println!("{:>4}  {}", row.id, row.what);
        match &row.shown {
            Shown::NotBuilt(why) => {
                println!("      NOT BUILT YET: {why}");
                not_built.push(row.id.to_string());
            }
            Shown::Tests(tests) => {
                for (file, test) in tests {
                    let found = files.has(&root.join("crates").join(file), test);
                    let word = if found { "" } else { "MISSING  " };
                    println!("      {word}{file}::{test}");
                    if !found {
                        missing.push(format!("{}: {file}::{test}", row.id));
                    }
                }
            }
        }
    }
    let shown = rows.len() - not_built.len();
    println!("\n{} faults; {shown} are shown by tests", rows.len());
    if !not_built.is_empty() {
        println!(
            "NOT BUILT YET, and shown by nothing: {} ({})",
            not_built.len(),
            not_built.join(", ")
        );
    }
    ensure!(
        missing.is_empty(),
        "tests that {PAGE} names and that do not exist:\n  {}",
        missing.join("\n  ")
    );
    if options.soak {
        let status = cargo([
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

/// Reads the rows; every number of the catalogue has one, and only one.
fn read(text: &str) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let mut seen = BTreeSet::new();
    for (n, line) in text.lines().enumerate() {
        let Some(row) = row(line).with_context(|| format!("{PAGE}:{}", n + 1))? else {
            continue;
        };
        ensure!(
            seen.insert(row.id),
            "{PAGE}:{}: {} comes twice",
            n + 1,
            row.id
        );
        rows.push(row);
    }
    let missing: Vec<String> = (1..=LAST)
        .filter(|id| !seen.contains(id) && !NEVER_GIVEN.contains(id))
        .map(|id| id.to_string())
        .collect();
    ensure!(
        missing.is_empty(),
        "{PAGE} has no row for {}",
        missing.join(", ")
    );
    Ok(rows)
}

/// One line of a table; nothing where it is none of a fault.
fn row(line: &str) -> Result<Option<Row>> {
    let Some(inner) = line
        .strip_prefix('|')
        .and_then(|line| line.trim_end().strip_suffix('|'))
    else {
        return Ok(None);
    };
    let cells: Vec<&str> = inner.split(" | ").map(str::trim).collect();
    let Ok(id) = cells[0].parse::<u32>() else {
        return Ok(None);
    };
    let [_, what, holds, shown] = cells[..] else {
        bail!("a row has four cells, this one has {}", cells.len());
    };
    ensure!(!what.is_empty() && !holds.is_empty(), "a cell is empty");
    if let Some(why) = shown.strip_prefix(NOT_BUILT) {
        ensure!(!why.trim().is_empty(), "say what does not exist");
        return Ok(Some(Row {
            id,
            what: what.to_owned(),
            shown: Shown::NotBuilt(why.trim().to_owned()),
        }));
    }
    let mut tests = Vec::new();
    for name in shown
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
    {
        let (file, test) = name
            .split_once("::")
            .with_context(|| format!("{name:?} is no file::test"))?;
        tests.push((file.to_owned(), test.to_owned()));
    }
    ensure!(!tests.is_empty(), "fault {id} has no test");
    Ok(Some(Row {
        id,
        what: what.to_owned(),
        shown: Shown::Tests(tests),
    }))
}

/// The names of the tests in each file that was looked at.
#[derive(Default)]
struct Files(HashMap<std::path::PathBuf, BTreeSet<String>>);

impl Files {
    fn has(&mut self, file: &Path, test: &str) -> bool {
        let tests = self.0.entry(file.to_owned()).or_insert_with(|| {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            tests_in(&text)
        });
        tests.contains(test)
    }
}

/// The functions that stand right behind an attribute which makes them tests.
fn tests_in(text: &str) -> BTreeSet<String> {
    let (mut found, mut is_test) = (BTreeSet::new(), false);
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some(rest) = line.strip_prefix("async fn ").or(line.strip_prefix("fn ")) {
            let name = rest.split(['(', '<']).next().unwrap_or_default();
            if is_test {
                found.insert(name.to_owned());
            }
            is_test = false;
        }
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_what_is_wrong_is_refused() {
        let good = row("| 5 | odd ids | none merge | a/b.rs::one, c.rs::two |")
            .unwrap()
            .unwrap();
        assert_eq!(good.id, 5);
        assert!(matches!(good.shown, Shown::Tests(tests) if tests.len() == 2));
        let later = row("| 94 | x | y | **not built yet**: no console |")
            .unwrap()
            .unwrap();
        assert!(matches!(later.shown, Shown::NotBuilt(why) if why == "no console"));
        assert!(
            row("| id | what happens | what must hold | tests |")
                .unwrap()
                .is_none()
        );
        assert!(row("|---|---|---|---|").unwrap().is_none());
        for bad in [
            "| 5 | odd ids | none merge |  |",
            "| 5 | odd ids | none merge | somewhere |",
            "| 5 | odd ids | none merge |",
            "| 5 | x | y | **not built yet**: |",
        ] {
            assert!(row(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_tests_count_as_tests() {
        let text =
            "#[tokio::test]\nasync fn one() {}\nfn helper() {}\n#[test]\n#[ignore]\nfn two() {}\n";
        let found: Vec<String> = tests_in(text).into_iter().collect();
        assert_eq!(found, ["one", "two"]);
    }

    #[test]
    fn no_row_of_the_catalogue_may_go() {
        let fault = read("| 1 | x | y | a.rs::b |").unwrap_err().to_string();
        assert!(fault.contains("no row for 2, 3"), "{fault}");
    }

    /// The page itself, so that the tests alone notice what is missing.
    #[test]
    fn the_catalogue_is_whole() {
        run(&Options { soak: false }).unwrap();
    }
}
