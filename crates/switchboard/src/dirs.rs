//! Where Switchboard keeps things.

#[cfg(feature = "builtin")]
mod own;

#[cfg(feature = "builtin")]
pub use own::own_folders;

use std::path::{Path, PathBuf};
use switchboard_config::moved_inside;

/// The directories of one user. None of them is made before it is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirs {
    /// Settings; `SWITCHBOARD_CONFIG_DIR` moves it.
    pub config: PathBuf,
    /// Tokens, audit, large results. Never moved by that variable: a
    /// repository that sets it must not get at them.
    pub data: PathBuf,
    /// What runs now.
    pub state: PathBuf,
    /// What can be made again.
    pub cache: PathBuf,
}

/// There is nowhere to keep anything.
#[derive(Debug, thiserror::Error)]
#[error("the home directory is not known: set HOME")]
pub struct NoHome;

impl Dirs {
    /// Finds them by the XDG rules: a variable counts only if its path is absolute.
    pub fn find(lookup: impl Fn(&str) -> Option<PathBuf>) -> Result<Self, NoHome> {
        let absolute = |name: &str| lookup(name).filter(|path| path.is_absolute());
        let home = absolute("HOME");
        let under = |variable: &str, fallback: &str| {
            let base = absolute(variable).or_else(|| Some(home.as_ref()?.join(fallback)));
            base.map(|base| base.join("switchboard")).ok_or(NoHome)
        };
        let config =
            match lookup("SWITCHBOARD_CONFIG_DIR").filter(|path| !path.as_os_str().is_empty()) {
                Some(path) => path,
                None => under("XDG_CONFIG_HOME", ".config")?,
            };
        Ok(Self {
            config,
            data: under("XDG_DATA_HOME", ".local/share")?,
            state: under("XDG_STATE_HOME", ".local/state")?,
            cache: under("XDG_CACHE_HOME", ".cache")?,
        })
    }

    /// The same for somebody who works in this directory: variables that lead
    /// into the repository there do not count.
    pub fn find_from(
        directory: &Path,
        lookup: impl Fn(&str) -> Option<PathBuf>,
    ) -> Result<Self, NoHome> {
        let ignored = moved_inside(directory, |name| lookup(name).map(Into::into));
        Self::find(|name| lookup(name).filter(|_| !ignored.contains(&name)))
    }
}

/// Where the built-in server `memory` keeps its file if nobody says.
pub fn memory_folder(dirs: &Dirs) -> PathBuf {
    dirs.data.join("memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xdg_rules() {
        let dirs = Dirs::find(|name| match name {
            "HOME" => Some("/h".into()),
            "XDG_DATA_HOME" => Some("/d".into()),
            "XDG_STATE_HOME" => Some("relative".into()),
            _ => None,
        })
        .unwrap();
        assert_eq!(dirs.config, Path::new("/h/.config/switchboard"));
        assert_eq!(dirs.data, Path::new("/d/switchboard"));
        assert_eq!(dirs.state, Path::new("/h/.local/state/switchboard"));
        assert!(Dirs::find(|_| None).is_err());
    }

    #[test]
    fn the_configuration_moves_alone() {
        let dirs = Dirs::find(|name| match name {
            "HOME" => Some("/h".into()),
            "SWITCHBOARD_CONFIG_DIR" => Some("/elsewhere".into()),
            _ => None,
        })
        .unwrap();
        assert_eq!(dirs.config, Path::new("/elsewhere"));
        assert_eq!(dirs.data, Path::new("/h/.local/share/switchboard"));
    }
}
