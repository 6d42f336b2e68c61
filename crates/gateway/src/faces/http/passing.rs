//! An answer that is passed on before its end. Where the rest does not come, or is none, the
//! body breaks off: its client sees that it is not whole.

use super::{body::Body, reply, spool, unread::Unread};
use crate::{admission::Admission, limits, session::legacy::Answered};
use bytes::Bytes;
use futures_util::stream;
use http::{Response, StatusCode};
use std::{collections::VecDeque, io, time::Duration};
use switchboard_host::Begun;
use switchboard_wire::{Id, Payload};

/// What is still to be handed on.
struct Rest {
    /// What came already.
    came: VecDeque<Bytes>,
    /// The rest, until its client has taken nothing of it for too long: it holds a connection
    /// of its server's, and a place among calls.
    begun: Unread<Box<Begun>>,
    /// Nothing more is told to a client that may not come in.
    admission: Admission,
}

/// An answer as plain JSON.
pub(super) async fn json(answer: Answered, admission: &Admission) -> Response<Body> {
    let body = match answer {
        Answered::Whole(payload) => spool::body(payload, admission.share()).await,
        Answered::Begun(begun, id) => body(begun, &id, admission.clone()),
    };
    reply::json(StatusCode::OK, body)
}

/// An answer as an event, which is kept whole so that it can be sent again.
pub(super) async fn whole(answering: impl Future<Output = Option<Answered>>) -> Option<Payload> {
    match answering.await {
        Some(answer) => Some(answer.whole().await),
        None => None,
    }
}

/// The body of an answer that has begun.
pub(super) fn body(begun: Box<Begun>, id: &Id, admission: Admission) -> Body {
    let left = begun.length(id);
    let came = begun.beginning(id).into_pieces().collect();
    let principal = admission.principal().clone();
    let begun = Unread::new(begun, unread_limit(), move |begun| {
        let server = begun.server();
        tracing::warn!(%server, %principal, "a client does not read its answer, which is broken off");
    });
    let rest = Rest {
        came,
        begun,
        admission,
    };
    let coming = stream::unfold(Some(rest), |rest| async move {
        let mut rest = rest?;
        match rest.next().await? {
            Ok(piece) => Some((Ok(piece), Some(rest))),
            Err(fault) => Some((Err(fault), None)),
        }
    });
    Body::Passing {
        coming: Box::pin(coming),
        left,
    }
}

impl Rest {
    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if let Some(piece) = self.came.pop_front() {
            return Some(Ok(piece));
        }
        let Some(mut begun) = self.begun.take() else {
            return Some(Err(io::Error::other("it was not read for too long")));
        };
        let came = tokio::select! {
            biased;
            came = begun.next() => came?,
            ended = self.admission.withdrawn() => {
                return Some(Err(io::Error::other(ended.as_str())));
            }
        };
        match came {
            // Its end may come without anything more.
            Ok(piece) if piece.is_empty() => None,
            Ok(piece) => {
                self.begun.put(begun);
                Some(Ok(piece))
            }
            Err(fault) => Some(Err(io::Error::other(fault.to_string()))),
        }
    }
}

/// How long a client may take nothing of its answer. A test need not wait for as long.
fn unread_limit() -> Duration {
    #[cfg(debug_assertions)]
    if let Ok(wanted) = std::env::var("SWITCHBOARD_TEST_UNREAD_MS")
        && let Ok(wanted) = wanted.parse()
    {
        return Duration::from_millis(wanted);
    }
    limits::UNREAD
}
