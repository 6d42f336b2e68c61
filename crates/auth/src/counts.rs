//! How often somebody signed in, and how often sign-ins were renewed, in this process.

use std::sync::atomic::{AtomicU64, Ordering};

/// What came of attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// How many did what they should.
    pub done: u64,
    /// How many did not.
    pub failed: u64,
}

/// The same as it is counted.
pub(crate) struct Counted {
    done: AtomicU64,
    failed: AtomicU64,
}

/// Sign-ins, by whichever grant.
pub(crate) static SIGN_INS: Counted = Counted::new();
/// Renewals of sign-ins.
pub(crate) static RENEWALS: Counted = Counted::new();

impl Counted {
    const fn new() -> Self {
        Self {
            done: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        }
    }

    /// Counts what came of one, and hands it on.
    pub(crate) fn count<T, E>(&self, outcome: Result<T, E>) -> Result<T, E> {
        let one = if outcome.is_ok() {
            &self.done
        } else {
            &self.failed
        };
        one.fetch_add(1, Ordering::Relaxed);
        outcome
    }

    fn now(&self) -> Tries {
        Tries {
            done: self.done.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
        }
    }
}

/// Sign-ins so far.
pub fn sign_ins() -> Tries {
    SIGN_INS.now()
}

/// Renewals so far.
pub fn renewals() -> Tries {
    RENEWALS.now()
}
