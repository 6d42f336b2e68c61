//! The stateless era over HTTP: headers that must agree with the body, an
//! answer as JSON or as events, and a closed stream as the sign to stop.

use super::{
    accept::{Accepts, not_acceptable},
    body::Body,
    read::{Post, id_of},
    reply, spool,
};
use crate::{
    admission::{Admission, Ended},
    limits,
    session::modern::{self, Answer, Begun, Relayed, Request, Step},
};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use std::{io, sync::Arc};
use switchboard_host::CallError;
use switchboard_tasks as tasks;
use switchboard_transport::{Share, http::sse::encode_event};
use switchboard_wire::{
    ErrorObject, Id, Kind, Message, Method, Params, Payload, code, header as mirror,
};
use tokio::time::{Instant, sleep_until, timeout};

/// The name of every event. It is the one that events without a name have; some
/// clients look for it all the same.
pub(super) const MESSAGE: &str = "message";

/// One message of a modern client.
pub(super) async fn post(post: Post, message: Message, params: Params) -> Response<Body> {
    if message.kind() == Kind::Notification {
        // The revision has none from client to server over HTTP.
        return reply::accepted();
    }
    let id = id_of(&message);
    if let Err(error) = check(&post.headers, &message, &params) {
        return reply::error(StatusCode::BAD_REQUEST, &error, Some(&id));
    }
    if message.method() == Method::Listen && post.accepts == Accepts::Json {
        return not_acceptable("text/event-stream");
    }
    let (face, admission, accepts) = (post.face.clone(), post.admission.clone(), post.accepts);
    match modern::begin(&face.gateway, request(post, message, params)).await {
        Begun::Answer(answer) => whole(answer, accepts, admission.share()).await,
        Begun::Exchange(relayed) if accepts == Accepts::Json => {
            tokio::select! {
                answer = alone(relayed) => whole(answer, accepts, admission.share()).await,
                _ = admission.withdrawn() => reply::status(StatusCode::UNAUTHORIZED),
            }
        }
        Begun::Exchange(mut relayed) => {
            match timeout(limits::MODERN_PLAIN_ANSWER, relayed.next()).await {
                Ok(Step::Done(answer)) => whole(answer, accepts, admission.share()).await,
                Ok(Step::Notice(notice)) => relay(relayed, Some(notice), admission, id),
                Err(_) => relay(relayed, None, admission, id),
            }
        }
        Begun::Listen(listen) => {
            let events = stream::unfold(Some((listen, admission)), move |state| {
                let broke_off = CallError::broke_off().to_error().response(Some(&id));
                async move {
                    let (mut listen, admission) = state?;
                    tokio::select! {
                        payload = tasks::caught(tasks::Kind::Stream, listen.next()) => Some(match payload {
                            Ok(payload) => (event(payload), Some((listen, admission))),
                            Err(_) => (event(broke_off), None),
                        }),
                        _ = admission.ended() => Some((event(listen.farewell()), None)),
                        () = tokio::time::sleep(limits::KEEP_ALIVE) => Some((alive(), Some((listen, admission)))),
                    }
                }
            });
            event_stream(Body::Stream(Box::pin(events)))
        }
    }
}

/// The request. With it ends the head that it came with, and the buffer that
/// was read into.
fn request(post: Post, message: Message, params: Params) -> Box<Request> {
    Box::new(Request {
        scope: post.scope,
        admission: post.admission,
        key: post.key,
        headers: Some(param_headers(&post.headers)),
        shared_credential: post.face.has_several_principals(),
        message,
        params,
    })
}

/// Everything that must be right before a server hears of the request, in the order in which it is told.
fn check(headers: &HeaderMap, message: &Message, params: &Params) -> Result<(), ErrorObject> {
    if let Some(body) = Params::text(message, params.protocol_version, "protocolVersion")? {
        agree(headers, "mcp-protocol-version", &body, false)?;
    }
    modern::check(message, params)?;
    agree(headers, "mcp-method", &message.method_name(), false)?;
    // Only where a header repeats it: a method that this era has not is told so
    // first, whatever it names.
    if message.method().name_header_field().is_some()
        && let Some(name) = params.named(message)?.0.text()
    {
        agree(headers, "mcp-name", name, true)?;
    }
    Ok(())
}

