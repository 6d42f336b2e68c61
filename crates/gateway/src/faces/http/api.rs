//! `/api/…`: only with the control token, whatever else the door lets in.

use super::{
    Face,
    body::Body,
    reply::{self, Refusal},
};
use crate::{
    control::ControlAccess,
    door::{self, Refused},
};
use http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use std::sync::atomic::Ordering;
use switchboard_wire::Payload;

/// What its paths begin with.
pub(super) const PREFIX: &str = "/api/";

/// Where what is counted is read.
pub(super) const METRICS: &str = "/metrics";

/// Lets in whoever shows the control token.
pub(super) async fn let_in<'a>(
    face: &'a Face,
    request: &Request<Incoming>,
) -> Result<&'a ControlAccess, Refusal> {
    let Some(access) = face.gateway.control() else {
        let text = "this gateway cannot be controlled\n";
        return Err(Box::new(reply::plain(StatusCode::NOT_FOUND, text)));
    };
    if !door::shows(request.headers(), &access.token) {
        face.gateway.refused.fetch_add(1, Ordering::Relaxed);
        let door = face.entrance.door();
        door.count_wrong_token(request.headers()).await;
        let refused = Refused {
            status: StatusCode::UNAUTHORIZED,
            challenge: "Bearer realm=\"switchboard control\"".to_owned(),
            // What opens it is not for clients to know.
            shown: false,
        };
        return Err(Box::new(reply::unauthorized(&refused)));
    }
    Ok(access)
}

/// Answers. Bodies are not read: the path says it all.
pub(super) async fn answer(
    face: &Face,
    access: &ControlAccess,
    request: &Request<Incoming>,
) -> Response<Body> {
    let path = request.uri().path();
    if path == METRICS {
        return metrics(face, request).await;
    }
    let path = path.strip_prefix(PREFIX).unwrap_or(path);
    let answer = access.control.answer(request.method(), path).await;
    reply::json(answer.status, Payload::from(answer.json))
}

/// The page that Prometheus reads.
pub(super) async fn metrics(face: &Face, request: &Request<Incoming>) -> Response<Body> {
    let accept = request.headers().get(header::ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    let written = match face.gateway.control() {
        Some(access) => {
            let here = face.gateway.counts();
            access.control.metrics(accept, here).await
        }
        None => None,
    };
    let Some(written) = written else {
        return reply::plain(StatusCode::NOT_FOUND, "nothing is counted here\n");
    };
    reply::page(written.content_type, written.text)
}
