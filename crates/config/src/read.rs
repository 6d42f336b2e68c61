//! From the text of a file to entries.
//!
//! Comments and trailing commas are read. A text that is no JSON is one fault;
//! everything beyond that is found at once, and a bad entry never hides a good
//! one: it stays in the result with its faults.

use crate::{
    entry::{Entry, Isolation, Scope, Transport},
    fault::{Fault, Source},
    position::Lines,
};
use jsonc_parser::{
    CollectOptions, ParseOptions,
    ast::{Object, Value},
    common::{Range, Ranged},
};
use switchboard_wire::Era;

/// Reads the `mcpServers` of a text.
pub fn read(text: &str, source: &Source, scope: Scope) -> Result<Vec<Entry>, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = Lines::new(text);
    let file = File {
        lines: &lines,
        source,
        scope,
    };
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &dialect()).map_err(
        |fault| {
            let problem = fault.kind().to_string();
            let problem = problem.trim_end_matches('.').to_owned();
            file.fault(fault.range().start, format!("not JSON: {problem}"), None)
        },
    )?;
    let Some(root) = parsed.value else {
        return Err(file.fault(0, "the file is empty".into(), Some(SHAPE.into())));
    };
    let Value::Object(root) = root else {
        let problem = format!("expected an object, found {}", kind(&root));
        return Err(file.fault(root.range().start, problem, Some(SHAPE.into())));
    };
    let Some(servers) = root.get("mcpServers") else {
        if root.properties.is_empty() {
            return Ok(Vec::new());
        }
        let hint = if root.get("servers").is_some() {
            "this looks like a VS Code file; the key is called \"mcpServers\" here".to_owned()
        } else {
            SHAPE.to_owned()
        };
        return Err(file.fault(
            root.range.start,
            "\"mcpServers\" is missing".into(),
            Some(hint),
        ));
    };
    let Value::Object(servers) = &servers.value else {
        let problem = format!(
            "\"mcpServers\" must be an object, found {}",
            kind(&servers.value)
        );
        return Err(file.fault(servers.value.range().start, problem, Some(SHAPE.into())));
    };
    let entries = servers.properties.iter();
    Ok(entries
        .map(|property| {
            file.entry(
                property.name.as_str(),
                property.range.start,
                &property.value,
            )
        })
        .collect())
}

const SHAPE: &str = r#"write {"mcpServers": {"name": {"command": "…"}}}"#;

/// JSON with comments and trailing commas, and no other liberties: what we
/// accept, the other readers of the same file should accept too.
fn dialect() -> ParseOptions {
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
    fn fault(&self, byte: usize, problem: String, hint: Option<String>) -> Fault {
        let (line, column) = self.lines.position(byte);
        let source = self.source.clone();
        Fault {
            source,
            line,
            column: Some(column),
            server: None,
            field: None,
            problem,
            hint,
        }
    }

    fn entry(&self, name: &str, start: usize, value: &Value<'_>) -> Entry {
        let (line, _) = self.lines.position(start);
        let entry = Entry::at(name, self.scope, self.source.clone(), line);
        let mut reader = Reader { file: self, entry };
        if name.is_empty() {
            reader.fault(start..start, None, "a server needs a name", None);
        }
        match value {
            Value::Object(object) => reader.object(object),
            other => {
                let problem = format!("expected an object, found {}", kind(other));
                reader.fault(
                    span(other.range()),
                    None,
                    &problem,
                    Some(r#"write {"command": "…"} or {"url": "…"}"#),
                );
            }
        }
        reader.entry
    }
}

/// Reads one entry, collecting its faults.
struct Reader<'a> {
    file: &'a File<'a>,
    entry: Entry,
}

