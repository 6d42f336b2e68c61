//! The page that a browser shows. It is for everybody who reaches us, after `Host` and
//! `Origin`: it holds no data, and sets no cookie.

use super::{Face, body::Body, reply};
use crate::pages::Page;
use http::{HeaderName, HeaderValue, Method as Verb, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use switchboard_wire::Payload;

/// What every file is sent with: nobody frames it, guesses what it is, or hears from
/// where somebody came.
const SAID: [(HeaderName, HeaderValue); 7] = [
    (
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, private"),
    ),
    (header::VARY, HeaderValue::from_static("accept-encoding")),
    (
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    ),
    (
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    ),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    ),
    (
        HeaderName::from_static("permissions-policy"),
        HeaderValue::from_static("camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ),
];

/// What the paths begin with of pages that are served once.
pub(super) const ONCE: &str = "/app/";

/// The file at the request's path; `None` where there is none.
pub(super) fn answer(face: &Face, request: &Request<Incoming>) -> Option<Response<Body>> {
    let accepted = request.headers().get(header::ACCEPT_ENCODING);
    let accepted = accepted.and_then(|accepted| accepted.to_str().ok());
    let takes_gzip = accepted.is_some_and(|accepted| accepted.contains("gzip"));
    let pages = face.gateway.pages()?;
    let page = pages.find(request.uri().path(), takes_gzip)?;
    let tag = HeaderValue::try_from(&page.tag).ok()?;
    let policy = HeaderValue::try_from(&page.policy).ok()?;
    let is_known = request.headers().get(header::IF_NONE_MATCH) == Some(&tag);
    let mut answer = match is_known {
        true => reply::status(StatusCode::NOT_MODIFIED),
        false => whole(&page, request),
    };
    let said = answer.headers_mut();
    for (name, value) in SAID {
        said.insert(name, value);
    }
    if request.uri().path().starts_with(ONCE) {
        let once = HeaderValue::from_static("no-store");
        said.insert(header::CACHE_CONTROL, once);
    }
    said.insert(header::ETAG, tag);
    said.insert(header::CONTENT_SECURITY_POLICY, policy);
    Some(answer)
}

fn whole(page: &Page, request: &Request<Incoming>) -> Response<Body> {
    let body = match *request.method() == Verb::HEAD {
        true => Body::empty(),
        false => Body::from(Payload::from(page.bytes.clone())),
    };
    let mut answer = Response::new(body);
    let said = answer.headers_mut();
    let kind = HeaderValue::from_static(page.content_type);
    said.insert(header::CONTENT_TYPE, kind);
    if page.gzipped {
        said.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    answer
}
