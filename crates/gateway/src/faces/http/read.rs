//! POST: reading the body, and telling a legacy request from a modern one.

use super::{
    Face,
    accept::{Accepts, not_acceptable},
    body::Body,
    legacy, modern, reply, routes,
};
use crate::{admission::Admission, limits, session};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Response, StatusCode, header, request::Parts};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::sync::Arc;
use switchboard_host::Scope;
use switchboard_tasks as tasks;
use switchboard_transport::limits::COPIED_BYTES;
use switchboard_wire::{
    Era, ErrorObject, Id, Message, Method, Params, Received, Revision, code, limits::MESSAGE_BYTES,
};
use tokio::time::timeout;

/// What all requests by POST have in common.
pub(super) struct Post {
    pub face: Arc<Face>,
    pub scope: Scope,
    pub admission: Admission,
    /// What tells the client from others of its principal.
    pub key: Option<Arc<str>>,
    pub headers: HeaderMap,
    /// What form the answer may have.
    pub accepts: Accepts,
}

pub(super) async fn post(
    face: Arc<Face>,
    scope: Scope,
    admission: Admission,
    request: Request<Incoming>,
) -> Response<Body> {
    let (Parts { uri, headers, .. }, body) = request.into_parts();
    if !is_json(&headers) {
        let error = ErrorObject::new(
            code::INVALID_REQUEST,
            "Content-Type must be application/json",
        );
        return reply::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error, None);
    }
    let Some(accepts) = Accepts::of(&headers) else {
        return not_acceptable("application/json or text/event-stream");
    };
    let budget = face.gateway.host().budget().clone();
    if budget.is_full() && timeout(limits::BUDGET_WAIT, budget.room()).await.is_err() {
        return reply::busy();
    }
    let mut arriving = body;
    let body = match read(&mut arriving).await {
        Ok(body) => body,
        Err((status, text)) => {
            if status == StatusCode::PAYLOAD_TOO_LARGE {
                tasks::spawn(tasks::Kind::Errand, discard(arriving));
            }
            return reply::error(status, &ErrorObject::new(code::INVALID_REQUEST, text), None);
        }
    };
    let post = Post {
        face,
        scope,
        admission,
        key: routes::client_key(uri.path(), &headers),
        headers,
        accepts,
    };
    drop(uri);
    match Received::parse(body) {
        Ok(Received::One(message)) => {
            let id = message.id();
            let answer = tasks::caught(tasks::Kind::Message, one(post, message)).await;
            answer.unwrap_or_else(|_| reply::broke_off(id.as_ref()))
        }
        Ok(Received::Batch(batch)) => legacy::batch(post, batch).await,
        Err(fault) => reply::error(StatusCode::BAD_REQUEST, &fault.to_error(), fault.id()),
    }
}

#[allow(
    clippy::manual_async_fn,
    reason = "an async fn has room for each of its arguments twice"
)]
fn one(post: Post, message: Message) -> impl Future<Output = Response<Body>> + Send {
    async move {
        let params = match Params::of(&message) {
            Ok(params) => params,
            Err(error) => {
                return reply::error(StatusCode::BAD_REQUEST, &error, message.id().as_ref());
            }
        };
        if message.is_reply() || !speaks_modern(&post.headers, &message, &params) {
            legacy::post(post, message, params).await
        } else {
            // Boxed, as `legacy` boxes its own: what waits for a request has no
            // room for either, and moving it about costs less.
            Box::pin(modern::post(post, message, params)).await
        }
    }
}

/// A request is modern if its body says so; a header alone says so too, unless
/// it names a legacy revision or the body can only be legacy.
fn speaks_modern(headers: &HeaderMap, message: &Message, params: &Params) -> bool {
    if session::modern::is_modern(params) {
        return true;
    }
    let version = headers
        .get(&legacy::VERSION)
        .and_then(|value| value.to_str().ok());
    let revision = version.and_then(Revision::parse);
    match (version, revision) {
        (None, _) => message.method() == Method::Discover || message.method() == Method::Listen,
        (Some(_), Some(revision)) => revision.era() == Era::Modern,
        (Some(_), None) => {
            !headers.contains_key(&legacy::SESSION) && message.method() != Method::Initialize
        }
    }
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let value = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let kind = value.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// The whole body, within size and time.
pub(super) async fn read(body: &mut Incoming) -> Result<Bytes, (StatusCode, &'static str)> {
    const TOO_LARGE: (StatusCode, &str) =
        (StatusCode::PAYLOAD_TOO_LARGE, "the message is too large");
    if http_body::Body::size_hint(body).lower() > MESSAGE_BYTES as u64 {
        return Err(TOO_LARGE);
    }
    let mut first = Bytes::new();
    let mut rest: Option<BytesMut> = None;
    loop {
        let frame = timeout(limits::BODY_IDLE, body.frame()).await;
        let frame = frame.map_err(|_| {
            (
                StatusCode::REQUEST_TIMEOUT,
                "the body did not arrive in time",
            )
        })?;
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|_| (StatusCode::BAD_REQUEST, "the body could not be read"))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let length = rest.as_ref().map_or(first.len(), BytesMut::len) + data.len();
        if length > MESSAGE_BYTES {
            return Err(TOO_LARGE);
        }
        // Most messages come in one frame.
        match &mut rest {
            Some(rest) => rest.extend_from_slice(&data),
            None if first.is_empty() => first = data,
            None => {
                let mut all = BytesMut::with_capacity(length);
                all.extend_from_slice(&first);
                all.extend_from_slice(&data);
                rest = Some(all);
            }
        }
    }
    Ok(match rest {
        Some(rest) => rest.freeze(),
        None if first.len() < COPIED_BYTES => Bytes::copy_from_slice(&first),
        None => first,
    })
}

/// Reads the rest of a body that was refused, within limits, so that its
/// connection can be used again.
async fn discard(mut body: Incoming) {
    let mut left = limits::DISCARDED;
    while let Ok(Some(Ok(frame))) = timeout(limits::BODY_IDLE, body.frame()).await {
        let length = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// The id to answer under.
pub(super) fn id_of(message: &Message) -> Id {
    message.id().unwrap_or_else(|| Id::number(0))
}
