//! HTTP+SSE, as clients spoke it before 2025-03-26: everything comes on one
//! event stream, whose first event says where messages go.

use super::{
    Face,
    accept::{Accepts, not_acceptable},
    body::Body,
    event_stream::{self, ALIVE},
    mailbox::Mailbox,
    read::{Unread, is_json, read},
    reply,
    sessions::random_id,
};
use crate::{
    admission::{Admission, Ended},
    faces::{
        backlog::Backlog,
        conversation::{ClientTerms, Conversation},
    },
    limits,
};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use parking_lot::RwLock;
use std::{collections::HashMap, sync::Arc};
use switchboard_host::{Full, Scope};
use switchboard_tasks as tasks;
use switchboard_wire::{ErrorObject, Payload, Received, code};
use tokio::sync::mpsc::{self, error::TrySendError};
use tokio_util::sync::CancellationToken;

/// The streams that are open, by session id.
#[derive(Default)]
pub(super) struct Streams(RwLock<HashMap<String, Open>>);

struct Open {
    principal: Arc<str>,
    /// What the client posted and nobody has looked at yet, in its order.
    posted: mpsc::Sender<Received>,
}

/// Opens a stream: GET `/sse`.
pub(super) fn open(
    face: &Arc<Face>,
    scope: Scope,
    admission: Admission,
    request: &Request<Incoming>,
) -> Response<Body> {
    if !Accepts::events(request.headers()) {
        return not_acceptable("text/event-stream");
    }
    let (posted, incoming) = mpsc::channel(limits::POSTED);
    let id = random_id();
    let several = face.has_several_principals();
    let place = match face.held.take(admission.principal(), several) {
        Ok(place) => place,
        Err(full) => return reply::full(&full, None),
    };
    face.streams.0.write().insert(
        id.clone(),
        Open {
            principal: admission.principal().clone(),
            posted,
        },
    );
    let mailbox = Arc::new(Mailbox::new(admission.share()));
    mailbox.add(Payload::from(format!(
        "event: endpoint\ndata: /messages?sessionId={id}\n\n"
    )));
    let gone = CancellationToken::new();
    let body = mailbox.read(gone.clone().drop_guard());
    let terms = ClientTerms {
        scope,
        admission: admission.clone(),
        own_servers: false,
        shared_credential: false,
        modern: false,
        announcement: face.announcement(),
    };
    let outlet = Backlog::of(mailbox.clone(), admission.share());
    let client = Conversation::new(face.gateway.clone(), terms, outlet);
    let owner = face.clone();
    tasks::spawn_in(&face.tasks, tasks::Kind::Connection, async move {
        let serving = converse(&client, incoming, &gone, &admission);
        let _ = tasks::caught(tasks::Kind::Conversation, serving).await;
        client.end();
        owner.streams.0.write().remove(&id);
        mailbox.finish();
        drop(place);
    });
    event_stream::events(body, ALIVE)
}

/// Takes what is posted, in its order, until the stream is gone.
async fn converse(
    client: &Arc<Conversation>,
    mut incoming: mpsc::Receiver<Received>,
    gone: &CancellationToken,
    admission: &Admission,
) {
    let taking = async {
        while let Some(received) = incoming.recv().await {
            client.received(received).await;
        }
    };
    tokio::select! {
        () = taking => {}
        () = gone.cancelled() => {}
        ended = admission.ended() => if ended == Ended::Shutdown {
            client.drain().await;
        },
    }
}

/// Takes a message: POST `/messages?sessionId=…`.
pub(super) async fn post(
    face: &Arc<Face>,
    admission: &Admission,
    request: Request<Incoming>,
) -> Response<Body> {
    let (parts, mut body) = request.into_parts();
    let refuse = |status, text: &str| {
        reply::error(status, &ErrorObject::new(code::INVALID_REQUEST, text), None)
    };
    let query = parts.uri.query().unwrap_or_default();
    let id = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("sessionId="));
    let Some(id) = id else {
        return refuse(
            StatusCode::BAD_REQUEST,
            "sessionId is missing; open /sse first",
        );
    };
    let known = face
        .streams
        .0
        .read()
        .get(id)
        .filter(|open| open.principal == *admission.principal())
        .map(|open| open.posted.clone());
    let Some(posted) = known else {
        return reply::session_not_found(None);
    };
    if !is_json(&parts.headers) {
        return refuse(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Content-Type must be application/json",
        );
    }
    let body = match read(&mut body, admission.share()).await {
        Ok(body) => body,
        Err(Unread::Full(full)) => return reply::full(&full, None),
        Err(Unread::Bad(status, text)) => return refuse(status, text),
    };
    let received = match Received::parse(body) {
        Ok(received) => received,
        Err(fault) => return reply::error(StatusCode::BAD_REQUEST, &fault.to_error(), fault.id()),
    };
    match posted.try_send(received) {
        Ok(()) => reply::accepted(),
        Err(TrySendError::Full(_)) => {
            let full = Full::of("messages of this client that wait", limits::POSTED);
            reply::full(&full, None)
        }
        Err(TrySendError::Closed(_)) => reply::session_not_found(None),
    }
}
