//! One change taken back out of a text that others have changed meanwhile, line by line.

use switchboard_local::diff::{self, Change};

/// What a change does to the lines that it starts from.
struct Lines<'a> {
    /// Whether each line stays.
    stays: Vec<bool>,
    /// What comes before each line, and behind the last.
    comes: Vec<Vec<&'a str>>,
}

/// `now`, without what led from `before` to `after`. Whether the lines fit together is
/// seen by whoever reads the result.
pub(super) fn without(before: &str, after: &str, now: &str) -> String {
    let split = |text: &str| -> Vec<String> {
        let lines = text.split_inclusive('\n');
        lines.map(str::to_owned).collect()
    };
    let (before, after, now) = (split(before), split(after), split(now));
    let (back, theirs) = (lines(&after, &before), lines(&after, &now));
    let mut text = String::new();
    for at in 0..=after.len() {
        text.extend(back.comes[at].iter().copied());
        text.extend(theirs.comes[at].iter().copied());
        if at < after.len() && back.stays[at] && theirs.stays[at] {
            text.push_str(&after[at]);
        }
    }
    text
}

fn lines<'a>(from: &'a [String], to: &'a [String]) -> Lines<'a> {
    let mut lines = Lines {
        stays: Vec::with_capacity(from.len()),
        comes: vec![Vec::new(); from.len() + 1],
    };
    for (change, line) in diff::rows(from, to) {
        match change {
            Change::Stayed => lines.stays.push(true),
            Change::Went => lines.stays.push(false),
            Change::Came => lines.comes[lines.stays.len()].push(line),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_lines_go() {
        let before = "a\nb\nc\n";
        let after = "a\nours\nb\n";
        assert_eq!(without(before, after, "a\nours\nb\n"), before);
        assert_eq!(
            without(before, after, "x\na\nours\nb\ny\n"),
            "x\na\nb\nc\ny\n"
        );
        assert_eq!(
            without(before, after, "a\nours\ntheirs\nb\n"),
            "a\ntheirs\nb\nc\n"
        );
    }
}
