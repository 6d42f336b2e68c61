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
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use switchboard_wire::Payload;

/// What its paths begin with.
pub(super) const PREFIX: &str = "/api/";

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
pub(super) async fn answer(access: &ControlAccess, request: &Request<Incoming>) -> Response<Body> {
    let path = request.uri().path();
    let path = path.strip_prefix(PREFIX).unwrap_or(path);
    let answer = access.control.answer(request.method(), path).await;
    reply::json(answer.status, Payload::from(answer.json))
}
