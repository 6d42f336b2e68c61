//! Other clients' files, read into entries of our own shape. Nothing is written
//! here: what would be imported is a value, which a dry run shows. Every field of
//! theirs is accounted for: taken, translated, or lost and why.

pub mod snippet;
mod switches;
mod toml;
mod translate;
mod variables;

use crate::{
    clients::{Client, ClientFile, Format, Homes},
    fault::{Fault, Source},
    limits, read, safe_read,
};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use switchboard_local::yaml;

/// Why a field is lost that only people read.
pub const ONLY_SHOWN: &str = "it is only shown";

type Object = Map<String, Value>;

/// A server that was found in another client's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whose it is.
    pub client: Client,
    /// The file.
    pub file: PathBuf,
    /// Whether the file lies in the project that we are in: then a repository
    /// could have written it, and somebody must approve it.
    pub workspace: bool,
    /// Its name, made of characters that a name of ours can have.
    pub name: String,
    /// Its name as it is written there.
    pub written_name: String,
    /// The entry as we would write it.
    pub entry: Value,
    /// What became of each field of theirs.
    pub fields: Vec<Field>,
    /// What the user has to know or do.
    pub notes: Vec<String>,
    /// Why it is no server that could be taken over.
    pub left_out: Option<String>,
}

/// A field of a client's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// How it is called there.
    pub name: String,
    /// What became of it.
    pub became: Became,
}

/// What became of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Became {
    /// It says the same here.
    Taken,
    /// It is said in other words here: which.
    Translated(String),
    /// Nothing here stands for it: why.
    Lost(String),
}

impl Found {
    /// How many fields were taken, translated and lost.
    pub fn counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for field in &self.fields {
            counts[match field.became {
                Became::Taken => 0,
                Became::Translated(_) => 1,
                Became::Lost(_) => 2,
            }] += 1;
        }
        counts
    }
}

/// Reads what a client has. A file that cannot be read is a fault, and hides
/// no other.
pub fn find(client: Client, homes: &Homes, faults: &mut Vec<Fault>) -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    for file in client.files(homes) {
        match whole(&file.path) {
            None => {}
            Some(Ok(whole)) => all.extend(servers(client, &whole, &file, homes)),
            Some(Err(fault)) => faults.push(*fault),
        }
    }
    all
}

/// What one file of a client holds.
pub fn in_file(client: Client, file: &ClientFile, homes: &Homes) -> Result<Vec<Found>, Box<Fault>> {
    match whole(&file.path) {
        None => Ok(Vec::new()),
        Some(whole) => Ok(servers(client, &whole?, file, homes)),
    }
}

/// What a file of a client would hold if this were its text.
pub fn in_text(client: Client, text: &str, file: &ClientFile, homes: &Homes) -> Vec<Found> {
    match parse(text, &file.path) {
        Ok(whole) => servers(client, &whole, file, homes),
        Err(_) => Vec::new(),
    }
}

/// A file as a value; nothing where there is none.
fn whole(file: &Path) -> Option<Result<Value, Box<Fault>>> {
    match safe_read::read(file, None) {
        Err(why) if why.is_absent() => None,
        Err(why) => Some(Err(Box::new(why.fault(file)))),
        Ok(text) if text.trim().is_empty() => None,
        Ok(text) => Some(parse(&text, file)),
    }
}

pub(crate) fn parse(text: &str, file: &Path) -> Result<Value, Box<Fault>> {
    let source = Source::File(file.to_owned());
    let fault = |line: usize, problem: String| {
        Box::new(Fault {
            source: source.clone(),
            line,
            column: None,
            server: None,
            field: None,
            problem,
            hint: Some("it is left out; mend it and import again".to_owned()),
        })
    };
    match Format::of(file) {
        Format::Toml => toml::read(text)
            .map_err(|(at, problem)| fault(crate::position::Lines::new(text).line(at), problem)),
        Format::Yaml => {
            let whole = yaml::read(text);
            let whole = whole.map_err(|problem| fault(0, format!("not YAML: {problem}")))?;
            Ok(whole.unwrap_or_default())
        }
        Format::Json => read::with(text, &source, |doc| doc.whole()),
    }
}

/// The servers of a file, in our shape.
fn servers(client: Client, whole: &Value, file: &ClientFile, homes: &Homes) -> Vec<Found> {
    let named: Vec<(String, &Value)> = match listed(whole, file.key) {
        Some(Value::Object(servers)) => servers
            .iter()
            .map(|(name, written)| (name.clone(), written))
            .collect(),
        // Continue has a list, with a name in each item.
        Some(Value::Array(servers)) => servers
            .iter()
            .map(|written| {
                (
                    written["name"].as_str().unwrap_or_default().to_owned(),
                    written,
                )
            })
            .collect(),
        _ => Vec::new(),
    };
    let each = named
        .into_iter()
        .take(limits::SERVERS)
        .filter_map(|(name, written)| {
            let mut found = translate::entry(client, written.as_object()?, whole, file, homes);
            switches::apply(client, whole, file, &name, &mut found);
            let plain = plain_name(&name);
            let mut notes = found.notes;
            if plain != name {
                notes.push(format!("it was called {name:?}"));
            }
            Some(Found {
                client,
                file: file.path.clone(),
                workspace: file.workspace,
                name: plain,
                written_name: name,
                entry: Value::Object(found.entry),
                fields: found.fields,
                notes,
                left_out: found.left_out,
            })
        });
    each.collect()
}

/// What stands at these keys. Settings of editors may have them in one word, with
/// dots; one client has two forms of the same object.
pub(crate) fn listed<'a>(whole: &'a Value, key: &[&str]) -> Option<&'a Value> {
    let mut at = Some(whole);
    for key in key {
        at = at.and_then(|object| object.get(key));
    }
    let found = at.or_else(|| whole.get(key.join(".")))?;
    if key == ["mcp"] && holds_servers(found) {
        return found.get("servers");
    }
    Some(found)
}

/// Whether `mcp` of OpenCode is of the form that has its servers one level below.
pub(crate) fn holds_servers(mcp: &Value) -> bool {
    let inner = mcp.get("servers").and_then(Value::as_object);
    inner.is_some_and(|inner| {
        !inner.contains_key("type")
            && !inner.contains_key("command")
            && inner.values().all(Value::is_object)
    })
}

/// Letters, digits, hyphens and underscores.
fn plain_name(name: &str) -> String {
    let keep = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' || c == '_' {
            c
        } else {
            '-'
        }
    };
    let plain: String = name.trim().chars().map(keep).collect();
    let plain = plain.trim_matches('-').to_owned();
    if plain.is_empty() {
        "server".to_owned()
    } else {
        plain
    }
}

#[cfg(test)]
mod tests;
