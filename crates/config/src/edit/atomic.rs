//! Replacing a file: all of it or nothing, one writer at a time.

use super::EditError;
use crate::{limits, safe_read};
use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};
use switchboard_local::private::{self, Lock};

/// A file to be changed.
#[derive(Clone, Debug)]
pub struct Target {
    file: PathBuf,
    /// The rights of a new file.
    mode: u32,
    /// Whether a file that is there keeps the rights that it has, and is looked at once
    /// more before it is replaced: other programs know nothing of our lock.
    foreign: bool,
    /// The folder that it must not lead out of.
    project: Option<PathBuf>,
}

impl Target {
    /// A file for the user alone. Its folder is made where there is none.
    pub fn private(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            mode: 0o600,
            foreign: false,
            project: None,
        }
    }

    /// A file of another program of the user's. Its folder is made where there is none.
    pub fn foreign(file: &Path) -> Self {
        Self {
            foreign: true,
            ..Self::private(file)
        }
    }

    /// A file that belongs to a project, to be read by all who work on it.
    pub fn project(file: &Path, project: &Path) -> Self {
        Self {
            file: file.to_owned(),
            mode: 0o644,
            foreign: false,
            project: Some(project.to_owned()),
        }
    }

    /// Its path.
    pub fn file(&self) -> &Path {
        &self.file
    }

    fn failed(&self, doing: &'static str) -> impl Fn(io::Error) -> EditError {
        let file = self.file.clone();
        move |error| EditError::Io {
            file: file.clone(),
            doing,
            error,
        }
    }

    /// The real file: links are followed, so that a file that somebody keeps
    /// elsewhere stays there.
    fn real(&self) -> Result<PathBuf, EditError> {
        let real = match self.file.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if fs::symlink_metadata(&self.file).is_ok() {
                    // A link that leads nowhere: where it would make a file is not ours to say.
                    return Err(self.failed("read")(error));
                }
                self.file.clone()
            }
            Err(error) => return Err(self.failed("read")(error)),
        };
        match &self.project {
            Some(project) if fs::symlink_metadata(&self.file).is_ok() => {
                let project = project.canonicalize().map_err(self.failed("read"))?;
                if real.starts_with(project) {
                    Ok(real)
                } else {
                    Err(EditError::LeavesProject {
                        file: self.file.clone(),
                        to: real,
                    })
                }
            }
            _ => Ok(real),
        }
    }
}

