//! Where links lead, and files that have several names.

use super::Forbidden;
use crate::limits;
use std::{
    collections::HashMap,
    fs::{self, DirEntry},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// A path with all links followed, also one that leads nowhere yet: what does
/// not exist stays as written.
pub(super) fn real(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..limits::LINKS {
        match path.canonicalize() {
            Ok(real) => return real,
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return path,
        }
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return path;
        };
        let here = real(above).join(name);
        match fs::read_link(&here) {
            Ok(target) => path = here.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => return here,
        }
    }
    path
}

/// Looks paths up, many of which have the same directories above them.
#[derive(Default)]
pub(super) struct Lookup(HashMap<PathBuf, (PathBuf, bool)>);

/// What was looked up.
pub(super) struct Found {
    /// The path as it stands in its directory, and what it leads to.
    pub(super) names: Vec<PathBuf>,
    /// Whether it is a directory.
    pub(super) is_folder: bool,
}

impl Lookup {
    pub(super) fn find(&mut self, path: &Path) -> Found {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Found {
                names: vec![path.to_owned()],
                is_folder: true,
            };
        };
        let (above, is_there) = self.folder(above);
        let here = above.join(name);
        let about = is_there.then(|| fs::symlink_metadata(&here).ok()).flatten();
        match about {
            Some(about) if about.is_symlink() => {
                let there = real(&here);
                Found {
                    is_folder: there.is_dir(),
                    names: vec![here, there],
                }
            }
            about => Found {
                is_folder: about.is_some_and(|about| about.is_dir()),
                names: vec![here],
            },
        }
    }

    /// A directory without links, and whether it exists.
    fn folder(&mut self, path: &Path) -> (PathBuf, bool) {
        if let Some(known) = self.0.get(path) {
            return known.clone();
        }
        let found = match path.canonicalize() {
            Ok(real) => (real, true),
            Err(_) => (real(path), false),
        };
        self.0.insert(path.to_owned(), found.clone());
        found
    }
}

/// Where the links in a directory lead.
pub(super) fn leading_out(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(folder, limits::PROTECTED_LINKS, &mut |entry| {
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            found.push(real(&entry.path()));
        }
    });
    found
}

/// Files with several names that are protected under one of them.
#[derive(Debug)]
pub(super) struct Twins {
    files: HashMap<(u64, u64), (Forbidden, &'static str)>,
    is_all: bool,
}

impl Twins {
    pub(super) fn of<'p>(
        places: impl Iterator<Item = (&'p Path, Forbidden, &'static str)>,
    ) -> Self {
        let mut twins = Self {
            files: HashMap::new(),
            is_all: true,
        };
        for (path, forbidden, what) in places {
            twins.add(path, forbidden, what);
            let rest = limits::PROTECTED_FILES.saturating_sub(twins.files.len());
            twins.is_all &= walk(path, rest, &mut |entry| {
                twins.add(&entry.path(), forbidden, what);
            });
        }
        twins
    }

    /// The same for few: what has more than a handful of files is not gone
    /// through, and says nothing of others.
    pub(super) fn near<'p>(
        places: impl Iterator<Item = (&'p Path, Forbidden, &'static str)>,
    ) -> Self {
        let mut twins = Self {
            files: HashMap::new(),
            is_all: true,
        };
        for (path, forbidden, what) in places {
            twins.add(path, forbidden, what);
            walk(path, limits::PROTECTED_LINKS, &mut |entry| {
                twins.add(&entry.path(), forbidden, what);
            });
        }
        twins
    }

    fn add(&mut self, path: &Path, forbidden: Forbidden, what: &'static str) {
        let Ok(about) = fs::symlink_metadata(path) else {
            return;
        };
        if about.is_file() && about.nlink() > 1 {
            let known = self
                .files
                .entry((about.dev(), about.ino()))
                .or_insert((forbidden, what));
            known.0 = known.0.max(forbidden);
        }
    }

    /// What a file is. Where not all could be looked at, nobody can say that it
    /// is none of them.
    pub(super) fn find(&self, device: u64, inode: u64) -> Option<(Forbidden, &'static str)> {
        let unknown = (
            Forbidden::Everything,
            "a file with several names, and too much is protected to say that it is not",
        );
        let found = self.files.get(&(device, inode)).copied();
        found.or((!self.is_all).then_some(unknown))
    }
}

/// Shows all that is in a directory, not following links; whether that was all.
fn walk(folder: &Path, most: usize, see: &mut dyn FnMut(&DirEntry)) -> bool {
    let mut left = most;
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        if folder.is_symlink() {
            continue;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Some(rest) = left.checked_sub(1) else {
                return false;
            };
            left = rest;
            see(&entry);
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && depth < limits::WALK_DEPTH {
                open.push((entry.path(), depth + 1));
            }
        }
    }
    true
}
