//! A payload as the body of a request, without joining its pieces.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};
use switchboard_wire::Payload;

/// The body of a request.
#[derive(Debug, Default)]
pub(super) struct PayloadBody {
    payload: Payload,
    next: usize,
    left: usize,
}

impl From<Payload> for PayloadBody {
    fn from(payload: Payload) -> Self {
        Self {
            next: 0,
            left: payload.len(),
            payload,
        }
    }
}

impl Body for PayloadBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(piece) = self.payload.pieces().get(self.next).cloned() else {
            return Poll::Ready(None);
        };
        self.next += 1;
        self.left -= piece.len();
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    /// Exact, so that the request has a Content-Length.
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left as u64)
    }
}
