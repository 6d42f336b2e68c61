//! Repositories of Git, whatever they are called. What Git reads in one decides
//! which programs it runs: its configuration, its hooks, and what makes a
//! directory a repository in the first place.

use super::{links, table::Forbidden};
use crate::limits;
use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

/// Where the `.git` of a working tree leads: through a link, through a file that
/// says `gitdir: …`, and from there to what several working trees share.
pub(super) fn behind(dot_git: &Path) -> Vec<PathBuf> {
    let way = links::follow(dot_git);
    let mut found = way.names;
    found.push(way.real.clone());
    if way.real.is_file()
        && let Some(text) = pointer(&way.real)
        && let Some(target) = text.trim().strip_prefix("gitdir:")
    {
        let above = way.real.parent().unwrap_or(Path::new("/"));
        add(&above.join(target.trim()), &mut found);
    }
    if let Some(last) = found.last().cloned()
        && let Some(shared) = pointer(&last.join("commondir"))
    {
        add(&last.join(shared.trim()), &mut found);
    }
    found.retain(|path| path != dot_git);
    found
}

fn add(path: &Path, found: &mut Vec<PathBuf>) {
    let way = links::follow(path);
    found.extend(way.names);
    found.push(way.real);
}

fn pointer(file: &Path) -> Option<String> {
    let about = fs::symlink_metadata(file).ok()?;
    let mut text = String::new();
    let opened = about.is_file().then(|| File::open(file).ok()).flatten()?;
    opened
        .take(limits::POINTER_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

/// Whether a path below a repository is its configuration, which may hold
/// credentials.
pub(super) fn is_configuration(below: &Path) -> bool {
    let mut names = below.iter();
    names.any(|name| {
        name.eq_ignore_ascii_case("config") || name.eq_ignore_ascii_case("config.worktree")
    })
}

/// What may not be done with a path because a directory above it is a
/// repository, or would be one with it.
pub(super) fn verdict(path: &Path) -> Option<Forbidden> {
    let mut below = path;
    let mut strictest = None;
    for folder in path.ancestors().skip(1) {
        let name = below.file_name().and_then(|name| name.to_str());
        strictest = strictest.max(name.and_then(|name| judge(folder, name)));
        below = folder;
    }
    strictest
}

fn judge(folder: &Path, name: &str) -> Option<Forbidden> {
    let makes = matches!(name, "HEAD" | "objects" | "refs" | "commondir");
    let is_configuration = matches!(name, "config" | "config.worktree");
    let runs = matches!(name, "hooks" | "info" | "modules" | "worktrees");
    if !(makes || is_configuration || runs) {
        return None;
    }
    let is_repository = |with: &str| {
        let has = |part: &str| part == with || folder.join(part).symlink_metadata().is_ok();
        has("HEAD") && (has("commondir") || has("objects") && has("refs"))
    };
    if is_repository("") {
        return Some(match is_configuration {
            true => Forbidden::Everything,
            false => Forbidden::Writing,
        });
    }
    (makes && is_repository(name)).then_some(Forbidden::Writing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_these_three_is_a_repository() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        assert_eq!(verdict(&at("config")), None);
        fs::create_dir(at("objects")).unwrap();
        fs::write(at("HEAD"), "ref: refs/heads/main").unwrap();
        assert_eq!(verdict(&at("config")), None);
        assert_eq!(verdict(&at("objects/x")), None);
        assert_eq!(verdict(&at("refs/heads/x")), Some(Forbidden::Writing));
        assert_eq!(verdict(&at("commondir")), Some(Forbidden::Writing));
        fs::create_dir(at("refs")).unwrap();
        assert_eq!(verdict(&at("config")), Some(Forbidden::Everything));
        assert_eq!(verdict(&at("hooks/pre-commit")), Some(Forbidden::Writing));
        assert_eq!(verdict(&at("src/main.rs")), None);
    }

    #[test]
    fn a_pointer_leads_to_the_repository_and_what_it_shares() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("bare/worktrees/one")).unwrap();
        fs::write(top.join("bare/worktrees/one/commondir"), "../..\n").unwrap();
        fs::write(top.join(".git"), "gitdir: bare/worktrees/one\n").unwrap();
        let found = behind(&top.join(".git"));
        assert_eq!(found, [top.join("bare/worktrees/one"), top.join("bare")]);
    }
}
