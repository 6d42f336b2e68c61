//! What was done to clients' files, kept for the way back: for the user alone, because
//! those files may hold secrets.

use super::{Change, Done, Place, What};
use crate::{
    clients::Client,
    edit::{self, EditError, Target},
    safe_read,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    fs,
    path::{Path, PathBuf},
};
use switchboard_local::hex;

/// What was done for one client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Its files.
    pub files: Vec<FileRecord>,
    /// What our own settings were given for it.
    #[serde(default)]
    pub imported: Vec<Imported>,
}

/// What was done to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRecord {
    pub(super) place: Place,
    /// The text before us; nothing where there was no file.
    pub(super) before: Option<String>,
    /// What the text was when we had written it.
    pub(super) after: String,
    pub(super) steps: Vec<Done>,
    /// Folders that there were not, the innermost first.
    #[serde(default)]
    pub(super) folders: Vec<PathBuf>,
}

/// A server that came into our settings by a take-over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// Its name there.
    pub name: String,
    /// The entry as it was written.
    pub entry: Value,
}

impl FileRecord {
    /// The file.
    pub fn file(&self) -> &Path {
        &self.place.file
    }

    /// Whether a server was taken off in it.
    pub fn has_taken(&self) -> bool {
        let put = |done: &Done| matches!(done.what, What::Put { .. });
        !self.steps.iter().all(put)
    }
}

impl Record {
    /// Adds what is about to be done to a file. What was done to it before counts on.
    pub fn add(&mut self, change: &Change) -> Result<(), EditError> {
        if change.is_none() {
            return Ok(());
        }
        let file = &change.place.file;
        let old = self
            .files
            .iter()
            .position(|known| known.place == change.place);
        let old = old.map(|at| self.files.remove(at));
        let (before, mut steps, folders) = match old {
            // Where others have written since, the text before us is what theirs is
            // without our steps.
            Some(old) => {
                let undone = old.undone_from(change.before.clone())?;
                (undone.after, old.steps, old.folders)
            }
            None => (change.before.clone(), Vec::new(), missing(file)),
        };
        steps.extend(change.steps.iter().cloned());
        self.files.push(FileRecord {
            place: change.place.clone(),
            before,
            after: hash(change.after()),
            steps,
            folders,
        });
        Ok(())
    }
}

/// The folders above a file that there are not.
fn missing(file: &Path) -> Vec<PathBuf> {
    let above = file.ancestors().skip(1);
    let missing = above.take_while(|folder| fs::symlink_metadata(folder).is_err());
    missing.map(Path::to_owned).collect()
}

pub(super) fn hash(text: &str) -> String {
    hex(Sha256::digest(text.as_bytes()))
}

/// The folder of records.
#[derive(Clone, Debug)]
pub struct Records {
    folder: PathBuf,
}

impl Records {
    /// Those in this folder of state.
    pub fn within(state: &Path) -> Self {
        Self {
            folder: state.join("connected"),
        }
    }

    /// Where that of a client is.
    pub fn file(&self, client: Client) -> PathBuf {
        self.folder.join(format!("{}.json", client.as_str()))
    }

    /// What was done for a client.
    pub fn read(&self, client: Client) -> Result<Option<Record>, EditError> {
        let file = self.file(client);
        let text = match safe_read::read(&file, None) {
            Ok(text) => text,
            Err(why) if why.is_absent() => return Ok(None),
            Err(why) => return Err(EditError::Unreadable(Box::new(why.fault(&file)))),
        };
        let record = serde_json::from_str(&text).map_err(|error| {
            edit::unreadable(
                &file,
                error.line(),
                format!("not a record of ours: {error}"),
            )
        })?;
        Ok(Some(record))
    }

    /// Keeps it.
    pub fn write(&self, client: Client, record: &Record) -> Result<(), EditError> {
        let whole = serde_json::to_value(record).unwrap_or_default();
        edit::replace_whole(&Target::private(&self.file(client)), &whole)
    }

    /// Forgets it.
    pub fn forget(&self, client: Client) -> Result<(), EditError> {
        let file = self.file(client);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(EditError::Io {
                file,
                doing: "removed",
                error,
            }),
            _ => Ok(()),
        }
    }

    /// Whether another client's take-over counts on this server of ours.
    pub fn is_wanted_by_others(&self, name: &str, client: Client) -> Option<Client> {
        let others = Client::all().filter(|other| *other != client);
        let wants = |record: &Record| record.imported.iter().any(|one| one.name == name);
        let mut others = others.filter(|other| {
            self.read(*other)
                .ok()
                .flatten()
                .is_some_and(|record| wants(&record))
        });
        others.next()
    }
}
