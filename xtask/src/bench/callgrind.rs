//! What callgrind wrote: sums over processes, and what single functions cost.

use anyhow::{Context, Result, ensure};
use std::{collections::HashMap, path::Path};

/// Functions that valgrind cannot run as the machine would: it has no instructions for
/// hashing, so that a block is hashed by the plain code. What hashes records on x86-64.
const HASHING: &str = "sha2::sha256::";

/// Instructions for a block of 64 bytes where the processor can hash: the loop of
/// `sha2::sha256::x86::digest_blocks` has that many, by `objdump`.
const BLOCK_BY_PROCESSOR: u64 = 164;

/// Blocks of a record of the call that is counted: eight of its line, which has some 490 bytes,
/// and one of its arguments. What plain code needs for one depends on how it was compiled.
const BLOCKS: u64 = 9;

/// What was counted of one run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// All instructions.
    pub total: u64,
    /// Those that hashed.
    pub hashing: u64,
}

impl Counted {
    /// The sum over the files of a folder, one for each process.
    pub fn of(folder: &Path) -> Result<Self> {
        let mut sum = Self::default();
        for text in texts(folder)? {
            let total = text
                .lines()
                .rev()
                .find_map(|line| line.strip_prefix("totals: "));
            let total = total.context("callgrind wrote no sum")?;
            // Instructions come first.
            let total = total.split_whitespace().next().unwrap_or_default();
            sum.total += total.parse::<u64>().context("callgrind's sum")?;
            sum.hashing += within(&text, HASHING);
        }
        ensure!(sum.total > 0, "callgrind wrote nothing");
        Ok(sum)
    }

    /// For each of so many calls.
    pub fn each(self, calls: u64) -> Self {
        Self {
            total: self.total / calls,
            hashing: self.hashing / calls,
        }
    }

    /// How many it would be on a processor that can hash, which valgrind is not.
    pub fn as_run(self) -> u64 {
        let blocks = if self.hashing > 0 { BLOCKS } else { 0 };
        self.total - self.hashing + blocks * BLOCK_BY_PROCESSOR
    }
}

/// What callgrind wrote of each process.
pub fn texts(folder: &Path) -> Result<Vec<String>> {
    let files = std::fs::read_dir(folder)?;
    files
        .map(|file| Ok(std::fs::read_to_string(file?.path())?))
        .collect()
}

/// What functions cost whose name has this in it, with all that they call.
fn within(text: &str, named: &str) -> u64 {
    let others = costs(text).filter(|cost| !cost.function.contains(named));
    let called = others.filter(|cost| {
        cost.callee
            .is_some_and(|callee| callee.function.contains(named))
    });
    called.map(|cost| cost.count).sum()
}

/// Who called whom, and how often, as callgrind wrote it. Somebody may be in it several
/// times.
pub fn called(text: &str) -> Vec<(&str, &str, u64)> {
    let calls = costs(text).filter_map(|cost| {
        let callee = cost.callee?;
        Some((cost.function, callee.function, callee.times))
    });
    calls.collect()
}

/// What instructions of one line of a source cost, or what one called from there did.
#[derive(Clone, Copy, Debug)]
pub struct Cost<'a> {
    /// The function whose code it is in.
    pub function: &'a str,
    /// The file of the line, which is that of a function that was dissolved in this one, too.
    pub file: &'a str,
    /// Its number; 0 where that is not known.
    pub line: u64,
    /// Instructions.
    pub count: u64,
    /// Who did it, where it was somebody who was called.
    pub callee: Option<Callee<'a>>,
}

/// Somebody who was called.
#[derive(Clone, Copy, Debug, Default)]
pub struct Callee<'a> {
    /// Its name.
    pub function: &'a str,
    /// The file that it begins in.
    pub file: &'a str,
    /// How often.
    pub times: u64,
}

