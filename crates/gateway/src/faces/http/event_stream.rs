//! Responses that are streams of events, whatever the events are.

use super::body::Body;
use crate::limits;
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::{HeaderValue, Response, header};
use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};
use switchboard_transport::http::sse::encode_event;
use switchboard_wire::Payload;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// The name of every event. It is the one that events without a name have; some
/// clients look for it all the same.
pub(super) const MESSAGE: &str = "message";

/// What a quiet stream says.
pub(super) const ALIVE: &str = ": alive\n\n";

/// A message as an event.
pub(super) fn event(payload: Payload) -> io::Result<Bytes> {
    Ok(encode_event(None, Some(MESSAGE), payload).into_bytes())
}

/// A message as a stream that ends with it.
pub(super) fn one_event(payload: Payload) -> Response<Body> {
    response(Body::from(encode_event(None, Some(MESSAGE), payload)))
}

/// Events as they come. `comment` is said whenever there has been none for a while.
pub(super) fn events<S>(events: S, comment: &'static str) -> Response<Body>
where
    S: Stream<Item = io::Result<Bytes>> + Send + Unpin + 'static,
{
    let mut alive = interval(limits::KEEP_ALIVE);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    alive.reset();
    response(Body::Stream(Box::pin(KeptAlive {
        events,
        comment,
        alive,
    })))
}

fn response(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/event-stream"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Events, and a sign of life while there are none.
struct KeptAlive<S> {
    events: S,
    comment: &'static str,
    alive: Interval,
}

impl<S: Stream<Item = io::Result<Bytes>> + Unpin> Stream for KeptAlive<S> {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        if let Poll::Ready(event) = self.events.poll_next_unpin(context) {
            self.alive.reset();
            return Poll::Ready(event);
        }
        let comment = Bytes::from_static(self.comment.as_bytes());
        self.alive.poll_tick(context).map(|_| Some(Ok(comment)))
    }
}
