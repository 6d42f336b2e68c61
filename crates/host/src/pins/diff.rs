//! Two texts, line by line: what went and what came.

use crate::limits::{PIN_CHANGE_AROUND, PIN_CHANGE_LINE_CHARS, PIN_CHANGE_LINES};
use switchboard_local::{
    diff::{Row, near_changes, rows},
    visible,
};

/// The difference, with `-` before what went and `+` before what came. Text
/// from servers is written so that it cannot disturb a terminal.
pub(super) fn diff(before: &str, after: &str) -> String {
    let (before, after) = (lines(before), lines(after));
    let rows = rows(&before, &after);
    let mut shown: Vec<String> = Vec::new();
    for row in near_changes(&rows, PIN_CHANGE_AROUND) {
        match row {
            Row::Gap => shown.push("  …".to_owned()),
            Row::Line(..) if shown.len() >= PIN_CHANGE_LINES => {
                shown.push("  … (more)".to_owned());
                break;
            }
            Row::Line(change, line) => shown.push(format!("{} {line}", change.sign())),
        }
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
            match safe.char_indices().nth(PIN_CHANGE_LINE_CHARS) {
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
        .chunks(PIN_CHANGE_LINE_CHARS)
        .map(|chunk| chunk.iter().collect())
        .collect()
}
