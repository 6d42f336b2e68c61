//! Where two JSON values differ, by path.

use crate::limits;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// A place in which two values differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Where, as a JSON pointer.
    pub path: String,
    /// What was recorded there, if anything was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Value>,
    /// What is there now, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
}

/// What members of a list are known by, so that one more or one less is just that.
const KNOWN_BY: [&str; 3] = ["name", "uri", "uriTemplate"];

/// Where `actual` differs from what was recorded, except at or below these pointers, in which
/// `*` is any one step. At most so many places are named.
pub fn differences(recorded: &Value, actual: &Value, ignored: &[String]) -> Vec<Difference> {
    let mut found = Vec::new();
    // A stack of our own: what is compared came from elsewhere.
    let mut open = vec![(String::new(), Some(recorded), Some(actual))];
    while let Some((path, one, other)) = open.pop() {
        if found.len() >= limits::CASSETTE_DIFFERENCES {
            break;
        }
        if one == other || ignored.iter().any(|pattern| is_within(&path, pattern)) {
            continue;
        }
        let mut below = Vec::new();
        match (one, other) {
            (Some(Value::Object(one)), Some(Value::Object(other))) => {
                below_objects(&path, one, other, &mut below);
            }
            (Some(Value::Array(one)), Some(Value::Array(other))) => {
                below_lists(&path, one, other, &mut below);
            }
            _ => {
                found.push(Difference {
                    path,
                    recorded: one.map(shortened),
                    actual: other.map(shortened),
                });
                continue;
            }
        }
        open.extend(below.into_iter().rev());
    }
    found
}

type Pair<'a> = (String, Option<&'a Value>, Option<&'a Value>);

fn below_objects<'a>(
    path: &str,
    one: &'a Map<String, Value>,
    other: &'a Map<String, Value>,
    below: &mut Vec<Pair<'a>>,
) {
    for (key, value) in one {
        below.push((step(path, key), Some(value), other.get(key)));
    }
    for (key, value) in other.iter().filter(|(key, _)| !one.contains_key(*key)) {
        below.push((step(path, key), None, Some(value)));
    }
}

fn below_lists<'a>(path: &str, one: &'a [Value], other: &'a [Value], below: &mut Vec<Pair<'a>>) {
    let Some(key) = known_by(one, other) else {
        for at in 0..one.len().max(other.len()) {
            below.push((step(path, &at.to_string()), one.get(at), other.get(at)));
        }
        return;
    };
    for (at, value) in one.iter().enumerate() {
        let same = other.iter().find(|there| there[key] == value[key]);
        below.push((step(path, &at.to_string()), Some(value), same));
    }
    for (at, value) in other.iter().enumerate() {
        if !one.iter().any(|there| there[key] == value[key]) {
            below.push((step(path, &at.to_string()), None, Some(value)));
        }
    }
}

/// What all members of both lists are known by, each by another.
fn known_by(one: &[Value], other: &[Value]) -> Option<&'static str> {
    KNOWN_BY.into_iter().find(|key| {
        [one, other].into_iter().all(|list| {
            let mut names = HashSet::new();
            let is_new = |item: &Value| {
                item.get(key)
                    .and_then(Value::as_str)
                    .is_some_and(|name| names.insert(name.to_owned()))
            };
            list.iter().all(is_new)
        })
    })
}

fn step(path: &str, key: &str) -> String {
    format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Whether a path is at or below what a pattern names.
fn is_within(path: &str, pattern: &str) -> bool {
    let mut steps = path.split('/');
    pattern.split('/').all(|wanted| {
        steps
            .next()
            .is_some_and(|step| wanted == "*" || wanted == step)
    })
}

/// A value as it is shown: long texts and large trees are cut.
fn shortened(value: &Value) -> Value {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => value.to_string(),
        _ => return value.clone(),
    };
    if text.len() <= limits::CASSETTE_VALUE {
        return value.clone();
    }
    let cut: String = text.chars().take(limits::CASSETTE_VALUE).collect();
    Value::String(format!("{cut}… ({} bytes)", text.len()))
}
