//! The record of folders that the user trusts, or does not.

use crate::{
    edit::{self, EditError, Target},
    places::Places,
    safe_read,
};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// What the user said about folders.
#[derive(Clone, Debug, Default)]
pub struct Store(Vec<Said>);

/// A word about one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its real path.
    pub folder: PathBuf,
    /// Yes or no.
    pub trusted: bool,
}

/// The record cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum FoldersError {
    /// It cannot be trusted or read.
    #[error("{}: {problem}", .file.display())]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// It lies where a repository could have written it.
    #[error("{} lies inside of the folder that it would be about", .0.display())]
    Inside(PathBuf),
    /// A path that cannot be written into it.
    #[error("{} is no UTF-8, and cannot be kept", .0.display())]
    Name(PathBuf),
    /// It cannot be written.
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl FoldersError {
    /// What is wrong, without the file.
    pub fn problem(&self) -> String {
        match self {
            Self::Unreadable { problem, .. } => problem.clone(),
            other => other.to_string(),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unreadable { .. } => {
                "until it can be read no folder counts as trusted; to start over, delete it"
                    .to_owned()
            }
            Self::Inside(_) => {
                "set XDG_DATA_HOME to a folder outside of it, or not at all".to_owned()
            }
            Self::Name(_) => "give the folder another name".to_owned(),
            Self::Edit(error) => error.hint(),
        }
    }
}

impl Store {
    /// What counts here. A record that lies in the tree could be the
    /// repository's own, and holds nothing.
    pub fn of(places: &Places) -> Result<Self, FoldersError> {
        let file = places.folders();
        if places.is_inside(&file) {
            return Ok(Self::default());
        }
        let unreadable = |problem: String| FoldersError::Unreadable {
            file: file.clone(),
            problem,
        };
        let text = match safe_read::read(&file, None) {
            Ok(text) => text,
            Err(why) if why.is_absent() => return Ok(Self::default()),
            Err(why) => return Err(unreadable(why.to_string())),
        };
        let whole: Value = serde_json::from_str(&text)
            .map_err(|error| unreadable(format!("not JSON: {error}")))?;
        let folders = whole["folders"]
            .as_object()
            .ok_or_else(|| unreadable("\"folders\" is missing".to_owned()))?;
        let said = |(folder, said): (&String, &Value)| match said {
            Value::Bool(trusted) => Ok(Said {
                folder: folder.into(),
                trusted: *trusted,
            }),
            _ => Err(unreadable(format!("{folder:?} must be true or false"))),
        };
        Ok(Self(folders.iter().map(said).collect::<Result<_, _>>()?))
    }

    /// What was said about this very folder.
    pub fn get(&self, folder: &Path) -> Option<bool> {
        let said = self.0.iter().find(|said| said.folder == folder)?;
        Some(said.trusted)
    }

    /// All that was said.
    pub fn all(&self) -> &[Said] {
        &self.0
    }

    /// Keeps a word about a folder, whose path is real.
    pub fn say(places: &Places, folder: &Path, trusted: bool) -> Result<(), FoldersError> {
        let file = places.folders();
        if places.is_inside(&file) {
            return Err(FoldersError::Inside(file));
        }
        // What is there and cannot be read is never overwritten.
        Self::of(places)?;
        let name = folder.to_str();
        let name = name.ok_or_else(|| FoldersError::Name(folder.to_owned()))?;
        edit::replace_json(&Target::private(&file), |whole: &mut Map<String, Value>| {
            let folders = whole.entry("folders").or_insert_with(|| json!({}));
            if let Some(folders) = folders.as_object_mut() {
                folders.insert(name.to_owned(), trusted.into());
            }
        })?;
        Ok(())
    }
}
