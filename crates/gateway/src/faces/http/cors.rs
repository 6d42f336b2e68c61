//! Web pages of other origins: browsers ask first whether they may talk to us, and
//! show them our answers only where we say so. We do for origins that were named.

use super::{Face, body::Body, reply};
use http::{HeaderMap, HeaderValue, Method as Verb, Request, Response, StatusCode, header};
use hyper::body::Incoming;

/// How long a browser may remember our yes, in seconds.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");
/// What it may send us, where it does not say what it wants to.
const SENT: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name",
);
/// What a page may read of our answers besides what it always may.
const READ: HeaderValue =
    HeaderValue::from_static("mcp-session-id, mcp-protocol-version, www-authenticate, retry-after");
const VERBS: HeaderValue = HeaderValue::from_static("POST, GET, DELETE");
/// Asked where a page of the internet reaches for this machine.
const NEAR: (&str, &str) = (
    "access-control-request-private-network",
    "access-control-allow-private-network",
);

/// The origin of the page that asks, if it was named.
pub(super) fn page(face: &Face, headers: &HeaderMap) -> Option<HeaderValue> {
    let named = &face.entrance.door().origins;
    if named.is_empty() {
        return None;
    }
    let origin = headers.get(header::ORIGIN)?;
    let text = origin.to_str().ok()?;
    let is_this = |named: &String| named.eq_ignore_ascii_case(text);
    named.iter().any(is_this).then(|| origin.clone())
}

/// The answer to a browser that asks whether a page of a named origin may talk to us;
/// `None` where this is no such question.
pub(super) fn preflight(face: &Face, request: &Request<Incoming>) -> Option<Response<Body>> {
    let headers = request.headers();
    let asks = headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if request.method() != Verb::OPTIONS || !asks {
        return None;
    }
    page(face, headers)?;
    let mut answer = reply::status(StatusCode::NO_CONTENT);
    let said = answer.headers_mut();
    said.insert(header::ACCESS_CONTROL_ALLOW_METHODS, VERBS);
    let wanted = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    said.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.unwrap_or(SENT));
    said.insert(header::ACCESS_CONTROL_MAX_AGE, REMEMBERED);
    if headers.contains_key(NEAR.0) {
        said.insert(NEAR.1, HeaderValue::from_static("true"));
    }
    Some(answer)
}

/// Lets a page of this origin read an answer.
pub(super) fn let_read(answer: &mut Response<Body>, page: HeaderValue) {
    let said = answer.headers_mut();
    said.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page);
    said.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, READ);
    said.append(header::VARY, HeaderValue::from_static("origin"));
}
