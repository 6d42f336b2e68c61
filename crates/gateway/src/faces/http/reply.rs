//! Responses that are not streams.

use super::body::{Body, Coming};
use crate::door::Refused;
use http::{HeaderValue, Response, StatusCode, header};
use std::borrow::Cow;
use switchboard_host::{CallError, Full};
use switchboard_wire::{ErrorObject, Id, Payload, code};

/// A response that ends a request before anything was done about it.
pub(super) type Refusal = Box<Response<Body>>;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// A JSON body.
pub(super) fn json(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

/// A JSON-RPC error.
pub(super) fn error(status: StatusCode, error: &ErrorObject, id: Option<&Id>) -> Response<Body> {
    json(status, error.response(id))
}

/// The session that a legacy client names has ended, or never was. In the words
/// that clients look for before they shake hands again.
pub(super) fn session_not_found(id: Option<&Id>) -> Response<Body> {
    let fault = ErrorObject::new(code::SESSION_NOT_FOUND, "Session not found");
    error(StatusCode::NOT_FOUND, &fault, id)
}

/// A fault of ours ended the request.
pub(super) fn broke_off(id: Option<&Id>) -> Response<Body> {
    let fault = CallError::broke_off().to_error();
    error(StatusCode::INTERNAL_SERVER_ERROR, &fault, id)
}

/// Nothing to say, and that is fine.
pub(super) fn accepted() -> Response<Body> {
    status(StatusCode::ACCEPTED)
}

/// A bare status.
pub(super) fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// A short text.
pub(super) fn plain(status: StatusCode, text: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from(Payload::from(text.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    response
}

/// A page of text.
pub(super) fn page(content_type: &'static str, text: impl Into<Payload>) -> Response<Body> {
    typed(content_type, Body::from(text.into()))
}

/// The same as it is made.
pub(super) fn pieces(content_type: &'static str, pieces: Coming) -> Response<Body> {
    typed(content_type, Body::Stream(pieces))
}

fn typed(content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// No token, or a wrong one.
pub(super) fn unauthorized(refused: &Refused) -> Response<Body> {
    let mut response = plain(refused.status, format!("{}\n", why(refused)));
    if let Ok(challenge) = HeaderValue::try_from(&refused.challenge) {
        response
            .headers_mut()
            .insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

/// Why somebody may not come in, in words.
pub(super) fn why(refused: &Refused) -> Cow<'static, str> {
    let text = match (refused.status, refused.why) {
        (StatusCode::SERVICE_UNAVAILABLE, _) => {
            "who you are cannot be found out just now; try again"
        }
        (StatusCode::FORBIDDEN, _) => "your token does not allow this",
        (_, Some(why)) => return format!("this client token is not accepted: {why}").into(),
        _ if refused.shown => {
            "this client token is not accepted: it is wrong, or was revoked or replaced; switchboard token list shows those that are"
        }
        _ => "a client token is needed: Authorization: Bearer …",
    };
    text.into()
}

/// A verb that this path does not have.
pub(super) fn method_not_allowed() -> Response<Body> {
    not_allowed("POST, GET, DELETE")
}

/// The same, with the verbs that it does have.
pub(super) fn not_allowed(allowed: &'static str) -> Response<Body> {
    let mut response = status(StatusCode::METHOD_NOT_ALLOWED);
    response
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

/// A session that may be there and cannot be had at this moment. Never 404: its client
/// would throw it away.
pub(super) fn not_now(id: Option<&Id>) -> Response<Body> {
    unavailable(
        "this session cannot be brought back just now; try again",
        id,
    )
}

/// A session would end with this replica, and none may begin that does.
pub(super) fn no_session_now(id: Option<&Id>) -> Response<Body> {
    let text =
        "sessions cannot be shared just now, and none is opened at one replica alone; try again";
    unavailable(text, id)
}

fn unavailable(text: &'static str, id: Option<&Id>) -> Response<Body> {
    let fault = ErrorObject::new(code::INTERNAL, text);
    let mut response = error(StatusCode::SERVICE_UNAVAILABLE, &fault, id);
    let again = HeaderValue::from_static("1");
    response.headers_mut().insert(header::RETRY_AFTER, again);
    response
}

/// There are too many of something; which, and whose limit it is, is said.
pub(super) fn full(full: &Full, id: Option<&Id>) -> Response<Body> {
    let fault = ErrorObject::new(code::INTERNAL, full.to_string());
    let mut response = error(StatusCode::SERVICE_UNAVAILABLE, &fault, id);
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}
