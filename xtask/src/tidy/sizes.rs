//! Files and functions that a person can hold in mind.

use super::source::{Line, end_of_item};
use super::tree::Tree;
use super::{Finding, Rule};

/// Files.
pub const FILES: Rule = Rule {
    name: "files",
    why: "a file is about 400 lines: one that grows past 500 (tests: 700) holds two things",
    check: files,
};

/// Functions.
pub const FUNCTIONS: Rule = Rule {
    name: "functions",
    why: "a function fits a screen: one of more than 80 lines is a list of steps without names",
    check: functions,
};

const PRODUCT: usize = 500;
const TESTS: usize = 700;
const FUNCTION: usize = 80;

fn files(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in tree.files("rs") {
        let most = match path.contains("/src/") && !tree.is_test(path) {
            true => PRODUCT,
            false => TESTS,
        };
        let count = text.lines().count();
        if count > most {
            found.push(Finding::at(
                path,
                count,
                format!("has {count} lines of at most {most}"),
            ));
        }
    }
    found
}

fn functions(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, lines) in tree.product() {
        for (at, line) in lines.iter().enumerate() {
            if let Some(name) = function(line) {
                let length = end_of_item(lines, at) - at;
                if length > FUNCTION && line.excuse.is_none() {
                    let what = format!("{name} has {length} lines of at most {FUNCTION}");
                    found.push(Finding::at(path, line.number, what));
                }
            }
        }
    }
    found
}

/// The name of the function that begins here.
fn function(line: &Line) -> Option<&str> {
    let (before, after) = line.bare.trim_start().split_once("fn ")?;
    let words = ["pub", "async", "const", "pub(crate)", "pub(super)"];
    let is_item = before
        .split_whitespace()
        .all(|word| words.contains(&word) || word.starts_with("pub("));
    is_item.then(|| after.split(['(', '<']).next()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_is_found() {
        let long = "let a = 1;\n".repeat(80);
        let text =
            format!("pub fn short() {{}}\npub(super) async fn long(\n    a: u8,\n) {{\n{long}}}\n");
        let tree = Tree::planted(&[("crates/host/src/a.rs", &text)]);
        let found = functions(&tree);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.starts_with("long has 84 lines"), "{found:?}");
        let text = "\n".repeat(501);
        let tree = Tree::planted(&[
            ("crates/host/src/a.rs", &text),
            ("crates/host/src/a/tests.rs", &text),
        ]);
        assert_eq!(files(&tree).len(), 1);
    }
}
