//! Bodies of responses: a payload in its pieces, a spooled file, or events as they come.

use super::spool::Spooled;
use bytes::Bytes;
use futures_util::Stream;
use http_body::{Frame, SizeHint};
use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    task::{Context, Poll},
};
use switchboard_wire::Payload;

/// A response's body.
pub(super) enum Body {
    /// All of it is here.
    Pieces { pieces: VecDeque<Bytes>, left: u64 },
    /// It was moved to a file.
    File(Spooled),
    /// It is passed on as it comes; how much is left is known, or not.
    Passing { coming: Coming, left: Option<u64> },
    /// It comes in time.
    Stream(Coming),
}

/// Pieces that come in time.
pub(super) type Coming = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

impl Body {
    pub(super) fn empty() -> Self {
        Self::from(Payload::default())
    }
}

impl From<Payload> for Body {
    fn from(payload: Payload) -> Self {
        let left = payload.len() as u64;
        Self::Pieces {
            pieces: payload.into_pieces().collect(),
            left,
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let next = match self.get_mut() {
            Self::Pieces { pieces, left } => {
                let piece = pieces.pop_front();
                *left -= piece.as_ref().map_or(0, Bytes::len) as u64;
                return Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))));
            }
            Self::File(file) => Pin::new(file).poll_next(context),
            Self::Passing { coming, left } => {
                let next = coming.as_mut().poll_next(context);
                if let (Poll::Ready(Some(Ok(piece))), Some(left)) = (&next, left) {
                    *left = left.saturating_sub(piece.len() as u64);
                }
                next
            }
            Self::Stream(events) => events.as_mut().poll_next(context),
        };
        next.map(|item| item.map(|bytes| bytes.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Pieces { pieces, .. } if pieces.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Pieces { left, .. }
            | Self::Passing {
                left: Some(left), ..
            } => SizeHint::with_exact(*left),
            Self::File(file) => SizeHint::with_exact(file.left()),
            Self::Passing { .. } | Self::Stream(_) => SizeHint::default(),
        }
    }
}
