//! The directories that the file tools may use, and where in them a path lies.
//!
//! A path is first resolved as the system would (links followed), then compared
//! with the roots component by component, and what is left of it is opened
//! relative to the root's own descriptor with no link allowed. So `/allowed_evil`
//! is not in `/allowed`, and a link that appears after the check leads nowhere.
//! Whether it is protected is asked of every name that it had on the way.

mod place;

pub(crate) use place::stat_in;

use super::{
    changes, path,
    protected::{
        Forbidden, Guard, Protection,
        links::{Way, follow},
    },
};
use crate::{answer::Failure, limits, serve::BuiltinError};
use parking_lot::Mutex;
use rustix::{
    fd::OwnedFd,
    fs::{self, Mode, OFlags},
    io::Errno,
};
use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

/// What happens to a link at the very end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// It is followed, if it stays within the roots.
    Followed,
    /// It is meant itself.
    Kept,
}

/// The directories, in the order they were given, and what in them is left alone.
#[derive(Debug)]
pub(crate) struct Roots {
    all: Vec<Root>,
    protection: Protection,
    /// What was protected a moment ago.
    kept: Mutex<Option<Kept>>,
}

/// What was protected, and when.
#[derive(Debug)]
struct Kept {
    guard: Arc<Guard>,
    at: Instant,
    /// How many changes had been made by then.
    changes: u64,
}

#[derive(Debug)]
struct Root {
    directory: OwnedFd,
    path: PathBuf,
}

/// Where a path cannot be followed any further.
enum Stuck {
    /// In a directory of ours.
    Inside,
    /// At a link in a directory of ours, wherever it leads.
    AtLink,
    /// Elsewhere.
    Outside,
}

/// A place within a root.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    roots: Arc<Roots>,
    root: usize,
    /// What is protected, for as long as one call takes.
    guard: Arc<Guard>,
    /// Below the root; only normal components, none where it is the root.
    inner: PathBuf,
    /// What links on the way here call it.
    names: Vec<PathBuf>,
}

impl Roots {
    /// Opens the directories; each must exist, and none be protected.
    pub(crate) fn open(
        directories: &[PathBuf],
        protection: Protection,
    ) -> Result<Self, BuiltinError> {
        if directories.is_empty() {
            return Err(BuiltinError("no root directory was given".to_owned()));
        }
        let opened = directories.iter().map(|directory| {
            let wrong = |fault: io::Error| {
                BuiltinError(format!(
                    "the root {} cannot be used: {fault}",
                    directory.display()
                ))
            };
            let path = directory.canonicalize().map_err(wrong)?;
            if let Some((Forbidden::Everything, what)) = protection.forbids(&path) {
                return Err(BuiltinError(format!(
                    "the root {} is protected: {what}; --allow-protected, or \"allowProtected\" in an entry, lifts it",
                    directory.display()
                )));
            }
            let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
            let directory =
                fs::open(&path, flags, Mode::empty()).map_err(|errno| wrong(errno.into()))?;
            Ok(Root { directory, path })
        });
        let all = opened.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            all,
            protection,
            kept: Mutex::default(),
        })
    }

    /// Their paths.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.all.iter().map(|root| root.path.as_path())
    }

    /// The roots as places.
    pub(crate) fn places(self: &Arc<Self>) -> Vec<Place> {
        let guard = self.guard();
        let place = |root| Place {
            roots: Arc::clone(self),
            root,
            guard: Arc::clone(&guard),
            inner: PathBuf::new(),
            names: Vec::new(),
        };
        (0..self.all.len()).map(place).collect()
    }

    /// What is protected now. Of calls that follow one another closely only the
    /// first looks, unless something was changed since.
    pub(crate) fn guard(&self) -> Arc<Guard> {
        let (at, changes) = (Instant::now(), changes::count());
        let mut kept = self.kept.lock();
        if let Some(kept) = &*kept
            && kept.changes == changes
            && at.duration_since(kept.at) < limits::PROTECTED_TIME
        {
            return Arc::clone(&kept.guard);
        }
        let roots: Vec<&Path> = self.paths().collect();
        let guard = Arc::new(self.protection.guard(&roots));
        *kept = Some(Kept {
            guard: Arc::clone(&guard),
            at,
            changes,
        });
        guard
    }

    /// Where an argument points. A relative path begins at the first root. What
    /// may not be read is nowhere.
    pub(crate) fn locate(self: &Arc<Self>, argument: &str, last: Last) -> Result<Place, Failure> {
        self.locate_by(&self.guard(), argument, last)
    }

    /// The same for one of several, by what was protected when the first was asked for.
    pub(crate) fn locate_by(
        self: &Arc<Self>,
        guard: &Arc<Guard>,
        argument: &str,
        last: Last,
    ) -> Result<Place, Failure> {
        let place = self.find(guard, argument, last)?;
        place.readable()?;
        Ok(place)
    }

    fn find(
        self: &Arc<Self>,
        guard: &Arc<Guard>,
        argument: &str,
        last: Last,
    ) -> Result<Place, Failure> {
        let asked = path::parse(argument)?;
        let whole = self.all[0].path.join(&asked);
        let (resolved, names) = match (last, whole.parent(), whole.file_name()) {
            (Last::Kept, Some(parent), Some(name)) => {
                let above = follow(parent).names;
                let names = above.into_iter().map(|above| above.join(name)).collect();
                (resolve(parent).map(|real| real.join(name)), names)
            }
            _ => (resolve(&whole), follow(&whole).names),
        };
        let outside = || {
            Failure::new(format!(
                "{} is outside the allowed directories",
                path::shown(&asked)
            ))
            .hint(format!("allowed: {}", self.listed()))
        };
        match resolved {
            Ok(real) => {
                let way = Way { real, names };
                self.place(guard, way).ok_or_else(outside)
            }
            // What lies outside is not told apart: whether it exists is not
            // for us to say.
            Err(_) if self.inner(&whole).is_none() => Err(outside()),
            Err(fault) => match self.stuck(&whole) {
                // Nor is it said what something protected is.
                _ if self.is_protected(guard, &whole) => {
                    self.place(guard, follow(&whole)).ok_or_else(outside)
                }
                Stuck::Outside => Err(outside()),
                Stuck::AtLink => Err(explain(&path::shown(&whole), &Errno::LOOP.into())),
                Stuck::Inside => Err(explain(&path::shown(&whole), &fault)),
            },
        }
    }

    /// Whether a path that cannot be resolved leads to something protected.
    fn is_protected(self: &Arc<Self>, guard: &Arc<Guard>, whole: &Path) -> bool {
        let place = self.place(guard, follow(whole));
        place.is_some_and(|place| place.readable().is_err())
    }

    /// Where the system stopped on its way along a path that it cannot resolve.
    fn stuck(self: &Arc<Self>, whole: &Path) -> Stuck {
        let mut above = whole.ancestors().skip(1);
        let mut next = whole;
        let real = above.find_map(|above| match above.canonicalize() {
            Ok(real) => Some(real),
            Err(_) => {
                next = above;
                None
            }
        });
        let Some(real) = real.filter(|real| self.inner(real).is_some()) else {
            return Stuck::Outside;
        };
        let next = next.file_name().map(|name| real.join(name));
        let is_link = next.is_some_and(|next| next.is_symlink());
        if is_link {
            Stuck::AtLink
        } else {
            Stuck::Inside
        }
    }

    /// The place of a path without links, if it is in a root.
    fn place(self: &Arc<Self>, guard: &Arc<Guard>, way: Way) -> Option<Place> {
        let (root, inner) = self.inner(&way.real)?;
        Some(Place {
            roots: Arc::clone(self),
            root,
            guard: Arc::clone(guard),
            inner,
            names: way.names,
        })
    }

    /// The root that a path without links is in, and what is left of it.
    fn inner(&self, real: &Path) -> Option<(usize, PathBuf)> {
        let found = self.all.iter().enumerate().filter_map(|(index, root)| {
            let inner = real.strip_prefix(&root.path).ok()?;
            let is_normal = |part| matches!(part, std::path::Component::Normal(_));
            inner.components().all(is_normal).then_some((index, inner))
        });
        // The innermost root, where one lies in another.
        let (root, inner) = found.min_by_key(|(_, inner)| inner.as_os_str().len())?;
        Some((root, inner.to_path_buf()))
    }

    pub(crate) fn listed(&self) -> String {
        let paths: Vec<String> = self.paths().map(path::shown).collect();
        paths.join(", ")
    }
}

