//! Where the programs of manifests begin.

use crate::{Protection, serve::BuiltinError};
use std::path::{Path, PathBuf};

/// A directory of the user's own that is nothing special: not where manifests
/// are, and nothing that is protected.
#[derive(Debug)]
pub struct Workplace {
    directory: PathBuf,
    protection: Protection,
}

/// A `cwd` that is out of bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`cwd` leads to {}, which is protected: {what}; leave it out, and the program runs in {}",
    to.display(),
    instead.display()
)]
pub(super) struct ProtectedCwd {
    to: PathBuf,
    what: String,
    instead: PathBuf,
}

impl Workplace {
    /// This directory, which must exist.
    pub fn new(directory: &Path, protection: Protection) -> Result<Self, BuiltinError> {
        let wrong = |why: &dyn std::fmt::Display| {
            BuiltinError(format!(
                "the programs of tools cannot run in {}: {why}",
                directory.display()
            ))
        };
        let directory = directory.canonicalize().map_err(|fault| wrong(&fault))?;
        match protection.forbids(&directory) {
            Some((_, what)) => Err(wrong(&format!(
                "it is protected: {what}; name another root"
            ))),
            None => Ok(Self {
                directory,
                protection,
            }),
        }
    }

    /// Where a program begins whose manifest, in this folder, says so or nothing.
    pub(super) fn directory(
        &self,
        folder: &Path,
        cwd: Option<&str>,
    ) -> Result<PathBuf, ProtectedCwd> {
        let Some(cwd) = cwd else {
            return Ok(self.directory.clone());
        };
        let directory = folder.join(cwd);
        match self.protection.forbids(&directory) {
            None => Ok(directory),
            Some((_, what)) => Err(ProtectedCwd {
                to: directory,
                what: what.to_owned(),
                instead: self.directory.clone(),
            }),
        }
    }
}
