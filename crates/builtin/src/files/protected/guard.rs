//! What is protected, as it stands now, and the verdict on a path.

use super::{
    At, Forbidden, Group, Own, TABLE, git,
    links::{self, Found, HardLinks},
    mounts::Mounts,
    pattern::{Fit, below, fit},
    table,
};
use crate::limits;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, OnceLock},
};

/// Large results are kept here, below our data. They are for reading.
const RESULTS: &str = "results";

/// What may not be done, and what it is.
pub(crate) type Verdict = (Forbidden, &'static str);

/// What is protected, as it stands now.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The home directory and the roots: nothing that they lie in is protected
    /// because of a link, or everything would be.
    grounds: Vec<PathBuf>,
    places: Vec<Protected>,
    lifted: Vec<PathBuf>,
    /// The last names of all that is protected, in small letters: what has another
    /// name needs no further look.
    last_names: HashSet<OsString>,
    mounts: Mounts,
    hard_links: OnceLock<HardLinks>,
    /// What directories add to that.
    around: Mutex<HashMap<PathBuf, Arc<Around>>>,
}

/// One thing that is protected, with all that is below it.
#[derive(Clone, Debug)]
struct Protected {
    path: PathBuf,
    forbidden: Forbidden,
    what: &'static str,
    /// What of it may be read.
    readable: Option<PathBuf>,
    /// Whether it is a repository, whose configuration is a secret.
    is_repository: bool,
    /// How many of its files are looked for under other names.
    hard_links: Search,
}

/// How much of a directory is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    Nothing,
    /// As much as goes quickly.
    Some,
    All,
}

/// What stands in a directory under names that are protected in any, and where
/// that leads.
#[derive(Debug, Default)]
struct Around {
    /// Where links lead.
    places: Vec<Protected>,
    last_names: HashSet<OsString>,
    hard_links: OnceLock<HardLinks>,
}

impl Protected {
    fn new(path: PathBuf, group: &Group) -> Self {
        Self {
            path,
            forbidden: group.forbidden,
            what: group.what,
            readable: None,
            is_repository: false,
            hard_links: Search::Nothing,
        }
    }

    fn verdict(&self, path: &Path) -> Option<Verdict> {
        let below = below(path, &self.path)?;
        Some(match &self.readable {
            Some(readable) if path.starts_with(readable) => (Forbidden::Writing, self.what),
            _ if self.is_repository && git::is_configuration(below) => {
                (Forbidden::Everything, table::GIT_CREDENTIALS)
            }
            _ => (self.forbidden, self.what),
        })
    }
}

impl Guard {
    pub(super) fn new(grounds: Vec<PathBuf>, lifted: Vec<PathBuf>) -> Self {
        let mounts = Mounts::now();
        let last = ANYWHERE.iter().filter_map(|row| row.parts.last());
        let last_names = last.map(|name| OsString::from(name.to_ascii_lowercase()));
        let mounted = mounts.last_names().map(OsStr::to_ascii_lowercase);
        Self {
            last_names: last_names.chain(mounted).collect(),
            grounds,
            places: Vec::new(),
            lifted,
            mounts,
            hard_links: OnceLock::new(),
            around: Mutex::default(),
        }
    }

    /// Whether the home directory or a root lies in a path without links, or is it.
    pub(super) fn is_around(&self, path: &Path) -> bool {
        self.grounds.iter().any(|ground| ground.starts_with(path))
    }

    /// Adds a path, and where it and the links in it lead.
    pub(super) fn add(&mut self, found: Found, at: &At, group: &Group) {
        // What a system or a repository is full of is not gone through.
        let is_full = matches!(at, At::Top(_) | At::Anywhere(".git"))
            || *at == At::Path && !found.names.iter().any(|path| self.is_within(path));
        let mut all = found.names;
        if !is_full && found.is_folder {
            let links = all.last().map(|path| links::leading_out(path));
            let links = links.into_iter().flatten();
            all.extend(links.filter(|target| !self.is_around(target)));
        }
        for path in all {
            self.last_names
                .extend(path.file_name().map(OsStr::to_ascii_lowercase));
            self.places.push(Protected {
                readable: (*at == At::Own(Own::Data)).then(|| path.join(RESULTS)),
                hard_links: match (is_full, group.is_large) {
                    (true, _) => Search::Nothing,
                    (false, true) => Search::Some,
                    (false, false) => Search::All,
                },
                ..Protected::new(path, group)
            });
        }
    }

