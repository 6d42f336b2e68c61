//! Which file a command is, without running it.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// Finds the program that a command names. Entries of the search path that are
/// relative, or inside one of `trees`, are skipped: there a repository could put its
/// own `npx`. A command with a `/` in it is taken from `directory`.
pub fn resolve(
    command: &str,
    directory: &Path,
    path: &OsStr,
    trees: &[PathBuf],
) -> Option<PathBuf> {
    if command.is_empty() {
        return None;
    }
    if command.contains('/') {
        let found = directory.join(command);
        return is_program(&found).then_some(found);
    }
    let inside = |folder: &Path| {
        let real = folder.canonicalize().ok();
        trees.iter().any(|tree| {
            folder.starts_with(tree) || real.as_ref().is_some_and(|real| real.starts_with(tree))
        })
    };
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute() && !inside(folder))
        .map(|folder| folder.join(command))
        .find(|found| is_program(found))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_cannot_bring_its_own_programs() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/bin/sh", tree.join("sh")).unwrap();
        let path = std::env::join_paths([
            Path::new("."),
            &tree,
            Path::new("/bin"),
            Path::new("/usr/bin"),
        ])
        .unwrap();
        let find =
            |command: &str, trees: &[PathBuf]| resolve(command, Path::new("/"), &path, trees);
        assert_eq!(
            find("sh", std::slice::from_ref(&tree)),
            Some("/bin/sh".into())
        );
        assert_eq!(find("sh", &[]), Some(tree.join("sh")));
        assert_eq!(find("bin/sh", &[]), Some("/bin/sh".into()));
        assert_eq!(find("etc/passwd", &[]), None);
        assert_eq!(find("no-such-program", &[]), None);
    }
}
