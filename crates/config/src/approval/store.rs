//! The file of approvals.

use super::{
    Binding, Difference,
    contents::{Content, Contents},
};
use crate::edit::{self, EditError, Target};
use crate::entry::Entry;
use crate::environment::Variable;
use crate::safe_read;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// What was decided about one server of one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Yes or no.
    pub approved: bool,
    /// What it was said about.
    pub binding: Binding,
}

/// What an entry counts for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Approved, exactly like this.
    Approved,
    /// Refused.
    Rejected,
    /// Something else was approved; what is different now.
    Changed(Vec<Difference>),
    /// Nobody has said anything.
    Open,
}

/// Approvals cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be trusted or read. Nothing is approved then.
    #[error("{}: {problem}", .file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// It cannot be written.
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl StoreError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable { .. } => {
                "until it can be read nothing from inside a project is approved; to start over, delete it".to_owned()
            }
            Self::Edit(error) => error.hint(),
        }
    }
}

/// All that was decided.
#[derive(Clone, Debug, Default)]
pub struct Store {
    records: Vec<Record>,
    /// Values of variables that an administrator sets.
    environment: Map<String, Value>,
}

impl Store {
    /// Reads the file; one that is not there holds nothing.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        let unreadable = |problem: String| StoreError::Unreadable {
            file: path.to_owned(),
            problem,
        };
        let text = match safe_read::read(path, None) {
            Ok(text) => text,
            Err(why) if why.is_absent() => return Ok(Self::default()),
            Err(why) => return Err(unreadable(why.to_string())),
        };
        let whole: Value = serde_json::from_str(&text)
            .map_err(|error| unreadable(format!("not JSON: {error}")))?;
        if let Some(problem) = misshapen(&whole) {
            return Err(unreadable(problem));
        }
        let mut records = Vec::new();
        for (directory, servers) in whole["projects"].as_object().into_iter().flatten() {
            for (name, record) in servers.as_object().into_iter().flatten() {
                records.push(Record {
                    approved: record["approved"] == true,
                    binding: Binding {
                        name: name.clone(),
                        directory: directory.into(),
                        program: record["program"].as_str().map(PathBuf::from),
                        entry: record["entry"].clone(),
                        contents: contents(&record["contents"]),
                    },
                });
            }
        }
        let environment = whole["environment"].as_object().cloned();
        Ok(Self {
            records,
            environment: environment.unwrap_or_default(),
        })
    }

    /// What was decided about exactly this.
    pub fn decision(&self, binding: &Binding) -> Decision {
        match self.about(&binding.name, &binding.directory) {
            Some(record) if record.approved => {
                if record.binding.covers(binding) {
                    Decision::Approved
                } else {
                    Decision::Changed(record.binding.differences(binding))
                }
            }
            Some(record) if record.binding.hash() == binding.hash() => Decision::Rejected,
            // A refusal of something else says nothing about this.
            None | Some(_) => Decision::Open,
        }
    }

    /// Whether anything was decided about an entry of this name there, so that it
    /// is worth while to look at its files.
    pub fn knows(&self, name: &str, directory: &Path) -> bool {
        self.about(name, directory).is_some()
    }

    fn about(&self, name: &str, directory: &Path) -> Option<&Record> {
        let same =
            |record: &&Record| record.binding.name == name && record.binding.directory == directory;
        self.records.iter().find(same)
    }

    /// The directory in which an entry of this name was first taken on trust,
    /// other than this one.
    pub fn elsewhere(&self, entry: &Entry) -> Option<&Record> {
        let (directory, written) = (super::directory(entry), super::sorted(&entry.written));
        self.records.iter().find(|record| {
            record.approved
                && record.binding.name == entry.name
                && record.binding.directory != directory
                && record.binding.entry != written
        })
    }

    /// Keeps decisions, replacing older ones about the same servers. Files that
    /// were approved with the same entry stay so: in another directory it may
    /// have others.
    pub fn decide(path: &Path, decisions: &[(Binding, bool)]) -> Result<(), StoreError> {
        // What cannot be understood is not written over.
        let known = Self::read(path)?;
        edit::replace_json(&Target::private(path), |whole: &mut Map<String, Value>| {
            let projects = object(whole, "projects");
            for (binding, approved) in decisions {
                let key = binding.directory.display().to_string();
                let mut binding = binding.clone();
                let before = known.about(&binding.name, &binding.directory);
                if let Some(before) = before.filter(|before| {
                    *approved && before.approved && before.binding.is_same_entry(&binding)
                }) {
                    let mut contents = before.binding.contents.clone();
                    contents.append(&mut binding.contents);
                    binding.contents = contents;
                }
                let record = json!({
                    "approved": approved,
                    "program": binding.program.as_ref().map(|path| path.to_string_lossy()),
                    "entry": binding.entry,
                    "contents": binding.contents_json(),
                });
                object(projects, &key).insert(binding.name.clone(), record);
            }
        })?;
        Ok(())
    }

    /// Whether the user said yes to this value of a variable.
    pub fn accepts(&self, variable: &Variable) -> bool {
        let kept = self.environment.get(&variable.name).and_then(Value::as_str);
        kept == Some(variable.value.as_str())
    }

    /// Keeps a yes to these variables.
    pub fn accept(path: &Path, variables: &[Variable]) -> Result<(), StoreError> {
        Self::read(path)?;
        edit::replace_json(&Target::private(path), |whole: &mut Map<String, Value>| {
            let kept = object(whole, "environment");
            for variable in variables {
                kept.insert(variable.name.clone(), json!(variable.value));
            }
        })?;
        Ok(())
    }

    /// Forgets all decisions about these directories; how many there were.
    pub fn forget(path: &Path, directories: &[PathBuf]) -> Result<usize, StoreError> {
        if Self::read(path)?.records.is_empty() {
            return Ok(0);
        }
        let count =
            edit::replace_json(&Target::private(path), |whole: &mut Map<String, Value>| {
                let projects = object(whole, "projects");
                let gone = directories.iter().filter_map(|directory| {
                    projects.shift_remove(&directory.display().to_string())
                });
                gone.map(|servers| servers.as_object().map_or(0, Map::len))
                    .sum()
            })?;
        Ok(count)
    }
}

/// What is wrong with the shape of the whole file, if anything is.
fn misshapen(whole: &Value) -> Option<String> {
    if !whole.is_object() {
        return Some("it is no object".into());
    }
    for key in ["projects", "environment"] {
        if !matches!(whole.get(key), None | Some(Value::Object(_))) {
            return Some(format!("{key:?} in it is no object"));
        }
    }
    for (directory, servers) in whole["projects"].as_object().into_iter().flatten() {
        let records = servers.as_object();
        if records.is_none_or(|records| !records.values().all(Value::is_object)) {
            return Some(format!(
                "what it says about {directory:?} is no object of objects"
            ));
        }
    }
    None
}

/// The object under this key, made where there is none.
fn object<'a>(whole: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let value = whole.entry(key).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(object) => object,
        _ => unreachable!("it was just made one"),
    }
}

/// What a record says of files.
fn contents(value: &Value) -> Contents {
    let pairs = value.as_object().into_iter().flatten();
    pairs
        .map(|(path, content)| {
            let content = Content::parse(content.as_str().unwrap_or_default());
            (PathBuf::from(path), content)
        })
        .collect()
}
