//! Just enough JSON: a validating scan that finds where things are, and edits
//! that replace spans. No trees are built here.

mod edits;
mod exact;
mod object;
mod pieces;
mod scan;
mod string;

pub use edits::Edits;
pub use exact::is_exact;
pub(crate) use object::{Checked, Said, check_places, places};
pub use object::{Duplicate, FieldError, Member, Members, elements, field, fields, members};
pub(crate) use pieces::{Notes, Pieces};
pub(crate) use scan::TextError;
pub use scan::{Scanner, SyntaxError, ValueKind, check};
pub use string::{escape_into, loose_text, quote, text};

/// A range of bytes inside a source that the holder knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The span from `start` up to `end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The bytes of this span in `source`.
    pub fn of(self, source: &[u8]) -> &[u8] {
        source.get(self.start..self.end).unwrap_or_default()
    }

    /// The same place, seen from a source in which `self`'s source begins at `offset`.
    pub const fn shifted(self, offset: usize) -> Self {
        Self {
            start: self.start + offset,
            end: self.end + offset,
        }
    }

    /// The same place, seen from a source that is only the part `outer` of it.
    pub const fn within(self, outer: Self) -> Self {
        Self {
            start: self.start - outer.start,
            end: self.end - outer.start,
        }
    }

    /// Length in bytes.
    pub const fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether nothing is inside.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }
}

#[cfg(test)]
pub(crate) mod tests;
