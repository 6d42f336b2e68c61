//! Where configuration lives, and what counts as inside a repository.
//!
//! Only paths are decided here; nothing is read but what says whether a path is
//! a repository, and whose it is.

use crate::safe_read;
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

/// The places of one run of the program.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Where we are: a real path.
    pub directory: PathBuf,
    /// The user's home: a real path.
    pub home: Option<PathBuf>,
    /// The folder of our own settings.
    pub config: PathBuf,
    /// The folder of Claude Code's settings.
    pub claude: PathBuf,
    /// Claude Code's file of servers.
    pub claude_json: PathBuf,
    /// Where an administrator puts files; later ones win.
    pub managed: Vec<PathBuf>,
    /// Whose managed files must be: root.
    pub managed_owner: u32,
    /// Approvals. Never moved into the tree that we are in.
    pub data: PathBuf,
    /// The list of connectors.
    pub cache: PathBuf,
    /// Files that the environment names inside the tree: they count as the
    /// project's, whatever they are called.
    pub strays: Vec<PathBuf>,
    /// Variables that say where our own things are and do not count, because
    /// that is inside the tree.
    pub ignored: Vec<&'static str>,
    /// The search path for programs.
    pub path: OsString,
}

/// Variables that move what we keep: approvals, keys, notes of what runs.
const KEEP: [&str; 3] = ["XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];

/// Those of the variables that move what we keep which lead into the tree around
/// this directory. A repository could have put there what it likes, such as
/// approvals of its own servers: they do not count.
pub fn moved_inside(
    directory: &Path,
    lookup: impl Fn(&str) -> Option<OsString>,
) -> Vec<&'static str> {
    let home = lookup("HOME").map(PathBuf::from);
    let places = Places {
        directory: real(directory.to_owned()),
        home: home.filter(|home| home.is_absolute()).map(real),
        ..Places::default()
    };
    let inside = |name: &&str| {
        let folder = lookup(name).map(PathBuf::from);
        folder.is_some_and(|folder| folder.is_absolute() && places.is_inside(&folder))
    };
    KEEP.into_iter().filter(inside).collect()
}

/// Our settings file in its folder.
pub(crate) const SETTINGS: &str = "settings.json";

impl Places {
    /// Finds them. `config`, `data` and `cache` are the folders by the rules of
    /// the system, without `SWITCHBOARD_CONFIG_DIR`.
    pub fn find(
        directory: &Path,
        config: &Path,
        data: &Path,
        cache: &Path,
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Self {
        let set = |name: &str| {
            lookup(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let home = set("HOME").filter(|home| home.is_absolute()).map(real);
        let own = home.clone().unwrap_or_else(|| "/".into());
        let under_home = |name: &str| own.join(name);
        let mut places = Self {
            directory: real(directory.to_owned()),
            config: config.to_owned(),
            claude: under_home(".claude"),
            claude_json: under_home(".claude.json"),
            managed: ["/etc/claude-code", "/etc/switchboard"]
                .map(PathBuf::from)
                .to_vec(),
            managed_owner: 0,
            data: data.to_owned(),
            cache: cache.to_owned(),
            strays: Vec::new(),
            ignored: moved_inside(directory, &lookup),
            path: lookup("PATH").unwrap_or_default(),
            home,
        };
        // Tests cannot write to /etc. Not in a released program: a user could
        // step around the administrator with it.
        if cfg!(debug_assertions)
            && let Some(folder) = set("SWITCHBOARD_TEST_MANAGED_DIR")
        {
            places.managed = vec![folder];
            places.managed_owner = safe_read::me();
        }
        // Whoever asks without having looked gets nothing from inside either.
        let usual = |name: &str| under_home(name).join("switchboard");
        if places.is_inside(data) {
            places.data = usual(".local/share");
        }
        if places.is_inside(cache) {
            places.cache = usual(".cache");
        }
        if let Some(folder) = set("SWITCHBOARD_CONFIG_DIR") {
            let folder = places.directory.join(folder);
            if places.is_foreign(&folder) {
                places.strays.push(folder.join(SETTINGS));
            } else {
                places.config = folder;
            }
        }
        if let Some(folder) = set("CLAUDE_CONFIG_DIR") {
            let folder = places.directory.join(folder);
            if places.is_foreign(&folder) {
                places.strays.push(folder.join(".claude.json"));
            } else {
                places.claude_json = folder.join(".claude.json");
                places.claude = folder;
            }
        }
        places
    }

    /// Our settings.
    pub fn settings(&self) -> PathBuf {
        self.config.join(SETTINGS)
    }

    /// Where approvals are kept.
    pub fn approvals(&self) -> PathBuf {
        self.data.join("approvals.json")
    }

    /// Where it is kept which folders are trusted.
    pub fn folders(&self) -> PathBuf {
        self.data.join("folders.json")
    }

    /// The root of the repository that we are in.
    pub fn repository(&self) -> Option<&Path> {
        let mut above = self.directory.ancestors();
        above.find(|folder| fs::symlink_metadata(folder.join(".git")).is_ok())
    }

    /// What a repository could have written: its root, or the directory we are
    /// in. A home directory is nobody's repository, even where it is kept in one.
    pub fn tree(&self) -> Option<&Path> {
        self.repository()
            .into_iter()
            .chain([self.directory.as_path()])
            .find(|folder| !self.holds_home(folder))
    }

    /// Whether the user's home is in this folder.
    pub(crate) fn holds_home(&self, folder: &Path) -> bool {
        let home = self.home.as_deref();
        home.is_some_and(|home| home.starts_with(folder))
    }

    /// Whether the real path is inside the tree. What does not exist is where
    /// it would be made.
    pub fn is_inside(&self, path: &Path) -> bool {
        let real = path
            .ancestors()
            .find_map(|above| Some((above, above.canonicalize().ok()?)))
            .map(|(above, real)| match path.strip_prefix(above) {
                Ok(rest) => real.join(rest),
                Err(_) => real,
            });
        self.tree()
            .is_some_and(|tree| real.is_none_or(|real| real.starts_with(tree)))
    }

    /// Whether a folder that the environment names cannot be the user's own.
    fn is_foreign(&self, folder: &Path) -> bool {
        self.is_inside(folder) || safe_read::check(folder, None).is_err_and(|why| !why.is_absent())
    }

    /// The folder that local entries are kept for: the repository's root, or
    /// the directory itself.
    pub fn project(&self) -> &Path {
        self.repository().unwrap_or(&self.directory)
    }

    /// The folders in which `.mcp.json` is looked for, nearest first: up to
    /// home, and outside of it up to the repository's root.
    pub fn project_folders(&self) -> Vec<&Path> {
        let home = self.home.as_deref();
        let last = match home {
            Some(home) if self.directory.starts_with(home) => home,
            _ => self.repository().unwrap_or(&self.directory),
        };
        let up_to_last = |folder: &&Path| folder.starts_with(last);
        self.directory.ancestors().take_while(up_to_last).collect()
    }
}

fn real(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}

#[cfg(test)]
mod tests;
