//! Watching files for changes: a look at each once a second. There are a few
//! dozen at most, most of which do not exist yet; looking is cheaper than being
//! told, and works on every file system.

use crate::limits;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use tokio_util::sync::CancellationToken;

/// What files looked like: who they are, how long, and when they last changed.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Snapshot(BTreeMap<PathBuf, Option<Look>>);

pub(crate) type Look = (u64, u64, i64, i64, i64, i64);

impl Snapshot {
    /// Looks at files, following links as a reader would.
    pub(crate) fn of(files: impl IntoIterator<Item = PathBuf>) -> Self {
        Self::default().and(files)
    }

    /// Looks at these as well, where they were not looked at yet.
    #[must_use]
    pub(crate) fn and(mut self, files: impl IntoIterator<Item = PathBuf>) -> Self {
        for file in files {
            if !self.0.contains_key(&file) && self.0.len() < limits::FILES_WATCHED {
                let look = look(&file);
                self.0.insert(file, look);
            }
        }
        self
    }

    /// Looks again.
    fn again(&self) -> Self {
        Self::of(self.0.keys().cloned())
    }
}

pub(crate) fn look(file: &Path) -> Option<Look> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(file).ok()?;
    Some((
        found.ino(),
        found.len(),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
    ))
}

/// Calls `changed` whenever one of the files is not what it was, with what they
/// look like now; it says which to look at from then on.
pub(crate) async fn watch(
    mut seen: Snapshot,
    stop: CancellationToken,
    mut changed: impl FnMut(Snapshot) -> Snapshot,
) {
    loop {
        tokio::select! {
            () = tokio::time::sleep(limits::FILES_LOOK) => {}
            () = stop.cancelled() => return,
        }
        let now = seen.again();
        if now != seen {
            seen = changed(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_change_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let absent = Snapshot::of([file.clone()]);
        assert_eq!(absent.again(), absent);
        fs::write(&file, "x").unwrap();
        let there = absent.again();
        assert_ne!(there, absent);
        // Replaced by one of the same length.
        let other = folder.path().join("b");
        fs::write(&other, "y").unwrap();
        fs::rename(&other, &file).unwrap();
        assert_ne!(there.again(), there);
        fs::remove_file(&file).unwrap();
        assert_eq!(there.again(), absent);
    }
}
