//! A reply that is handed over before its end.

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use std::{fmt, pin::Pin};
use switchboard_wire::{ParseError, Span};

/// A reply that has begun: what came of it so far, and what is still to come.
pub struct Begun {
    /// What came so far.
    pub beginning: Bytes,
    /// Where the id is in that.
    pub id: Span,
    /// How long all of it is, where that is known.
    pub length: Option<u64>,
    rest: Rest,
}

/// What is still to come. Whoever waits for it drives it, and it waits for them.
pub(crate) type Rest = Pin<Box<dyn Stream<Item = Result<Came, BrokenOff>> + Send>>;

/// What came next of a reply.
#[derive(Debug)]
pub struct Came {
    /// The bytes, which were looked at.
    pub bytes: Bytes,
    /// At the end: whether the result says that it is an error.
    pub ended: Option<bool>,
}

/// Why nothing more comes of a reply that has begun.
#[derive(Debug, thiserror::Error)]
pub enum BrokenOff {
    /// It cannot be read.
    #[error("its answer cannot be read: {0}")]
    Unreadable(#[from] ParseError),
    /// The rest did not come.
    #[error("{0}")]
    Lost(String),
}

impl Begun {
    /// A reply that begins so.
    #[cfg(feature = "http")]
    pub(crate) fn new(beginning: Bytes, id: Span, length: Option<u64>, rest: Rest) -> Self {
        Self {
            beginning,
            id,
            length,
            rest,
        }
    }

    /// What comes next; after the end, or a fault, nothing.
    pub async fn next(&mut self) -> Option<Result<Came, BrokenOff>> {
        self.rest.next().await
    }
}

impl fmt::Debug for Begun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begun")
            .field("beginning", &self.beginning.len())
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}
