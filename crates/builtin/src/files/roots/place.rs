//! One place within a root: what it is called, whether it may be used, and what is
//! behind it, opened below the root's own descriptor.

use super::{Place, Root, explain};
use crate::{
    answer::Failure,
    files::{beneath, path, protected::Forbidden},
    limits,
};
use rustix::{
    fd::{AsFd, BorrowedFd, OwnedFd},
    fs::{self, AtFlags, FileType, Mode, OFlags, Stat},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    sync::Arc,
};

impl Place {
    /// The whole path.
    pub(crate) fn path(&self) -> PathBuf {
        if self.is_root() {
            return self.root().path.clone();
        }
        self.root().path.join(&self.inner)
    }

    /// The path for an answer.
    pub(crate) fn shown(&self) -> String {
        path::shown(&self.path())
    }

    /// The `file:///` address.
    pub(crate) fn address(&self) -> String {
        path::address(&self.path())
    }

    /// Its last name; that of the directory where it is a root.
    pub(crate) fn name(&self) -> OsString {
        self.path()
            .file_name()
            .unwrap_or(OsStr::new("/"))
            .to_owned()
    }

    pub(crate) fn is_root(&self) -> bool {
        self.inner.as_os_str().is_empty()
    }

    /// A place below this one; `below` must have only normal components.
    pub(crate) fn join(&self, below: impl AsRef<Path>) -> Self {
        let below = below.as_ref();
        Self {
            inner: self.inner.join(below),
            names: self.names.iter().map(|name| name.join(below)).collect(),
            ..self.clone()
        }
    }

    /// A place above this one, in the same root.
    fn above(&self, inner: &Path) -> Self {
        Self {
            roots: Arc::clone(&self.roots),
            root: self.root,
            guard: Arc::clone(&self.guard),
            inner: inner.to_owned(),
            names: Vec::new(),
        }
    }

    /// What may not be done with it, and what it is.
    fn verdict(&self) -> Option<(Forbidden, &'static str)> {
        self.guard.verdict(&self.path(), &self.names)
    }

    /// Whether the other place is this one, or below it.
    pub(crate) fn holds(&self, other: &Self) -> bool {
        other.path().starts_with(self.path())
    }

    /// Refuses what may not be read.
    pub(crate) fn readable(&self) -> Result<(), Failure> {
        match self.verdict() {
            Some((Forbidden::Everything, what)) => Err(self.refusal("used", what)),
            _ => Ok(()),
        }
    }

    /// Refuses what may not be changed.
    pub(crate) fn changeable(&self) -> Result<(), Failure> {
        match self.verdict() {
            Some((_, what)) => Err(self.refusal("changed", what)),
            None => Ok(()),
        }
    }

    /// Refuses what cannot be moved, or be the name of something that is moved,
    /// because of what would go with it.
    pub(crate) fn movable(&self) -> Result<(), Failure> {
        let names = std::iter::once(self.path()).chain(self.names.iter().cloned());
        match names.into_iter().find_map(|name| self.guard.holds(&name)) {
            Some(what) => Err(self.refusal("moved as a whole, or take its place", what)),
            None => Ok(()),
        }
    }

    /// Refuses a file that is protected under another of its names.
    pub(crate) fn without_hard_links(&self, stat: &Stat, is_changed: bool) -> Result<(), Failure> {
        match self.hard_link(stat) {
            Some((forbidden, what)) if is_changed || forbidden == Forbidden::Everything => {
                Err(self.refusal("used, by whatever name", what))
            }
            _ => Ok(()),
        }
    }

    fn hard_link(&self, stat: &Stat) -> Option<(Forbidden, &'static str)> {
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_file || stat.st_nlink < 2 {
            return None;
        }
        self.guard
            .hard_link(&self.path(), device(stat), stat.st_ino)
    }

    /// Whether an entry of this directory, which may be read, is left out.
    pub(crate) fn hides(&self, entry: &OsStr, stat: Option<&Stat>) -> bool {
        let is_hidden = |verdict| matches!(verdict, Some((Forbidden::Everything, _)));
        let place = || self.join(entry);
        self.guard.is_suspect(&self.path(), entry) && is_hidden(place().verdict())
            || stat.is_some_and(|stat| stat.st_nlink > 1 && is_hidden(place().hard_link(stat)))
    }

    fn refusal(&self, how: &str, what: &str) -> Failure {
        let shown = self.shown();
        Failure::new(format!("{shown} is protected ({what}) and cannot be {how}")).hint(
            "only the person who started this server can lift that, with --allow-protected PATH",
        )
    }

