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
pub(super) enum Kind {
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

/// What is in a directory.
#[derive(Debug)]
pub(crate) struct Inside {
    /// What may be seen of it, by name.
    pub(crate) entries: Vec<Entry>,
    /// Whether that is all, but for what is protected.
    pub(crate) is_all: bool,
    /// How many entries were left out because they are protected.
    pub(crate) protected: usize,
}

/// Looks into a directory.
pub(crate) fn inside(place: &Place) -> Result<Inside, Failure> {
    let directory = place.open_directory()?;
    let fault = |errno| place.fault(errno);
    let mut found = Vec::new();
    let (mut is_all, mut protected) = (true, 0);
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
        let mut kind = entry.file_type();
        let mut stat = None;
        // Some file systems do not say; and a file may have several names.
        if matches!(kind, FileType::Unknown | FileType::RegularFile) {
            match stat_in(directory.as_fd(), &name) {
                Ok(found) => {
                    kind = FileType::from_raw_mode(found.st_mode);
                    stat = Some(found);
                }
                Err(_) if kind == FileType::Unknown => continue,
                Err(_) => {}
            }
        }
        if place.hides(&name, stat.as_ref()) {
            protected += 1;
            continue;
        }
        found.push(Entry {
            name,
            kind: Kind::of(kind),
        });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Inside {
        entries: found,
        is_all,
        protected,
    })
}

/// Why a walk did not see everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Stopped {
    /// As many results as were asked for.
    Limit,
    /// More entries, or deeper ones, than are looked at, or more text than is shown.
    Size,
    /// It took too long.
    Time,
}

/// For answers: nothing is said where nothing was left out.
pub(crate) fn is_none_left_out(count: &usize) -> bool {
    *count == 0
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

/// How a walk ended.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// Why it did not see everything.
    pub(crate) stopped: Option<Stopped>,
    /// How many entries were left out because they are protected.
    pub(crate) protected: usize,
}

impl Walk {
    /// Shows every entry to `visit`, a directory before what is in it, until it
    /// breaks. Directories that cannot be opened are passed over.
    pub(crate) fn through(
        &self,
        start: &Place,
        mut visit: impl FnMut(Step<'_>) -> ControlFlow<Stopped>,
    ) -> Result<Walked, Failure> {
        let deadline = Instant::now() + limits::WALK_TIME;
        let first = inside(start)?;
        let mut is_all = first.is_all;
        let mut protected = first.protected;
        let ended = |stopped, protected| Ok(Walked { stopped, protected });
        let mut seen = 0usize;
        // What is still to be seen; the next one last.
        let mut waiting: Vec<(PathBuf, usize, Kind)> = Vec::new();
        push(&mut waiting, Path::new(""), 1, first.entries);
        while let Some((below, depth, kind)) = waiting.pop() {
            let is_hidden = below
                .file_name()
                .is_some_and(|name| name.as_bytes().starts_with(b"."));
            if is_hidden && !self.hidden {
                continue;
            }
            seen += 1;
            if seen > limits::WALK_ENTRIES {
                return ended(Some(Stopped::Size), protected);
            }
            if Instant::now() >= deadline || self.cancel.is_cancelled() {
                return ended(Some(Stopped::Time), protected);
            }
            let place = start.join(&below);
            let step = Step {
                place: place.clone(),
                below: &below,
                depth,
                kind,
            };
            if let ControlFlow::Break(stopped) = visit(step) {
                return ended(Some(stopped), protected);
            }
            if kind != Kind::Directory || depth >= self.depth {
                continue;
            }
            if depth >= limits::WALK_DEPTH {
                is_all = false;
                continue;
            }
            if let Ok(inside) = inside(&place) {
                is_all &= inside.is_all;
                protected += inside.protected;
                push(&mut waiting, &below, depth + 1, inside.entries);
            }
        }
        ended((!is_all).then_some(Stopped::Size), protected)
    }
}

fn push(waiting: &mut Vec<(PathBuf, usize, Kind)>, below: &Path, depth: usize, inside: Vec<Entry>) {
    let entries = inside.into_iter().rev();
    waiting.extend(entries.map(|entry| (below.join(entry.name), depth, entry.kind)));
}
