//! From the text of a file to entries.
//!
//! Comments and trailing commas are read. A text that is no JSON is one fault;
//! everything beyond that is found at once, and a bad entry never hides a good
//! one: it stays in the result with its faults.

mod builtin;
mod fields;
mod unclear;
mod worker;

use crate::{
    entry::{Entry, Scope},
    fault::{Fault, Source},
    limits,
    position::Lines,
};
use fields::Reader;
use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Object, ObjectProp, Value},
    common::Ranged,
};
use std::collections::HashMap;

/// Reads the `mcpServers` of a text that is there for nothing else.
pub fn read(text: &str, source: &Source, scope: Scope) -> Result<Vec<Entry>, Box<Fault>> {
    with(text, source, |doc| {
        if doc.root.get("mcpServers").is_some() || doc.root.properties.is_empty() {
            return doc.servers(&["mcpServers"], scope);
        }
        let hint = if doc.root.get("servers").is_some() {
            "this looks like a VS Code file; the key is called \"mcpServers\" here"
        } else {
            SHAPE
        };
        Err(doc.fault(
            doc.root.range.start,
            "\"mcpServers\" is missing".into(),
            Some(hint.into()),
        ))
    })?
}

/// A file of which several parts are wanted.
pub struct Doc<'a> {
    lines: &'a Lines<'a>,
    source: &'a Source,
    root: Object<'a>,
}

/// Reads a text that must be an object, and hands it on.
pub(crate) fn with<T>(
    text: &str,
    source: &Source,
    use_it: impl FnOnce(&Doc<'_>) -> T,
) -> Result<T, Box<Fault>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::new(text);
    let fault = |at, problem, hint| fault(&lines, source, at, problem, hint);
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &dialect()).map_err(
        |error| {
            let problem = error.kind().to_string();
            let problem = problem.trim_end_matches('.').to_owned();
            let hint = "nothing in it counts until it is mended".to_owned();
            fault(
                error.range().start,
                format!("not JSON: {problem}"),
                Some(hint),
            )
        },
    )?;
    match parsed.value {
        None => Err(fault(0, "the file is empty".into(), Some(SHAPE.into()))),
        Some(Value::Object(root)) => Ok(use_it(&Doc {
            lines: &lines,
            source,
            root,
        })),
        Some(other) => {
            let problem = format!("expected an object, found {}", kind(&other));
            Err(fault(other.range().start, problem, Some(SHAPE.into())))
        }
    }
}

