//! `cargo xtask bench-instructions --watching`: what a call spends on being watched.
//!
//! Two runs differ by what else they did, so that a hundredth of a call is hard to see in
//! their difference. What is counted here is within one run: the instructions of every line
//! of source that has to do with watching, wherever an optimiser has put them, with what was
//! called from the files of watching alone. A line elsewhere counts as a whole if it names
//! anything of it, so that it is rather too much than too little. What a library has on a
//! line between ours (an atomic, a lock) is of the line of ours before it.

use super::callgrind::{Cost, costs, texts};
use crate::paths;
use anyhow::{Result, ensure};
use std::{cell::RefCell, collections::HashMap, path::Path};

/// Files of which all is there for watching.
const FILES: [&str; 2] = ["crates/host/src/observe/", "crates/record/src/"];

/// What names it elsewhere.
const WORDS: [&str; 13] = [
    "watched",
    "Watched",
    "watch_own",
    "observ",
    "Observ",
    "noting",
    "Noting",
    "passed",
    "Passed",
    "leaving",
    "Span::none",
    "told(",
    "let_answers_pass",
];

/// Of these, the files of the tap and of the list that it shows.
const TAP_FILES: [&str; 2] = ["crates/record/src/tap/", "crates/host/src/observe/shown.rs"];

/// What names the tap elsewhere.
const TAP_WORDS: [&str; 7] = [
    "tapped",
    "shown",
    "Shown",
    "shows(",
    "taps",
    "want_messages",
    "show_raw",
];

/// What is left behind where something of it ends.
const ENDS: [&str; 3] = ["Watched", "Shown", "observe::"];

/// Instructions that were spent on watching.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// On all of it.
    pub all: u64,
    /// On the tap, and on the list of calls, which is always kept for it.
    pub tap: u64,
}

impl Spent {
    /// What stands in a folder that callgrind wrote, for each of so many calls.
    pub fn of(folder: &Path, calls: u64) -> Result<Self> {
        let sources = Sources::default();
        let (mut sum, mut is_placed) = (Self::default(), false);
        for text in texts(folder)? {
            is_placed |= sum.add_all(&sources, &text);
        }
        ensure!(
            is_placed,
            "the program does not say which instruction is of which line: build it with \
             the profile 'counted', or with 'debug=line-tables-only' and 'strip=none'"
        );
        Ok(Self {
            all: sum.all / calls,
            tap: sum.tap / calls,
        })
    }

    /// Adds what callgrind wrote of one process; whether it knows of lines.
    fn add_all(&mut self, sources: &Sources, text: &str) -> bool {
        let (mut ours, mut is_placed) = (("", "", 0), false);
        for cost in costs(text) {
            let file = place(cost.file);
            if !file.is_empty() || ours.0 != cost.function {
                ours = (cost.function, file, cost.line);
            }
            is_placed |= !file.is_empty();
            self.add(sources, &cost, (ours.1, ours.2));
        }
        is_placed
    }

    fn add(&mut self, sources: &Sources, cost: &Cost<'_>, (file, line): (&str, u64)) {
        let is_tap = counts(
            sources,
            cost,
            file,
            line,
            &TAP_FILES,
            &TAP_WORDS,
            &["Shown"],
        );
        let words = WORDS.iter().chain(&TAP_WORDS).copied();
        let words: Vec<&str> = words.collect();
        if is_tap || counts(sources, cost, file, line, &FILES, &words, &ENDS) {
            self.all += cost.count;
        }
        if is_tap {
            self.tap += cost.count;
        }
    }
}

/// Whether this is spent on what these files and words are of.
fn counts(
    sources: &Sources,
    cost: &Cost<'_>,
    file: &str,
    line: u64,
    files: &[&str],
    words: &[&str],
    ends: &[&str],
) -> bool {
    let within = |file: &str| files.iter().any(|it| file.starts_with(it));
    match cost.callee {
        // What they call has its own lines, unless those are somebody else's.
        Some(callee) if within(file) => !within(place(callee.file)),
        Some(callee) => {
            let name = callee.function;
            name.contains("drop_in_place<") && ends.iter().any(|it| name.contains(it))
        }
        None => within(file) || sources.has(file, line, words),
    }
}

/// A file's path within the sources.
fn place(file: &str) -> &str {
    file.find("crates/").map_or("", |at| &file[at..])
}

/// Lines of the sources.
#[derive(Default)]
struct Sources(RefCell<HashMap<String, Vec<String>>>);

impl Sources {
    /// Whether a line has one of these words.
    fn has(&self, file: &str, line: u64, words: &[&str]) -> bool {
        if file.is_empty() {
            return false;
        }
        let mut known = self.0.borrow_mut();
        let lines = known.entry(file.to_owned()).or_insert_with(|| {
            let text = std::fs::read_to_string(paths::root().join(file));
            let text = text.unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        });
        let at = usize::try_from(line).unwrap_or_default().checked_sub(1);
        let line = at.and_then(|at| lines.get(at));
        line.is_some_and(|line| words.iter().any(|word| line.contains(word)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_watching_count_and_what_they_call_once() {
        let sources = Sources::default();
        let lines = ["let a = 1;", "if let Some(watched) = a {", "self.tapped()"];
        sources.0.borrow_mut().insert(
            "crates/host/src/call.rs".into(),
            lines.map(str::to_owned).to_vec(),
        );
        let text = "fl=(1) /x/crates/host/src/call.rs\nfn=(1) call\n1 1000\n2 1\n3 2\n\
            cfi=(2) /x/crates/host/src/observe/watched.rs\ncfn=(2) begin\ncalls=1 0\n2 500\n\
            cfi=(4) core.rs\ncfn=(3) poll\ncalls=1 0\n2 5000\n\
            cfi=(4)\ncfn=(4) core::ptr::drop_in_place<Box<Watched>>\ncalls=1 0\n1 4\n\
            fl=(2)\nfn=(2)\n10 8\ncfi=(4)\ncfn=(5) malloc\ncalls=1 0\n10 16\n\
            cfi=(3) /x/crates/record/src/tap/list.rs\ncfn=(6) list\ncalls=1 0\n10 99\n\
            fl=(3)\nfn=(6)\n7 32\ncfi=(4)\ncfn=(5)\ncalls=1 0\n7 64\nfi=(4)\n99 128\n\
            fl=(4)\nfn=(5)\n99 7\n";
        let mut sum = Spent::default();
        assert!(sum.add_all(&sources, text));
        let tap = 2 + 32 + 64 + 128;
        assert_eq!(
            sum,
            Spent {
                all: tap + 1 + 4 + 8 + 16,
                tap
            }
        );
    }
}
