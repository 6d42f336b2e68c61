//! What the file tools leave alone because it is ours.

use super::Dirs;
use std::path::{Path, PathBuf};
use switchboard_builtin::OwnFolders;

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
        use switchboard_builtin::{Forbidden, Protection};
        let home = Path::new("/home/somebody");
        let lookup = |name: &str| (name == "HOME").then(|| home.into());
        let protection = Protection::new(None, lookup);
        let homes = switchboard_config::clients::Homes::at(home);
        for client in switchboard_config::clients::Client::all() {
            for file in client.files(&homes) {
                let verdict = protection.forbids(&file.path);
                let is_hidden = matches!(verdict, Some((Forbidden::Everything, _)));
                assert!(is_hidden, "{file:?}: {verdict:?}");
            }
        }
    }
}