/// Reads the file, has its text changed and puts the new text in its place.
pub(super) fn rewrite(
    target: &Target,
    change: impl FnOnce(Option<&str>) -> Result<String, EditError>,
) -> Result<(), EditError> {
    let real = target.real()?;
    let folder = real.parent().unwrap_or(Path::new("/")).to_owned();
    if target.project.is_none() {
        private::make_folder(&folder).map_err(target.failed("written"))?;
    }
    failpoint::step();
    let _lock = lock(target, &folder)?;
    failpoint::step();
    // Only now: before, another writer could still have been at it.
    let before = match File::open(&real) {
        Ok(file) => Some(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(target.failed("read")(error)),
    };
    let mut mode = target.mode;
    let before = match before {
        None => None,
        Some(file) => {
            let metadata = file.metadata().map_err(target.failed("read"))?;
            if metadata.permissions().readonly() || !writable(&metadata) {
                return Err(EditError::ReadOnly(target.file.clone()));
            }
            // A project's file keeps its rights; secrets are never shown to others.
            mode = if target.project.is_some() || target.foreign {
                rights(&metadata)
            } else {
                target.mode
            };
            Some(safe_read::bounded(file).map_err(target.failed("read"))?)
        }
    };
    failpoint::step();
    let text = change(before.as_deref())?;
    failpoint::step();
    if before.as_deref() == Some(text.as_str()) {
        return Ok(());
    }
    let as_read = || {
        let now = || fs::read(&real).ok();
        !target.foreign || now().as_deref() == before.as_deref().map(str::as_bytes)
    };
    match replace(&real, &folder, text.as_bytes(), mode, as_read) {
        Ok(true) => Ok(()),
        Ok(false) => Err(EditError::Changed(target.file.clone())),
        Err(error) => Err(target.failed("written")(error)),
    }
}

/// Removes the file, if nothing speaks against what is in it.
pub(super) fn remove(
    target: &Target,
    may: impl FnOnce(Option<&str>) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let real = target.real()?;
    let folder = real.parent().unwrap_or(Path::new("/")).to_owned();
    let _lock = lock(target, &folder)?;
    let now = match File::open(&real) {
        Ok(file) => Some(safe_read::bounded(file).map_err(target.failed("read"))?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(target.failed("read")(error)),
    };
    may(now.as_deref())?;
    failpoint::step();
    if now.is_some() {
        fs::remove_file(&real).map_err(target.failed("removed"))?;
        private::sync_folder(&folder);
    }
    Ok(())
}

/// Whether it was replaced: not if `may` says that it is another one by now.
fn replace(
    real: &Path,
    folder: &Path,
    bytes: &[u8],
    mode: u32,
    may: impl FnOnce() -> bool,
) -> io::Result<bool> {
    let name = real.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.new"));
    // Left by one of our number that was killed; nobody else holds the lock.
    let _ = fs::remove_file(&temporary);
    let written = (|| {
        // Readable for us alone from the first byte, whatever comes later.
        let mut file = private::create(&temporary)?;
        failpoint::step();
        let (first, rest) = bytes.split_at(bytes.len() / 2);
        file.write_all(first)?;
        failpoint::step();
        file.write_all(rest)?;
        failpoint::step();
        set_rights(&file, mode)?;
        failpoint::step();
        file.sync_all()?;
        failpoint::step();
        if !may() {
            return Ok(false);
        }
        fs::rename(&temporary, real)?;
        failpoint::step();
        Ok(true)
    })();
    if !matches!(written, Ok(true)) {
        let _ = fs::remove_file(&temporary);
        return written;
    }
    private::sync_folder(folder);
    failpoint::step();
    Ok(true)
}

/// Waits for whoever writes in this folder: longer where many do, one after the other.
fn lock(target: &Target, folder: &Path) -> Result<Lock, EditError> {
    for _ in 0..limits::LOCK_WAITS {
        let before = version(&target.file);
        let folder = File::open(folder).map_err(target.failed("written"))?;
        let lock = Lock::of_folder(folder, limits::LOCK_WAIT, limits::LOCK_PAUSE);
        match lock.map_err(target.failed("locked"))? {
            Some(lock) => return Ok(lock),
            None if version(&target.file) == before => break,
            None => {}
        }
    }
    Err(EditError::Locked(target.file.clone()))
}

/// Tells apart what was there from what was written since.
fn version(file: &Path) -> Option<(u64, SystemTime)> {
    let metadata = fs::metadata(file).ok()?;
    Some((metadata.ino(), metadata.modified().ok()?))
}

fn rights(metadata: &fs::Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o777
}

/// Asked of the file itself: to root the system would say yes.
fn writable(metadata: &fs::Metadata) -> bool {
    rights(metadata) & 0o200 != 0
}

fn set_rights(file: &File, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(mode))
}

/// Places at which a test has us killed: `SWITCHBOARD_FAILPOINT=3` is the third.
#[cfg(debug_assertions)]
mod failpoint {
    use std::sync::atomic::{AtomicUsize, Ordering};

    static STEP: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn step() {
        let step = STEP.fetch_add(1, Ordering::Relaxed) + 1;
        // tidy: where a test has us killed.
        let wanted = std::env::var("SWITCHBOARD_FAILPOINT").ok();
        if wanted.and_then(|wanted| wanted.parse().ok()) == Some(step) {
            let me = rustix::process::getpid();
            let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(not(debug_assertions))]
mod failpoint {
    pub(super) fn step() {}
}