impl Doc<'_> {
    /// All of it.
    pub fn whole(&self) -> serde_json::Value {
        Value::Object(self.root.clone()).into()
    }

    /// The entries of the object at this path; none where there is no such path.
    pub fn servers(&self, path: &[&str], scope: Scope) -> Result<Vec<Entry>, Box<Fault>> {
        let servers = match self.find(path) {
            None if path.is_empty() => &self.root,
            None | Some(Value::NullKeyword(_)) => return Ok(Vec::new()),
            Some(Value::Object(servers)) => servers,
            Some(other) => {
                let key = path.last().copied().unwrap_or_default();
                let problem = format!("{key:?} must be an object, found {}", kind(other));
                return Err(self.fault(other.range().start, problem, Some(SHAPE.into())));
            }
        };
        if servers.properties.len() > limits::SERVERS {
            let problem = format!(
                "it names {} servers, and at most {} are read from one file",
                servers.properties.len(),
                limits::SERVERS
            );
            let hint = "take out those that are not needed; until then none of them counts";
            return Err(self.fault(servers.range.start, problem, Some(hint.into())));
        }
        let file = File {
            lines: self.lines,
            source: self.source,
            scope,
        };
        let entry = |property: &ObjectProp<'_>| {
            file.entry(
                property.name.as_str(),
                property.range.start,
                &property.value,
            )
        };
        let mut entries: Vec<Entry> = servers.properties.iter().map(entry).collect();
        self.same_names(&mut entries);
        Ok(entries)
    }

    /// Of two entries with one name nobody can tell which was meant: readers of the
    /// same file take the first, or the last.
    fn same_names(&self, entries: &mut [Entry]) {
        let mut seen: HashMap<String, Vec<usize>> = HashMap::with_capacity(entries.len());
        for (at, entry) in entries.iter().enumerate() {
            seen.entry(entry.name.clone()).or_default().push(at);
        }
        for alike in seen.into_values().filter(|alike| alike.len() > 1) {
            let lines: Vec<usize> = alike.iter().map(|at| entries[*at].line).collect();
            for (at, line) in alike.iter().zip(&lines) {
                let others: Vec<String> = lines
                    .iter()
                    .filter(|other| *other != line)
                    .map(ToString::to_string)
                    .collect();
                let problem = match others.is_empty() {
                    true => "its name is there twice".to_owned(),
                    false => format!(
                        "its name is there twice, also on line {}",
                        others.join(", ")
                    ),
                };
                let entry = &mut entries[*at];
                entry.faults.push(Fault {
                    source: self.source.clone(),
                    line: *line,
                    column: None,
                    server: Some(entry.name.clone()),
                    field: None,
                    problem,
                    hint: Some("keep one of them, or give one another name".to_owned()),
                });
            }
        }
    }

    /// A value and the line on which it stands.
    pub fn value(&self, path: &[&str]) -> Option<(serde_json::Value, usize)> {
        let found = self.find(path)?;
        let line = self.lines.line(found.range().start);
        Some((found.clone().into(), line))
    }

    /// The items of a list, each with its line; `None` where there is no list.
    pub fn items(&self, path: &[&str]) -> Option<Vec<(serde_json::Value, usize)>> {
        let Value::Array(array) = self.find(path)? else {
            return None;
        };
        let item = |item: &Value<'_>| {
            let line = self.lines.line(item.range().start);
            (item.clone().into(), line)
        };
        Some(array.elements.iter().map(item).collect())
    }

    /// A fault of the file, at a line of it.
    pub fn fault_at(&self, line: usize, problem: String, hint: Option<String>) -> Fault {
        Fault {
            line,
            column: None,
            ..*self.fault(0, problem, hint)
        }
    }

    fn find(&self, path: &[&str]) -> Option<&Value<'_>> {
        let (last, before) = path.split_last()?;
        let mut object = &self.root;
        for key in before {
            match &object.get(key)?.value {
                Value::Object(inner) => object = inner,
                _ => return None,
            }
        }
        object.get(last).map(|property| &property.value)
    }

    fn fault(&self, at: usize, problem: String, hint: Option<String>) -> Box<Fault> {
        fault(self.lines, self.source, at, problem, hint)
    }
}

fn fault(
    lines: &Lines<'_>,
    source: &Source,
    at: usize,
    problem: String,
    hint: Option<String>,
) -> Box<Fault> {
    let (line, column) = lines.position(at);
    Box::new(Fault {
        source: source.clone(),
        line,
        column: Some(column),
        server: None,
        field: None,
        problem,
        hint,
    })
}

const SHAPE: &str = r#"write {"mcpServers": {"name": {"command": "…"}}}"#;

/// JSON with comments and trailing commas, and no other liberties: what we
/// accept, the other readers of the same file should accept too.
pub(crate) fn dialect() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

struct File<'a> {
    lines: &'a Lines<'a>,
    source: &'a Source,
    scope: Scope,
}

impl File<'_> {
    fn fault(&self, byte: usize, problem: String, hint: Option<String>) -> Box<Fault> {
        fault(self.lines, self.source, byte, problem, hint)
    }

    fn entry(&self, name: &str, start: usize, value: &Value<'_>) -> Entry {
        let line = self.lines.line(start);
        let mut entry = Entry::at(name, self.scope, self.source.clone(), line);
        entry.written = value.clone().into();
        let mut reader = Reader::new(self, entry);
        if name.is_empty() {
            let hint = r#"write {"mcpServers": {"name": {…}}}"#;
            reader.fault(start, None, "a server needs a name", Some(hint));
        }
        match value {
            Value::Object(object) => reader.object(object),
            other => {
                let problem = format!("expected an object, found {}", kind(other));
                reader.fault(
                    other.range().start,
                    None,
                    &problem,
                    Some(r#"write {"command": "…"} or {"url": "…"}"#),
                );
            }
        }
        reader.entry
    }
}

fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "true or false",
        Value::Object(_) => "an object",
        Value::Array(_) => "a list",
        Value::NullKeyword(_) => "null",
    }
}

#[cfg(test)]
mod tests;
