//! Requests that change what is kept of a session, and the one that ends it.

use super::{
    Face, adopt,
    body::Body,
    handshake_era::{Refusal, Running, SESSION, path_of},
    read::Post,
    reply,
    sessions::Held,
};
use crate::{admission::Admission, session::legacy::Answered};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use std::sync::Arc;
use switchboard_host::Scope;
use switchboard_wire::{ErrorObject, Id, Method, Payload, code};

/// Whether what is kept of a session is another one afterwards.
pub(super) fn changes_what_is_kept(method: Method) -> bool {
    matches!(
        method,
        Method::SetLevel | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe
    )
}

/// The answer to what changes a session is given when the change is on disk. Where
/// another replica has the session by now, what is here ends, and the client is told.
pub(super) fn noted(
    post: &Post,
    held: Arc<Held>,
    asked_by: Option<Id>,
    asked: impl Future<Output = Option<Payload>> + Send + 'static,
) -> Running {
    let face = post.face.clone();
    let session = post.headers.get(&SESSION).cloned();
    Box::pin(async move {
        let answer = asked.await;
        let Some(on_disk) = &held.on_disk else {
            return answer.map(Answered::Whole);
        };
        let (level, subscriptions) = held.session.wanted();
        if on_disk.hold.wants(level, subscriptions).await {
            return answer.map(Answered::Whole);
        }
        if let Some(session) = session.as_ref().and_then(|id| id.to_str().ok()) {
            face.sessions.give_up(session, &held);
            tracing::info!("a session that another replica has now ended here");
        }
        let text = "another replica has this session now: send this again";
        let moved = |id: &Id| ErrorObject::new(code::INTERNAL, text).response(Some(id));
        let told = asked_by.as_ref().map(moved).or(answer);
        told.map(Answered::Whole)
    })
}

/// Ends a session, where that is ours to do.
pub(super) async fn delete(
    face: &Face,
    scope: &Scope,
    admission: &Admission,
    request: &Request<Incoming>,
) -> Result<Response<Body>, Refusal> {
    let Some(id) = request
        .headers()
        .get(&SESSION)
        .and_then(|value| value.to_str().ok())
    else {
        return Ok(reply::method_not_allowed());
    };
    let here = face.sessions.get(id, admission.principal(), path_of(scope));
    let held = match here {
        Some(held) => Ok(held),
        None => adopt::adopt(face, scope, admission, id).await,
    };
    let held = held?;
    let keeping = face.gateway.keeping();
    match face.sessions.remove(id, &held, keeping).await {
        Some(owner) => Err(Refusal::Elsewhere(owner)),
        None => Ok(reply::status(StatusCode::OK)),
    }
}
