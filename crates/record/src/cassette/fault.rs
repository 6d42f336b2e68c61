//! What can be wrong with a line of a cassette.

use super::VERSION;
use crate::limits;
use switchboard_wire::json::{Duplicate, SyntaxError};

/// Why a line cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineFault {
    /// There is no line at all.
    #[error("the file is empty")]
    Empty,
    /// The file is longer than is read.
    #[error("the file has more than {} bytes", limits::CASSETTE_BYTES)]
    LongFile,
    /// It has more lines than are read.
    #[error("the file has more than {} lines", limits::CASSETTE_LINES)]
    ManyLines,
    /// The line is longer than is read.
    #[error("the line has more than {} bytes", limits::CASSETTE_LINE)]
    LongLine,
    /// It is of another kind of file.
    #[error("this is no cassette: its first line must have \"cassette\"")]
    NoCassette,
    /// The cassette begins a second time.
    #[error("a second first line")]
    SecondHeader,
    /// It is in a format that is not known here.
    #[error("this is version {0} of the format, and {VERSION} is what can be read here")]
    Version(u64),
    /// It is not JSON.
    #[error("no JSON: {0}")]
    Syntax(SyntaxError),
    /// It is not JSON, and the file ends in the middle of it.
    #[error("no JSON: {0}; the file was cut there, and without this line it can be used")]
    Cut(SyntaxError),
    /// It is JSON, but not an object.
    #[error("a line must be a JSON object")]
    NoObject,
    /// It is not text.
    #[error("the line is not UTF-8")]
    NoText,
    /// It has a member twice.
    #[error(transparent)]
    Twice(#[from] Duplicate),
    /// A member has another type than it must have.
    #[error("{member:?} must be {wanted}")]
    Type {
        /// Which one.
        member: &'static str,
        /// What it must be.
        wanted: &'static str,
    },
    /// A member is not there.
    #[error("{0:?} is missing")]
    Missing(&'static str),
    /// It has a result and an error.
    #[error("it has a result and an error")]
    TwoAnswers,
    /// What it holds cannot be compared with anything.
    #[error(transparent)]
    Compared(#[from] Incomparable),
}

/// A text that cannot be compared: it is too deep, or has numbers that nobody can hold.
#[derive(Debug, thiserror::Error)]
#[error("it cannot be compared: {0}")]
pub struct Incomparable(#[from] serde_json::Error);
