//! Values against schemas: arguments before a call leaves, structured results
//! when they come back. A build without `validate` checks nothing, and says so
//! ([`Verdict::Unchecked`]): servers judge for themselves.

#[cfg(not(feature = "validate"))]
mod absent;
#[cfg(feature = "validate")]
mod validators;

#[cfg(not(feature = "validate"))]
pub use absent::Validators;
#[cfg(not(feature = "validate"))]
pub(crate) use absent::dialect_fault;
#[cfg(feature = "validate")]
pub use validators::Validators;
#[cfg(feature = "validate")]
pub(crate) use validators::dialect_fault;

use std::fmt;

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The value is as the schema says.
    Valid,
    /// It is not. Nothing should be sent.
    Invalid(Invalid),
    /// It cannot be told: the schema is broken, too large, refers elsewhere, or
    /// took too long. The server may judge for itself.
    Unchecked(String),
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The faults, the first few.
    pub issues: Vec<Issue>,
    /// Whether there are more.
    pub more: bool,
}

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Where: `a.b[0]`; empty for the whole value.
    pub path: String,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.problem),
            path => write!(f, "{path}: {}", self.problem),
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let issues: Vec<String> = self.issues.iter().map(ToString::to_string).collect();
        f.write_str(&issues.join("; "))?;
        if self.more {
            f.write_str("; and more")
        } else {
            Ok(())
        }
    }
}
