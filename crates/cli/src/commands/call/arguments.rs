//! Arguments as typed, and as the server gets them.
//!
//! JSON given by the user goes to the server as it was written; `-a` values
//! are typed by the tool's schema.

use crate::failure::Failure;
use serde_json::{Value, value::RawValue};
use std::io::Read;
use switchboard::wire::json;

/// The arguments of a call: names with the text of their values.
#[derive(Debug, Default)]
pub struct Arguments {
    members: Vec<(String, String)>,
    /// The user's own text, as long as nothing was added to it.
    whole: Option<String>,
}

impl Arguments {
    /// The text of the object.
    pub fn text(&self) -> String {
        if let Some(whole) = &self.whole {
            return whole.clone();
        }
        let members = self
            .members
            .iter()
            .map(|(name, value)| format!("{}:{value}", json::quote(name)));
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }

    /// Whether there is a value of this name.
    pub fn has(&self, name: &str) -> bool {
        self.members.iter().any(|(member, _)| member == name)
    }

    /// The names there are values of.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(name, _)| name.as_str())
    }

    /// Sets a value, replacing one of the same name.
    pub fn set(&mut self, name: &str, value: String) {
        self.whole = None;
        self.members.retain(|(member, _)| member != name);
        self.members.push((name.to_owned(), value));
    }
}

/// What stands after a name, told apart: one JSON text at most, and pairs. A pair
/// begins with the name of an argument.
pub fn told_apart<'a>(
    words: &'a [String],
    pairs: &[String],
) -> Result<(Option<&'a str>, Vec<String>), Failure> {
    let is_pair = |word: &&String| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| !name.is_empty() && !name.contains(['{', '[', '"', '@']))
    };
    let mut all: Vec<String> = words.iter().filter(is_pair).cloned().collect();
    all.extend(pairs.iter().cloned());
    let mut others = words.iter().filter(|word| !is_pair(word));
    match (others.next(), others.next()) {
        (whole, None) => Ok((whole.map(String::as_str), all)),
        (_, Some(second)) => Err(Failure::usage(format!("{second:?}: expected KEY=VALUE"))),
    }
}

/// Reads the JSON argument: an object, a file with one, or stdin.
pub fn whole(text: &str) -> Result<Arguments, Failure> {
    object(&source(text)?)
}

/// Adds the `-a` pairs.
pub fn with_pairs(
    mut arguments: Arguments,
    pairs: &[String],
    schema: &Value,
) -> Result<Arguments, Failure> {
    let mut lists: Vec<(&str, Vec<String>)> = Vec::new();
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Failure::usage(format!("-a {pair:?}: expected KEY=VALUE")));
        };
        let types = types(&schema["properties"][name]);
        let (value, from_file) = match value.strip_prefix('@') {
            Some(literal) if literal.starts_with('@') => (literal.to_owned(), false),
            Some(file) => (read(file)?, true),
            None => (value.to_owned(), false),
        };
        // `-a tag=x -a tag=y` is a list where the schema wants one.
        if types == ["array"] && !from_file && !value.trim_start().starts_with('[') {
            let item = typed(
                name,
                &value,
                &self::types(&schema["properties"][name]["items"]),
            )?;
            match lists.iter_mut().find(|(list, _)| *list == name) {
                Some((_, items)) => items.push(item),
                None => lists.push((name, vec![item])),
            }
            continue;
        }
        arguments.set(name, typed(name, &value, &types)?);
    }
    for (name, items) in lists {
        arguments.set(name, format!("[{}]", items.join(",")));
    }
    Ok(arguments)
}

/// The text behind the JSON argument.
fn source(text: &str) -> Result<String, Failure> {
    match text.strip_prefix('@') {
        Some(file) => read(file),
        None if text == "-" => {
            let mut all = String::new();
            let read = std::io::stdin().read_to_string(&mut all);
            read.map_err(|error| {
                Failure::usage(format!("the arguments cannot be read from stdin: {error}"))
            })?;
            Ok(all)
        }
        None => Ok(text.to_owned()),
    }
}

fn read(file: &str) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| Failure::usage(format!("@{file}: {error}")))
}

fn object(text: &str) -> Result<Arguments, Failure> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| {
        let hint = r#"write an object such as '{"key": "value"}', or use -a key=value"#;
        Failure::usage(format!("the arguments are not JSON: {error}")).hint(hint)
    })?;
    let text = raw.get().trim();
    if !text.starts_with('{') {
        let hint = r#"write '{"key": "value"}'"#;
        return Err(Failure::usage("the arguments must be a JSON object").hint(hint));
    }
    let bytes = text.as_bytes();
    let member = |member: json::Member| {
        let name = json::text(member.key.of(bytes)).map(String::from)?;
        Some((
            name,
            String::from_utf8_lossy(member.value.of(bytes)).into_owned(),
        ))
    };
    // A line break between tokens would end the message on a pipe; serde's
    // compact form has none, and inside strings JSON allows none.
    let whole = text.replace(['\n', '\r'], " ");
    Ok(Arguments {
        members: json::members(bytes).filter_map(member).collect(),
        whole: Some(whole),
    })
}

/// The types that a schema allows; empty if it does not say.
fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => match schema["anyOf"]
            .as_array()
            .or_else(|| schema["oneOf"].as_array())
        {
            Some(choices) => choices.iter().flat_map(types).collect(),
            None => Vec::new(),
        },
    }
}

/// The JSON text of a value as typed.
fn typed(name: &str, value: &str, types: &[&str]) -> Result<String, Failure> {
    let parsed: Option<&RawValue> = serde_json::from_str(value.trim()).ok();
    let kind = parsed.map(|raw| match raw.get().bytes().next() {
        Some(b'"') => "string",
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ if raw
            .get()
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-') =>
        {
            "integer"
        }
        _ => "number",
    });
    let fits =
        |kind: &str| types.contains(&kind) || (kind == "integer" && types.contains(&"number"));
    match (parsed, kind) {
        // A quoted text is meant with its quotes unless the schema has other ideas.
        (Some(raw), Some(kind)) if kind != "string" && (fits(kind) || types.is_empty()) => {
            Ok(raw.get().to_owned())
        }
        _ if types.is_empty() || types.contains(&"string") => Ok(json::quote(value)),
        _ => {
            let wanted = types.join(" or ");
            Err(Failure::usage(format!(
                "-a {name}={value}: the tool wants {} {wanted} here",
                article(&wanted)
            )))
        }
    }
}

fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) {
        "an"
    } else {
        "a"
    }
}

#[cfg(test)]
mod tests;
