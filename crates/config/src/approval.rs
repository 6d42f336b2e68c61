//! Who said that a server from inside a repository may run, and exactly what
//! was meant.
//!
//! An approval is bound to the whole entry as written, to the real directory of
//! its file and to the program that its command is. It is kept outside of the
//! repository, readable for the user alone. Nothing of an entry is expanded to
//! decide this.

mod prompt;
mod store;

use crate::{
    entry::{Entry, Transport},
    expand::variables,
    places::Places,
    program,
};
pub use prompt::{Prompt, Reads};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use std::path::PathBuf;
pub use store::{Decision, Record, Store, StoreError};

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
}

impl Binding {
    /// What an approval of this entry would be given for, here and now.
    pub fn of(entry: &Entry, places: &Places) -> Self {
        let file = entry
            .source
            .file()
            .map(ToOwned::to_owned)
            .unwrap_or_default();
        let real = file.canonicalize().unwrap_or_else(|_| file.clone());
        let folder = real.parent().unwrap_or(&real).to_owned();
        Self {
            name: entry.name.clone(),
            directory: folder,
            program: resolve(entry, places),
            entry: sorted(&entry.written),
        }
    }

    /// A short text that is equal only for equal bindings.
    pub fn hash(&self) -> String {
        let whole = json!({
            "name": self.name,
            "directory": self.directory.to_string_lossy(),
            "program": self.program.as_ref().map(|path| path.to_string_lossy()),
            "entry": self.entry,
        });
        let digest = Sha256::digest(whole.to_string().as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
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
        found
    }
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
    program::resolve(command, &directory, &places.path, places.tree())
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