/// The path with all links followed. What does not exist yet stays as written,
/// as long as it only goes down.
fn resolve(whole: &Path) -> io::Result<PathBuf> {
    let mut here = whole.to_path_buf();
    let mut missing: Vec<OsString> = Vec::new();
    loop {
        match here.canonicalize() {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return Ok(real);
            }
            Err(fault) if fault.kind() == io::ErrorKind::NotFound => {
                let Some(name) = here.file_name() else {
                    return Err(fault);
                };
                missing.push(name.to_owned());
                here.pop();
            }
            Err(fault) => return Err(fault),
        }
    }
}

/// What the system said, in words that help.
pub(crate) fn explain(path: &str, fault: &io::Error) -> Failure {
    let errno = Errno::from_io_error(fault);
    let (what, hint) = match errno {
        Some(Errno::NOENT) => ("does not exist", "list the directory to see what is there"),
        Some(Errno::ACCESS | Errno::PERM) => ("may not be used (permission denied)", ""),
        Some(Errno::LOOP) => (
            "is a link that leads nowhere, or was replaced by a link meanwhile",
            "look at it with info",
        ),
        Some(Errno::NOTDIR) => ("is not a directory, or has a file in its path", ""),
        Some(Errno::ISDIR) => ("is a directory", "list shows what is in it"),
        Some(Errno::EXIST) => ("exists already", ""),
        Some(Errno::NOTEMPTY) => ("is a directory that is not empty", "set recursive to true"),
        Some(Errno::NAMETOOLONG) => ("has a name that is too long", ""),
        Some(Errno::NOSPC | Errno::DQUOT) => ("cannot be written, the disk is full", ""),
        Some(Errno::ROFS) => ("lies on a file system that is read-only", ""),
        Some(Errno::NXIO | Errno::NODEV) => ("is no ordinary file", ""),
        _ => return Failure::new(format!("{path}: {fault}")),
    };
    let failure = Failure::new(format!("{path} {what}"));
    match hint {
        "" => failure,
        hint => failure.hint(hint),
    }
}