    /// Opens it. A link at its end is an error, and so is what is protected.
    pub(crate) fn open(&self, flags: OFlags, mode: Mode) -> Result<OwnedFd, Failure> {
        let is_changed = flags.intersects(
            OFlags::WRONLY | OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC | OFlags::APPEND,
        );
        if is_changed {
            self.changeable()?;
        } else {
            self.readable()?;
        }
        let fault = |errno| self.fault(errno);
        let opened = self.open_raw(flags, mode).map_err(fault)?;
        self.without_hard_links(&fs::fstat(&opened).map_err(fault)?, is_changed)?;
        Ok(opened)
    }

    pub(crate) fn open_raw(&self, flags: OFlags, mode: Mode) -> rustix::io::Result<OwnedFd> {
        beneath::open(self.root().directory.as_fd(), &self.inner, flags, mode)
    }

    /// Opens a directory to look through it.
    pub(crate) fn open_directory(&self) -> Result<OwnedFd, Failure> {
        self.open(OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty())
    }

    /// Opens the directory that holds it, to change it there. Not for a root.
    pub(crate) fn open_parent(&self) -> Result<(OwnedFd, OsString), Failure> {
        self.changeable()?;
        let (Some(parent), Some(name)) = (self.inner.parent(), self.inner.file_name()) else {
            return Err(
                Failure::new(format!("{} is an allowed directory itself", self.shown()))
                    .hint("only what is inside it can be changed"),
            );
        };
        Ok((self.above(parent).open_directory()?, name.to_owned()))
    }

    /// The same, and makes the directories that are missing on the way.
    pub(crate) fn make_parent(&self) -> Result<(OwnedFd, OsString), Failure> {
        self.changeable()?;
        let parent = self.inner.parent().unwrap_or(Path::new("")).to_path_buf();
        let is_deep = parent.components().count() > limits::WALK_DEPTH;
        if is_deep && matches!(self.open_parent_raw(), Err(Errno::NOENT)) {
            // What nothing here could go through or delete is not made.
            return Err(Failure::new("the path has too many levels").hint(format!(
                "directories are made at most {} levels below {}",
                limits::WALK_DEPTH,
                path::shown(&self.root().path)
            )));
        }
        let mut made = PathBuf::new();
        for component in &parent {
            let above = self.above(&made);
            made.push(component);
            let below = self.above(&made);
            match below.open_raw(OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty()) {
                Err(Errno::NOENT) => {}
                _ => continue,
            }
            let held = above.open_directory()?;
            match fs::mkdirat(&held, component, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(below.fault(errno)),
            }
        }
        self.open_parent()
    }

    /// What is there; a link at its end is not followed.
    pub(crate) fn stat(&self) -> Result<Stat, Failure> {
        self.try_stat()?.ok_or_else(|| self.fault(Errno::NOENT))
    }

    /// The same; `None` where nothing is there.
    pub(crate) fn try_stat(&self) -> Result<Option<Stat>, Failure> {
        let stat = if self.is_root() {
            fs::fstat(&self.root().directory)
        } else {
            match self.open_parent_raw() {
                Ok((parent, name)) => stat_in(parent.as_fd(), &name),
                Err(errno) => Err(errno),
            }
        };
        match stat {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.fault(errno)),
        }
    }

    pub(crate) fn open_parent_raw(&self) -> rustix::io::Result<(OwnedFd, OsString)> {
        let parent = self.inner.parent().unwrap_or(Path::new(""));
        let name = self.inner.file_name().unwrap_or_default().to_owned();
        let flags = OFlags::DIRECTORY | OFlags::RDONLY;
        let directory = self.root().directory.as_fd();
        Ok((
            beneath::open(directory, parent, flags, Mode::empty())?,
            name,
        ))
    }

    pub(crate) fn fault(&self, errno: Errno) -> Failure {
        explain(&self.shown(), &errno.into())
    }

    fn root(&self) -> &Root {
        &self.roots.all[self.root]
    }
}

/// What the entry of a held directory is; links are not followed.
pub(crate) fn stat_in(directory: BorrowedFd<'_>, name: &OsStr) -> rustix::io::Result<Stat> {
    fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// The file system of a file, as the standard library numbers it.
#[cfg(target_os = "linux")]
fn device(stat: &Stat) -> u64 {
    stat.st_dev
}

#[cfg(not(target_os = "linux"))]
fn device(stat: &Stat) -> u64 {
    stat.st_dev as u64
}
