//! Two texts, line by line: what went and what came.

use crate::shape::visible;

/// Lines of either side beyond which they are not compared one by one.
const LINES: usize = 2000;
/// Lines that are shown around a change.
const AROUND: usize = 2;
/// Characters of one line that are shown.
const LINE_CHARS: usize = 400;
/// Lines of a difference that are shown.
const SHOWN: usize = 400;

/// The difference, with `-` before what went and `+` before what came. Text
/// from servers is written so that it cannot disturb a terminal.
pub(super) fn diff(before: &str, after: &str) -> String {
    let (before, after) = (lines(before), lines(after));
    let mut rows: Vec<(char, &str)> = Vec::new();
    if before.len() > LINES || after.len() > LINES {
        rows.extend(before.iter().map(|line| ('-', line.as_str())));
        rows.extend(after.iter().map(|line| ('+', line.as_str())));
    } else {
        align(&before, &after, &mut rows);
    }
    let near = |at: usize| {
        let from = at.saturating_sub(AROUND);
        rows[from..rows.len().min(at + AROUND + 1)]
            .iter()
            .any(|(sign, _)| *sign != ' ')
    };
    let mut shown: Vec<String> = Vec::new();
    let mut gap = false;
    for (at, (sign, line)) in rows.iter().enumerate() {
        if !near(at) {
            gap = true;
            continue;
        }
        if std::mem::take(&mut gap) && !shown.is_empty() {
            shown.push("  …".to_owned());
        }
        if shown.len() >= SHOWN {
            shown.push("  … (more)".to_owned());
            break;
        }
        shown.push(format!("{sign} {line}"));
    }
    shown.join("\n")
}

/// Lines as they are shown. A long text is one line of JSON: it is taken apart
/// at its own line breaks and ends of sentences, so that a change in it stands out.
fn lines(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    for line in text.lines() {
        let parts = line.replace("\\n", "\\n\n").replace(". ", ". \n");
        for part in parts.lines() {
            let safe = visible::line(part);
            match safe.char_indices().nth(LINE_CHARS) {
                // Two long lines that differ late must not look alike.
                Some((at, _)) => {
                    let (start, rest) = safe.split_at(at);
                    out.push(start.to_owned());
                    out.extend(chunks(rest));
                }
                None => out.push(safe),
            }
        }
    }
    out
}

fn chunks(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    chars
        .chunks(LINE_CHARS)
        .map(|chunk| chunk.iter().collect())
        .collect()
}

/// The longest common sequence of lines stays; the rest went or came.
fn align<'a>(before: &'a [String], after: &'a [String], rows: &mut Vec<(char, &'a str)>) {
    let width = after.len() + 1;
    let mut common = vec![0u16; (before.len() + 1) * width];
    for i in (0..before.len()).rev() {
        for j in (0..after.len()).rev() {
            common[i * width + j] = if before[i] == after[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < before.len() || j < after.len() {
        if i < before.len() && j < after.len() && before[i] == after[j] {
            rows.push((' ', &before[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == after.len()
            || (i < before.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            rows.push(('-', &before[i]));
            i += 1;
        } else {
            rows.push(('+', &after[j]));
            j += 1;
        }
    }
}
