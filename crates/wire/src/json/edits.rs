//! Replacing parts of a text while every other byte stays what it was.

use super::Span;
use crate::payload::Payload;
use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;

/// A list of replacements to apply to one source.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    list: SmallVec<[(Span, Bytes); 4]>,
}

impl Edits {
    /// No edits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the bytes at `span`. Spans must not overlap. An empty span
    /// inserts: after earlier insertions at the same place, and before the
    /// replacement of what begins there.
    pub fn replace(&mut self, span: Span, with: impl Into<Bytes>) -> &mut Self {
        let at = self
            .list
            .partition_point(|(other, _)| (other.start, other.end) <= (span.start, span.end));
        debug_assert!(
            self.list[..at]
                .last()
                .is_none_or(|(before, _)| before.end <= span.start)
                && self
                    .list
                    .get(at)
                    .is_none_or(|(after, _)| span.end <= after.start),
            "edits overlap at {span:?}"
        );
        self.list.insert(at, (span, with.into()));
        self
    }

    /// What will be inserted at `at`, earliest first.
    pub(crate) fn insertions(&mut self, at: usize) -> impl Iterator<Item = &mut Bytes> {
        self.list
            .iter_mut()
            .filter(move |(span, _)| span.start == at && span.is_empty())
            .map(|(_, with)| with)
    }

    /// Whether nothing would change.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The edited text. Long unchanged stretches are shared with `source`, not copied.
    pub fn apply(&self, source: &Bytes) -> Payload {
        if self.list.is_empty() {
            return Payload::from(source.clone());
        }
        let mut payload = Payload::default();
        let mut at = 0;
        for (span, with) in &self.list {
            payload.push(source.slice(at..span.start.max(at)));
            payload.push(with.clone());
            at = span.end.max(at);
        }
        payload.push(source.slice(at..));
        payload.compacted()
    }

    /// The edited text in one piece.
    pub fn apply_to_slice(&self, source: &[u8]) -> Bytes {
        let extra: usize = self.list.iter().map(|(_, with)| with.len()).sum();
        let mut out = BytesMut::with_capacity(source.len() + extra);
        let mut at = 0;
        for (span, with) in &self.list {
            out.extend_from_slice(source.get(at..span.start).unwrap_or_default());
            out.extend_from_slice(with);
            at = span.end.max(at);
        }
        out.extend_from_slice(source.get(at..).unwrap_or_default());
        out.freeze()
    }
}

#[cfg(test)]
mod tests;
