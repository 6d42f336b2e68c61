//! Pages whose rows name the tests that show them: reading them, looking for the
//! tests, and printing what was found.

use crate::paths;
use anyhow::{Context, Result, bail, ensure};
use std::{
    collections::{BTreeSet, HashMap},
    path::Path,
};

/// What begins the part of a row that nothing can show yet.
const NOT_BUILT: &str = "**not built yet**:";

/// A page with such rows.
pub struct Page {
    /// Where it is.
    pub file: &'static str,
    /// What its rows are called.
    pub rows: &'static str,
    /// How many cells each has; the last one names the tests.
    pub cells: usize,
    /// Whether a text is the id of a row, and no heading.
    pub is_id: fn(&str) -> bool,
}

/// One row.
#[derive(Debug)]
pub struct Row {
    /// Its id.
    pub id: String,
    what: String,
    /// File and name of each test.
    tests: Vec<(String, String)>,
    /// What of it does not exist.
    lacks: Option<String>,
}

impl Page {
    /// Reads it; an id comes once.
    pub fn read(&self) -> Result<Vec<Row>> {
        let text = std::fs::read_to_string(paths::root().join(self.file)).context(self.file)?;
        self.parse(&text)
    }

    /// The same of its text.
    pub fn parse(&self, text: &str) -> Result<Vec<Row>> {
        let (mut rows, mut seen) = (Vec::new(), BTreeSet::new());
        for (n, line) in text.lines().enumerate() {
            let place = || format!("{}:{}", self.file, n + 1);
            if let Some(row) = self.row(line).with_context(place)? {
                let new = seen.insert(row.id.clone());
                ensure!(new, "{}: {} comes twice", place(), row.id);
                rows.push(row);
            }
        }
        Ok(rows)
    }

    /// One line of a table; nothing where it is no row.
    fn row(&self, line: &str) -> Result<Option<Row>> {
        let inner = line.strip_prefix('|');
        let Some(inner) = inner.and_then(|line| line.trim_end().strip_suffix('|')) else {
            return Ok(None);
        };
        let cells: Vec<&str> = inner.split(" | ").map(str::trim).collect();
        let [id, middle @ .., last] = &cells[..] else {
            return Ok(None);
        };
        if !(self.is_id)(id) {
            return Ok(None);
        }
        let (want, have) = (self.cells, cells.len());
        ensure!(have == want, "a row has {want} cells, this one has {have}");
        ensure!(
            middle.iter().all(|cell| !cell.is_empty()),
            "a cell is empty"
        );
        let (shown, lacks) = match last.split_once(NOT_BUILT) {
            Some((shown, lacks)) => (shown, Some(lacks.trim().to_owned())),
            None => (*last, None),
        };
        ensure!(lacks.as_deref() != Some(""), "say what does not exist");
        let mut tests = Vec::new();
        for name in shown
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let Some((file, test)) = name.split_once("::") else {
                bail!("{name:?} is no file::test");
            };
            tests.push((file.to_owned(), test.to_owned()));
        }
        ensure!(lacks.is_some() || !tests.is_empty(), "{id} has no test");
        Ok(Some(Row {
            id: (*id).to_owned(),
            what: middle.first().copied().unwrap_or_default().to_owned(),
            tests,
            lacks,
        }))
    }

    /// Prints the rows with their tests, counts aloud what is not built, and
    /// fails where a test does not exist.
    pub fn report(&self, rows: &[Row]) -> Result<()> {
        let crates = paths::root().join("crates");
        let (mut files, mut missing) = (Files::default(), Vec::new());
        for row in rows {
            println!("{:>4}  {}", row.id, row.what);
            for (file, test) in &row.tests {
                let found = files.has(&crates.join(file), test);
                let word = if found { "" } else { "MISSING  " };
                println!("      {word}{file}::{test}");
                if !found {
                    missing.push(format!("{}: {file}::{test}", row.id));
                }
            }
            if let Some(lacks) = &row.lacks {
                println!("      NOT BUILT YET: {lacks}");
            }
        }
        let ids = |wanted: &dyn Fn(&&Row) -> bool| {
            let ids: Vec<&str> = rows
                .iter()
                .filter(wanted)
                .map(|row| row.id.as_str())
                .collect();
            ids
        };
        let partly = ids(&|row| row.lacks.is_some() && !row.tests.is_empty());
        let not = ids(&|row| row.tests.is_empty());
        let whole = rows.len() - partly.len() - not.len();
        println!("\n{} {}; {whole} are shown by tests", rows.len(), self.rows);
        for (what, ids) in [
            ("NOT BUILT YET in part", partly),
            ("NOT BUILT YET, and shown by nothing", not),
        ] {
            if !ids.is_empty() {
                println!("{what}: {} ({})", ids.len(), ids.join(", "));
            }
        }
        ensure!(
            missing.is_empty(),
            "tests that {} names and that do not exist:\n  {}",
            self.file,
            missing.join("\n  ")
        );
        Ok(())
    }
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

