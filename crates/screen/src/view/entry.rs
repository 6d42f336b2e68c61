//! An entry that somebody wants to be run: laid out as `switchboard approve` does it.

use super::line::{Lines, Look};
use crate::{limits::LABEL, text};
use serde_json::Value;
use switchboard_api::questions::{Kind, Question};

/// How a line begins that has the entry as it was written.
const WRITTEN: &str = "  entry ";
/// How a warning begins.
const WARNING: &str = "  warning ";

/// Lines with labels, each on as many rows as it takes. The first one is a title.
pub(super) fn lines(lines: &mut Lines, entry: &[String], width: usize) {
    // Where there is little room, it is not given to what stands before the text.
    let indent = if width >= 3 * LABEL { LABEL } else { 4 };
    for (index, line) in entry.iter().enumerate() {
        let look = match line.starts_with(WARNING) {
            true => Look::Warn,
            false if index == 0 => Look::Bold,
            false => Look::Plain,
        };
        let at = line
            .char_indices()
            .nth(LABEL)
            .map_or(line.len(), |(at, _)| at);
        let (label, text) = line.split_at(at);
        let is_plain = index == 0 || indent < LABEL || !label.starts_with("  ");
        let text = if is_plain { line.trim_start() } else { text };
        let rows = text::wrapped(text, width.saturating_sub(indent));
        for (row, text) in rows.iter().enumerate() {
            let line = lines.line();
            match (row, is_plain) {
                (0, true) => line.and(" ", look),
                (0, false) if look == Look::Warn => line.pad(label, LABEL, look),
                (0, false) => line.pad(label, LABEL, Look::Dim),
                _ => line.pad("", indent, look),
            };
            line.and(text, look);
        }
    }
}

/// The entry that a question is about, where it is about one.
pub(super) fn of_question(question: &Question) -> Option<Vec<String>> {
    match question.kind {
        Kind::Approval => {
            let about = question.about.as_ref()?.as_object()?;
            let name = question.server.clone().unwrap_or_default();
            Some(written_out(name, about))
        }
        // It comes as these lines.
        Kind::Proposal => {
            let text = question.text.as_deref()?;
            let is_whole = text.lines().any(|line| line.starts_with(WRITTEN));
            is_whole.then(|| text.lines().map(str::to_owned).collect())
        }
        _ => None,
    }
}

fn written_out(name: String, about: &serde_json::Map<String, Value>) -> Vec<String> {
    const LABELS: [(&str, &str); 13] = [
        ("from", "from"),
        ("runs", "runs"),
        ("program", "program"),
        ("connects", "connects"),
        ("alsoRuns", "also runs"),
        ("worksIn", "works in"),
        ("variables", "variable"),
        ("headers", "header"),
        ("reads", "reads"),
        ("manifests", "manifest"),
        ("entry", "entry"),
        ("warnings", "warning"),
        ("digest", "digest"),
    ];
    let mut lines = vec![name];
    let mut push = |label: &str, text: &str| lines.push(format!("  {label:<9} {text}"));
    let is_void = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    };
    let told = LABELS.iter().map(|(key, label)| (*key, *label));
    let is_known = |key: &str| LABELS.iter().any(|(known, _)| *known == key);
    // What this screen has no label for is shown all the same, before what warns.
    let others = about.keys().filter(|key| !is_known(key));
    let others = others.map(|key| (key.as_str(), key.as_str()));
    let (first, last) = (told.clone().take(11), told.skip(11));
    let runs = about.get("runs").is_some_and(|runs| !is_void(runs));
    for (key, label) in first.chain(others).chain(last) {
        match about.get(key) {
            None => {}
            // A command whose program nobody finds is worth a line.
            Some(value) if is_void(value) && key == "program" && runs => {
                push(label, "is not found, or depends on variables");
            }
            Some(value) if is_void(value) => {}
            Some(Value::Array(items)) if key == "runs" => {
                for (index, word) in items.iter().enumerate() {
                    // One word on each line, so that none hides in another.
                    push(if index == 0 { label } else { "" }, &word.to_string());
                }
            }
            Some(Value::Array(items)) => {
                for item in items {
                    push(label, &plain(key, item));
                }
            }
            Some(Value::Object(map)) if key == "variables" || key == "headers" => {
                for (name, value) in map {
                    push(label, &format!("{name}={value}"));
                }
            }
            Some(value) => push(label, &plain(key, value)),
        }
    }
    lines
}

fn plain(key: &str, value: &Value) -> String {
    match (value, key) {
        (Value::String(text), _) => text.clone(),
        (Value::Array(pair), "variables" | "headers") if pair.len() == 2 => {
            let name = pair[0].as_str().unwrap_or_default();
            format!("{name}={}", pair[1])
        }
        (value, _) => value.to_string(),
    }
}
