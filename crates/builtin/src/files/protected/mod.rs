//! What the file tools leave alone, whatever their roots are: keys, our own
//! folders, other programs' servers, and what runs by itself.
//!
//! A path is judged without links (it was resolved before), under every name
//! that mounts give it, and a file that has several hard links by what it is.
//! What is protected is looked up anew for every call: it may be a link itself,
//! and links change.
//!
//! | module | what |
//! |---|---|
//! | `table` | the table, which `docs/reference/protected.md` shows |
//! | `pattern` | names that are protected in any directory |
//! | `mounts` | the other names of a path |
//! | `links` | where links lead, and files with several names |

mod links;
mod mounts;
mod pattern;
mod table;

pub use table::{At, Forbidden, Group, Own, TABLE};

use links::{Found, Lookup, Twins};
use mounts::Mounts;
use parking_lot::Mutex;
use pattern::{Fit, fit};
use std::{
    collections::{HashMap, HashSet},
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

/// Our own folders, in all places where they may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnFolders {
    /// Settings and manifests.
    pub config: Vec<PathBuf>,
    /// Tokens, approvals, sign-ins.
    pub data: Vec<PathBuf>,
    /// What runs.
    pub state: Vec<PathBuf>,
    /// What can be made again.
    pub cache: Vec<PathBuf>,
}

/// Large results are kept here, below our data. They are for reading.
const RESULTS: &str = "results";

/// What is protected for this user.
#[derive(Clone)]
pub struct Protection {
    own: Option<OwnFolders>,
    home: Option<PathBuf>,
    variables: Vec<(&'static str, PathBuf)>,
    /// Lifted by a person, each with what is below it.
    allowed: Vec<PathBuf>,
}

impl fmt::Debug for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protection")
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

impl Protection {
    /// The table for the user whose variables `lookup` tells. Who has no folders
    /// of ours to protect says so with `None`.
    pub fn new(own: Option<OwnFolders>, lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        // Some of them name several, as PATH does.
        let paths = |name: &str| {
            let value = lookup(name).unwrap_or_default();
            let all = std::env::split_paths(&value).filter(|path| path.is_absolute());
            all.collect::<Vec<PathBuf>>()
        };
        let named = TABLE.iter().flat_map(|group| group.places);
        let mut variables: Vec<&'static str> = named
            .filter_map(|at| match at {
                At::Variable(name, _) => Some(*name),
                _ => None,
            })
            .chain(["XDG_CONFIG_HOME", "XDG_DATA_HOME"])
            .collect();
        variables.dedup();
        Self {
            own,
            home: paths("HOME").into_iter().next(),
            variables: variables
                .into_iter()
                .flat_map(|name| paths(name).into_iter().map(move |path| (name, path)))
                .collect(),
            allowed: Vec::new(),
        }
    }

    /// The same by our own environment.
    pub fn of_this_user(own: Option<OwnFolders>) -> Self {
        Self::new(own, |name| std::env::var_os(name))
    }

    /// Lifts it for these paths and what is below them, as a person said.
    #[must_use]
    pub fn allowing(mut self, paths: &[PathBuf]) -> Self {
        self.allowed.extend_from_slice(paths);
        self
    }

    /// What may not be done with a path, and what it is.
    pub fn forbids(&self, path: &Path) -> Option<(Forbidden, &'static str)> {
        self.guard(&[]).verdict(&links::real(path))
    }

    /// What holds for one call.
    pub(crate) fn guard(&self, roots: &[&Path]) -> Guard {
        let mut guard = Guard {
            places: Vec::new(),
            allowed: Vec::new(),
            last_names: HashSet::new(),
            mounts: Mounts::now(),
            twins: OnceLock::new(),
            around: Mutex::default(),
        };
        let mut lookup = Lookup::default();
        for group in TABLE {
            for at in group.places {
                for path in self.paths(at, roots) {
                    let found = lookup.find(&path);
                    guard.add(found, at, group, self, roots);
                }
                if let At::Anywhere(names) = at {
                    let last = names.rsplit('/').next().unwrap_or(names);
                    guard.last_names.insert(last.into());
                }
            }
        }
        // A project's own variables are its own; the user's are not.
        if let Some(home) = &self.home
            && !roots.iter().any(|root| home.starts_with(root))
        {
            let at = At::Home(".env");
            let found = lookup.find(&home.join(".env"));
            guard.add(found, &at, &TABLE[0], self, roots);
        }
        for path in &self.allowed {
            guard.allowed.push(path.clone());
            guard.allowed.push(links::real(path));
        }
        let names = guard.mounts.last_names().map(OsStr::to_owned);
        guard.last_names.extend(names);
        guard
    }