/// The functions that stand right behind an attribute which makes them tests, and
/// those that a program which is its own harness names in `tests!`.
fn tests_in(text: &str) -> BTreeSet<String> {
    let (mut found, mut is_test, mut is_list) = (BTreeSet::new(), false, false);
    for line in text.lines().map(str::trim) {
        if line == "tests! {" || line == "}" {
            is_list = line != "}";
        } else if let Some(name) = line.strip_suffix(',').filter(|_| is_list) {
            found.insert(name.to_owned());
        } else if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
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
mod tests {
    use super::*;

    const PAGE: Page = Page {
        file: "page",
        rows: "rows",
        cells: 4,
        is_id: |id| id.parse::<u32>().is_ok(),
    };

    #[test]
    fn rows_are_read_and_what_is_wrong_is_refused() {
        let one = |line: &str| PAGE.row(line).unwrap();
        let good = one("| 5 | odd ids | none merge | a/b.rs::one, c.rs::two |").unwrap();
        assert_eq!((good.id.as_str(), good.tests.len()), ("5", 2));
        assert_eq!(good.lacks, None);
        let later = one("| 94 | x | y | **not built yet**: no console |").unwrap();
        assert_eq!(later.lacks.as_deref(), Some("no console"));
        let partly = one("| 95 | x | y | a.rs::b **not built yet**: the rest |").unwrap();
        assert_eq!(
            (partly.tests.len(), partly.lacks.as_deref()),
            (1, Some("the rest"))
        );
        assert!(one("| id | what happens | what must hold | tests |").is_none());
        assert!(one("|---|---|---|---|").is_none());
        for bad in [
            "| 5 | odd ids | none merge |  |",
            "| 5 | odd ids | none merge | somewhere |",
            "| 5 | odd ids | none merge |",
            "| 5 | x | y | **not built yet**: |",
            "| 5 | x |  | a.rs::b |",
        ] {
            assert!(PAGE.row(bad).is_err(), "{bad}");
        }
        let twice = "| 5 | x | y | a.rs::b |\n| 5 | x | y | a.rs::b |";
        assert!(PAGE.parse(twice).is_err());
    }

    #[test]
    fn a_test_that_does_not_exist_is_a_failure() {
        let rows = PAGE
            .parse("| 5 | x | y | cli/tests/it/main.rs::nowhere |")
            .unwrap();
        let fault = PAGE.report(&rows).unwrap_err().to_string();
        assert!(
            fault.contains("5: cli/tests/it/main.rs::nowhere"),
            "{fault}"
        );
    }

    #[test]
    fn only_tests_count_as_tests() {
        let text = "#[tokio::test]\nasync fn one() {}\nfn helper() {}\n#[test]\n#[ignore]\nfn two() {}\n\
             tests! {\n    three,\n}\nlet x = [\n    four,\n];\n";
        let found: Vec<String> = tests_in(text).into_iter().collect();
        assert_eq!(found, ["one", "three", "two"]);
    }
}
