//! What a repository could have written, and where a path really leads.

use crate::{approval, entry::Entry, links, places::Places};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What an entry's words are held against.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ground {
    /// Where relative paths begin.
    pub directory: PathBuf,
    /// What a repository could have written: real paths.
    pub trees: Vec<PathBuf>,
    /// What `~` stands for.
    pub home: Option<PathBuf>,
}

/// Where a path leads.
pub(super) struct Leads {
    /// Without any link, `.` and `..`; what does not exist is where it would be made.
    pub(super) real: PathBuf,
    /// Whether a link of the repository's had a say in that.
    pub(super) by_the_repository: bool,
}

impl Ground {
    /// The ground of one entry. The directory of its own file is the
    /// repository's too, and so is a repository around that or around where we
    /// are: a module of another repository is its part.
    pub fn of(entry: &Entry, places: &Places) -> Self {
        let own = entry.source.file().map(|_| approval::directory(entry));
        let own = own.filter(|own| own.is_absolute());
        let around = [Some(&places.directory), own.as_ref()];
        let around = around.into_iter().flatten().filter_map(|directory| {
            let above = directory
                .ancestors()
                .filter(|folder| !places.holds_home(folder));
            above.filter(|folder| is_repository(folder)).last()
        });
        let mut trees: Vec<PathBuf> = Vec::new();
        for tree in places
            .tree()
            .into_iter()
            .chain(own.as_deref())
            .chain(around)
        {
            if !places.holds_home(tree) && !trees.iter().any(|known| known == tree) {
                trees.push(tree.to_owned());
            }
        }
        Self {
            directory: places.directory.clone(),
            trees,
            home: places.home.clone(),
        }
    }

    /// Whether a repository could have written this, or decides where it leads.
    pub fn holds(&self, path: &Path) -> bool {
        let leads = self.follow(path);
        leads.by_the_repository || self.is_inside(&leads.real)
    }

    /// Whether a real path is in what a repository could have written.
    pub(super) fn is_inside(&self, real: &Path) -> bool {
        self.trees.iter().any(|tree| real.starts_with(tree))
    }

    /// Whether a path that begins in this directory may lead into a repository
    /// without `..`.
    pub(super) fn is_around(&self, real: &Path) -> bool {
        self.is_inside(real) || self.trees.iter().any(|tree| tree.starts_with(real))
    }

    /// Goes along a path as the system does: what follows `..` is not known
    /// before the link in front of it is.
    pub(super) fn follow(&self, path: &Path) -> Leads {
        let mut by_the_repository = false;
        let real = links::follow(path, |link| {
            by_the_repository |= self.is_inside(link.folder);
        });
        Leads {
            real,
            by_the_repository,
        }
    }

    /// Where a file lies, be it a link or not.
    pub(super) fn place_of(&self, path: &Path) -> PathBuf {
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => self.follow(folder).real.join(name),
            _ => self.follow(path).real,
        }
    }

    /// Where a path really leads, and whether that is in the repository.
    pub(in crate::approval) fn real(&self, path: &Path) -> (PathBuf, bool) {
        let real = self.follow(path).real;
        let is_inside = self.is_inside(&real);
        (real, is_inside)
    }

    /// The path that a text names, from `base`.
    pub(in crate::approval) fn path(&self, base: &Path, text: &str) -> PathBuf {
        match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(text),
        }
    }
}

fn is_repository(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(".git")).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_leads_where_the_system_goes() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("tree/sub/deep")).unwrap();
        fs::create_dir_all(root.join("out/deep")).unwrap();
        symlink("sub/deep", root.join("tree/in")).unwrap();
        symlink(root.join("out/deep"), root.join("tree/away")).unwrap();
        symlink("loop", root.join("tree/loop")).unwrap();
        symlink(root.join("tree/sub"), root.join("out/back")).unwrap();
        let ground = Ground {
            trees: vec![root.join("tree")],
            ..Ground::default()
        };
        for (path, real, by_the_repository) in [
            ("tree/./x", "tree/x", false),
            ("tree/in/../x", "tree/sub/x", true),
            ("tree/away/../x", "out/x", true),
            ("tree/../out/x", "out/x", false),
            ("out/back/../x", "tree/x", false),
            ("tree/none/../x", "tree/x", false),
            ("tree/loop", "tree/loop", true),
        ] {
            let leads = ground.follow(&root.join(path));
            assert_eq!(leads.real, root.join(real), "{path}");
            assert_eq!(leads.by_the_repository, by_the_repository, "{path}");
            let holds = by_the_repository || real.starts_with("tree");
            assert_eq!(ground.holds(&root.join(path)), holds, "{path}");
        }
    }
}
