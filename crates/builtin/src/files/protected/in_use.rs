//! What one run of the program is told by, and what it runs: wherever that lies,
//! a client that could change it would be served by what it wrote.

use crate::files::changes;
use parking_lot::RwLock;
use std::{path::PathBuf, sync::Arc};

/// The files and folders that this run uses. Clones are the same list, so that
/// servers which are there already know of what was configured since.
#[derive(Clone, Debug, Default)]
pub struct InUse(Arc<RwLock<Lists>>);

#[derive(Debug, Default)]
struct Lists {
    tokens: Vec<PathBuf>,
    read: Vec<PathBuf>,
    run: Vec<PathBuf>,
}

impl InUse {
    /// Adds files of the program's own, such as those with tokens that clients show.
    pub fn add_own(&self, files: impl IntoIterator<Item = PathBuf>) {
        self.0.write().tokens.extend(files);
        changes::made();
    }

    /// Says which files decide what is served (`read`), and which files and
    /// folders are run or loaded (`run`), from now on.
    pub fn set(&self, read: Vec<PathBuf>, run: Vec<PathBuf>) {
        let mut lists = self.0.write();
        lists.read = read;
        lists.run = run;
        drop(lists);
        changes::made();
    }

    /// What can be neither read nor changed.
    pub(super) fn read(&self) -> Vec<PathBuf> {
        let lists = self.0.read();
        lists.tokens.iter().chain(&lists.read).cloned().collect()
    }

    /// What can be read, but not changed.
    pub(super) fn run(&self) -> Vec<PathBuf> {
        self.0.read().run.clone()
    }
}
