//! Other clients' files, read into entries of our own shape. Nothing is written
//! here: what would be imported is a value, which a dry run shows.

mod clients;
mod shape;

use crate::{
    fault::{Fault, Source},
    read, safe_read,
};
pub use clients::Client;
use serde_json::{Map, Value};
pub(crate) use shape::value as toml_value;
use std::path::{Path, PathBuf};
use switchboard_local::yaml;

/// A server that was found in another client's file.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Whose it is.
    pub client: Client,
    /// The file.
    pub file: PathBuf,
    /// Its name, made of characters that a name of ours can have.
    pub name: String,
    /// The entry as we would write it.
    pub entry: Value,
    /// What could not be kept as it was.
    pub notes: Vec<String>,
}

/// Reads what a client has. A file that cannot be read is a fault, and hides
/// no other.
pub fn find(client: Client, home: &Path, faults: &mut Vec<Fault>) -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    for file in client.files(home) {
        let read = match safe_read::read(&file, None) {
            Err(why) if why.is_absent() => continue,
            Err(why) => Err(Box::new(why.fault(&file))),
            Ok(text) => parse(client, &text, &file),
        };
        match read {
            Ok(whole) => {
                for found in servers(client, &whole, &file) {
                    if !all.iter().any(|other| other.name == found.name) {
                        all.push(found);
                    }
                }
            }
            Err(fault) => faults.push(*fault),
        }
    }
    all
}

fn parse(client: Client, text: &str, file: &Path) -> Result<Value, Box<Fault>> {
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
    match client {
        Client::Codex => shape::toml(text).map_err(|(at, problem)| {
            fault(crate::position::Lines::new(text).position(at).0, problem)
        }),
        Client::Goose => {
            let whole = yaml::read(text);
            let whole = whole.map_err(|problem| fault(0, format!("not YAML: {problem}")))?;
            Ok(whole.unwrap_or_default())
        }
        _ => read::with(text, &source, |doc| doc.whole()),
    }
}

/// The servers of a file, in our shape.
fn servers(client: Client, whole: &Value, file: &Path) -> Vec<Found> {
    let inputs = whole.get("inputs");
    let Some(servers) = whole.get(client.key()).and_then(Value::as_object) else {
        return Vec::new();
    };
    let each = servers.iter().filter_map(|(name, written)| {
        let written = written.as_object()?;
        let mut notes = Vec::new();
        let mut entry = shape::entry(client, written, &mut notes)?;
        shape::variables(&mut entry, inputs, &mut notes);
        let plain = plain_name(name);
        if plain != *name {
            notes.push(format!("it was called {name:?}"));
        }
        Some(Found {
            client,
            file: file.to_owned(),
            name: plain,
            entry: Value::Object(entry),
            notes,
        })
    });
    each.collect()
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
    plain.trim_matches('-').to_owned()
}

type Object = Map<String, Value>;

#[cfg(test)]
mod tests;
