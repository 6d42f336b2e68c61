//! What changes in a text, line by line.

use super::{safe, term};
use crate::limits;
use switchboard::local::diff::{self, Change, Row};

/// What changes, with a few lines around it.
pub fn lines(before: &str, after: &str) -> Vec<String> {
    lines_as(before, after, |line| line.to_owned())
}

/// The same, with each line as `shown` shows it.
pub fn lines_as(before: &str, after: &str, shown: impl Fn(&str) -> String) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let rows = diff::rows(&old, &new);
    let paint = term::stdout();
    let show = |row| match row {
        Row::Gap => "  …".to_owned(),
        Row::Line(change, line) => {
            let line = format!("{} {}", change.sign(), safe::line(&shown(line)));
            match change {
                Change::Came => paint.green(&line),
                Change::Went => paint.red(&line),
                Change::Stayed => line.trim_end().to_owned(),
            }
        }
    };
    let near = diff::near_changes(&rows, limits::DIFF_AROUND);
    near.into_iter().map(show).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_changed_part_with_what_is_around_it() {
        assert!(lines("a\nb\n", "a\nb\n").is_empty());
        assert_eq!(
            lines("1\n2\n3\n4\n5\n6\n", "1\n2\n3\nx\ny\n5\n6\n"),
            ["  2", "  3", "- 4", "+ x", "+ y", "  5", "  6"]
        );
        assert_eq!(lines("", "a\n"), ["+ a"]);
        assert_eq!(lines("a\na\n", "a\n"), ["  a", "- a"]);
    }
}
