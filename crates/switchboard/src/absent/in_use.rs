//! Without `builtin`: there are no file tools, which would have to leave anything alone.

use std::path::PathBuf;

/// What this run is told by and runs, which nobody asks for.
#[derive(Clone, Debug, Default)]
pub struct InUse(());

impl InUse {
    /// Adds files with tokens that clients show.
    pub fn add_tokens(&self, _: impl IntoIterator<Item = PathBuf>) {}

    /// Says which files decide what is served, and which are run.
    pub fn set(&self, _: Vec<PathBuf>, _: Vec<PathBuf>) {}
}
