//! How much is logged, changed while a gateway runs. Whoever began to log has the say.

use std::{fmt, path::PathBuf};

/// Changes how much is logged.
pub trait LogControl: fmt::Debug + Send + Sync {
    /// From now on as this says: a level, and levels of modules.
    fn set(&self, filter: &str) -> Result<(), WrongFilter>;

    /// How much it is now.
    fn now(&self) -> String;

    /// The file that it is written to, where it is one.
    fn file(&self) -> Option<PathBuf> {
        None
    }
}

/// Why it cannot be as somebody said.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongFilter(pub String);
