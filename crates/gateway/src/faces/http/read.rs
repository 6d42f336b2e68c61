//! POST: reading the body, and what must be right before that.

use super::{
    Face,
    accept::{Accepts, not_acceptable},
    body::Body,
    clock::Clock,
    reply::{self, Refusal},
    routes,
};
use crate::{admission::Admission, limits};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header, request::Parts};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::sync::Arc;
use switchboard_host::{Full, Scope, observe::Trace};
use switchboard_tasks as tasks;
use switchboard_transport::{
    Share,
    limits::{COPIED_BYTES, COUNTED_BYTES},
};
use switchboard_wire::{
    ErrorObject, Id, Kind, Message, Received, code, limits::MESSAGE_BYTES, meta, trace::Carried,
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
    /// The time of whoever waits for the answer.
    pub clock: Clock,
}

impl Post {
    /// What its headers say about the trace that it is a part of, where somebody wants
    /// to know.
    pub(super) fn trace(&self) -> Trace {
        trace(&self.face, &self.headers)
    }

    /// Waits for room in its principal's share; why there is none, if that takes
    /// too long. What lets go of bytes, as an answer or a cancellation can, is
    /// taken in any case; a large request has waited while it was read.
    pub(super) async fn waits_in_vain(&self, message: &Message) -> Option<Full> {
        let share = self.admission.share();
        let waits = !share.has_room()
            && message.kind() == Kind::Request
            && message.raw().len() < COUNTED_BYTES;
        match waits {
            true => Box::pin(share.room()).await.err(),
            false => None,
        }
    }
}

/// What headers say about the trace that a request is a part of, where somebody wants to
/// know.
pub(super) fn trace(face: &Face, headers: &HeaderMap) -> Trace {
    match face.gateway.host().wants_traces() {
        true => Trace::beside(carried(headers)),
        false => Trace::default(),
    }
}

/// What headers say about a trace. One that stands there twice says nothing; a state
/// may come in pieces.
#[cold]
fn carried(headers: &HeaderMap) -> Carried {
    let texts = |name: &'static str| {
        let all = headers.get_all(name).iter();
        let all: Option<Vec<&str>> = all.map(|value| value.to_str().ok()).collect();
        all.filter(|all| !all.is_empty())
    };
    let parent = texts(meta::TRACEPARENT).filter(|all| all.len() == 1);
    let parent = parent.map(|all| all.concat());
    let state = texts(meta::TRACESTATE).map(|all| all.join(","));
    let baggage = texts(meta::BAGGAGE).map(|all| all.join(","));
    Carried::read(parent.as_deref(), state.as_deref(), baggage.as_deref())
}

/// Reads what was posted to `/mcp`, if it is in a form that we take.
pub(super) async fn post(
    face: Arc<Face>,
    scope: Scope,
    admission: Admission,
    clock: Clock,
    request: Request<Incoming>,
) -> Result<(Post, Received), Refusal> {
    let (head, mut body) = request.into_parts();
    let accepts = accepts(&head.headers)?;
    let bytes = match read(&mut body, admission.share()).await {
        Ok(bytes) => bytes,
        Err(unread) => return Err(unread.refusal(body)),
    };
    parsed(face, scope, admission, clock, (head, accepts), bytes)
}

/// What form the answer may have, if the request has a form that we take.
pub(super) fn accepts(headers: &HeaderMap) -> Result<Accepts, Refusal> {
    if !is_json(headers) {
        let text = "Content-Type must be application/json";
        let unread = Unread::Bad(StatusCode::UNSUPPORTED_MEDIA_TYPE, text);
        return Err(Box::new(unread.response()));
    }
    Accepts::of(headers).ok_or_else(|| {
        let text = "application/json or text/event-stream";
        Box::new(not_acceptable(text))
    })
}