    /// Whether a path lies in the home directory or in a root.
    fn is_within(&self, path: &Path) -> bool {
        self.grounds.iter().any(|ground| path.starts_with(ground))
    }

    fn is_lifted(&self, path: &Path) -> bool {
        self.lifted.iter().any(|lifted| path.starts_with(lifted))
    }

    /// What may not be done with a path without links, which has these other
    /// names as well, and what it is.
    pub(crate) fn verdict(&self, path: &Path, others: &[PathBuf]) -> Option<Verdict> {
        let names = self.mounts.names(path);
        if names.iter().any(|name| self.is_lifted(name)) {
            return None;
        }
        let others = others.iter().filter(|name| !self.is_lifted(name));
        let others = others.flat_map(|name| self.mounts.names(name));
        let all = names.into_iter().chain(others);
        let verdicts = all.filter_map(|name| self.judge(&name));
        verdicts.max_by_key(|(forbidden, _)| *forbidden)
    }

    /// The same for one name.
    fn judge(&self, path: &Path) -> Option<Verdict> {
        let placed = self.places.iter().filter_map(|place| place.verdict(path));
        let names: Vec<&OsStr> = path.iter().collect();
        let named = ANYWHERE.iter().filter_map(|row| {
            let is_it = fit(&row.parts, &names) == Fit::Is;
            is_it.then_some((row.group.forbidden, row.group.what))
        });
        let repository = git::verdict(path).map(|forbidden| match forbidden {
            Forbidden::Everything => (forbidden, table::GIT_CREDENTIALS),
            Forbidden::Writing => (forbidden, table::RUN_BY_ITSELF),
        });
        let around = path.ancestors().skip(1).filter_map(|folder| {
            let around = self.around(folder);
            let all = around.places.iter();
            let all = all.filter_map(|place| place.verdict(path));
            all.max_by_key(|(forbidden, _)| *forbidden)
        });
        let all = placed.chain(named).chain(repository).chain(around);
        all.max_by_key(|(forbidden, _)| *forbidden)
    }

