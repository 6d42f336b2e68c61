//! The vault's files: 0600 in a folder of 0700, replaced as a whole or not at all.

use super::VaultError;
use crate::limits;
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use switchboard_local::private;
use switchboard_tasks as tasks;
use zeroize::Zeroizing;

fn fault(path: &Path, why: impl ToString) -> VaultError {
    VaultError::File {
        path: path.to_owned(),
        why: why.to_string(),
    }
}

async fn blocking<T: Send + 'static>(
    path: PathBuf,
    work: impl FnOnce(&Path) -> Result<T, VaultError> + Send + 'static,
) -> Result<T, VaultError> {
    let shown = path.clone();
    tasks::blocking(move || work(&path))
        .await
        .map_err(|gone| fault(&shown, gone))?
}

pub(super) fn make_folder(folder: &Path) -> Result<(), VaultError> {
    private::folder(folder).map_err(|why| fault(folder, why))
}

pub(super) async fn exists(path: PathBuf) -> bool {
    blocking(path, |path| Ok(path.exists()))
        .await
        .unwrap_or(false)
}

pub(super) async fn read(path: PathBuf) -> Result<Option<Zeroizing<Vec<u8>>>, VaultError> {
    blocking(path, |path| {
        let about = match fs::symlink_metadata(path) {
            Ok(about) => about,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(fault(path, why)),
        };
        if !about.is_file() || about.len() > limits::RECORD_BYTES {
            return Err(fault(path, "is not a file that Switchboard wrote"));
        }
        guarded(path, &about)?;
        fs::read(path)
            .map(|bytes| Some(Zeroizing::new(bytes)))
            .map_err(|why| fault(path, why))
    })
    .await
}

/// A file that others can read has been read, or written, by others.
fn guarded(path: &Path, about: &fs::Metadata) -> Result<(), VaultError> {
    use std::os::unix::fs::MetadataExt;
    if about.mode() & 0o077 != 0 {
        return Err(fault(
            path,
            "other users can get at this file; make it yours alone (chmod 600) or remove it and sign in again",
        ));
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(fault(path, "belongs to another user"));
    }
    Ok(())
}

pub(super) async fn write(path: PathBuf, bytes: Zeroizing<Vec<u8>>) -> Result<(), VaultError> {
    blocking(path, move |path| {
        private::write(path, &bytes).map_err(|why| fault(path, why))
    })
    .await
}

pub(super) async fn remove(path: PathBuf) -> Result<(), VaultError> {
    blocking(path, |path| match fs::remove_file(path) {
        Err(why) if why.kind() != io::ErrorKind::NotFound => Err(fault(path, why)),
        _ => Ok(()),
    })
    .await
}
