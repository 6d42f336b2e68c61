//! `cargo xtask tidy`: what `ARCHITECTURE.md` says always holds, looked for in the
//! sources. What the compiler or clippy can hold is left to them; this is the rest.
//!
//! A rule that does not fit one line is excused there, with the reason: `// tidy: why`.
//! What is not mended yet is in `debts.rs`, and only ever becomes less.

mod caps;
mod count;
mod crates;
mod debts;
mod errors;
mod invariants;
mod pages;
mod protocol;
mod sizes;
mod source;
mod surroundings;
mod tree;

use crate::paths;
use anyhow::{Result, ensure};
use tree::Tree;

/// Something that a rule looks for.
pub struct Rule {
    /// What it is called, here and in `debts.rs`.
    pub name: &'static str,
    /// Why anybody should care, said beside what it found.
    pub why: &'static str,
    /// Looks for it.
    pub check: fn(&Tree) -> Vec<Finding>,
}

/// A place at which a rule does not hold.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, from the root of the workspace.
    pub path: String,
    /// The line, where it is about one.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

impl Finding {
    fn at(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
        }
    }
}

/// All rules.
pub const RULES: &[Rule] = &[
    protocol::METHODS,
    protocol::CODES,
    protocol::ERAS,
    surroundings::PROCESSES,
    surroundings::DIRECTORY,
    surroundings::ENVIRONMENT,
    surroundings::PLATFORMS,
    surroundings::BANS,
    crates::DIRECTION,
    crates::PEERS,
    caps::CAPS,
    caps::WAITS,
    errors::ERRORS,
    pages::LINKS,
    pages::PATHS,
    pages::SOURCES,
    pages::WALKS,
    pages::MAP,
    sizes::FILES,
    sizes::FUNCTIONS,
    invariants::HELD,
];

/// Options of `cargo xtask tidy`.
#[derive(clap::Args, Default)]
pub struct Options {
    /// Print the tree in numbers besides
    #[arg(long)]
    count: bool,
}

/// Looks at everything, prints what it found, and fails where that is anything.
pub fn run(options: &Options) -> Result<()> {
    let tree = Tree::read(&paths::root())?;
    if options.count {
        for (what, many) in count::count(&tree) {
            println!("| {what} | {many} |");
        }
    }
    let mut count = 0;
    for rule in RULES {
        let wrong = judged(rule, (rule.check)(&tree));
        if wrong.is_empty() {
            continue;
        }
        count += wrong.len();
        println!("\n{}: {}", rule.name, rule.why);
        for debt in debts::DEBTS.iter().filter(|debt| debt.rule == rule.name) {
            println!(
                "  (not yet in {}, at {} places: {})",
                debt.path, debt.most, debt.why
            );
        }
        for finding in wrong {
            println!("  {}:{}: {}", finding.path, finding.line, finding.what);
        }
    }
    let debts: usize = debts::DEBTS.iter().map(|debt| debt.most).sum();
    println!(
        "{} rules, {count} faults; {debts} known places that are not mended yet",
        RULES.len()
    );
    ensure!(count == 0, "{count} places are not as ARCHITECTURE.md says");
    Ok(())
}

/// What is left of findings when debts are taken away. A debt that was paid must
/// be taken off the list, so that it is never made again.
fn judged(rule: &Rule, mut found: Vec<Finding>) -> Vec<Finding> {
    let mut wrong = Vec::new();
    for debt in debts::DEBTS.iter().filter(|debt| debt.rule == rule.name) {
        let (here, others): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|it| it.path.starts_with(debt.path));
        found = others;
        if here.len() > debt.most {
            wrong.extend(here);
        } else if here.len() < debt.most {
            let (now, then) = (here.len(), debt.most);
            let what = format!("was mended ({now} left of {then}): say so in tidy/debts.rs");
            wrong.push(Finding::at(debt.path, 0, what));
        }
    }
    wrong.extend(found);
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_debt_is_of_a_rule_and_has_a_reason() {
        for debt in debts::DEBTS {
            assert!(RULES.iter().any(|rule| rule.name == debt.rule));
            assert!(debt.most > 0 && debt.why.len() > 10, "{}", debt.path);
        }
    }

    #[test]
    fn a_debt_is_neither_exceeded_nor_kept_when_it_is_paid() {
        let Some(debt) = debts::DEBTS.first() else {
            return;
        };
        let rule = RULES.iter().find(|rule| rule.name == debt.rule).unwrap();
        let finding = || Finding::at(debt.path, 1, "x");
        let some = |count: usize| (0..count).map(|_| finding()).collect::<Vec<_>>();
        let wrong = |count| {
            let about = judged(rule, some(count));
            about.iter().filter(|it| it.path == debt.path).count()
        };
        assert_eq!(wrong(debt.most), 0);
        assert_eq!(wrong(debt.most + 1), debt.most + 1);
        assert_eq!(wrong(debt.most - 1), 1);
    }
}
