//! The begin of a session over HTTP.

use super::{
    accept::Accepts,
    adopt,
    body::Body,
    event_stream::one_event,
    events::EventLog,
    handshake_era::{SESSION, events, path_of},
    read::{Post, id_of},
    reply,
    sessions::{Held, OnDisk, random_id},
};
use crate::{
    limits,
    session::{Outlet, Weight, legacy::Session},
};
use http::{HeaderValue, Response, StatusCode};
use switchboard_host::Full;
use switchboard_transport::Whose;
use switchboard_wire::Message;

/// Answers `initialize`: a new session, if there is room for it.
pub(super) async fn initialize(post: Post, message: Message) -> Response<Body> {
    // Before anything is started for it.
    let place = match adopt::place(&post.face, &post.admission) {
        Ok(place) => place,
        Err(full) => return reply::full(&full, Some(&id_of(&message))),
    };
    let (keeping, principal) = (post.face.gateway.keeping(), post.admission.principal());
    if let Some(keeping) = keeping
        && keeping.is_full(principal).await
    {
        return reply::full(&too_many_kept(), Some(&id_of(&message)));
    }
    let cluster = post.face.gateway.cluster();
    let strict = cluster.filter(|cluster| cluster.is_strict());
    if strict.is_some_and(|cluster| !cluster.is_reached()) {
        return reply::no_session_now(Some(&id_of(&message)));
    }
    let general = EventLog::new(0, post.admission.share().clone());
    let opened = Session::open(
        post.face.gateway.clone(),
        post.scope.clone(),
        &post.admission,
        &message,
        general.clone(),
        false,
        post.face.announcement(),
    );
    match opened.await {
        Ok((session, payload)) => {
            let id = cluster.map_or_else(random_id, |cluster| cluster.new_session());
            let path = path_of(&post.scope);
            // It is on disk before its client knows of it.
            let hold = match keeping {
                Some(keeping) => keeping.begin(&id, principal, path, &message).await,
                None => None,
            };
            if strict.is_some() && hold.is_none() {
                session.close();
                return reply::no_session_now(Some(&id_of(&message)));
            }
            let held = Held::new(
                session.clone(),
                general,
                post.admission.clone(),
                place,
                (hold.map(OnDisk::new), 0),
            );
            let log = held.log();
            let as_events = post.accepts == Accepts::Events;
            if as_events {
                held.keep(&log);
            }
            let Ok(header) = HeaderValue::try_from(&id) else {
                session.close();
                return reply::broke_off(None);
            };
            post.face.sessions.add(id, held);
            let mut response = if as_events {
                log.send(payload, Weight::Reply);
                log.finish();
                let prime = session.client().revision.has_priming_events();
                events(&log, None, prime, post.admission)
            } else {
                reply::json(StatusCode::OK, payload)
            };
            response.headers_mut().insert(SESSION, header);
            response
        }
        Err(fault) => {
            let error = fault.to_error().response(Some(&id_of(&message)));
            match post.accepts {
                Accepts::Events => one_event(error),
                Accepts::Either | Accepts::Json => reply::json(StatusCode::OK, error),
            }
        }
    }
}

fn too_many_kept() -> Full {
    Full {
        what: "sessions",
        limit: usize::try_from(limits::SESSIONS_KEPT).unwrap_or(usize::MAX),
        whose: Whose::Principal,
    }
}
