//! Which directories a built-in server of a project would use.

use super::contents::{Ground, known};
use crate::entry::{Entry, Transport};
use std::path::PathBuf;

/// A directory that a built-in server would use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reach {
    /// As it is written; `.` where nothing is.
    pub written: String,
    /// Where that really is; unknown where it depends on variables.
    pub path: Option<PathBuf>,
    /// Whether it lies outside of the repository, or holds more than that.
    pub leaves: bool,
}

/// The directories that an entry of a built-in server would use.
pub(super) fn of(entry: &Entry, ground: &Ground) -> Vec<Reach> {
    if entry.transport != Transport::Builtin {
        return Vec::new();
    }
    let options = &entry.builtin_options;
    let written: Vec<String> = match entry.builtin_name() {
        "files" | "shell" if options.roots.is_empty() => vec![".".to_owned()],
        "files" | "shell" | "tools" => options.roots.clone(),
        "memory" => options.data.iter().cloned().collect(),
        _ => Vec::new(),
    };
    let base = match &entry.cwd {
        Some(cwd) => known(entry, cwd).map(|cwd| ground.directory.join(cwd)),
        None => Some(ground.directory.clone()),
    };
    let each = written.into_iter().map(|written| {
        let text = known(entry, &written);
        let path = text.zip(base.as_ref());
        let led = path.map(|(text, base)| ground.real(&ground.path(base, &text)));
        Reach {
            leaves: !matches!(led, Some((_, true))),
            written,
            path: led.map(|(path, _)| path),
        }
    });
    each.collect()
}

/// What deserves a second look of it.
pub(super) fn warning(entry: &Entry, reach: &Reach) -> Option<String> {
    if !reach.leaves {
        return None;
    }
    let place = match &reach.path {
        Some(path) => format!("{}, which is not only the repository's", path.display()),
        None => format!(
            "{:?}, which depends on variables and may be anywhere",
            reach.written
        ),
    };
    Some(match entry.builtin_name() {
        "files" if entry.builtin_options.read_only => {
            format!("it reads all that is in {place}, but for what is protected")
        }
        "files" => {
            format!("it reads and changes all that is in {place}, but for what is protected")
        }
        "memory" => format!("it keeps what it remembers in {place}"),
        _ => format!("what it runs begins in {place}"),
    })
}
