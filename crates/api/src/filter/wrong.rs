//! What is wrong with a filter.

use crate::limits;
use std::fmt;

/// What is wrong with a filter, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The byte at which it begins.
    pub at: usize,
    /// The word; nothing where it is the filter as a whole.
    pub word: String,
    /// What is wrong with it.
    pub why: Why,
}

/// Why a filter, or a word of it, says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// It has too many bytes.
    #[error("a filter has {} bytes at most", limits::FILTER_BYTES)]
    TooLong,
    /// It has too many words.
    #[error("a filter has {} words at most", limits::FILTER_WORDS)]
    TooManyWords,
    /// It has too many texts that messages are searched for.
    #[error("a filter has {} texts in quotes at most", limits::FILTER_TEXTS)]
    TooManyTexts,
    /// An `or` with nothing on one side.
    #[error("`or` stands between two words")]
    Or,
    /// A quote that nothing closes.
    #[error("the quote is not closed")]
    OpenQuote,
    /// Quotes with nothing in them.
    #[error("there is nothing between the quotes")]
    EmptyText,
    /// A word that nobody knows.
    #[error("no word of the filter; a text that messages are searched for stands in quotes")]
    NoWord,
    /// A key, or a sign that compares, without a value.
    #[error("something has to follow `{0}`")]
    NothingFollows(String),
    /// Not a number of a call.
    #[error("took, server, ours, bytes and tokens can be compared")]
    NotCompared,
    /// A value that its key does not have, and those that it has.
    #[error("{0} is one of {1}")]
    NotOneOf(String, String),
    /// No era.
    #[error("era is one of legacy, modern, bridged")]
    NoEra,
    /// No code.
    #[error("a code is a whole number")]
    NoCode,
    /// No number of a call.
    #[error("an id is a number, or two with `..` between them")]
    NoId,
    /// A key that nobody knows.
    #[error(
        "server, tool, client, principal, session, method, origin, era, fault, code and id can \
         be asked for"
    )]
    NoKey,
    /// No time.
    #[error("a time is a number with us, ms, s or m")]
    NoTime,
    /// No size.
    #[error("a size is a whole number, with k or m if need be")]
    NoSize,
}

impl Why {
    /// Of this word, which begins there.
    pub(super) fn at(self, at: usize, word: &str) -> Wrong {
        Wrong {
            at,
            word: word.to_owned(),
            why: self,
        }
    }

    /// Of the filter as a whole.
    pub(super) fn whole(self) -> Wrong {
        self.at(0, "")
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.word.as_str() {
            "" => write!(f, "{}", self.why),
            word => write!(f, "at {}: `{word}`: {}", self.at + 1, self.why),
        }
    }
}

impl std::error::Error for Wrong {}
