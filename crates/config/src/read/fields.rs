//! Reading the fields of one entry.

mod limits;
mod oauth;

use super::{File, kind};
use crate::{
    entry::{Entry, Isolation, Pinning, Transport},
    inherit,
};
use jsonc_parser::{
    ast::{Object, Value},
    common::Ranged,
};
use std::collections::HashSet;
use switchboard_wire::{Era, reading::same_key};

/// Reads one entry, collecting its faults.
pub(super) struct Reader<'a> {
    file: &'a File<'a>,
    pub(super) entry: Entry,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a File<'a>, entry: Entry) -> Self {
        Self { file, entry }
    }

    /// The same for an entry that stands in this one.
    pub(super) fn within(&self) -> Self {
        let Entry {
            name,
            scope,
            source,
            line,
            ..
        } = &self.entry;
        let entry = Entry::at(name.clone(), *scope, source.clone(), *line);
        Self::new(self.file, entry)
    }

    pub(super) fn object(&mut self, object: &Object<'_>) {
        let mut transport = None;
        let mut seen: Vec<&str> = Vec::new();
        for property in &object.properties {
            let (key, value) = (property.name.as_str(), &property.value);
            if seen.contains(&key) {
                self.twice(property.range.start, key);
            }
            seen.push(key);
            // Where it matters which tools there are, that is looked at there.
            if key != "tools" {
                self.twice_within(key, value);
            }
            if matches!(value, Value::NullKeyword(_)) {
                continue;
            }
            match key {
                "type" | "transport" => transport = self.transport(key, value).or(transport),
                "command" => self.entry.command = self.command(value),
                "args" => self.entry.args = self.strings(key, value).unwrap_or_default(),
                "env" => self.entry.env = self.table(key, value),
                "envFile" => self.entry.env_file = self.text(key, value),
                "importedFrom" => self.entry.imported_from = self.text(key, value),
                "inheritEnv" => self.inherit_env(key, value),
                "cwd" => self.entry.cwd = self.text(key, value),
                "url" => self.entry.url = self.text(key, value),
                "headers" => self.entry.headers = self.table(key, value),
                "headersHelper" => self.entry.headers_helper = self.helper(value),
                "headersHelperOptional" => {
                    self.entry.headers_helper_optional =
                        self.boolean(key, value).unwrap_or_default();
                }
                "oauth" => self.oauth(value),
                "alwaysLoad" => {
                    self.entry.always_load = self.boolean(key, value).unwrap_or_default();
                }
                "required" => self.entry.required = self.boolean(key, value).unwrap_or_default(),
                "tls" => self.tls(value),
                "authToken" => self.entry.auth_token = self.text(key, value),
                "lockFolder" => self.entry.lock_folder = self.text(key, value),
                "builtin" => self.entry.builtin = self.text(key, value),
                "timeout" => self.entry.timeout = self.milliseconds(key, value),
                "roots" if !is_builtin(object) => {
                    self.entry.roots = self.strings(key, value).unwrap_or_default();
                }
                "idleTimeout" => self.idle_timeout(key, value),
                "limits" => self.limits(value),
                "isolation" => self.isolation(key, value),
                "era" => self.era(key, value),
                "tools" => self.tools(value),
                "pins" => self.pins(key, value),
                "disabled" => self.entry.disabled = self.boolean(key, value).unwrap_or_default(),
                _ => {
                    self.misspelt(property.range.start, key);
                    self.entry
                        .unknown
                        .insert(key.to_owned(), value.clone().into());
                }
            }
        }
        self.settle(object, transport);
    }

    /// The same for whatever stands in a field. No recursion: files may nest as they
    /// like.
    fn twice_within(&mut self, field: &str, value: &Value<'_>) {
        let mut inner = vec![(field.to_owned(), value)];
        while let Some((field, value)) = inner.pop() {
            match value {
                Value::Object(object) => {
                    let mut seen: HashSet<&str> = HashSet::new();
                    for property in &object.properties {
                        let name = property.name.as_str();
                        let field = format!("{field}.{name}");
                        if !seen.insert(name) {
                            self.twice(property.range.start, &field);
                        }
                        inner.push((field, &property.value));
                    }
                }
                Value::Array(array) => {
                    let items = array.elements.iter();
                    inner.extend(items.map(|item| (field.clone(), item)));
                }
                _ => {}
            }
        }
    }

    fn twice(&mut self, at: usize, field: &str) {
        let hint = "keep one of the two";
        self.fault(at, Some(field), "is written twice", Some(hint));
    }

    /// A field that restricts and is written in other letters would restrict nothing.
    fn misspelt(&mut self, at: usize, field: &str) {
        let meant = ["tools", "disabled", "isolation", "limits", "readOnly"]
            .into_iter()
            .find(|known| *known != field && same_key(known) == same_key(field));
        if let Some(meant) = meant {
            let hint = format!("write `{meant}`");
            self.fault(at, Some(field), "is not known", Some(&hint));
        }
    }

    /// What the entry is, and whether it has what that needs.
    fn settle(&mut self, object: &Object<'_>, transport: Option<Transport>) {
        let has = |key: &str| {
            object
                .get(key)
                .is_some_and(|property| !matches!(property.value, Value::NullKeyword(_)))
        };
        let whole = || object.range.start;
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
            Transport::Builtin => self.builtin(object),
            Transport::Worker => self.worker(object),
            _ => {}
        }
    }

    fn transport(&mut self, key: &str, value: &Value<'_>) -> Option<Transport> {
        let text = self.text(key, value)?;
        let found = Transport::parse(&text);
        if found.is_none() {
            let hint = format!("known are {}", Transport::SPELLINGS);
            self.fault(
                value.range().start,
                Some(key),
                &format!("{text:?} is no known transport"),
                Some(&hint),
            );
        }
        found
    }

    fn pins(&mut self, key: &str, value: &Value<'_>) {
        let Some(text) = self.text(key, value) else {
            return;
        };
        self.entry.pins = Pinning::parse(&text);
        if self.entry.pins.is_none() {
            let hint = format!("it can be {}", Pinning::SPELLINGS);
            let problem = format!("{text:?} is not known");
            self.fault(value.range().start, Some(key), &problem, Some(&hint));
        }
    }

    fn tls(&mut self, value: &Value<'_>) {
        let Value::Object(object) = value else {
            let hint = r#"write {"ca": "ca.pem"} or {"cert": "me.pem", "key": "me.key"}"#;
            self.mistyped("tls", value, "an object", hint);
            return;
        };
        for property in &object.properties {
            let field = format!("tls.{}", property.name.as_str());
            let file = match property.name.as_str() {
                "ca" | "cert" | "key" => self.text(&field, &property.value),
                _ => {
                    let hint = "only `ca`, `cert` and `key` mean something here";
                    self.fault(property.range.start, Some(&field), "is unknown", Some(hint));
                    continue;
                }
            };
            match property.name.as_str() {
                "ca" => self.entry.tls.ca = file,
                "cert" => self.entry.tls.cert = file,
                _ => self.entry.tls.key = file,
            }
        }
        if self.entry.tls.cert.is_some() != self.entry.tls.key.is_some() {
            let hint = "a client certificate is two files: `cert` and `key`";
            self.fault(
                value.range().start,
                Some("tls"),
                "needs both `cert` and `key`",
                Some(hint),
            );
        }
    }

    fn command(&mut self, value: &Value<'_>) -> Option<String> {
        if let Value::Array(_) = value {
            let hint = r#"write the program as "command" and the rest as "args": ["…"]"#;
            self.fault(
                value.range().start,
                Some("command"),
                "must be a string, found a list",
                Some(hint),
            );
            return None;
        }
        let text = self.text("command", value)?;
        if text.trim().is_empty() {
            self.fault(
                value.range().start,
                Some("command"),
                "is empty",
                Some("name the program to start"),
            );
        }
        Some(text)
    }

    fn helper(&mut self, value: &Value<'_>) -> Option<String> {
        let text = self.text("headersHelper", value)?;
        if text.trim().is_empty() {
            let hint = "write the command that prints headers as JSON, or leave it out";
            self.fault(
                value.range().start,
                Some("headersHelper"),
                "is empty",
                Some(hint),
            );
            return None;
        }
        Some(text)
    }

    fn inherit_env(&mut self, key: &str, value: &Value<'_>) {
        let Some(names) = self.strings(key, value) else {
            return;
        };
        if let Some(wrong) = names.iter().find(|name| !inherit::is_pattern(name)) {
            let problem = format!("cannot have {wrong:?} in it");
            let at = value.range().start;
            self.fault(at, Some(key), &problem, Some(inherit::WRITE));
        }
        self.entry.inherit_env = Some(names);
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
            value.range().start,
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
        for (at, property) in object.properties.iter().enumerate() {
            let earlier = &object.properties[..at];
            let name = property.name.as_str();
            if earlier.iter().any(|other| other.name.as_str() == name) {
                let field = format!("tools.{name}");
                self.twice(property.range.start, &field);
            }
            match name {
                "allow" => self.entry.tools.allow = self.strings("tools.allow", &property.value),
                "deny" => {
                    self.entry.tools.deny = self
                        .strings("tools.deny", &property.value)
                        .unwrap_or_default();
                }
                other => {
                    let field = format!("tools.{other}");
                    let hint = "only `allow` and `deny` mean something here";
                    self.fault(property.range.start, Some(&field), "is unknown", Some(hint));
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

    pub(super) fn boolean(&mut self, key: &str, value: &Value<'_>) -> Option<bool> {
        match value {
            Value::BooleanLit(literal) => Some(literal.value),
            _ => {
                self.mistyped(key, value, "true or false", "write it without quotes");
                None
            }
        }
    }

    pub(super) fn text(&mut self, key: &str, value: &Value<'_>) -> Option<String> {
        match value {
            Value::StringLit(text) => Some(text.value.to_string()),
            _ => {
                self.mistyped(key, value, "a string", "put it in double quotes");
                None
            }
        }
    }

    pub(super) fn strings(&mut self, key: &str, value: &Value<'_>) -> Option<Vec<String>> {
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

    pub(super) fn table(&mut self, key: &str, value: &Value<'_>) -> Vec<(String, String)> {
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

    pub(super) fn mistyped(&mut self, key: &str, value: &Value<'_>, expected: &str, hint: &str) {
        let problem = format!("must be {expected}, found {}", kind(value));
        self.fault(value.range().start, Some(key), &problem, Some(hint));
    }

    pub(super) fn fault(
        &mut self,
        at: usize,
        field: Option<&str>,
        problem: &str,
        hint: Option<&str>,
    ) {
        let mut fault = self
            .file
            .fault(at, problem.to_owned(), hint.map(str::to_owned));
        fault.server = Some(self.entry.name.clone());
        fault.field = field.map(str::to_owned);
        self.entry.faults.push(*fault);
    }
}

/// Whether an entry is one of the program's own servers, to which some keys mean
/// something else.
fn is_builtin(object: &Object<'_>) -> bool {
    let is = |key: &str| {
        object.get(key).is_some_and(
            |property| matches!(&property.value, Value::StringLit(text) if text.value == "builtin"),
        )
    };
    let has = |key: &str| object.get(key).is_some();
    is("type") || is("transport") || (has("builtin") && !has("command") && !has("url"))
}
