//! What changes in a text, line by line.

use super::{safe, term};

/// Lines shown around a change.
const AROUND: usize = 2;

/// The changed part, with a few lines around it. One part: the changes that we
/// make are in one place.
pub fn lines(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same_start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same_start;
    let ends = old.iter().rev().zip(new.iter().rev());
    let same_end = ends.take(rest).take_while(|(a, b)| a == b).count();
    let (old_end, new_end) = (old.len() - same_end, new.len() - same_end);
    if same_start == old_end && same_start == new_end {
        return Vec::new();
    }
    let paint = term::stdout();
    let mut shown = Vec::new();
    let mut add = |sign: char, lines: &[&str]| {
        for line in lines {
            let line = format!("{sign} {}", safe::line(line));
            shown.push(match sign {
                '+' => paint.green(&line),
                '-' => paint.red(&line),
                _ => line.trim_end().to_owned(),
            });
        }
    };
    add(' ', &old[same_start.saturating_sub(AROUND)..same_start]);
    add('-', &old[same_start..old_end]);
    add('+', &new[same_start..new_end]);
    add(' ', &old[old_end..old.len().min(old_end + AROUND)]);
    shown
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
