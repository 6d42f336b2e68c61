//! What a server inherits from our environment: an allow list and nothing else.
//!
//! Our own environment holds tokens and secrets of other servers; a server
//! gets the variables a program needs to find its home, its tools and its
//! language, and the variables its own entry names.

use std::ffi::{OsStr, OsString};
use switchboard_wire::secret;

/// Variables handed on by their exact name.
#[cfg(not(windows))]
const NAMES: &[&str] = &[
    "HOME", "PATH", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ", "TMPDIR",
];

/// Variables handed on by the start of their name.
#[cfg(not(windows))]
const PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Variables handed on by their exact name (Windows compares without case).
#[cfg(windows)]
const NAMES: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

#[cfg(windows)]
const PREFIXES: &[&str] = &[];

/// What any program that we start for a server may see of our environment, with
/// a `PATH` that leads nowhere by accident.
pub fn for_children() -> Vec<(OsString, OsString)> {
    let clean = |(name, value): (OsString, OsString)| match name == "PATH" {
        true => (name, absolute(&value)),
        false => (name, value),
    };
    inherited(std::env::vars_os()).map(clean).collect()
}

/// Our environment for a program of the user's own, such as a browser: all of
/// it but what is named like a secret, with a `PATH` that leads nowhere by
/// accident.
pub fn without_secrets() -> Vec<(OsString, OsString)> {
    let is_secret = |name: &OsStr| name.to_str().is_none_or(secret::is_name);
    let clean = |(name, value): (OsString, OsString)| match name == "PATH" {
        true => (name, absolute(&value)),
        false => (name, value),
    };
    let ours = std::env::vars_os().filter(|(name, _)| !is_secret(name));
    ours.map(clean).collect()
}

/// The entries of a search path that mean the same everywhere. An empty or a
/// relative one means whatever folder we happen to be in.
fn absolute(path: &OsStr) -> OsString {
    let entries = std::env::split_paths(path).filter(|entry| entry.is_absolute());
    std::env::join_paths(entries).unwrap_or_default()
}

/// The part of `ours` that every server may see.
pub(crate) fn inherited(
    ours: impl Iterator<Item = (OsString, OsString)>,
) -> impl Iterator<Item = (OsString, OsString)> {
    ours.filter(|(name, value)| is_allowed(name) && !is_shell_function(value))
}

/// Whether a server may see our value of the variable `name`.
fn is_allowed(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    #[cfg(windows)]
    let name = name.to_ascii_uppercase();
    #[cfg(windows)]
    let name = name.as_str();
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
        )
        .map(|(name, _)| name.into_string().unwrap())
        .collect()
    }

    #[test]
    #[cfg(not(windows))]
    fn only_the_allow_list_passes() {
        assert_eq!(
            kept(&[
                ("HOME", "/h"),
                ("LC_ALL", "C"),
                ("XDG_RUNTIME_DIR", "/r"),
                ("GITHUB_TOKEN", "secret"),
                ("LD_PRELOAD", "/x.so"),
                ("LCX", "no"),
                ("LC_GITHUB_TOKEN", "secret"),
                ("XDG_SESSION_TYPE", "tty"),
                ("SWITCHBOARD_KEEPER", "1:2"),
                ("TERM", "() { :; }; echo hit"),
            ]),
            ["HOME", "LC_ALL", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE"]
        );
    }

    #[test]
    #[cfg(not(windows))]
    fn a_search_path_leads_to_the_same_place_from_everywhere() {
        let path = "./node_modules/.bin:/usr/bin::bin:../x:/bin:";
        assert_eq!(absolute(OsStr::new(path)), "/usr/bin:/bin");
        assert_eq!(absolute(OsStr::new("")), "");
    }
}