/// Whether a header is there, once, and says what the body says.
fn agree(headers: &HeaderMap, name: &str, body: &str, encoded: bool) -> Result<(), ErrorObject> {
    let mismatch = |text: String| {
        Err(ErrorObject::new(
            code::HEADER_MISMATCH,
            format!("Header mismatch: {name} {text}"),
        ))
    };
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return mismatch("is missing".into());
    };
    if values.next().is_some() {
        return mismatch("is there more than once".into());
    }
    let said = if encoded {
        mirror::decode(value.as_bytes())
    } else {
        value.to_str().ok().map(std::borrow::Cow::Borrowed)
    };
    match said {
        Some(said) if said == body => Ok(()),
        Some(said) => mismatch(format!("says {said:.80?} where the body says {body:.80?}")),
        None => mismatch("cannot be decoded".into()),
    }
}

fn param_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let params = headers.iter().filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix(mirror::PARAM_PREFIX)?;
        Some((
            name.to_owned(),
            String::from_utf8_lossy(value.as_bytes()).into_owned(),
        ))
    });
    params.collect()
}

/// The answer, however long it takes, without what comes before it.
async fn alone(mut relayed: Box<Relayed>) -> Answer {
    loop {
        if let Step::Done(answer) = relayed.next().await {
            return answer;
        }
    }
}

/// An answer that came alone, with the status that its error asks for. One that
/// is refused is JSON for everybody.
async fn whole(answer: Answer, accepts: Accepts, share: &Share) -> Response<Body> {
    let status = match answer.code {
        Some(code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_VERSION) => {
            StatusCode::BAD_REQUEST
        }
        Some(code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        _ if accepts == Accepts::Events => return one_event(answer.payload),
        _ => StatusCode::OK,
    };
    reply::json(status, spool::body(answer.payload, share).await)
}

/// The rest of an answer as events. Dropping the body drops the request, which
/// cancels it; so does the end of the client's admission.
fn relay(
    relayed: Box<Relayed>,
    first: Option<Payload>,
    admission: Admission,
    id: Id,
) -> Response<Body> {
    let ending = Arc::new((admission, id));
    let events = stream::unfold((Some(relayed), first), move |(relayed, first)| {
        let ending = ending.clone();
        async move {
            let (admission, id) = &*ending;
            let mut relayed = relayed?;
            if let Some(notice) = first {
                return Some((event(notice), (Some(relayed), None)));
            }
            let quiet = sleep_until(Instant::now() + limits::KEEP_ALIVE);
            tokio::select! {
                step = tasks::caught(tasks::Kind::Stream, relayed.next()) => Some(match step {
                    Ok(Step::Notice(notice)) => (event(notice), (Some(relayed), None)),
                    Ok(Step::Done(answer)) => (event(answer.payload), (None, None)),
                    Err(_) => {
                        let error = CallError::broke_off().to_error().response(Some(id));
                        (event(error), (None, None))
                    }
                }),
                ended = admission.withdrawn() => Some((event(over(ended, id)), (None, None))),
                () = quiet => Some((alive(), (Some(relayed), None))),
            }
        }
    });
    event_stream(Body::Stream(Box::pin(events)))
}

/// The last answer to somebody who may not have any other.
fn over(ended: Ended, id: &Id) -> Payload {
    ErrorObject::new(code::INVALID_REQUEST, ended.as_str()).response(Some(id))
}

/// A message as a stream that ends with it.
pub(super) fn one_event(payload: Payload) -> Response<Body> {
    event_stream(Body::from(encode_event(None, Some(MESSAGE), payload)))
}

/// A response that is a stream of events.
pub(super) fn event_stream(body: Body) -> Response<Body> {
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

fn event(payload: Payload) -> io::Result<Bytes> {
    Ok(encode_event(None, Some(MESSAGE), payload).into_bytes())
}

fn alive() -> io::Result<Bytes> {
    Ok(Bytes::from_static(b": alive\n\n"))
}
