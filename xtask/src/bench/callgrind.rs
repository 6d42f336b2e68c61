//! What callgrind wrote: sums over processes, and what single functions cost.

use anyhow::{Context, Result, ensure};
use std::{collections::HashMap, path::Path};

/// Functions that valgrind cannot run as the machine would: it has no instructions for
/// hashing, so that a block is hashed by the plain code.
const HASHING: &str = "sha256_block_data_order";

/// Instructions for a block of 64 bytes where the processor can hash: the loop of
/// `sha256_block_data_order_hw` has that many.
const BLOCK_BY_PROCESSOR: u64 = 98;

/// And by the code that runs under valgrind, which is the one for processors with AVX.
const BLOCK_BY_AVX: u64 = 2_089;

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
        for file in std::fs::read_dir(folder)? {
            let text = std::fs::read_to_string(file?.path())?;
            let total = text
                .lines()
                .rev()
                .find_map(|line| line.strip_prefix("totals: "));
            let total = total.context("callgrind wrote no sum")?;
            sum.total += total.trim().parse::<u64>().context("callgrind's sum")?;
            sum.hashing += itself(&text, HASHING);
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
        let blocks = self.hashing / BLOCK_BY_AVX;
        self.total - self.hashing + blocks * BLOCK_BY_PROCESSOR
    }
}

/// What functions cost themselves whose name has this in it.
fn itself(text: &str, named: &str) -> u64 {
    // A name is written once, with a number that stands for it from then on.
    let mut names: HashMap<&str, bool> = HashMap::new();
    let (mut is_it, mut is_call, mut sum) = (false, false, 0);
    for line in text.lines() {
        if let Some(function) = line.strip_prefix("fn=") {
            let (number, name) = function.split_once(' ').unwrap_or((function, ""));
            let known = names.entry(number).or_insert(false);
            *known |= name.contains(named);
            is_it = *known;
        } else if let Some(function) = line.strip_prefix("cfn=") {
            if let Some((number, name)) = function.split_once(' ') {
                *names.entry(number).or_insert(false) |= name.contains(named);
            }
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = line.split_whitespace().nth(1);
            let cost = cost.and_then(|cost| cost.parse::<u64>().ok());
            // What stands below a call is what was called cost.
            if !std::mem::take(&mut is_call) && is_it {
                sum += cost.unwrap_or_default();
            }
        }
    }
    sum
}

/// Who called whom, and how often, as callgrind wrote it. Somebody may be in it several
/// times.
pub fn called(text: &str) -> Vec<(&str, &str, u64)> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let (mut caller, mut callee, mut calls) = ("", "", Vec::new());
    for line in text.lines() {
        let named = line
            .strip_prefix("fn=")
            .map(|name| (name, &mut caller))
            .or_else(|| line.strip_prefix("cfn=").map(|name| (name, &mut callee)));
        if let Some((name, at)) = named {
            // A name is written once, with a number that stands for it from then on.
            *at = match name.split_once(' ') {
                Some((number, name)) => {
                    names.insert(number, name);
                    name
                }
                None => names.get(name).copied().unwrap_or(name),
            };
        } else if let Some(times) = line.strip_prefix("calls=") {
            let times = times.split_whitespace().next();
            let times = times.and_then(|times| times.parse().ok());
            calls.push((caller, callee, times.unwrap_or_default()));
        }
    }
    calls
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
    fn only_what_a_function_costs_itself_is_its_own() {
        let text = "events: Ir\nfn=(1) main\n1 100\ncfn=(2) sha256_block_data_order_avx\n\
            calls=2 0\n2 500\n3 7\nfn=(2)\n5 400\n+1 100\ncfn=(3) other\ncalls=1 0\n* 9\n\
            fn=(3)\n1 9\ntotals: 616\n";
        assert_eq!(itself(text, HASHING), 500);
        assert_eq!(itself(text, "main"), 107);
    }
}
