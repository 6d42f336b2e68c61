//! Small JSON files of our own: 0600 from the first byte, whole or not at all,
//! one writer at a time, and never written over when they cannot be read.

use serde::{Serialize, de::DeserializeOwned};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use switchboard_local::private;

/// What went wrong with a file of ours.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    /// It could not be opened or written.
    #[error("{}: {fault}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        fault: io::Error,
    },
    /// It is not what we wrote. It is left as it is.
    #[error("{}: {fault}; repair it or move it away", path.display())]
    Broken {
        /// Which.
        path: PathBuf,
        /// Where and why.
        fault: serde_json::Error,
    },
}

/// What the file holds; `None` if there is none.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FileFault> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(fault)
            if matches!(
                fault.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(fault) => {
            return Err(FileFault::Io {
                path: path.to_owned(),
                fault,
            });
        }
    };
    serde_json::from_slice(&text)
        .map(Some)
        .map_err(|fault| FileFault::Broken {
            path: path.to_owned(),
            fault,
        })
}

/// Reads, changes and writes the file, while no other program does.
pub(crate) fn change<T>(path: &Path, change: impl FnOnce(&mut T)) -> Result<(), FileFault>
where
    T: DeserializeOwned + Serialize + Default,
{
    change_or(path, T::default, change)
}

/// The same; `absent` gives what to begin with where there is no file.
pub(crate) fn change_or<T>(
    path: &Path,
    absent: impl FnOnce() -> T,
    change: impl FnOnce(&mut T),
) -> Result<(), FileFault>
where
    T: DeserializeOwned + Serialize,
{
    let io = |fault: io::Error| FileFault::Io {
        path: path.to_owned(),
        fault,
    };
    let _lock = lock(folder(path).map_err(io)?).map_err(io)?;
    let text = changed(path, absent, change)?;
    private::write(path, &text).map_err(io)
}

/// The folder of a file, which is made where it is missing.
pub(super) fn folder(path: &Path) -> io::Result<&Path> {
    let dir = path.parent().unwrap_or(Path::new("."));
    private::folder(dir)?;
    Ok(dir)
}

/// Waits until no other program changes anything in this folder. The lock ends with its
/// holder.
pub(super) fn lock(folder: &Path) -> io::Result<private::Lock> {
    // A file of its own: the one that is locked must not be replaced.
    private::Lock::wait(&folder.join(".lock"))
}

/// The text of a file with a change in it.
pub(super) fn changed<T>(
    path: &Path,
    absent: impl FnOnce() -> T,
    change: impl FnOnce(&mut T),
) -> Result<Vec<u8>, FileFault>
where
    T: DeserializeOwned + Serialize,
{
    let mut value: T = read(path)?.unwrap_or_else(absent);
    change(&mut value);
    serde_json::to_vec_pretty(&value).map_err(|fault| FileFault::Io {
        path: path.to_owned(),
        fault: fault.into(),
    })
}
