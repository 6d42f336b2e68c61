//! Reading files only where nobody else could have put them.

use crate::{
    fault::{Fault, Source},
    limits,
};
use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    path::{Path, PathBuf},
};

/// Why a file or folder is not looked at.
#[derive(Debug, thiserror::Error)]
pub enum Distrust {
    /// It cannot be read, or is not there.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// Somebody else's.
    #[error("{} belongs to another user", .0.display())]
    Owner(PathBuf),
    /// Somebody else could have written it.
    #[error("{} can be written by every user", .0.display())]
    Writable(PathBuf),
    /// Something stands on the way to it that leads nowhere: nobody can tell what
    /// would be there.
    #[error("cannot be read: {} {}", .0.display(), .1)]
    Blocked(PathBuf, &'static str),
    /// A pipe, a device or a folder.
    #[error("is not a file")]
    NoFile,
}

impl Distrust {
    /// Whether there is simply nothing.
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::Unreadable(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    }

    /// The fault that it is in a file.
    pub fn fault(&self, path: &Path) -> Fault {
        let hint = match self {
            Self::Owner(_) => "it is skipped; make it your own with chown",
            Self::Writable(_) => "it is skipped; take the right away with chmod go-w",
            Self::Unreadable(error) if error.kind() == io::ErrorKind::InvalidData => {
                "it is skipped; write it as UTF-8"
            }
            Self::Unreadable(_) => "it is skipped; see with ls -l who may read it",
            Self::Blocked(..) => {
                "mount what it leads to, or put what belongs there in its place, or remove it"
            }
            Self::NoFile => "it is skipped; put a file in its place, or remove it",
        };
        let problem = match self {
            // The place is said already.
            Self::Owner(at) if at == path => "belongs to another user".to_owned(),
            Self::Writable(at) if at == path => "can be written by every user".to_owned(),
            Self::Blocked(at, why) if at == path => format!("cannot be read: it {why}"),
            _ => self.to_string(),
        };
        Fault::whole(Source::File(path.to_owned()), problem, hint)
    }
}

/// Reads a file that belongs to us or root and that nobody else can write, in
/// such a folder. `owner` demands one owner in particular.
pub fn read(path: &Path, owner: Option<u32>) -> Result<String, Distrust> {
    let file = open(path).map_err(|error| {
        let error = Distrust::from(error);
        match error.is_absent() {
            true => blocked(path).unwrap_or(error),
            false => error,
        }
    })?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(Distrust::NoFile);
    }
    judge(path, &metadata, owner)?;
    // The folder of the link and that of the file: both decide what is read.
    let real = path.canonicalize()?;
    for path in [path, &real] {
        if let Some(folder) = path.parent() {
            check(folder, owner)?;
        }
    }
    Ok(bounded(file)?)
}

/// What stands on the way to a file that could not be opened: a link that leads
/// nowhere, or a file where a folder has to be.
fn blocked(path: &Path) -> Option<Distrust> {
    let mut way = path.ancestors();
    let (at, found) = way.find_map(|at| Some((at, fs::symlink_metadata(at).ok()?)))?;
    let why = match found.file_type() {
        kind if kind.is_symlink() && fs::metadata(at).is_err() => "is a link that leads nowhere",
        kind if kind.is_symlink() && at != path && at.is_file() => "is no folder",
        kind if kind.is_file() && at != path => "is no folder",
        _ => return None,
    };
    Some(Distrust::Blocked(at.to_owned(), why))
}

/// Looks at one file or folder alone.
pub fn check(path: &Path, owner: Option<u32>) -> Result<(), Distrust> {
    judge(path, &fs::metadata(path)?, owner)
}

/// Reads a whole file, up to the cap.
pub fn bounded(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(limits::FILE_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > limits::FILE_BYTES {
        let problem = format!("it has more than {} bytes", limits::FILE_BYTES);
        return Err(io::Error::other(problem));
    }
    Ok(text)
}

/// A pipe that was planted must not hold us up.
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let mut options = File::options();
    options
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    options.open(path)
}

fn judge(path: &Path, metadata: &Metadata, owner: Option<u32>) -> Result<(), Distrust> {
    use std::os::unix::fs::MetadataExt;
    let owned = match owner {
        Some(owner) => metadata.uid() == owner,
        None => metadata.uid() == me() || metadata.uid() == 0,
    };
    if !owned {
        return Err(Distrust::Owner(path.to_owned()));
    }
    // A managed file is for all; a group is as foreign there as anybody.
    let others = if owner.is_some() { 0o022 } else { 0o002 };
    if metadata.mode() & others != 0 {
        return Err(Distrust::Writable(path.to_owned()));
    }
    Ok(())
}

/// Who we are.
pub fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}
