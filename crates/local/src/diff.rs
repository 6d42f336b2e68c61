//! Two texts, line by line: what went, what came and what stayed.

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is in both.
    Stayed,
    /// It was in the first alone.
    Went,
    /// It is in the second alone.
    Came,
}

impl Change {
    /// The sign that people know it by.
    pub const fn sign(self) -> char {
        match self {
            Self::Stayed => ' ',
            Self::Went => '-',
            Self::Came => '+',
        }
    }
}

/// A part of a difference that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row<'a> {
    /// A line.
    Line(Change, &'a str),
    /// Lines that stayed are left out here.
    Gap,
}

/// The difference as it is shown: what changed, and `around` lines before and after it.
pub fn near_changes<'a>(rows: &[(Change, &'a str)], around: usize) -> Vec<Row<'a>> {
    let near = |at: usize| {
        let from = at.saturating_sub(around);
        rows[from..rows.len().min(at + around + 1)]
            .iter()
            .any(|(change, _)| *change != Change::Stayed)
    };
    let mut shown = Vec::new();
    let mut gap = false;
    for (at, (change, line)) in rows.iter().enumerate() {
        if !near(at) {
            gap = true;
            continue;
        }
        if std::mem::take(&mut gap) && !shown.is_empty() {
            shown.push(Row::Gap);
        }
        shown.push(Row::Line(*change, line));
    }
    shown
}

/// All lines of both, in order. The longest common sequence of lines stays; of what
/// differs in one place, what went comes first.
pub fn rows<'a, S: AsRef<str>>(before: &'a [S], after: &'a [S]) -> Vec<(Change, &'a str)> {
    fn text<S: AsRef<str>>(line: &S) -> &str {
        line.as_ref()
    }
    let both = before.iter().zip(after);
    let start = both.take_while(|(a, b)| text(*a) == text(*b)).count();
    let rest = before.len().min(after.len()) - start;
    let ends = before.iter().rev().zip(after.iter().rev()).take(rest);
    let end = ends.take_while(|(a, b)| text(*a) == text(*b)).count();
    let (old, new) = (
        &before[start..before.len() - end],
        &after[start..after.len() - end],
    );
    let stayed = |line: &'a S| (Change::Stayed, text(line));
    let mut rows: Vec<_> = before[..start].iter().map(stayed).collect();
    if old.len() > crate::limits::COMPARED_LINES || new.len() > crate::limits::COMPARED_LINES {
        rows.extend(old.iter().map(|line| (Change::Went, text(line))));
        rows.extend(new.iter().map(|line| (Change::Came, text(line))));
    } else {
        align(old, new, &mut rows);
    }
    rows.extend(before[before.len() - end..].iter().map(stayed));
    rows
}

fn align<'a, S: AsRef<str>>(before: &'a [S], after: &'a [S], rows: &mut Vec<(Change, &'a str)>) {
    let is_same = |i: usize, j: usize| before[i].as_ref() == after[j].as_ref();
    let width = after.len() + 1;
    // How many lines are common from here on; at most `COMPARED`.
    let mut common = vec![0u16; (before.len() + 1) * width];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            common[i * width + j] = if is_same(i, j) {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < before.len() || j < after.len() {
        if i < before.len() && j < after.len() && is_same(i, j) {
            rows.push((Change::Stayed, before[i].as_ref()));
            (i, j) = (i + 1, j + 1);
        } else if j == after.len()
            || (i < before.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            rows.push((Change::Went, before[i].as_ref()));
            i += 1;
        } else {
            rows.push((Change::Came, after[j].as_ref()));
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(before: &[&str], after: &[&str]) -> String {
        let rows = rows(before, after);
        rows.iter()
            .map(|(change, line)| format!("{}{line}", change.sign()))
            .collect()
    }

    #[test]
    fn what_is_common_stays() {
        assert_eq!(signs(&["1", "2", "3"], &["1", "x", "3"]), " 1-2+x 3");
        assert_eq!(signs(&[], &["a"]), "+a");
        assert_eq!(signs(&["a", "a"], &["a"]), " a-a");
        assert_eq!(signs(&["a", "b", "c", "d"], &["b", "x", "d"]), "-a b-c+x d");
        assert_eq!(signs(&["a"], &["a"]), " a");
    }

    #[test]
    fn what_is_far_from_changes_is_left_out() {
        let before = ["1", "2", "3", "4", "5", "6", "7"];
        let after = ["x", "2", "3", "4", "5", "6", "y"];
        let rows = rows(&before, &after);
        let shown = near_changes(&rows, 1);
        assert_eq!(shown.len(), 7);
        assert_eq!(shown[3], Row::Gap);
        assert_eq!(shown[0], Row::Line(Change::Went, "1"));
        assert!(near_changes(&super::rows(&before, &before), 2).is_empty());
    }

    #[test]
    fn long_texts_are_not_compared_line_by_line() {
        let before: Vec<String> = (0..crate::limits::COMPARED_LINES + 2)
            .map(|n| n.to_string())
            .collect();
        let mut after: Vec<String> = before.iter().rev().cloned().collect();
        after.insert(0, "0".into());
        let rows = rows(&before, &after);
        assert_eq!(rows[0], (Change::Stayed, "0"));
        assert_eq!(rows.len(), before.len() + after.len() - 1);
    }
}
