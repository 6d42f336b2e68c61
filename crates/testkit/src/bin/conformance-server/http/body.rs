//! Bodies of responses: JSON, event streams, nothing.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::Value;

use super::HttpResponse;
use crate::rpc::{RpcError, response};

/// Any body that we send.
pub(super) type ResponseBody = UnsyncBoxBody<Bytes, Infallible>;

/// A quiet stream says something this often, so that nobody takes it for dead.
pub(super) const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) fn empty(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(Full::default().boxed_unsync());
    *response.status_mut() = status;
    response
}

pub(super) fn json(status: StatusCode, value: &Value) -> HttpResponse {
    let body = Full::new(Bytes::from(value.to_string()));
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

pub(super) fn rpc_error(status: StatusCode, id: &Value, error: RpcError) -> HttpResponse {
    json(status, &response(id, Err(error)))
}

/// A response of server-sent events.
pub(super) fn events(events: impl Stream<Item = Bytes> + Send + 'static) -> HttpResponse {
    use futures_util::StreamExt;
    let frames = events.map(|event| Ok(Frame::data(event)));
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// An event that carries a message.
pub(super) fn message_event(message: &Value) -> Bytes {
    format!("event: message\ndata: {message}\n\n").into()
}

/// The same, with an id to resume from.
pub(super) fn numbered_event(stream: &str, number: u64, message: &Value) -> Bytes {
    format!("event: message\nid: {stream}_{number}\ndata: {message}\n\n").into()
}

/// Opens a stream with an id but without a message, so that a client can
/// resume before anything was sent; and says how soon to try.
pub(super) fn priming_event(stream: &str, number: u64) -> Bytes {
    format!("id: {stream}_{number}\nretry: 200\ndata: \n\n").into()
}

pub(super) fn keep_alive() -> Bytes {
    Bytes::from_static(b": keep-alive\n\n")
}
