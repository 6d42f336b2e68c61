//! Opening what lies beneath a directory that is held open, without ever
//! following a link: a link that is put in the way between a check and the use
//! makes the opening fail, it cannot lead it elsewhere.

use rustix::{
    fd::{BorrowedFd, OwnedFd},
    fs::{self, Mode, OFlags},
    io::{Errno, Result},
};
use std::path::{Component, Path};

/// Opens `path`, relative to `directory`. It must have only normal components;
/// an empty one is the directory itself.
pub(crate) fn open(
    directory: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    match in_one_step(directory, path, flags, mode) {
        // An old kernel, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM) => {}
        result => return result,
    }
    step_by_step(directory, path, flags, mode)
}

#[cfg(target_os = "linux")]
fn in_one_step(
    directory: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd> {
    use fs::ResolveFlags;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let mut tries = 0;
    loop {
        match fs::openat2(directory, path, flags, mode, resolve) {
            // Something was renamed meanwhile.
            Err(Errno::AGAIN | Errno::INTR) if tries < 16 => tries += 1,
            result => return result,
        }
    }
}

/// The same for systems without `openat2`: every directory on the way is
/// opened by itself.
fn step_by_step(
    directory: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd> {
    let mut held: Option<OwnedFd> = None;
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        let name = match component {
            Component::Normal(name) => name,
            Component::CurDir if components.peek().is_none() => component.as_os_str(),
            _ => return Err(Errno::XDEV),
        };
        let from = held.as_ref().map_or(directory, std::os::fd::AsFd::as_fd);
        if components.peek().is_none() {
            return fs::openat(from, name, flags, mode);
        }
        let on_the_way = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        held = Some(fs::openat(from, name, on_the_way, Mode::empty())?);
    }
    Err(Errno::NOENT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::{fd::AsFd, unix::fs::symlink};

    #[test]
    fn links_and_parents_are_refused_both_ways() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "x").unwrap();
        let inside = tempfile::tempdir().unwrap();
        std::fs::create_dir(inside.path().join("d")).unwrap();
        std::fs::write(inside.path().join("d/f"), "y").unwrap();
        symlink(outside.path(), inside.path().join("out")).unwrap();
        symlink("d", inside.path().join("in")).unwrap();
        let directory = std::fs::File::open(inside.path()).unwrap();
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for how in [open, step_by_step] {
            let try_open =
                |path: &str| how(directory.as_fd(), Path::new(path), flags, Mode::empty());
            assert!(try_open("d/f").is_ok());
            assert!(try_open("d").is_ok());
            assert!(try_open(".").is_ok());
            for path in [
                "out/secret",
                "in/f",
                "out",
                "../x",
                "d/../../x",
                "/etc/passwd",
            ] {
                assert!(try_open(path).is_err(), "{path}");
            }
        }
    }
}
