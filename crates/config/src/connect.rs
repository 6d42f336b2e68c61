//! Our entry in other clients' files, and the way back.
//!
//! A [`Change`] is what would be done to one file: it is shown before anything is
//! written. What was done is kept in a [`Record`], with the text that was there before:
//! where nobody has changed the file meanwhile, that text is put back as it was;
//! elsewhere only our own steps are undone.

mod merge;
mod record;
mod undo;

use crate::{
    clients::{Client, ClientFile},
    edit::{
        self, EditError, Target,
        document::{Servers, Step},
    },
    import, limits, safe_read,
};
pub use record::{FileRecord, Imported, Record, Records};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
pub use undo::Undone;

/// Our name in their files.
pub const NAME: &str = "switchboard";

/// What is done to a file of a client.
#[derive(Clone, Debug)]
pub struct Change {
    place: Place,
    before: Option<String>,
    after: Option<String>,
    steps: Vec<Done>,
}

/// Where servers are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    file: PathBuf,
    key: Vec<String>,
    #[serde(default)]
    listed: bool,
}

/// A step that was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Done {
    /// The entry.
    name: String,
    what: What,
}

/// What was done to an entry, and what was there before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum What {
    /// It was put there.
    Put { now: Value, was: Option<Value> },
    /// It was removed.
    Removed { was: Value },
    /// A field of it was set.
    Set {
        field: String,
        now: Value,
        was: Option<Value>,
    },
}

impl Place {
    fn servers(&self) -> Servers<'_> {
        Servers {
            file: &self.file,
            key: &self.key,
            listed: self.listed,
        }
    }
}

impl Change {
    /// Nothing yet, to a file as it is now.
    pub fn begin(client: Client, file: &ClientFile) -> Result<Self, EditError> {
        let before = text(&file.path)?;
        let mut place = Place {
            file: file.path.clone(),
            key: file.key.iter().map(|key| (*key).to_owned()).collect(),
            listed: client.lists_servers(),
        };
        let whole = place.servers().value(before.as_deref())?;
        // One client has two forms of the same object.
        if file.key == ["mcp"] && import::holds_servers(&whole["mcp"]) {
            place.key.push("servers".to_owned());
        }
        let is_blank = before.as_deref().is_none_or(|text| text.trim().is_empty());
        let new = client.new_file().filter(|_| is_blank);
        Ok(Self {
            place,
            after: new.map(str::to_owned).or_else(|| before.clone()),
            before,
            steps: Vec::new(),
        })
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.place.file
    }

    /// Its text as it is.
    pub fn before(&self) -> &str {
        self.before.as_deref().unwrap_or_default()
    }

    /// Its text as it would be.
    pub fn after(&self) -> &str {
        self.after.as_deref().unwrap_or_default()
    }

    /// Whether nothing would be done.
    pub fn is_none(&self) -> bool {
        self.steps.is_empty()
    }

    /// The entry of this name as it is now.
    pub fn entry(&self, name: &str) -> Option<Value> {
        let servers = self.place.servers();
        let whole = servers.value(self.after.as_deref()).ok()?;
        servers.entry(&whole, name).cloned()
    }

    /// Has this entry there, in the place of one of its name.
    pub fn put(&mut self, name: &str, entry: Value) -> Result<(), EditError> {
        let was = self.entry(name);
        if was.as_ref() == Some(&entry) {
            return Ok(());
        }
        self.step(name, What::Put { now: entry, was })
    }

    /// Has this entry not run any more: it is switched off where the client has a
    /// switch for that, else removed.
    pub fn take_off(&mut self, client: Client, name: &str) -> Result<(), EditError> {
        let was = self.entry(name).ok_or_else(|| EditError::Missing {
            name: name.to_owned(),
            file: self.place.file.clone(),
        })?;
        let what = match client.off() {
            Some((field, off)) => What::Set {
                was: was.get(field).cloned(),
                field: field.to_owned(),
                now: off.into(),
            },
            None => What::Removed { was },
        };
        self.step(name, what)
    }

    /// Has no entry of this name there.
    pub fn remove(&mut self, name: &str) -> Result<(), EditError> {
        match self.entry(name) {
            Some(was) => self.step(name, What::Removed { was }),
            None => Ok(()),
        }
    }

    fn step(&mut self, name: &str, what: What) -> Result<(), EditError> {
        let done = Done {
            name: name.to_owned(),
            what,
        };
        self.after = Some(done.to(&self.place, self.after.as_deref())?);
        self.steps.push(done);
        Ok(())
    }

    /// Writes it, if the file is still as it was.
    pub fn write(&self) -> Result<(), EditError> {
        if self.is_none() {
            return Ok(());
        }
        let target = Target::foreign(&self.place.file);
        edit::swap(&target, self.before.as_deref(), self.after.as_deref())
    }
}

impl Done {
    /// A text with this step done.
    fn to(&self, place: &Place, text: Option<&str>) -> Result<String, EditError> {
        let step = match &self.what {
            What::Put { now, .. } => Step::Put(now),
            What::Removed { .. } => Step::Remove,
            What::Set { field, now, .. } => Step::Field(field, Some(now)),
        };
        place.servers().change(text, &self.name, step)
    }
}

/// The text of a client's file, if it is the user's own and not larger than what is kept.
fn text(file: &Path) -> Result<Option<String>, EditError> {
    let text = match safe_read::read(file, None) {
        Ok(text) => text,
        Err(why) if why.is_absent() => return Ok(None),
        Err(why) => return Err(EditError::Unreadable(Box::new(why.fault(file)))),
    };
    if text.len() > limits::CONNECTED_BYTES {
        let problem = format!("it has more than {} bytes", limits::CONNECTED_BYTES);
        return Err(EditError::Io {
            file: file.to_owned(),
            doing: "kept",
            error: std::io::Error::other(problem),
        });
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests;
