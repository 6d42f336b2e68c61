//! Where Switchboard keeps things.

use std::path::{Path, PathBuf};
use switchboard_builtin::OwnFolders;
use switchboard_config::places::moved_inside;

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

/// Our folders in all places where they are or would be without a variable that
/// moves them: file tools leave all of them alone. Relative ones are below `directory`.
pub fn own_folders(
    directory: &Path,
    lookup: impl Fn(&str) -> Option<PathBuf>,
) -> Option<OwnFolders> {
    let unmoved = |name: &str| lookup(name).filter(|_| name == "HOME");
    let usual = |name: &str| lookup(name).filter(|_| name != "SWITCHBOARD_CONFIG_DIR");
    let all = [Dirs::find(unmoved), Dirs::find(usual), Dirs::find(&lookup)];
    let all: Vec<Dirs> = all.into_iter().flatten().collect();
    if all.is_empty() {
        return None;
    }
    let each = |folder: fn(&Dirs) -> &PathBuf| {
        let absolute = |dirs| std::path::absolute(directory.join(folder(dirs))).ok();
        let mut folders: Vec<PathBuf> = all.iter().filter_map(absolute).collect();
        folders.dedup();
        folders
    };
    Some(OwnFolders {
        config: each(|dirs| &dirs.config),
        data: each(|dirs| &dirs.data),
        state: each(|dirs| &dirs.state),
        cache: each(|dirs| &dirs.cache),
    })
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
    fn our_folders_are_known_wherever_they_were_moved() {
        let own = own_folders(Path::new("/"), |name| match name {
            "HOME" => Some("/h".into()),
            "XDG_DATA_HOME" => Some("/d".into()),
            "SWITCHBOARD_CONFIG_DIR" => Some("/elsewhere".into()),
            _ => None,
        });
        let own = own.unwrap();
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(own.config, paths(&["/h/.config/switchboard", "/elsewhere"]));
        assert_eq!(
            own.data,
            paths(&["/h/.local/share/switchboard", "/d/switchboard"])
        );
        assert_eq!(own_folders(Path::new("/"), |_| None), None);
    }

    /// Every file of a client that we know is left alone by the file tools.
    #[test]
    fn the_table_knows_the_files_of_every_client() {
        use switchboard_builtin::{Protection, files::protected::Forbidden};
        let home = Path::new("/home/somebody");
        let lookup = |name: &str| (name == "HOME").then(|| home.into());
        let protection = Protection::new(None, lookup);
        for client in switchboard_config::import::Client::ALL {
            for file in client.files(home) {
                let verdict = protection.forbids(&file);
                let is_hidden = matches!(verdict, Some((Forbidden::Everything, _)));
                assert!(is_hidden, "{}: {verdict:?}", file.display());
            }
        }
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