/// What a body says.
pub(super) fn parsed(
    face: Arc<Face>,
    scope: Scope,
    admission: Admission,
    clock: Clock,
    (head, accepts): (Parts, Accepts),
    bytes: Bytes,
) -> Result<(Post, Received), Refusal> {
    let Parts { uri, headers, .. } = head;
    let received = Received::parse(bytes).map_err(|fault| {
        let error = fault.to_error();
        Box::new(reply::error(StatusCode::BAD_REQUEST, &error, fault.id()))
    })?;
    let post = Post {
        face,
        scope,
        admission,
        key: routes::client_key(uri.path(), &headers),
        headers,
        accepts,
        clock,
    };
    Ok((post, received))
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let value = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let kind = value.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

/// Why there is no body.
pub(super) enum Unread {
    /// Something is wrong with it.
    Bad(StatusCode, &'static str),
    /// There is no room for it.
    Full(Full),
}

impl Unread {
    /// The same as an answer. What is left of the body is read away, where that helps.
    pub(super) fn refusal(self, body: Incoming) -> Refusal {
        if !matches!(self, Self::Bad(status, _) if status != StatusCode::PAYLOAD_TOO_LARGE) {
            tasks::spawn(tasks::Kind::Background, discard(body));
        }
        Box::new(self.response())
    }

    fn response(&self) -> Response<Body> {
        match self {
            Self::Bad(status, text) => reply::error(
                *status,
                &ErrorObject::new(code::INVALID_REQUEST, *text),
                None,
            ),
            Self::Full(full) => reply::full(full, None),
        }
    }
}

const TOO_LARGE: Unread = Unread::Bad(StatusCode::PAYLOAD_TOO_LARGE, "the message is too large");

/// The whole body, within size and time.
pub(super) async fn read(body: &mut Incoming, share: &Share) -> Result<Bytes, Unread> {
    let announced = http_body::Body::size_hint(body).lower();
    if announced > MESSAGE_BYTES as u64 {
        return Err(TOO_LARGE);
    }
    let first = next(body).await?.unwrap_or_default();
    if first.len() < COUNTED_BYTES {
        // Most messages come in one piece.
        match next(body).await? {
            None if first.len() < COPIED_BYTES => Ok(Bytes::copy_from_slice(&first)),
            None => Ok(first),
            Some(second) => Box::pin(rest(body, announced, first, second, share)).await,
        }
    } else {
        Box::pin(rest(body, announced, first, Bytes::new(), share)).await
    }
}

/// A body that is large, or comes in pieces. Its bytes count as they arrive.
async fn rest(
    body: &mut Incoming,
    announced: u64,
    first: Bytes,
    second: Bytes,
    share: &Share,
) -> Result<Bytes, Unread> {
    let mut charge = share.charge();
    let announced = usize::try_from(announced).unwrap_or(0);
    if announced >= COUNTED_BYTES {
        // At once: of many that begin together some then come to their end.
        charge.grow_to(announced).await.map_err(Unread::Full)?;
    }
    // What is not filled takes no memory.
    let mut all = Vec::with_capacity(announced.max(first.len() + second.len()));
    let mut piece = Some(first);
    let mut following = Some(second);
    while let Some(data) = piece {
        let length = all.len() + data.len();
        if length > MESSAGE_BYTES {
            return Err(TOO_LARGE);
        }
        if length >= COUNTED_BYTES {
            charge.grow_to(length).await.map_err(Unread::Full)?;
        }
        all.extend_from_slice(&data);
        drop(data);
        piece = match following.take() {
            Some(second) => Some(second),
            None => next(body).await?,
        };
    }
    if all.len() < COUNTED_BYTES {
        return Ok(Bytes::from(all));
    }
    all.shrink_to_fit();
    Ok(charge.hold(all))
}

/// The next piece of a body that has anything in it; `None` at its end.
async fn next(body: &mut Incoming) -> Result<Option<Bytes>, Unread> {
    loop {
        let frame = timeout(limits::BODY_IDLE, body.frame()).await;
        let late = |_| {
            let text = "the body did not arrive in time";
            Unread::Bad(StatusCode::REQUEST_TIMEOUT, text)
        };
        let Some(frame) = frame.map_err(late)? else {
            return Ok(None);
        };
        let broken = |_| Unread::Bad(StatusCode::BAD_REQUEST, "the body could not be read");
        if let Ok(data) = frame.map_err(broken)?.into_data()
            && !data.is_empty()
        {
            return Ok(Some(data));
        }
    }
}

/// A whole body of at most so many bytes. What is longer is read away, within limits.
pub(super) async fn bounded(
    mut body: Incoming,
    most: usize,
) -> Result<Bytes, (StatusCode, &'static str)> {
    const TOO_LONG: (StatusCode, &str) = (StatusCode::PAYLOAD_TOO_LARGE, "the body is too large");
    let mut all = Vec::new();
    let is_too_long = http_body::Body::size_hint(&body).lower() > most as u64;
    let read = async {
        if is_too_long {
            return Err(TOO_LONG);
        }
        loop {
            match next(&mut body).await {
                Ok(Some(piece)) if all.len() + piece.len() > most => return Err(TOO_LONG),
                Ok(Some(piece)) => all.extend_from_slice(&piece),
                Ok(None) => return Ok(()),
                Err(Unread::Bad(status, text)) => return Err((status, text)),
                Err(Unread::Full(_)) => return Err(TOO_LONG),
            }
        }
    };
    let read = read.await;
    match read {
        Ok(()) => Ok(Bytes::from(all)),
        Err(why) => {
            tasks::spawn(tasks::Kind::Background, discard(body));
            Err(why)
        }
    }
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
