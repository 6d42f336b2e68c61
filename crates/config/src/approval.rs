//! Who said that a server from inside a repository may run, and exactly what
//! was meant.
//!
//! An approval is bound to the whole entry as written, to the real directory of
//! its file, to the program that its command is and to the content of whatever
//! of it the repository brings along. It is kept outside of the repository,
//! readable for the user alone. Nothing of an entry is expanded to decide this.

mod apparent;
pub mod contents;
mod prompt;
mod reach;
pub mod shown;
mod store;

use crate::{
    entry::{Entry, Transport},
    expand::variables,
    places::Places,
    program,
};
pub use contents::run_by;
use contents::{Contents, Found, Ground};
pub use prompt::{Prompt, Reads, replaced};
pub use reach::Reach;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
pub use store::{Decision, Record, Store, StoreError};
use switchboard_local::hex;

/// What an approval is given for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The server.
    pub name: String,
    /// The real directory of the file that it is written in.
    pub directory: PathBuf,
    /// The file that its command is, where that can be said without expanding anything.
    pub program: Option<PathBuf>,
    /// The entry as written, its keys in order.
    pub entry: Value,
    /// What of it lies in the repository.
    pub contents: Contents,
}

impl Binding {
    /// What an approval of this entry would be given for, here and now.
    pub fn of(entry: &Entry, places: &Places) -> Self {
        let found = Found::of(entry, &Ground::of(entry, places));
        Self::with(entry, places, found.contents)
    }

    fn with(entry: &Entry, places: &Places, contents: Contents) -> Self {
        Self {
            name: entry.name.clone(),
            directory: directory(entry),
            program: resolve(entry, places),
            entry: sorted(&entry.written),
            contents,
        }
    }

    /// Why nobody can say yes to it: something of it cannot be bound.
    pub fn obstacle(&self) -> Option<String> {
        let mut contents = self.contents.iter();
        contents.find_map(|(path, content)| match content {
            contents::Content::Unbound(why) => Some(format!("{}: {why}", path.display())),
            _ => None,
        })
    }

    /// Whether a yes to this one is a yes to the other: the same, with nothing of
    /// the repository that is not as it was.
    pub(crate) fn covers(&self, now: &Self) -> bool {
        self.is_same_entry(now) && contents::covers(&self.contents, &now.contents)
    }

    /// The same but for contents.
    fn is_same_entry(&self, other: &Self) -> bool {
        self.name == other.name
            && self.directory == other.directory
            && self.program == other.program
            && self.entry == other.entry
    }

    /// A short text that is equal only for equal bindings.
    pub fn hash(&self) -> String {
        let whole = json!({
            "name": self.name,
            "directory": self.directory.to_string_lossy(),
            "program": self.program.as_ref().map(|path| path.to_string_lossy()),
            "entry": self.entry,
            "contents": self.contents_json(),
        });
        hex(Sha256::digest(whole.to_string().as_bytes()))
    }

    fn contents_json(&self) -> Value {
        let pairs = self.contents.iter();
        let pairs =
            pairs.map(|(path, content)| (path.display().to_string(), json!(content.to_string())));
        Value::Object(pairs.collect())
    }

    /// What is different in another one, line by line.
    pub fn differences(&self, now: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        compare("", &self.entry, &now.entry, &mut found);
        let path = |path: &Option<PathBuf>| match path {
            Some(path) => json!(path.to_string_lossy()),
            None => Value::Null,
        };
        let place = |at: &PathBuf| json!(at.to_string_lossy());
        for (field, before, after) in [
            ("(program)", path(&self.program), path(&now.program)),
            ("(directory)", place(&self.directory), place(&now.directory)),
        ] {
            if before != after {
                found.push(Difference {
                    field: field.to_owned(),
                    before: Some(before),
                    after: Some(after),
                });
            }
        }
        for (path, content) in &now.contents {
            let known = self.contents.get(path);
            if known != Some(content) {
                found.push(Difference {
                    field: format!("(content of {})", path.display()),
                    before: known.map(|known| json!(known.to_string())),
                    after: Some(json!(content.to_string())),
                });
            }
        }
        found
    }
}

/// The digest of these parts, none of which runs into the next.
pub fn digest_of<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(hash.finalize())
}

/// An approval that rests on a list of the user's, and has to be kept before
/// anything is started on the strength of it: a change must ask again.
#[derive(Clone, Debug)]
pub struct Pin {
    /// Where approvals are kept.
    pub file: PathBuf,
    /// What is approved.
    pub binding: Binding,
}

impl Pin {
    /// Keeps it, unless it is kept already.
    pub fn keep(&self) -> Result<(), StoreError> {
        if Store::read(&self.file)?.decision(&self.binding) == Decision::Approved {
            return Ok(());
        }
        Store::decide(&self.file, &[(self.binding.clone(), true)])
    }
}

/// The real directory of the file that an entry is written in.
pub(crate) fn directory(entry: &Entry) -> PathBuf {
    let file = entry.source.file().map(ToOwned::to_owned);
    let file = file.unwrap_or_default();
    let real = file.canonicalize().unwrap_or_else(|_| file.clone());
    real.parent().unwrap_or(&real).to_owned()
}

/// One field that is not what was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Such as `args[1]`; in brackets what is not in the entry itself.
    pub field: String,
    /// What was approved.
    pub before: Option<Value>,
    /// What is there now.
    pub after: Option<Value>,
}

/// The program of a local server, unless it depends on variables.
pub fn resolve(entry: &Entry, places: &Places) -> Option<PathBuf> {
    let command = entry.command.as_deref()?;
    let cwd = entry.cwd.as_deref().unwrap_or_default();
    if entry.transport != Transport::Stdio || !variables(command).is_empty() {
        return None;
    }
    if command.contains('/') && !variables(cwd).is_empty() {
        return None;
    }
    let directory = places.directory.join(cwd);
    let trees = Ground::of(entry, places).trees;
    program::resolve(command, &directory, &places.path, &trees)
}

/// The value with the keys of every object in order. Depth is bounded by the
/// reader of the file.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut pairs: Vec<(&String, &Value)> = object.iter().collect();
            pairs.sort_by_key(|(key, _)| *key);
            let pairs = pairs
                .into_iter()
                .map(|(key, value)| (key.clone(), sorted(value)));
            Value::Object(pairs.collect::<Map<String, Value>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

fn compare(field: &str, before: &Value, after: &Value, found: &mut Vec<Difference>) {
    let under = |key: &str| {
        if field.is_empty() {
            key.to_owned()
        } else {
            format!("{field}.{key}")
        }
    };
    let mut changed = |field: String, before: Option<&Value>, after: Option<&Value>| {
        found.push(Difference {
            field,
            before: before.cloned(),
            after: after.cloned(),
        });
    };
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                match new.get(key) {
                    Some(other) => compare(&under(key), value, other, found),
                    None => found.push(Difference {
                        field: under(key),
                        before: Some(value.clone()),
                        after: None,
                    }),
                }
            }
            for (key, value) in new {
                if !old.contains_key(key) {
                    found.push(Difference {
                        field: under(key),
                        before: None,
                        after: Some(value.clone()),
                    });
                }
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            for i in 0..old.len().max(new.len()) {
                let field = format!("{field}[{i}]");
                match (old.get(i), new.get(i)) {
                    (Some(old), Some(new)) => compare(&field, old, new, found),
                    (old, new) => found.push(Difference {
                        field,
                        before: old.cloned(),
                        after: new.cloned(),
                    }),
                }
            }
        }
        (old, new) if old != new => changed(field.to_owned(), Some(old), Some(new)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
