//! Bytes on their way out: one message in a few pieces, so that a large part
//! can be shared with the message it came from.

use crate::limits;
use bytes::{Bytes, BytesMut};
use smallvec::SmallVec;

/// The bytes of one outgoing message.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    pieces: SmallVec<[Bytes; 5]>,
    length: usize,
}

impl Payload {
    /// Adds a piece at the end.
    pub fn push(&mut self, piece: impl Into<Bytes>) {
        let piece = piece.into();
        if !piece.is_empty() {
            self.length += piece.len();
            self.pieces.push(piece);
        }
    }

    /// Total length in bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The pieces, in order.
    pub fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }

    /// Takes the pieces out.
    pub fn into_pieces(self) -> impl Iterator<Item = Bytes> {
        self.pieces.into_iter()
    }

    /// All in one piece; copies only if there are several.
    pub fn into_bytes(mut self) -> Bytes {
        if self.pieces.len() == 1 {
            return self.pieces.pop().unwrap_or_default();
        }
        let mut out = BytesMut::with_capacity(self.length);
        for piece in &self.pieces {
            out.extend_from_slice(piece);
        }
        out.freeze()
    }

    /// One piece if the whole is small, the same pieces otherwise.
    pub(crate) fn compacted(self) -> Self {
        if self.length < limits::COPY_BELOW && self.pieces.len() > 1 {
            Self::from(self.into_bytes())
        } else {
            self
        }
    }

    /// The same message on one line, with its line end: carriage returns and
    /// line feeds can only stand between tokens, where a space means the same.
    pub fn into_line(self) -> Self {
        let mut out = Self::default();
        for piece in self.pieces {
            if memchr::memchr2(b'\n', b'\r', &piece).is_none() {
                out.push(piece);
            } else {
                let flat: Vec<u8> = piece
                    .iter()
                    .map(|byte| {
                        if matches!(byte, b'\n' | b'\r') {
                            b' '
                        } else {
                            *byte
                        }
                    })
                    .collect();
                out.push(flat);
            }
        }
        out.push(Bytes::from_static(b"\n"));
        out.compacted()
    }
}

impl From<Bytes> for Payload {
    fn from(bytes: Bytes) -> Self {
        let mut payload = Self::default();
        payload.push(bytes);
        payload
    }
}

impl From<String> for Payload {
    fn from(text: String) -> Self {
        Self::from(Bytes::from(text))
    }
}

#[cfg(test)]
mod tests;
