//! What a server inherits from our environment: an allow list and nothing else.
//!
//! Our own environment holds tokens and secrets of other servers; a server
//! gets the variables a program needs to find its home, its tools and its
//! language, and the variables its own entry names.

use crate::surroundings::Inherit;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use switchboard_local::secret;

/// Variables handed on by their exact name.
const NAMES: &[&str] = &[
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "TZ",
    "TMPDIR",
    // Anybody can call something of their own LC_MINE, and ssh hands it on.
    "LC_ALL",
    "LC_ADDRESS",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
];

/// Variables handed on by the start of their name.
const PREFIXES: &[&str] = &["XDG_"];

/// What any program that we start for a server may see of our environment, with
/// a `PATH` that leads nowhere by accident.
pub fn for_children(inherit: &Inherit) -> Vec<(OsString, OsString)> {
    let clean = |(name, value): (OsString, OsString)| match name == "PATH" {
        true => (name, path_outside(&value, None)),
        false => (name, value),
    };
    inherited(std::env::vars_os(), inherit).map(clean).collect()
}

/// Our environment for a program of the user's own, such as a browser: all of
/// it but what is named like a secret, with a `PATH` that leads nowhere by
/// accident.
pub fn without_secrets() -> Vec<(OsString, OsString)> {
    let is_secret = |name: &OsStr| name.to_str().is_none_or(secret::is_name);
    let clean = |(name, value): (OsString, OsString)| match name == "PATH" {
        true => (name, path_outside(&value, None)),
        false => (name, value),
    };
    let ours = std::env::vars_os().filter(|(name, _)| !is_secret(name));
    ours.map(clean).collect()
}

/// The part of `ours` that a server may see: what every program needs, and what
/// this one gets besides.
pub(crate) fn inherited(
    ours: impl Iterator<Item = (OsString, OsString)>,
    besides: &Inherit,
) -> impl Iterator<Item = (OsString, OsString)> {
    ours.filter(|(name, value)| {
        (is_allowed(name) || besides.takes(name, value)) && !is_shell_function(value)
    })
}

/// A search path without relative entries, which mean whatever folder we happen
/// to be in, and without those that lead into `tree`, a real path.
pub fn path_outside(path: &OsStr, tree: Option<&Path>) -> OsString {
    let kept = std::env::split_paths(path).filter(|entry| is_outside(entry, tree));
    std::env::join_paths(kept).unwrap_or_default()
}

/// The system's own programs: nobody's repository, even for who works in `/usr`.
const SYSTEM: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// Whether a folder is named whole and is not in `tree`.
pub(super) fn is_outside(folder: &Path, tree: Option<&Path>) -> bool {
    let system = SYSTEM.iter().any(|known| folder == Path::new(known));
    system || folder.is_absolute() && !is_in_tree(folder, tree)
}

/// Whether a value is a path, or several, of which one leads into `tree`.
pub(super) fn leads_into(value: &OsStr, tree: Option<&Path>) -> bool {
    std::env::split_paths(value).any(|path| path.is_absolute() && is_in_tree(&path, tree))
}

fn is_in_tree(path: &Path, tree: Option<&Path>) -> bool {
    tree.is_some_and(|tree| {
        path.starts_with(tree) || path.canonicalize().is_ok_and(|real| real.starts_with(tree))
    })
}

/// Whether a server may see our value of the variable `name`.
fn is_allowed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    // Whatever begins so goes along, so long as it is no secret by its name.
    NAMES.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix)) && !secret::is_name(name)
}

/// Old shells export functions as values that start with `()`, and run them.
fn is_shell_function(value: &OsStr) -> bool {
    value.as_encoded_bytes().starts_with(b"()")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(pairs: &[(&str, &str)]) -> Vec<String> {
        inherited(
            pairs
                .iter()
                .map(|(name, value)| (OsString::from(name), OsString::from(value))),
            &Inherit::default(),
        )
        .map(|(name, _)| name.into_string().unwrap())
        .collect()
    }

    #[test]
    fn nothing_relative_and_nothing_of_the_tree_stays_on_a_path() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().canonicalize().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(&tree, outside.path().join("link")).unwrap();
        let link = outside.path().join("link");
        let path = format!(
            "./node_modules/.bin::/bin:{}/bin:{}:node_modules/.bin:/usr/bin:",
            tree.display(),
            link.display()
        );
        let cleaned = path_outside(path.as_ref(), Some(&tree));
        assert_eq!(cleaned, "/bin:/usr/bin");
        let usr = path_outside("/usr/bin:/usr/games".as_ref(), Some(Path::new("/usr")));
        assert_eq!(usr, "/usr/bin");
        assert!(leads_into(link.as_os_str(), Some(&tree)));
        assert!(!leads_into("/bin".as_ref(), Some(&tree)));
    }

    #[test]
    fn only_the_allow_list_passes() {
        assert_eq!(
            kept(&[
                ("HOME", "/h"),
                ("LC_ALL", "C"),
                ("XDG_RUNTIME_DIR", "/r"),
                ("GITHUB_TOKEN", "secret"),
                ("LD_PRELOAD", "/x.so"),
                ("LCX", "no"),
                ("LC_ALL_X", "mine"),
                ("LC_GITHUB_TOKEN", "secret"),
                ("XDG_SESSION_TYPE", "tty"),
                ("SWITCHBOARD_KEEPER", "1:2"),
                ("TERM", "() { :; }; echo hit"),
            ]),
            ["HOME", "LC_ALL", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE"]
        );
    }

    #[test]
    fn a_search_path_leads_to_the_same_place_from_everywhere() {
        let path = "./node_modules/.bin:/usr/bin::bin:../x:/bin:";
        assert_eq!(path_outside(OsStr::new(path), None), "/usr/bin:/bin");
        assert_eq!(path_outside(OsStr::new(""), None), "");
    }
}
