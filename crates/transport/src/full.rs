//! A cap that was met, and whose it is. Caps exist twice: for all, and for one
//! principal.

use std::fmt;

/// Which of the two caps was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The one for everybody together.
    All,
    /// The one for a single principal.
    Principal,
}

/// A cap that was met.
#[derive(Clone, Debug)]
pub struct Full {
    /// Of what there are too many.
    pub what: &'static str,
    /// How many there may be.
    pub limit: usize,
    /// Whose cap it is.
    pub whose: Whose,
}

impl Full {
    /// There are as many of these as there may be.
    pub fn of(what: &'static str, limit: usize) -> Self {
        let whose = Whose::All;
        Self { what, limit, whose }
    }
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, limit, whose } = self;
        match whose {
            Whose::All => write!(
                f,
                "too many {what}: there are {limit}, the most that there may be at once; try again when some have ended"
            ),
            Whose::Principal => write!(
                f,
                "too many {what}: yours are {limit}, the most that one token or user may have at once; end some that are not needed"
            ),
        }
    }
}

impl std::error::Error for Full {}
