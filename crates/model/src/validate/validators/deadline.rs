//! Ending a validation that takes too long, from inside.
//!
//! The validator has no way to be told to stop, so every subschema is given a
//! keyword of ours that looks at the clock and, when time is up, unwinds to
//! [`within`]. `resume_unwind` runs no panic hook, so nothing is printed.

use jsonschema::{Keyword, ValidationError};
use serde_json::Value;
use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    time::Instant,
};

/// The keyword; no schema of a server may have it.
pub(super) const KEYWORD: &str = "x-switchboard-deadline";

thread_local! {
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// What is thrown when time is up.
struct Late;

/// Runs `work` until the deadline at most. Anything else that unwinds is a fault of
/// the validator on a hostile schema, which must not end more than this check.
pub(super) fn within<T>(deadline: Instant, work: impl FnOnce() -> T) -> Option<T> {
    DEADLINE.set(Some(deadline));
    let done = catch_unwind(AssertUnwindSafe(work));
    DEADLINE.set(None);
    done.ok()
}

/// Unwinds if time is up.
pub(super) fn look() {
    if DEADLINE
        .get()
        .is_some_and(|deadline| Instant::now() > deadline)
    {
        resume_unwind(Box::new(Late));
    }
}

/// The keyword's implementation: always satisfied, if in time.
pub(super) struct Clock;

impl<'i> Keyword<'i> for Clock {
    fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
        look();
        Ok(())
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        look();
        true
    }
}

#[cfg(test)]
mod tests;
