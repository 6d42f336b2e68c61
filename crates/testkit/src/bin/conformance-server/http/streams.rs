//! Legacy sessions over GET and DELETE: event streams and their resumption.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::Value;
use tokio::time::timeout;

use super::body::{
    KEEP_ALIVE, empty, events, keep_alive, numbered_event, priming_event, rpc_error,
};
use super::{HttpResponse, PROTOCOL_VERSION, SESSION_ID, mentions, text};
use crate::event_stream::EventStream;
use crate::revision::Revision;
use crate::rpc::RpcError;
use crate::server::Server;
use crate::session::Session;

/// The session that a request names, or why there is none.
pub(super) fn session(server: &Server, headers: &HeaderMap) -> Result<Arc<Session>, HttpResponse> {
    let refuse = |status, why| {
        let error = RpcError::new(-32000, why);
        Err(rpc_error(status, &Value::Null, error))
    };
    let Some(id) = text(headers, SESSION_ID) else {
        return refuse(StatusCode::BAD_REQUEST, "Bad Request: no session");
    };
    let Some(session) = server.session(id) else {
        return refuse(StatusCode::NOT_FOUND, "Session not found");
    };
    match text(headers, PROTOCOL_VERSION) {
        Some(version) if Revision::parse(version).is_none() => {
            refuse(StatusCode::BAD_REQUEST, "Unsupported protocol version")
        }
        _ => Ok(session),
    }
}

/// GET: the stream of messages that belong to no request, or the rest of one
/// that was interrupted.
pub(super) fn get(server: &Server, headers: &HeaderMap) -> HttpResponse {
    if !mentions(headers, ACCEPT, "text/event-stream") {
        return empty(StatusCode::NOT_ACCEPTABLE);
    }
    if !headers.contains_key(SESSION_ID) && server.options.modern {
        // To a modern client there is nothing here to GET.
        return empty(StatusCode::METHOD_NOT_ALLOWED);
    }
    let session = match session(server, headers) {
        Ok(session) => session,
        Err(refusal) => return refusal,
    };
    let (stream, after) = match text(headers, "last-event-id") {
        Some(event) => match session.find_event(event) {
            Some(found) => found,
            None => return empty(StatusCode::BAD_REQUEST),
        },
        None => match session.standalone_stream() {
            Some(stream) => (Arc::clone(stream), stream.last()),
            None => return empty(StatusCode::METHOD_NOT_ALLOWED),
        },
    };
    let reader = stream.attach();
    read(&session, stream, reader, after)
}

/// DELETE: the end of a session.
pub(super) fn delete(server: &Server, headers: &HeaderMap) -> HttpResponse {
    match session(server, headers) {
        Ok(session) => {
            server.end_session(&session.id);
            empty(StatusCode::OK)
        }
        Err(refusal) => refusal,
    }
}

/// Sends a stream's events from number `after` on.
pub(super) fn read(
    session: &Session,
    stream: Arc<EventStream>,
    reader: u64,
    after: u64,
) -> HttpResponse {
    let prime = session
        .revision
        .primes_streams()
        .then(|| priming_event(&stream.name, after));
    let rest = stream::unfold((stream, after), move |(stream, after)| async move {
        match timeout(KEEP_ALIVE, stream.next(reader, after)).await {
            Ok(None) => None,
            Ok(Some((number, message))) => {
                let event = numbered_event(&stream.name, number, &message);
                Some((event, (stream, number)))
            }
            Err(_) => Some((keep_alive(), (stream, after))),
        }
    });
    let prime: Vec<Bytes> = prime.into_iter().collect();
    let mut response = events(stream::iter(prime).chain(rest));
    if let Ok(id) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(SESSION_ID, id);
    }
    response
}
