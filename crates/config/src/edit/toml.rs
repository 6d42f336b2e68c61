//! An entry in somebody else's TOML file, line by line: the rest of the text stays as
//! it is. Whether the new text says what was meant is seen by whoever asked for it.

use super::document::Step;
use serde_json::Value;
use toml_edit::{DocumentMut, Item};

/// The text with one entry changed.
pub(super) fn change(text: &str, keys: &[&str], name: &str, step: Step<'_>) -> String {
    let path: Vec<&str> = keys.iter().copied().chain([name]).collect();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let blocks = blocks(&lines, &path);
    let new = match step {
        Step::Put(value) => rendered(&path, value),
        Step::Remove => String::new(),
        Step::Field(field, value) => {
            let Some(block) = blocks.first() else {
                return text.to_owned();
            };
            return with_field(&lines, *block, field, value);
        }
    };
    let Some((first, _)) = blocks.first().copied() else {
        return appended(text, &new);
    };
    let mut after = String::with_capacity(text.len() + new.len());
    for (at, line) in lines.iter().enumerate() {
        if at == first {
            after.push_str(&new);
        }
        if !blocks.iter().any(|(from, to)| (*from..*to).contains(&at)) {
            after.push_str(line);
        }
    }
    after
}

/// Where the tables are that belong to this path: from their header to the last line
/// that says something. Comments behind it belong to what follows.
fn blocks(lines: &[&str], path: &[&str]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut ours = None;
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim();
        if text.starts_with('[') {
            let is_ours = header(text).is_some_and(|header| {
                header.len() >= path.len() && header.iter().zip(path).all(|(a, b)| a == b)
            });
            ours = is_ours.then(|| {
                found.push((at, at + 1));
                found.len() - 1
            });
        } else if let Some(block) = ours
            && !text.is_empty()
            && !text.starts_with('#')
        {
            found[block].1 = at + 1;
        }
    }
    found
}

/// The keys of a header.
fn header(line: &str) -> Option<Vec<String>> {
    let document = line.parse::<DocumentMut>().ok()?;
    let mut path = Vec::new();
    let mut table = document.as_table();
    while let Some((key, item)) = table.iter().next() {
        path.push(key.to_owned());
        match item {
            Item::Table(inner) => table = inner,
            _ => return None,
        }
    }
    Some(path)
}

/// A field in the first table of an entry.
fn with_field(
    lines: &[&str],
    (from, to): (usize, usize),
    field: &str,
    value: Option<&Value>,
) -> String {
    let there = lines[from..to].iter().position(|line| {
        let start = line.trim_start().strip_prefix(field);
        start.is_some_and(|rest| rest.trim_start().starts_with('='))
    });
    let new = value.map(|value| format!("{field} = {}\n", inline(value)));
    let mut after = String::new();
    for (at, line) in lines.iter().enumerate() {
        match there {
            Some(there) if at == from + there => after.push_str(new.as_deref().unwrap_or_default()),
            None if at == from => {
                after.push_str(line);
                if !line.ends_with('\n') {
                    after.push('\n');
                }
                after.push_str(new.as_deref().unwrap_or_default());
            }
            _ => after.push_str(line),
        }
    }
    after
}

fn appended(text: &str, new: &str) -> String {
    let gap = match text {
        text if text.is_empty() || text.ends_with("\n\n") => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    format!("{text}{gap}{new}")
}

/// An entry as a table.
fn rendered(path: &[&str], value: &Value) -> String {
    let path: Vec<String> = path.iter().map(|word| key(word)).collect();
    let fields = value.as_object().into_iter().flatten();
    let fields = fields.filter(|(_, value)| !value.is_null());
    let fields = fields.map(|(name, value)| format!("{} = {}\n", key(name), inline(value)));
    format!("[{}]\n{}", path.join("."), fields.collect::<String>())
}

/// A value in one line. Texts, numbers and truth values are spelled as in JSON.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            let fields = fields.map(|(name, value)| format!("{} = {}", key(name), inline(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        value => value.to_string(),
    }
}

fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !name.is_empty() && name.chars().all(bare) {
        true => name.to_owned(),
        false => Value::from(name).to_string(),
    }
}
