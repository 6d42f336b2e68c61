//! Proposals on disk, a file each, so that those that wait survive a restart. Whoever takes
//! a file away has answered: two gateways of one user never both do.

use super::super::now;
use crate::limits;
use serde::{Deserialize, Serialize};
use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read},
    path::{Path, PathBuf},
};
use switchboard_api::settings::Edit;
use switchboard_local::private;

/// What is kept of one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) id: String,
    /// When it came, in milliseconds since 1970.
    pub(super) at: u64,
    /// Who wants it.
    pub(super) by: String,
    /// The project of the gateway that was asked: `local` means this one.
    pub(super) project: PathBuf,
    pub(super) edit: Edit,
}

impl Kept {
    /// Whether nobody is asked about it any more.
    pub(super) fn is_old(&self) -> bool {
        self.at <= now().saturating_sub(limits::API_PROPOSAL_KEPT_MS)
    }

    fn file(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.json", self.id))
    }

    /// Keeps it, where there is a place to.
    pub(super) fn write(&self, folder: Option<&Path>) -> io::Result<()> {
        let Some(folder) = folder else { return Ok(()) };
        private::folder(folder)?;
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        private::write(&self.file(folder), &text)
    }

    /// Keeps it no longer; whether nobody else was first.
    pub(super) fn forget(&self, folder: Option<&Path>) -> bool {
        let Some(folder) = folder else { return true };
        match fs::remove_file(self.file(folder)) {
            Ok(()) => true,
            Err(fault) => fault.kind() != ErrorKind::NotFound,
        }
    }
}

/// Those that were kept and still wait, the oldest first.
pub(super) fn read(folder: &Path) -> Vec<Kept> {
    let Ok(files) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let files = files.flatten().map(|file| file.path());
    let mut all: Vec<Kept> = files
        .take(limits::API_PROPOSAL_FILES)
        .filter_map(|file| one(&file))
        .collect();
    all.sort_by_key(|one| one.at);
    all.truncate(limits::API_PROPOSALS);
    all
}

fn one(file: &Path) -> Option<Kept> {
    let mut text = Vec::new();
    let read = File::open(file).ok()?.take(limits::API_PROPOSAL_FILE_BYTES);
    { read }.read_to_end(&mut text).ok()?;
    let kept: Kept = serde_json::from_slice(&text).ok()?;
    // Its name is what it is found by.
    let is_it = kept.file(file.parent()?) == file;
    if kept.is_old() {
        kept.forget(file.parent());
        return None;
    }
    is_it.then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn kept(id: &str, at: u64) -> Kept {
        Kept {
            id: id.to_owned(),
            at,
            by: "control".to_owned(),
            project: "/p".into(),
            edit: Edit::default(),
        }
    }

    #[test]
    fn those_that_wait_are_found_again_and_nobody_else_reads_them() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("proposals");
        let (old, new) = (kept("old", 1), kept("new", now()));
        for one in [&old, &new] {
            one.write(Some(&folder)).unwrap();
        }
        let mode = fs::metadata(new.file(&folder))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::copy(new.file(&folder), folder.join("other.json")).unwrap();
        let found: Vec<String> = read(&folder).into_iter().map(|one| one.id).collect();
        assert_eq!(found, ["new"]);
        assert!(new.forget(Some(&folder)) && !new.forget(Some(&folder)));
        assert!(!old.file(&folder).exists());
    }
}
