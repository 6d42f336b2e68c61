//! Changing files that people, and other programs, write too.
//!
//! A file is replaced whole or not at all, no second writer of ours comes in
//! between, and what we do not mean to change stays as it is written: order,
//! comments, indentation and keys that we do not know.

mod atomic;
pub(crate) mod document;
mod plan;
mod toml;
mod tree;
mod yaml;

pub use atomic::Target;
pub use plan::Plan;
use serde_json::{Map, Value};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Why a file was not changed. It is then as it was.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file system refuses.
    #[error("{} cannot be {doing}: {error}", .file.display())]
    Io {
        /// Which file.
        file: PathBuf,
        /// What we were about to do with it.
        doing: &'static str,
        /// What the system says.
        error: io::Error,
    },
    /// It is marked as not to be written.
    #[error("{} is read-only", .0.display())]
    ReadOnly(PathBuf),
    /// A project's file that is somewhere else in truth.
    #[error("{} leads out of the project, to {}", .file.display(), .to.display())]
    LeavesProject {
        /// The link.
        file: PathBuf,
        /// Where it leads.
        to: PathBuf,
    },
    /// Another program holds the lock.
    #[error("{} is being changed by another program", .0.display())]
    Locked(PathBuf),
    /// Another program wrote it between our reading and our writing.
    #[error("{} was changed by another program meanwhile", .0.display())]
    Changed(PathBuf),
    /// What is there is not what it should be; it is never overwritten.
    #[error("{0}")]
    Unreadable(Box<crate::Fault>),
    /// There is something of this name already.
    #[error("{name:?} already exists in {}", .file.display())]
    Exists {
        /// The server.
        name: String,
        /// The file.
        file: PathBuf,
    },
    /// There is nothing of this name.
    #[error("{name:?} is not in {}", .file.display())]
    Missing {
        /// The server.
        name: String,
        /// The file.
        file: PathBuf,
    },
}

impl EditError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::ReadOnly(file) => format!("allow it with chmod u+w {}", file.display()),
            Self::LeavesProject { .. } => {
                "replace the link by a file, or change the file that it leads to".to_owned()
            }
            Self::Locked(_) => "try again when it has finished".to_owned(),
            Self::Changed(_) => "nothing was written; try again".to_owned(),
            Self::Unreadable(_) => "mend it by hand: what is in it is not thrown away".to_owned(),
            Self::Exists { name, .. } => {
                format!("choose another name, or remove it first: switchboard remove {name}")
            }
            Self::Missing { .. } => "see switchboard list".to_owned(),
            Self::Io { error, doing, .. } => match error.kind() {
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::FileTooLarge => {
                    "make room on the disk; the file is as it was".to_owned()
                }
                io::ErrorKind::ReadOnlyFilesystem => {
                    "the file system is mounted read-only; the file is as it was".to_owned()
                }
                io::ErrorKind::PermissionDenied => {
                    "see with ls -l whose it is; the file is as it was".to_owned()
                }
                io::ErrorKind::NotFound if *doing == "read" => {
                    "it is a link that leads nowhere: make what it names, or remove it".to_owned()
                }
                _ => "put that right and try again; the file is as it was".to_owned(),
            },
        }
    }
}

/// Adds an entry at the end of the object at this path; `replace` allows one to
/// be there.
pub fn put(
    target: &Target,
    path: &[&str],
    name: &str,
    value: &Value,
    replace: bool,
) -> Result<(), EditError> {
    atomic::rewrite(target, |text| {
        tree::put(text, target.file(), path, name, value, replace)
    })
}

/// Puts an entry into a file of another program, in the place of one that may
/// be there. `seen` gets the text before and after, before anything is written.
pub fn put_seen(
    target: &Target,
    path: &[&str],
    name: &str,
    value: &Value,
    seen: impl FnOnce(&str, &str),
) -> Result<(), EditError> {
    atomic::rewrite(target, |before| {
        let after = tree::put(before, target.file(), path, name, value, true)?;
        seen(before.unwrap_or_default(), &after);
        Ok(after)
    })
}

/// Puts one text in the place of another, or removes the file, if what is there is
/// still what it was when we looked.
pub fn swap(target: &Target, from: Option<&str>, to: Option<&str>) -> Result<(), EditError> {
    let as_seen = |now: Option<&str>| match now == from {
        true => Ok(()),
        false => Err(EditError::Changed(target.file().to_owned())),
    };
    match to {
        Some(to) => atomic::rewrite(target, |now| as_seen(now).map(|()| to.to_owned())),
        None => atomic::remove(target, as_seen),
    }
}

/// Takes an entry out of the object at this path.
pub fn remove(target: &Target, path: &[&str], name: &str) -> Result<(), EditError> {
    atomic::rewrite(target, |text| tree::remove(text, target.file(), path, name))
}

/// Puts a name into the list at this path, or takes it out; whether that changed anything.
pub fn mark(target: &Target, path: &[&str], name: &str, present: bool) -> Result<bool, EditError> {
    let mut changed = false;
    atomic::rewrite(target, |text| {
        let (text, did) = tree::mark(text, target.file(), path, name, present)?;
        changed = did;
        Ok(text)
    })?;
    Ok(changed)
}

/// Changes a file of our own that nobody writes by hand.
pub fn replace_json<T>(
    target: &Target,
    change: impl FnOnce(&mut Map<String, Value>) -> T,
) -> Result<T, EditError> {
    let mut result = None;
    atomic::rewrite(target, |text| {
        let mut whole = match text {
            None => Map::new(),
            Some(text) => serde_json::from_str(text).map_err(|error| {
                unreadable(target.file(), error.line(), format!("not JSON: {error}"))
            })?,
        };
        result = Some(change(&mut whole));
        let mut text = serde_json::to_string_pretty(&whole).unwrap_or_default();
        text.push('\n');
        Ok(text)
    })?;
    result.ok_or_else(|| EditError::Locked(target.file().to_owned()))
}

/// Puts a file of our own in the place of whatever is there: it can be made again.
pub fn replace_whole(target: &Target, value: &Value) -> Result<(), EditError> {
    atomic::rewrite(target, |_| {
        let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
        text.push('\n');
        Ok(text)
    })
}

pub(crate) fn unreadable(file: &Path, line: usize, problem: String) -> EditError {
    EditError::Unreadable(Box::new(crate::Fault {
        source: crate::Source::File(file.to_owned()),
        line,
        column: None,
        server: None,
        field: None,
        problem,
        hint: None,
    }))
}

#[cfg(test)]
mod tests;
