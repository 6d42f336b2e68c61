//! What the file tools leave alone, whatever their roots are: keys, our own
//! folders, other programs' servers, and what runs by itself.
//!
//! A path is judged without links, by each name that links gave it on the way
//! there, and under every name that mounts give those; a file that has several
//! hard links by what it is. The strictest counts. What is protected may be a
//! link itself, and links change: it is looked up anew, but for calls that
//! follow one another closely.
//!
//! | module | what |
//! |---|---|
//! | `table` | the table, which `docs/reference/protected.md` shows |
//! | `guard` | what is protected now, and the verdict on a path |
//! | `git` | repositories, whatever they are called |
//! | `in_use` | what this run of the program is told by, and what it runs |
//! | `pattern` | names that are protected in any directory |
//! | `mounts` | the other names of a path |
//! | `links` | where links lead, and files with several names |

mod git;
mod guard;
mod in_use;
pub(crate) mod links;
mod mounts;
mod pattern;
mod table;

pub(crate) use guard::Guard;
pub use in_use::InUse;
pub(crate) use table::{At, Group, Own, Used};
pub use table::{Forbidden, TABLE};

use crate::limits;
use links::Lookup;
use std::{
    ffi::OsString,
    fmt,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
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

/// What is lifted with a path: itself, and files that links in it lead to.
fn lifted(path: &Path) -> Vec<PathBuf> {
    let real = links::real(path);
    let mut files = links::leading_out(&real);
    files.retain(|file| file.is_file());
    files.push(real);
    files
}

/// The programs in a folder, where not all of it can be meant.
fn programs(folder: &Path) -> Vec<PathBuf> {
    let inside = folder.read_dir().into_iter().flatten().flatten();
    let paths = inside
        .take(limits::PROTECTED_LINKS)
        .map(|entry| entry.path());
    let is_program = |path: &PathBuf| {
        let about = path.metadata();
        about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    paths.filter(is_program).collect()
}

/// What is protected for this user.
#[derive(Clone)]
pub struct Protection {
    own: Option<OwnFolders>,
    in_use: InUse,
    home: Option<PathBuf>,
    variables: Vec<(&'static str, PathBuf)>,
    /// Lifted by a person, each with what is below it. Without links, as they
    /// stood when it was lifted: one that appears later lifts nothing.
    lifted: Vec<PathBuf>,
}

impl fmt::Debug for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protection")
            .field("lifted", &self.lifted)
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
            .chain(["XDG_CONFIG_HOME", "XDG_DATA_HOME", "PATH"])
            .collect();
        variables.dedup();
        Self {
            own,
            in_use: InUse::default(),
            home: paths("HOME").into_iter().next(),
            variables: variables
                .into_iter()
                .flat_map(|name| paths(name).into_iter().map(move |path| (name, path)))
                .collect(),
            lifted: Vec::new(),
        }
    }

    /// The same by our own environment.
    pub fn of_this_user(own: Option<OwnFolders>) -> Self {
        // tidy: `new` takes them from its caller.
        Self::new(own, |name| std::env::var_os(name))
    }

    /// Also protects what this run of the program uses.
    #[must_use]
    pub fn using(mut self, in_use: InUse) -> Self {
        self.in_use = in_use;
        self
    }

    /// Lifts it for these paths and what is below them, as a person said.
    #[must_use]
    pub fn allowing(mut self, paths: &[PathBuf]) -> Self {
        self.lifted
            .extend(paths.iter().flat_map(|path| lifted(path)));
        self
    }

    /// What may not be done with a path, and what it is.
    pub fn forbids(&self, path: &Path) -> Option<(Forbidden, &'static str)> {
        let way = links::follow(path);
        self.guard(&[]).verdict(&way.real, &way.names)
    }

    /// What holds now.
    pub(crate) fn guard(&self, roots: &[&Path]) -> Guard {
        let home = self.home.iter().cloned();
        let grounds = home.chain(roots.iter().map(|root| root.to_path_buf()));
        let mut guard = Guard::new(grounds.collect(), self.lifted.clone());
        let mut lookup = Lookup::default();
        for group in TABLE {
            for at in group.places {
                for path in self.paths(at, &guard, roots) {
                    guard.add(lookup.find(&path), at, group);
                }
            }
        }
        // A project's own variables are its own; the user's are not.
        if let Some(home) = &self.home
            && !roots.iter().any(|root| home.starts_with(root))
        {
            let found = lookup.find(&home.join(".env"));
            guard.add(found, &At::Home(".env"), &TABLE[0]);
        }
        guard
    }

    /// The paths that a line of the table means for this user.
    fn paths(&self, at: &At, guard: &Guard, roots: &[&Path]) -> Vec<PathBuf> {
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
            // Where the table names a file of others, it says what may be done with it.
            At::Used(Used::Read) => {
                let mut read = self.in_use.read();
                read.retain(|path| !guard::is_readable(path));
                read
            }
            // A folder around everything would protect everything.
            At::Used(Used::Run) => {
                let mut run = self.in_use.run();
                run.retain(|path| !guard.is_around(&links::real(path)));
                run
            }
            At::Path => {
                let each = named("PATH", "").into_iter().flat_map(|folder| {
                    match guard.is_around(&links::real(&folder)) {
                        true => programs(&folder),
                        false => vec![folder],
                    }
                });
                each.collect()
            }
        }
    }
}