impl Reader<'_> {
    fn object(&mut self, object: &Object<'_>) {
        let mut transport = None;
        let mut seen: Vec<&str> = Vec::new();
        for property in &object.properties {
            let (key, value) = (property.name.as_str(), &property.value);
            if seen.contains(&key) {
                self.fault(
                    span(property.range),
                    Some(key),
                    "is written twice",
                    Some("keep one of the two"),
                );
            }
            seen.push(key);
            if matches!(value, Value::NullKeyword(_)) {
                continue;
            }
            match key {
                "type" | "transport" => transport = self.transport(key, value).or(transport),
                "command" => self.entry.command = self.command(value),
                "args" => self.entry.args = self.strings(key, value).unwrap_or_default(),
                "env" => self.entry.env = self.table(key, value),
                "cwd" => self.entry.cwd = self.text(key, value),
                "url" => self.entry.url = self.text(key, value),
                "headers" => self.entry.headers = self.table(key, value),
                "builtin" => self.entry.builtin = self.text(key, value),
                "timeout" => self.entry.timeout = self.milliseconds(key, value),
                "isolation" => self.isolation(key, value),
                "era" => self.era(key, value),
                "tools" => self.tools(value),
                "disabled" => self.entry.disabled = self.boolean(key, value).unwrap_or_default(),
                _ => {
                    self.entry
                        .unknown
                        .insert(key.to_owned(), value.clone().into());
                }
            }
        }
        self.settle(object, transport);
    }

    /// What the entry is, and whether it has what that needs.
    fn settle(&mut self, object: &Object<'_>, transport: Option<Transport>) {
        let has = |key: &str| {
            object
                .get(key)
                .is_some_and(|property| !matches!(property.value, Value::NullKeyword(_)))
        };
        let whole = || span(object.range);
        let (command, url, kind) = (has("command"), has("url"), has("type") || has("transport"));
        let found = match transport {
            Some(transport) => transport,
            // The fault about the type says it all.
            None if kind => return,
            None if command && url => {
                let hint = r#"remove one of them, or say "type": "stdio" or "type": "http""#;
                self.fault(whole(), None, "has both `command` and `url`", Some(hint));
                return;
            }
            None if command => Transport::Stdio,
            None if url => match self.entry.url.as_deref() {
                Some(url) if url.starts_with("ws://") || url.starts_with("wss://") => Transport::Ws,
                _ => Transport::Http,
            },
            None if has("builtin") => Transport::Builtin,
            None => {
                let hint = match ["httpUrl", "serverUrl", "uri"]
                    .into_iter()
                    .find(|key| has(key))
                {
                    Some(key) => format!("`{key}` is called `url` here"),
                    None => {
                        r#"add "command": "…" for a program, or "url": "…" for a remote server"#
                            .to_owned()
                    }
                };
                self.fault(
                    whole(),
                    None,
                    "has neither `command` nor `url`",
                    Some(&hint),
                );
                return;
            }
        };
        self.entry.transport = found;
        match found {
            Transport::Stdio if !command => {
                self.fault(
                    whole(),
                    Some("command"),
                    "is missing",
                    Some("a stdio server needs the program to start"),
                );
            }
            Transport::Http | Transport::Sse | Transport::Ws if !url => {
                let hint = format!("a server of type {found} needs its address");
                self.fault(whole(), Some("url"), "is missing", Some(&hint));
            }
            _ => {}
        }
    }

    fn transport(&mut self, key: &str, value: &Value<'_>) -> Option<Transport> {
        let text = self.text(key, value)?;
        let found = Transport::parse(&text);
        if found.is_none() {
            let hint = format!("known are {}", Transport::SPELLINGS);
            self.fault(
                span(value.range()),
                Some(key),
                &format!("{text:?} is no known transport"),
                Some(&hint),
            );
        }
        found
    }

    fn command(&mut self, value: &Value<'_>) -> Option<String> {
        if let Value::Array(_) = value {
            let hint = r#"write the program as "command" and the rest as "args": ["…"]"#;
            self.fault(
                span(value.range()),
                Some("command"),
                "must be a string, found a list",
                Some(hint),
            );
            return None;
        }
        let text = self.text("command", value)?;
        if text.trim().is_empty() {
            self.fault(
                span(value.range()),
                Some("command"),
                "is empty",
                Some("name the program to start"),
            );
        }
        Some(text)
    }

    fn isolation(&mut self, key: &str, value: &Value<'_>) {
        match self.text(key, value).as_deref() {
            Some("shared") => self.entry.isolation = Isolation::Shared,
            Some("session") => self.entry.isolation = Isolation::Session,
            Some(other) => self.choice(key, value, other, r#""shared" or "session""#),
            None => {}
        }
    }

    fn era(&mut self, key: &str, value: &Value<'_>) {
        match self.text(key, value).as_deref() {
            Some("legacy") => self.entry.era = Some(Era::Legacy),
            Some("modern") => self.entry.era = Some(Era::Modern),
            Some(other) => self.choice(key, value, other, r#""legacy" or "modern""#),
            None => {}
        }
    }

    fn choice(&mut self, key: &str, value: &Value<'_>, found: &str, choices: &str) {
        self.fault(
            span(value.range()),
            Some(key),
            &format!("{found:?} is not possible"),
            Some(&format!("write {choices}")),
        );
    }

    fn tools(&mut self, value: &Value<'_>) {
        let Value::Object(object) = value else {
            self.mistyped(
                "tools",
                value,
                "an object",
                r#"write {"allow": ["…"], "deny": ["…"]}"#,
            );
            return;
        };
        for property in &object.properties {
            match property.name.as_str() {
                "allow" => self.entry.tools.allow = self.strings("tools.allow", &property.value),
                "deny" => {
                    self.entry.tools.deny = self
                        .strings("tools.deny", &property.value)
                        .unwrap_or_default()
                }
                other => {
                    let field = format!("tools.{other}");
                    let hint = "only `allow` and `deny` mean something here";
                    self.fault(span(property.range), Some(&field), "is unknown", Some(hint));
                }
            }
        }
    }

    fn milliseconds(&mut self, key: &str, value: &Value<'_>) -> Option<u64> {
        let number = match value {
            Value::NumberLit(number) => number.value.parse().ok().filter(|number| *number > 0),
            _ => None,
        };
        if number.is_none() {
            self.mistyped(
                key,
                value,
                "a whole number of milliseconds above 0",
                "write 60000 for a minute",
            );
        }
        number
    }

    fn boolean(&mut self, key: &str, value: &Value<'_>) -> Option<bool> {
        match value {
            Value::BooleanLit(literal) => Some(literal.value),
            _ => {
                self.mistyped(key, value, "true or false", "write it without quotes");
                None
            }
        }
    }

    fn text(&mut self, key: &str, value: &Value<'_>) -> Option<String> {
        match value {
            Value::StringLit(text) => Some(text.value.to_string()),
            _ => {
                self.mistyped(key, value, "a string", "put it in double quotes");
                None
            }
        }
    }

    fn strings(&mut self, key: &str, value: &Value<'_>) -> Option<Vec<String>> {
        let Value::Array(array) = value else {
            self.mistyped(key, value, "a list of strings", r#"write ["…", "…"]"#);
            return None;
        };
        let items = array.elements.iter().enumerate();
        Some(
            items
                .filter_map(|(i, item)| self.text(&format!("{key}[{i}]"), item))
                .collect(),
        )
    }

    fn table(&mut self, key: &str, value: &Value<'_>) -> Vec<(String, String)> {
        let Value::Object(object) = value else {
            self.mistyped(
                key,
                value,
                "an object of strings",
                r#"write {"NAME": "value"}"#,
            );
            return Vec::new();
        };
        let mut table = Vec::new();
        for property in &object.properties {
            let name = property.name.as_str();
            if let Some(text) = self.text(&format!("{key}.{name}"), &property.value) {
                table.push((name.to_owned(), text));
            }
        }
        table
    }

    fn mistyped(&mut self, key: &str, value: &Value<'_>, expected: &str, hint: &str) {
        let problem = format!("must be {expected}, found {}", kind(value));
        self.fault(span(value.range()), Some(key), &problem, Some(hint));
    }

    fn fault(
        &mut self,
        at: std::ops::Range<usize>,
        field: Option<&str>,
        problem: &str,
        hint: Option<&str>,
    ) {
        let mut fault = self
            .file
            .fault(at.start, problem.to_owned(), hint.map(str::to_owned));
        fault.server = Some(self.entry.name.clone());
        fault.field = field.map(str::to_owned);
        self.entry.faults.push(fault);
    }
}

fn span(range: Range) -> std::ops::Range<usize> {
    range.start..range.end
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
