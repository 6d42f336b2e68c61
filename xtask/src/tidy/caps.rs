//! Every queue, buffer, list and wait has a cap, and all caps of a crate stand in
//! one file, so that somebody who runs the program can read what it will bear
//! (`docs/reference/limits.md` is made of them).

use super::source::Line;
use super::tree::Tree;
use super::{Finding, Rule};

/// Numbers that bound something.
pub const CAPS: Rule = Rule {
    name: "caps",
    why: "caps and times stand in a `limits.rs`, where they are read together and become part of \
          the reference; a constant that bounds nothing says so (`// tidy: …`)",
    check: caps,
};

/// Times in the middle of code, and queues without an end.
pub const WAITS: Rule = Rule {
    name: "waits",
    why: "a wait has a name and stands in a `limits.rs`, and a queue has an end: whatever is \
          written in the middle of code nobody finds again",
    check: waits,
};

/// Types of constants that may be caps.
const TYPES: [&str; 5] = ["usize", "u64", "u32", "Duration", "std::time::Duration"];

fn caps(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, lines) in elsewhere(tree) {
        for line in lines.iter().filter(|line| line.excuse.is_none()) {
            if let Some(name) = constant(&line.bare) {
                found.push(Finding::at(
                    path,
                    line.number,
                    format!("{name} may be a cap"),
                ));
            }
        }
    }
    found
}

/// The name of a constant that is a number or a time and is written out here.
fn constant(code: &str) -> Option<&str> {
    let (before, rest) = code.trim_start().split_once("const ")?;
    if !(before.is_empty() || before.starts_with("pub")) {
        return None;
    }
    let (name, rest) = rest.split_once(": ")?;
    let (kind, value) = rest.split_once(" = ")?;
    let is_written = value.contains(|sign: char| sign.is_ascii_digit());
    let is_bits = value.starts_with("0x") || value.starts_with("1 <<");
    (TYPES.contains(&kind) && is_written && !is_bits).then_some(name)
}

fn waits(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, lines) in elsewhere(tree) {
        for line in lines.iter().filter(|line| line.excuse.is_none()) {
            if line.bare.contains("unbounded") {
                found.push(Finding::at(path, line.number, "a queue without an end"));
            } else if constant(&line.bare).is_none() && has_time(line) {
                found.push(Finding::at(path, line.number, "a time without a name"));
            }
        }
    }
    found
}

fn has_time(line: &Line) -> bool {
    ["from_secs(", "from_millis(", "from_micros(", "from_mins("]
        .iter()
        .filter_map(|call| line.bare.split_once(call))
        .any(|(before, after)| {
            let is_time = before.ends_with("Duration::");
            // One millisecond is no choice of anybody's.
            let number = after.split(')').next().unwrap_or_default();
            is_time && number.starts_with(|sign: char| sign.is_ascii_digit()) && number != "1"
        })
}

/// What is shipped, but the files that are for this.
fn elsewhere(tree: &Tree) -> impl Iterator<Item = (&str, &[Line])> {
    tree.product()
        .filter(|(path, _)| !path.ends_with("/limits.rs") && !path.contains("/limits/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_that_stands_elsewhere_is_found() {
        let text = "const KEPT: usize = 64 * 1024;\npub(crate) const PATIENCE: Duration = Duration::from_secs(5);\n\
                    const BITS: u64 = 0x0101;\nconst NAME: &str = \"5\";\nconst SUM: usize = limits::A + limits::B;\n\
                    // tidy: the version of a file\nconst FORM: u32 = 2;\n";
        let tree = Tree::planted(&[
            ("crates/host/src/a.rs", text),
            ("crates/host/src/limits.rs", text),
        ]);
        let lines: Vec<_> = caps(&tree).iter().map(|it| it.line).collect();
        assert_eq!(lines, [1, 2]);
    }

    #[test]
    fn a_time_without_a_name_and_a_queue_without_an_end_are_found() {
        let text = "timeout(Duration::from_secs(20), it).await;\nlet (a, b) = mpsc::unbounded_channel();\n\
                    sleep(left + Duration::from_millis(1)).await;\ntimeout(limits::SIGN_IN, it).await;\n";
        let tree = Tree::planted(&[("crates/host/src/a.rs", text)]);
        let lines: Vec<_> = waits(&tree).iter().map(|it| it.line).collect();
        assert_eq!(lines, [1, 2]);
    }
}
