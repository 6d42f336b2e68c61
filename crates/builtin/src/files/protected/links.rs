//! Where links lead, and files that have several names.

use super::{Forbidden, guard::Search};
use crate::limits;
use std::{
    collections::HashMap,
    fs::{self, DirEntry},
    os::unix::fs::MetadataExt,
    path::{Component, Path, PathBuf},
};

/// Where a path leads, and by which names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Way {
    /// Without links. What does not exist stays as written.
    pub(crate) real: PathBuf,
    /// The other names of the same thing on the way there: as it was asked for,
    /// and as each link on the way calls it.
    pub(crate) names: Vec<PathBuf>,
}

/// Follows all links of an absolute path, as the system would.
pub(crate) fn follow(path: &Path) -> Way {
    let mut left = limits::LINKS;
    let (real, names) = step(PathBuf::from("/"), path, &mut left);
    Way {
        real,
        names: names.into_iter().map(|name| name.path).collect(),
    }
}

/// A path with all links followed.
pub(super) fn real(path: &Path) -> PathBuf {
    follow(path).real
}

/// A name of where we are that has a link in it.
struct Name {
    path: PathBuf,
    /// How many names stand behind its last link: above that, `..` leads elsewhere.
    behind: usize,
}

fn step(mut here: PathBuf, path: &Path, left: &mut usize) -> (PathBuf, Vec<Name>) {
    let mut names: Vec<Name> = Vec::new();
    for part in path.components() {
        match part {
            Component::Prefix(_) | Component::CurDir => {}
            Component::RootDir => {
                here = PathBuf::from("/");
                names.clear();
            }
            Component::ParentDir => {
                here.pop();
                names.retain_mut(|name| {
                    let stays = name.behind > 0;
                    name.behind = name.behind.saturating_sub(1);
                    name.path.pop();
                    stays
                });
            }
            Component::Normal(part) => {
                here.push(part);
                for name in &mut names {
                    name.path.push(part);
                    name.behind += 1;
                }
                let Ok(target) = fs::read_link(&here) else {
                    continue;
                };
                // The system gives up, too.
                let Some(rest) = left.checked_sub(1) else {
                    continue;
                };
                *left = rest;
                let path = here.clone();
                here.pop();
                let (real, inner) = step(here, &target, left);
                for name in &mut names {
                    name.behind = 0;
                }
                names.push(Name { path, behind: 0 });
                names.extend(inner);
                here = real;
            }
        }
    }
    (here, names)
}

/// Looks paths up, many of which have the same directories above them.
#[derive(Default)]
pub(super) struct Lookup(HashMap<PathBuf, (Way, bool)>);

/// What was looked up.
pub(super) struct Found {
    /// All names of it; the last is the one without links.
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
        let mut names: Vec<PathBuf> = above.names.iter().map(|above| above.join(name)).collect();
        let here = above.real.join(name);
        let about = is_there.then(|| fs::symlink_metadata(&here).ok()).flatten();
        let is_folder = match about {
            Some(about) if about.is_symlink() => {
                let way = follow(&here);
                let is_folder = way.real.is_dir();
                names.extend(way.names);
                names.push(way.real);
                is_folder
            }
            about => {
                names.push(here);
                about.is_some_and(|about| about.is_dir())
            }
        };
        Found { names, is_folder }
    }

    /// A directory without links, and whether it exists.
    fn folder(&mut self, path: &Path) -> (Way, bool) {
        if let Some(known) = self.0.get(path) {
            return known.clone();
        }
        let way = follow(path);
        let is_there = way.real.is_dir();
        self.0.insert(path.to_owned(), (way.clone(), is_there));
        (way, is_there)
    }
}

/// Where the links in a directory lead, by all names on the way.
pub(super) fn leading_out(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(folder, limits::PROTECTED_LINKS, &mut |entry| {
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
            let way = follow(&entry.path());
            found.extend(way.names);
            found.push(way.real);
        }
    });
    found
}

/// Files with several names that are protected under one of them.
#[derive(Debug)]
pub(super) struct HardLinks {
    files: HashMap<(u64, u64), (Forbidden, &'static str)>,
    is_all: bool,
    /// What a person lifted: a file is not protected for the name it has there.
    lifted: Vec<PathBuf>,
}

impl HardLinks {
    fn new(lifted: &[PathBuf]) -> Self {
        Self {
            files: HashMap::new(),
            is_all: true,
            lifted: lifted.to_vec(),
        }
    }

    pub(super) fn of<'p>(
        places: impl Iterator<Item = (&'p Path, Search, Forbidden, &'static str)>,
        lifted: &[PathBuf],
    ) -> Self {
        let mut hard_links = Self::new(lifted);
        for (path, search, forbidden, what) in places {
            if search == Search::Nothing {
                continue;
            }
            hard_links.add(path, forbidden, what);
            let most = match search {
                Search::All => limits::PROTECTED_FILES.saturating_sub(hard_links.files.len()),
                _ => limits::PROTECTED_LINKS,
            };
            let is_all = walk(path, most, &mut |entry| {
                hard_links.add(&entry.path(), forbidden, what);
            });
            // What is only looked at in part says nothing of others.
            hard_links.is_all &= is_all || search != Search::All;
        }
        hard_links
    }

    fn add(&mut self, path: &Path, forbidden: Forbidden, what: &'static str) {
        if self.lifted.iter().any(|lifted| path.starts_with(lifted)) {
            return;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_name_on_the_way_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("real/deep")).unwrap();
        symlink("real", top.join("one")).unwrap();
        symlink("one/deep", top.join("two")).unwrap();
        let names = |path: &str| {
            let way = follow(&top.join(path));
            let inner = |path: &PathBuf| path.strip_prefix(&top).unwrap().display().to_string();
            (
                inner(&way.real),
                way.names.iter().map(inner).collect::<Vec<_>>(),
            )
        };
        let (real, other) = names("two/new");
        assert_eq!(real, "real/deep/new");
        assert_eq!(other, ["two/new", "one/deep/new"]);
        // What `..` leads out of has no name behind it.
        let (real, other) = names("two/../x");
        assert_eq!(real, "real/x");
        assert_eq!(other, ["one/x"]);
        let (real, other) = names("one/deep/../x");
        assert_eq!((real.as_str(), other), ("real/x", vec!["one/x".to_owned()]));
        assert!(names("real/deep").1.is_empty());
        // A circle comes to an end.
        symlink("round", top.join("round")).unwrap();
        let _ = follow(&top.join("round/a"));
    }
}
