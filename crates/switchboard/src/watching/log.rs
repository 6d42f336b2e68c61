//! How much is logged, changed while a gateway runs. Whoever began to log has the say.

use std::fmt;

/// Changes how much is logged.
pub trait LogControl: fmt::Debug + Send + Sync {
    /// From now on as this says: a level, and levels of modules.
    fn set(&self, filter: &str) -> Result<(), WrongFilter>;

    /// How much it is now.
    fn now(&self) -> String;
}

/// Why it cannot be as somebody said.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongFilter(pub String);