    /// The paths that a line of the table means for this user.
    fn paths(&self, at: &At, roots: &[&Path]) -> Vec<PathBuf> {
        let below = |folder: &Path, name: &str| match name {
            "" => folder.to_owned(),
            name => folder.join(name),
        };
        let named = |wanted: &str, below_it: &str| -> Vec<PathBuf> {
            let all = self.variables.iter().filter(|(name, _)| *name == wanted);
            all.map(|(_, path)| below(path, below_it)).collect()
        };
        let home = self.home.as_deref();
        let in_home = |name: &str| home.map(|home| home.join(name));
        let both = |moved: &str, usual: &str, name: &str| {
            let usual = in_home(usual).map(|folder| below(&folder, name));
            named(moved, name).into_iter().chain(usual).collect()
        };
        match at {
            At::Home(name) => in_home(name).into_iter().collect(),
            At::Config(name) => both("XDG_CONFIG_HOME", ".config", name),
            At::Data(name) => both("XDG_DATA_HOME", ".local/share", name),
            At::Variable(variable, name) => named(variable, name),
            At::Top(path) => vec![PathBuf::from(path)],
            // It may be a link where it most likely stands.
            At::Anywhere(name) if !name.contains('*') => {
                let likely = home.into_iter().chain(roots.iter().copied());
                likely.map(|folder| folder.join(name)).collect()
            }
            At::Anywhere(_) => Vec::new(),
            At::Own(which) => match (&self.own, which) {
                (None, _) => Vec::new(),
                (Some(own), Own::Config) => own.config.clone(),
                (Some(own), Own::Data) => own.data.clone(),
                (Some(own), Own::State) => own.state.clone(),
                (Some(own), Own::Cache) => own.cache.clone(),
            },
        }
    }
}

/// What is protected, as it stands now.
#[derive(Debug)]
pub(crate) struct Guard {
    places: Vec<Protected>,
    allowed: Vec<PathBuf>,
    /// The last names of all that is protected: what has another name needs no
    /// further look.
    last_names: HashSet<OsString>,
    mounts: Mounts,
    twins: OnceLock<Twins>,
    /// The same for what stands in directories above a file.
    around: Mutex<HashMap<PathBuf, Arc<Twins>>>,
}

/// One thing that is protected, with all that is below it.
#[derive(Clone, Debug)]
struct Protected {
    path: PathBuf,
    forbidden: Forbidden,
    what: &'static str,
    /// What of it may be read.
    readable: Option<PathBuf>,
    /// Whether its files are looked for under other names.
    has_twins: bool,
}

impl Guard {
    /// Adds a path, and where it and the links in it lead.
    fn add(&mut self, found: Found, at: &At, group: &Group, of: &Protection, roots: &[&Path]) {
        let is_data = *at == At::Own(Own::Data);
        // What a system or a repository is full of has no secrets in other places.
        let is_full = matches!(at, At::Top(_) | At::Anywhere(".git"));
        let is_secret = group.forbidden == Forbidden::Everything && !is_full;
        let mut all = found.names;
        if is_secret && found.is_folder {
            let leads = |target: &PathBuf| {
                let mut above = of
                    .home
                    .iter()
                    .map(PathBuf::as_path)
                    .chain(roots.iter().copied());
                // A link to everything would protect everything.
                !above.any(|folder| folder.starts_with(target))
            };
            let links = all.last().map(|path| links::leading_out(path));
            all.extend(links.into_iter().flatten().filter(leads));
        }
        for path in all {
            self.last_names
                .extend(path.file_name().map(OsStr::to_owned));
            self.places.push(Protected {
                forbidden: group.forbidden,
                what: group.what,
                readable: is_data.then(|| path.join(RESULTS)),
                has_twins: !is_full,
                path,
            });
        }
    }

