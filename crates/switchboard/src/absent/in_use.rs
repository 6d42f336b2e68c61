//! Without `builtin`: there are no file tools, which would have to leave anything alone.

use std::path::PathBuf;

/// What this run is told by and runs, which nobody asks for.
#[derive(Clone, Debug, Default)]
pub struct InUse(());

impl InUse {
    /// Adds files of the program's own, such as those with tokens that clients show.
    pub fn add_own(&self, _: impl IntoIterator<Item = PathBuf>) {}

    /// Says which files decide what is served, and which are run.
    pub fn set(&self, _: Vec<PathBuf>, _: Vec<PathBuf>) {}
}
