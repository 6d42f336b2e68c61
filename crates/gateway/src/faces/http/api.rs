//! `/api/…`: only with the control token, whatever else the door lets in.

use super::{Face, body::Body, reply};
use crate::door::{self, Refused};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use switchboard_wire::Payload;

/// Answers if the token is right. Bodies are not read: the path says it all.
pub(super) async fn handle(face: &Face, request: &Request<Incoming>, path: &str) -> Response<Body> {
    let Some(desk) = face.gateway.control() else {
        return reply::plain(StatusCode::NOT_FOUND, "this gateway cannot be controlled\n");
    };
    if !door::shows(request.headers(), &desk.token) {
        let door = face.entrance.door();
        door.count_wrong_token(request.headers()).await;
        let refused = Refused {
            status: StatusCode::UNAUTHORIZED,
            challenge: "Bearer realm=\"switchboard control\"".to_owned(),
        };
        return reply::unauthorized(&refused);
    }
    let answer = desk.control.answer(request.method(), path).await;
    reply::json(answer.status, Payload::from(answer.json))
}