    /// What may not be done with a path without links, and what it is.
    pub(crate) fn verdict(&self, path: &Path) -> Option<(Forbidden, &'static str)> {
        let names = self.mounts.names(path);
        let is_allowed = |name: &PathBuf| self.allowed.iter().any(|path| name.starts_with(path));
        if names.iter().any(is_allowed) {
            return None;
        }
        let all = names.iter().flat_map(|name| self.matching(name));
        all.max_by_key(|(forbidden, _)| *forbidden)
    }

    fn matching(&self, path: &Path) -> impl Iterator<Item = (Forbidden, &'static str)> {
        let placed = self.places.iter().filter_map(|place| {
            let is_it = path.starts_with(&place.path);
            is_it.then(|| match &place.readable {
                Some(readable) if path.starts_with(readable) => (Forbidden::Writing, place.what),
                _ => (place.forbidden, place.what),
            })
        });
        let named = anywhere().filter_map(|(names, group)| {
            (fit(names, path) == Fit::Is).then_some((group.forbidden, group.what))
        });
        placed.chain(named)
    }

    /// Whether something protected lies below a path, or would if it had this
    /// name: then it cannot be moved as a whole.
    pub(crate) fn holds(&self, path: &Path) -> Option<&'static str> {
        let names = self.mounts.names(path);
        names.iter().find_map(|name| {
            let mut places = self.places.iter();
            let placed = places.find(|place| place.path.starts_with(name));
            let named = || anywhere().find(|(names, _)| fit(names, name) == Fit::Holds);
            let what = placed.map(|place| place.what);
            what.or_else(|| named().map(|(_, group)| group.what))
                .filter(|_| !self.allowed.iter().any(|path| name.starts_with(path)))
        })
    }

    /// Whether a name in a directory that may be read needs a closer look.
    pub(crate) fn is_suspect(&self, name: &OsStr) -> bool {
        self.last_names.contains(name)
    }

    /// What may not be done with a file that has several hard links.
    pub(crate) fn twin(
        &self,
        path: &Path,
        device: u64,
        inode: u64,
    ) -> Option<(Forbidden, &'static str)> {
        if self.allowed.iter().any(|allowed| path.starts_with(allowed)) {
            return None;
        }
        let twins = self.twins.get_or_init(|| {
            let all = self.places.iter().filter(|place| place.has_twins);
            Twins::of(all.map(|place| (place.path.as_path(), place.forbidden, place.what)))
        });
        let near = |folder| self.around(folder).find(device, inode);
        let mut above = path.ancestors().skip(1);
        twins.find(device, inode).or_else(|| above.find_map(near))
    }

    /// What stands in a directory under a name that is protected in any.
    fn around(&self, folder: &Path) -> Arc<Twins> {
        if let Some(known) = self.around.lock().get(folder) {
            return Arc::clone(known);
        }
        let plain = anywhere().filter(|(names, _)| !names.contains('*') && *names != ".git");
        let there: Vec<_> = plain
            .map(|(names, group)| (folder.join(names), group.forbidden, group.what))
            .collect();
        let each = there
            .iter()
            .map(|(path, forbidden, what)| (path.as_path(), *forbidden, *what));
        let twins = Arc::new(Twins::near(each));
        self.around
            .lock()
            .insert(folder.to_owned(), Arc::clone(&twins));
        twins
    }
}

/// The lines of the table that are good for any directory.
fn anywhere() -> impl Iterator<Item = (&'static str, &'static Group)> {
    TABLE.iter().flat_map(|group| {
        group.places.iter().filter_map(move |at| match at {
            At::Anywhere(names) => Some((*names, group)),
            _ => None,
        })
    })
}
