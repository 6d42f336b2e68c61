//! What a person must see before saying yes. Values only; whoever shows them
//! escapes what a terminal would obey.

use super::Binding;
use crate::{
    entry::{Entry, Transport},
    expand::variables,
    places::Places,
};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// All that an approval is about.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// What it would be bound to.
    pub binding: Binding,
    /// File and line.
    pub place: String,
    /// The program and its arguments, word for word.
    pub argv: Vec<String>,
    /// The address, as written.
    pub url: Option<String>,
    /// Other programs that it would run, such as a headers helper.
    pub helpers: Vec<String>,
    /// The variables that it would read.
    pub reads: Vec<Reads>,
    /// What of it the repository itself brings along.
    pub from_the_repository: Vec<PathBuf>,
}

/// A variable that an entry would read, and where its value would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reads {
    /// The variable.
    pub variable: String,
    /// The field, such as `url` or `env.TOKEN`.
    pub field: String,
    /// Who would get it: a host, or the program.
    pub to: String,
}

impl Prompt {
    /// Finds out what there is to be shown. Nothing is expanded, and no program run.
    pub fn of(entry: &Entry, places: &Places) -> Self {
        let binding = Binding::of(entry, places);
        let local = entry.transport == Transport::Stdio;
        let command = entry.command.iter().filter(|_| local);
        let helper = entry.written.get("headersHelper").and_then(Value::as_str);
        let to = if local {
            entry.command.clone().unwrap_or_default()
        } else {
            entry.url.clone().unwrap_or_default()
        };
        let mut reads = Vec::new();
        fields("", &entry.written, &mut |field, text| {
            reads.extend(variables(text).into_iter().map(|variable| Reads {
                variable: variable.to_owned(),
                field: field.to_owned(),
                to: to.clone(),
            }));
        });
        Self {
            place: entry.place(),
            argv: command
                .chain(entry.args.iter().filter(|_| local))
                .cloned()
                .collect(),
            url: entry.url.clone().filter(|_| !local),
            helpers: helper.map(str::to_owned).into_iter().collect(),
            reads,
            from_the_repository: inside(entry, &binding, places),
            binding,
        }
    }
}

/// The program, and whatever argument is a file, where they lie in the tree.
fn inside(entry: &Entry, binding: &Binding, places: &Places) -> Vec<PathBuf> {
    let directory = places
        .directory
        .join(entry.cwd.as_deref().unwrap_or_default());
    let helper = entry.written.get("headersHelper").and_then(Value::as_str);
    let words = entry
        .args
        .iter()
        .map(String::as_str)
        .chain(helper.into_iter().flat_map(str::split_whitespace));
    let files = words
        // `--config=x.js` names a file, too.
        .flat_map(|word| [Some(word), word.split_once('=').map(|(_, value)| value)])
        .flatten()
        .filter(|word| !word.is_empty())
        .map(|word| directory.join(Path::new(word)))
        .filter(|path| path.exists());
    let all = binding.program.iter().cloned().chain(files);
    let mut found: Vec<PathBuf> = all.filter(|path| places.is_inside(path)).collect();
    found.dedup();
    found
}

/// Every string of an entry, with its field.
fn fields(field: &str, value: &Value, see: &mut impl FnMut(&str, &str)) {
    match value {
        Value::String(text) => see(field, text),
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate() {
                fields(&format!("{field}[{i}]"), item, see);
            }
        }
        Value::Object(object) => {
            for (key, item) in object {
                let field = if field.is_empty() {
                    key.clone()
                } else {
                    format!("{field}.{key}")
                };
                fields(&field, item, see);
            }
        }
        _ => {}
    }
}
