//! An entry in somebody else's YAML file, line by line: the rest of the text stays as
//! it is. Whether the new text says what was meant is seen by whoever asked for it.

use super::document::Step;
use serde_json::Value;
use switchboard_local::yaml;

/// How far a level is set in where nothing shows how the file does it.
// tidy: how a text looks, and no cap.
const INDENT: usize = 2;

/// Where servers are in the lines of a text.
struct Place {
    /// The line with the key.
    key: usize,
    /// The lines behind it, up to the last that says something.
    from: usize,
    to: usize,
    /// Where the entries begin, and where each ends.
    entries: Vec<(String, usize, usize)>,
    indent: usize,
}

/// The text with one entry changed. Servers lie at one key, at the top.
pub(super) fn change(
    text: &str,
    keys: &[&str],
    name: &str,
    step: Step<'_>,
    listed: bool,
) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let key = keys.first().copied().unwrap_or_default();
    let place = find(&lines, key, listed);
    let entry = |indent: usize, value: &Value| match listed {
        true => item(value, indent),
        false => format!(
            "{}{}:{}",
            " ".repeat(indent),
            scalar(&name.into()),
            block(value, indent)
        ),
    };
    let Some(place) = place else {
        return match step {
            Step::Put(value) => {
                let end = match text.is_empty() || text.ends_with('\n') {
                    true => "",
                    false => "\n",
                };
                format!("{text}{end}{key}:\n{}", entry(INDENT, value))
            }
            _ => text.to_owned(),
        };
    };
    let there = place.entries.iter().find(|(called, ..)| called == name);
    match (step, there) {
        (Step::Put(value), Some((_, from, to))) => {
            replaced(&lines, *from, *to, &entry(place.indent, value))
        }
        // An empty list or object is written behind the key.
        (Step::Put(value), None) if place.entries.is_empty() => {
            let new = format!("{key}:\n{}", entry(place.indent, value));
            replaced(&lines, place.key, place.key + 1, &new)
        }
        (Step::Put(value), None) => {
            let last = lines[place.to - 1];
            let end = if last.ends_with('\n') { "" } else { "\n" };
            let new = format!("{end}{}", entry(place.indent, value));
            replaced(&lines, place.to, place.to, &new)
        }
        (Step::Remove, Some(_)) if place.entries.len() == 1 => {
            let empty = if listed { "[]" } else { "{}" };
            replaced(&lines, place.key, place.to, &format!("{key}: {empty}\n"))
        }
        (Step::Remove, Some((_, from, to))) => replaced(&lines, *from, *to, ""),
        (Step::Field(field, value), Some((_, from, to))) => {
            with_field(&lines, (*from, *to), field, value)
        }
        (_, None) => text.to_owned(),
    }
}

fn find(lines: &[&str], key: &str, listed: bool) -> Option<Place> {
    let at = lines
        .iter()
        .position(|line| key_of(line.trim_end()).as_deref() == Some(key) && indent(line) == 0)?;
    let mut place = Place {
        key: at,
        from: at + 1,
        to: at + 1,
        entries: Vec::new(),
        indent: INDENT,
    };
    for (at, line) in lines.iter().enumerate().skip(place.from) {
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let inside = indent(line) > 0 || (listed && starts_item(text));
        if !inside {
            break;
        }
        if place.entries.is_empty() {
            place.indent = indent(line);
        }
        if indent(line) == place.indent {
            let name = if listed { String::new() } else { key_of(text)? };
            place.entries.push((name, at, at + 1));
        }
        place.to = at + 1;
        place.entries.last_mut()?.2 = at + 1;
    }
    if listed {
        for (name, from, to) in &mut place.entries {
            let whole = yaml::read(&lines[*from..*to].concat()).ok()??;
            *name = whole[0]["name"].as_str().unwrap_or_default().to_owned();
        }
    }
    Some(place)
}

fn starts_item(text: &str) -> bool {
    text == "-" || text.starts_with("- ")
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The key that a line begins with.
fn key_of(line: &str) -> Option<String> {
    let text = line.trim();
    let end = match text.chars().next()? {
        quote @ ('"' | '\'') => text[1..].find(quote)? + 2,
        _ => text.find(':')?,
    };
    let (key, rest) = text.split_at(end);
    let rest = rest.strip_prefix(':')?;
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    match yaml::read(key).ok()?? {
        Value::String(key) => Some(key),
        other => Some(other.to_string()),
    }
}

fn with_field(
    lines: &[&str],
    (from, to): (usize, usize),
    field: &str,
    value: Option<&Value>,
) -> String {
    let mut inner = lines[from + 1..to].iter();
    let Some(depth) = inner.find(|line| !line.trim().is_empty() && !line.trim().starts_with('#'))
    else {
        return lines.concat();
    };
    let depth = indent(depth);
    let is_field = |line: &&str| indent(line) == depth && key_of(line).as_deref() == Some(field);
    let there = lines[from + 1..to].iter().position(is_field);
    let new = value.map(|value| format!("{}{field}: {}\n", " ".repeat(depth), scalar(value)));
    let new = new.unwrap_or_default();
    match there {
        Some(at) => replaced(lines, from + 1 + at, from + 2 + at, &new),
        None => replaced(lines, from + 1, from + 1, &new),
    }
}

fn replaced(lines: &[&str], from: usize, to: usize, new: &str) -> String {
    [&lines[..from].concat(), new, &lines[to..].concat()].concat()
}

/// An item of a list that is an object.
fn item(value: &Value, at: usize) -> String {
    let fields = value.as_object().into_iter().flatten();
    let mut text = String::new();
    for (place, (name, value)) in fields.enumerate() {
        let dash = if place == 0 { "- " } else { "  " };
        let indent = " ".repeat(at);
        let name = scalar(&name.as_str().into());
        text.push_str(&format!(
            "{indent}{dash}{name}:{}",
            block(value, at + INDENT)
        ));
    }
    text
}

/// What follows a key, with its line break.
fn block(value: &Value, at: usize) -> String {
    let deeper = at + INDENT;
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let mut text = "\n".to_owned();
            for (name, value) in fields {
                let name = scalar(&name.as_str().into());
                text.push_str(&format!(
                    "{}{name}:{}",
                    " ".repeat(deeper),
                    block(value, deeper)
                ));
            }
            text
        }
        Value::Array(items)
            if !items.is_empty()
                && items
                    .iter()
                    .all(|item| !item.is_object() && !item.is_array()) =>
        {
            let indent = " ".repeat(deeper);
            let items = items
                .iter()
                .map(|item| format!("{indent}- {}\n", scalar(item)));
            format!("\n{}", items.collect::<String>())
        }
        // JSON is YAML in one line.
        value => format!(" {}\n", scalar(value)),
    }
}

/// A value in one line: a text without quotes where nobody could read it otherwise.
fn scalar(value: &Value) -> String {
    let Value::String(text) = value else {
        return value.to_string();
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_/.".contains(c);
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let says_so = yaml::read(text).ok().flatten().as_ref() == Some(value);
    // Older readers take these for truth values.
    let word = ["y", "n", "yes", "no", "on", "off"].contains(&text.to_lowercase().as_str());
    match starts && text.chars().all(plain) && says_so && !word {
        true => text.clone(),
        false => value.to_string(),
    }
}