    /// Whether something protected lies below a path, or would if it had this
    /// name: then it cannot be moved as a whole.
    pub(crate) fn holds(&self, path: &Path) -> Option<&'static str> {
        let names = self.mounts.names(path);
        names.iter().find_map(|name| {
            let mut places = self.places.iter();
            let placed = places.find(|place| below(&place.path, name).is_some());
            let parts: Vec<&OsStr> = name.iter().collect();
            let mut rows = ANYWHERE.iter();
            let mut named = || rows.find(|row| fit(&row.parts, &parts) == Fit::Holds);
            let what = placed.map(|place| place.what);
            what.or_else(|| named().map(|row| row.group.what))
                .filter(|_| !self.is_lifted(name))
        })
    }

    /// Whether a name in a directory that may be read needs a closer look.
    pub(crate) fn is_suspect(&self, folder: &Path, name: &OsStr) -> bool {
        let mut above = folder.ancestors();
        let name = name.to_ascii_lowercase();
        self.last_names.contains(&name)
            || git::is_configuration(Path::new(&name))
            || above.any(|folder| self.around(folder).last_names.contains(&name))
    }

    /// What may not be done with a file that has several hard links. One that is
    /// lifted is protected all the same where it has a name that is not.
    pub(crate) fn hard_link(&self, path: &Path, device: u64, inode: u64) -> Option<Verdict> {
        let hard_links = self.hard_links.get_or_init(|| {
            let all = self.places.iter();
            let all = all.map(|place| {
                (
                    place.path.as_path(),
                    place.hard_links,
                    place.forbidden,
                    place.what,
                )
            });
            HardLinks::of(all, &self.lifted)
        });
        let near = |folder| self.hard_links_in(folder, device, inode);
        let mut above = path.ancestors().skip(1);
        hard_links
            .find(device, inode)
            .or_else(|| above.find_map(near))
    }

    /// The same for what a directory around it has.
    fn hard_links_in(&self, folder: &Path, device: u64, inode: u64) -> Option<Verdict> {
        let around = self.around(folder);
        let hard_links = around.hard_links.get_or_init(|| {
            let first = first_names(folder);
            let rows = ANYWHERE.iter().filter(|row| row.is_plain());
            let there = rows.filter(|row| first.contains(row.parts[0]) && row.names != ".git");
            let there: Vec<_> = there
                .map(|row| (folder.join(row.names), row.group))
                .collect();
            let each = there
                .iter()
                .map(|(path, group)| (path.as_path(), Search::Some, group.forbidden, group.what));
            HardLinks::of(each, &self.lifted)
        });
        hard_links.find(device, inode)
    }

    /// What a directory adds.
    fn around(&self, folder: &Path) -> Arc<Around> {
        if let Some(known) = self.around.lock().get(folder) {
            return Arc::clone(known);
        }
        let around = Arc::new(self.look_around(folder));
        self.around
            .lock()
            .insert(folder.to_owned(), Arc::clone(&around));
        around
    }

    fn look_around(&self, folder: &Path) -> Around {
        let mut around = Around::default();
        let first = first_names(folder);
        for row in ANYWHERE.iter().filter(|row| row.is_plain()) {
            if !first.contains(row.parts[0]) {
                continue;
            }
            let path = folder.join(row.names);
            let is_repository = row.names == ".git";
            let mut all = Vec::new();
            if is_repository {
                all = git::behind(&path);
            } else {
                let way = links::follow(&path);
                if way.real.is_dir() {
                    all.extend(links::leading_out(&way.real));
                }
                if !way.names.is_empty() {
                    all.extend(way.names);
                    all.push(way.real);
                }
            }
            for path in all.into_iter().filter(|path| !self.is_around(path)) {
                around
                    .last_names
                    .extend(path.file_name().map(OsStr::to_ascii_lowercase));
                around.places.push(Protected {
                    is_repository,
                    ..Protected::new(path, row.group)
                });
            }
        }
        around
    }
}

/// A line of the table that is good for any directory.
struct Row {
    names: &'static str,
    parts: Vec<&'static str>,
    group: &'static Group,
}

impl Row {
    /// Whether it means one path in a directory.
    fn is_plain(&self) -> bool {
        !self.names.contains('*')
    }
}

static ANYWHERE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let rows = TABLE.iter().flat_map(|group| {
        group.places.iter().filter_map(move |at| match at {
            At::Anywhere(names) => Some(Row {
                names,
                parts: names.split('/').collect(),
                group,
            }),
            _ => None,
        })
    });
    rows.collect()
});

/// Whether a line of the table names this very file, and lets it be read.
pub(super) fn is_readable(path: &Path) -> bool {
    let mut rows = ANYWHERE.iter().filter(|row| row.is_plain());
    rows.any(|row| row.group.forbidden == Forbidden::Writing && path.ends_with(row.names))
}

/// The first names of all of them that mean one path.
static FIRST_NAMES: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let plain = ANYWHERE.iter().filter(|row| row.is_plain());
    plain.map(|row| row.parts[0]).collect()
});

/// Those of the first names that are in a directory.
fn first_names(folder: &Path) -> HashSet<&'static str> {
    let known = |name: &OsStr| FIRST_NAMES.get(name.to_str()?).copied();
    let one_by_one = || {
        let names = FIRST_NAMES.iter().copied();
        let is_there = |name: &&str| folder.join(name).symlink_metadata().is_ok();
        names.filter(is_there).collect()
    };
    let Ok(inside) = folder.read_dir() else {
        return one_by_one();
    };
    let mut found = HashSet::new();
    for (seen, entry) in inside.flatten().enumerate() {
        if seen == limits::PROTECTED_LINKS {
            return one_by_one();
        }
        found.extend(known(&entry.file_name()));
    }
    found
}
