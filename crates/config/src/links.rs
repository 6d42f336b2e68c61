//! Following links, as the system does.

use crate::limits;
use std::{
    ffi::OsString,
    fs,
    path::{Component, Path, PathBuf},
};

/// A link on the way along a path.
pub(crate) struct Link<'a> {
    /// The real folder that it lies in.
    pub(crate) folder: &'a Path,
    /// What it says.
    pub(crate) to: &'a Path,
    /// Whether the path ends with it.
    pub(crate) is_last: bool,
}

/// Where a path leads, without any link, `.` and `..`; what does not exist is where it
/// would be made. What follows `..` is not known before the link in front of it is. Each
/// link is told in its order; more of them than the system follows stay what they are.
pub(crate) fn follow(path: &Path, mut tell: impl FnMut(&Link<'_>)) -> PathBuf {
    let mut real = PathBuf::new();
    let mut links = 0;
    let mut rest = parts(path);
    while let Some(part) = rest.pop() {
        if part == ".." {
            real.pop();
            continue;
        }
        let here = real.join(&part);
        match fs::read_link(&here) {
            Ok(to) if links < limits::LINKS => {
                links += 1;
                tell(&Link {
                    folder: &real,
                    to: &to,
                    is_last: rest.is_empty(),
                });
                rest.extend(parts(&to));
            }
            _ => real = here,
        }
    }
    real
}

/// The parts of a path, the last one first. One that begins at the root replaces
/// whatever it is joined to.
fn parts(path: &Path) -> Vec<OsString> {
    let parts = path.components().rev();
    parts
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_owned())
        .collect()
}