/// All that was counted, in the order in which it was written.
pub fn costs(text: &str) -> impl Iterator<Item = Cost<'_>> {
    let (mut functions, mut files) = (Names::default(), Names::default());
    let (mut function, mut file, mut line) = ("", "", 0);
    let mut callee = Callee::default();
    let mut is_called = false;
    text.lines().filter_map(move |written| {
        if let Some((key, value)) = written.split_once('=') {
            match key {
                "fn" => function = functions.of(value),
                "fl" | "fi" | "fe" => file = files.of(value),
                // Where it is not said it is the same.
                "cfi" | "cfl" => callee.file = files.of(value),
                "cfn" => callee.function = functions.of(value),
                "calls" => {
                    let times = value.split_whitespace().next();
                    callee.times = times.and_then(|times| times.parse().ok()).unwrap_or(0);
                    is_called = true;
                }
                _ => {}
            }
            return None;
        }
        let (place, count) = written.split_once(' ')?;
        line = placed(line, place)?;
        let called = std::mem::take(&mut is_called).then(|| std::mem::take(&mut callee));
        let called = called.map(|callee| match callee.file {
            "" => Callee { file, ..callee },
            _ => callee,
        });
        Some(Cost {
            function,
            file,
            line,
            count: count.trim().parse().ok()?,
            callee: called,
        })
    })
}

/// A number of a line, which may be written by how it differs from the one before.
fn placed(before: u64, written: &str) -> Option<u64> {
    match written.as_bytes().first()? {
        b'*' => Some(before),
        b'+' => Some(before + written[1..].parse::<u64>().ok()?),
        b'-' => Some(before.saturating_sub(written[1..].parse().ok()?)),
        _ => written.parse().ok(),
    }
}

/// A name is written once, with a number that stands for it from then on.
#[derive(Default)]
struct Names<'a>(HashMap<&'a str, &'a str>);

impl<'a> Names<'a> {
    fn of(&mut self, written: &'a str) -> &'a str {
        match written.split_once(' ') {
            Some((number, name)) => {
                self.0.insert(number, name);
                name
            }
            None => self.0.get(written).copied().unwrap_or(written),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_by_their_numbers() {
        let text = "fn=(1) main\n1 100\ncfn=(2) lock\ncalls=2 0\n2 500\nfn=(2)\n5 4\n\
            cfn=(3) slow\ncalls=1 0\n* 9\nfn=(3)\ncfn=(2)\ncalls=7 0\n1 1\n";
        assert_eq!(
            called(text),
            [
                ("main", "lock", 2),
                ("lock", "slow", 1),
                ("slow", "lock", 7)
            ]
        );
    }

    #[test]
    fn what_functions_cost_is_counted_where_they_are_called() {
        let text = "events: Ir\nfn=(1) main\n1 100\ncfn=(2) sha2::sha256::compress256\n\
            calls=2 0\n2 500\n3 7\nfn=(2)\n5 91\ncfn=(3) sha2::sha256::soft::compress\n\
            calls=2 0\n* 409\nfn=(3)\n1 400\ncfn=(4) other\ncalls=1 0\n* 9\n\
            fn=(4)\n1 9\ncfn=(3)\ncalls=1 0\n1 3\ntotals: 616\n";
        assert_eq!(within(text, HASHING), 503);
        assert_eq!(within(text, "other"), 9);
    }

    #[test]
    fn a_line_is_that_of_what_was_dissolved() {
        let text = "fl=(1) a.rs\nfn=(1) main\n10 1\nfi=(2) b.rs\n+2 3\ncfi=(3) c.rs\n\
            cfn=(2) far\ncalls=4 7\n* 5\ncfn=(3) near\ncalls=1 9\n-2 6\nfe=(1)\n11 8\n";
        let told: Vec<_> = costs(text)
            .map(|cost| {
                let callee = cost.callee.map(|callee| (callee.file, callee.times));
                (cost.file, cost.line, cost.count, callee)
            })
            .collect();
        assert_eq!(
            told,
            [
                ("a.rs", 10, 1, None),
                ("b.rs", 12, 3, None),
                ("b.rs", 12, 5, Some(("c.rs", 4))),
                ("b.rs", 10, 6, Some(("b.rs", 1))),
                ("a.rs", 11, 8, None),
            ]
        );
    }
}
