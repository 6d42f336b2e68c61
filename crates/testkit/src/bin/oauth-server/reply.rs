//! Answers.

use http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};
use switchboard_testkit::serve::{self, ReplyBody};

pub type Body = ReplyBody;

pub fn json_reply(status: u16, value: &Value) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = serve::json(status, ReplyBody::full(value.to_string()));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// An OAuth error (RFC 6749 §5.2).
pub fn oauth_error(status: u16, error: &str, description: &str) -> Response<Body> {
    json_reply(
        status,
        &json!({"error": error, "error_description": description}),
    )
}

pub fn not_found() -> Response<Body> {
    json_reply(404, &json!({"error": "not_found"}))
}

pub fn redirect(status: u16, location: &str) -> Response<Body> {
    with_header(
        serve::status(StatusCode::from_u16(status).unwrap_or(StatusCode::FOUND)),
        "location",
        location,
    )
}

pub fn with_header(
    mut response: Response<Body>,
    name: &'static str,
    value: &str,
) -> Response<Body> {
    if let Ok(value) = HeaderValue::try_from(value) {
        response.headers_mut().append(name, value);
    }
    response
}

pub fn text(status: u16, kind: &'static str, text: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut response = Response::new(ReplyBody::full(text));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
