//! Going through a directory, with caps on how many entries, how deep and how
//! long. Links are shown, never followed.

use super::roots::{Place, stat_in};
use crate::{answer::Failure, limits};
use rmcp::schemars::{self, JsonSchema};
use rustix::{
    fd::AsFd,
    fs::{Dir, FileType},
};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsString,
    ops::ControlFlow,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An ordinary file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Other,
}

impl Kind {
    pub(crate) fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

/// One entry of a directory.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) kind: Kind,
}

/// The entries of a directory by name, and whether that is all.
pub(crate) fn entries(place: &Place) -> Result<(Vec<Entry>, bool), Failure> {
    let directory = place.open_directory()?;
    let fault = |errno| place.fault(errno);
    let mut found = Vec::new();
    let mut is_all = true;
    for entry in Dir::read_from(&directory).map_err(fault)? {
        let entry = entry.map_err(fault)?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if found.len() == limits::DIRECTORY_ENTRIES {
            is_all = false;
            break;
        }
        let name = OsString::from_vec(name.to_vec());
        let kind = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown => match stat_in(directory.as_fd(), &name) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            },
            kind => kind,
        };
        found.push(Entry {
            name,
            kind: Kind::of(kind),
        });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((found, is_all))
}

/// Why a walk did not see everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stopped {
    /// As many results as were asked for.
    Limit,
    /// More entries, or deeper ones, than are looked at, or more text than is shown.
    Size,
    /// It took too long.
    Time,
}

/// How to go through a directory.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) hidden: bool,
    pub(crate) depth: usize,
    pub(crate) cancel: CancellationToken,
}

/// One entry on the way.
#[derive(Debug)]
pub(crate) struct Step<'w> {
    pub(crate) place: Place,
    /// Below the start.
    pub(crate) below: &'w Path,
    pub(crate) depth: usize,
    pub(crate) kind: Kind,
}

impl Walk {
    /// Shows every entry to `visit`, a directory before what is in it, until it
    /// breaks. Directories that cannot be opened are passed over.
    pub(crate) fn through(
        &self,
        start: &Place,
        mut visit: impl FnMut(Step<'_>) -> ControlFlow<Stopped>,
    ) -> Result<Option<Stopped>, Failure> {
        let deadline = Instant::now() + limits::WALK_TIME;
        let (first, mut is_all) = entries(start)?;
        let mut seen = 0usize;
        // What is still to be seen; the next one last.
        let mut waiting: Vec<(PathBuf, usize, Kind)> = Vec::new();
        push(&mut waiting, Path::new(""), 1, first);
        while let Some((below, depth, kind)) = waiting.pop() {
            let is_hidden = below
                .file_name()
                .is_some_and(|name| name.as_bytes().starts_with(b"."));
            if is_hidden && !self.hidden {
                continue;
            }
            seen += 1;
            if seen > limits::WALK_ENTRIES {
                return Ok(Some(Stopped::Size));
            }
            if Instant::now() >= deadline || self.cancel.is_cancelled() {
                return Ok(Some(Stopped::Time));
            }
            let place = start.join(&below);
            let step = Step {
                place: place.clone(),
                below: &below,
                depth,
                kind,
            };
            if let ControlFlow::Break(stopped) = visit(step) {
                return Ok(Some(stopped));
            }
            if kind != Kind::Directory || depth >= self.depth {
                continue;
            }
            if depth >= limits::WALK_DEPTH {
                is_all = false;
                continue;
            }
            if let Ok((inside, all)) = entries(&place) {
                is_all &= all;
                push(&mut waiting, &below, depth + 1, inside);
            }
        }
        Ok((!is_all).then_some(Stopped::Size))
    }
}

fn push(waiting: &mut Vec<(PathBuf, usize, Kind)>, below: &Path, depth: usize, inside: Vec<Entry>) {
    let entries = inside.into_iter().rev();
    waiting.extend(entries.map(|entry| (below.join(entry.name), depth, entry.kind)));
}
