//! A small dialect of its own: tools over an event stream and POST, without
//! JSON-RPC. `GET sse` greets with a client id, `POST messages` invokes a tool
//! and answers both by HTTP and on the stream, `GET tools` lists.
//!
//! Calls take the same way as everybody else's, with the same permissions.

mod call;
mod shape;
mod tools;

use super::{
    Face,
    body::Body,
    event_stream,
    mailbox::Mailbox,
    read::{Unread, is_json, read, trace},
    reply,
    sessions::random_id,
};
use crate::{admission::Admission, gateway::Gateway, limits};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use parking_lot::{Mutex, RwLock};
use serde_json::json;
use shape::{Failure, Invocation};
use std::{collections::HashMap, sync::Arc};
use switchboard_host::{CallError, Client, Full, NoSink};
use switchboard_tasks as tasks;
use switchboard_wire::{Payload, Revision};
use tokio::{sync::Semaphore, time::Instant};
use tokio_util::sync::CancellationToken;

/// One of the three addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Sse,
    Messages,
    Tools,
}

/// The clients that have a stream open, by their ids.
#[derive(Default)]
pub(super) struct Plain(RwLock<HashMap<String, Arc<Session>>>);

/// A client with its stream.
pub(super) struct Session {
    admission: Admission,
    client: Arc<Client>,
    stream: Arc<Mailbox>,
    /// Ends with the stream: calls that nobody waits for are given up.
    gone: CancellationToken,
    calls: Arc<Semaphore>,
    used: Mutex<Instant>,
}

/// Answers at one of them.
pub(super) async fn handle(
    face: &Arc<Face>,
    page: Page,
    admission: Admission,
    request: Request<Incoming>,
) -> Response<Body> {
    match page {
        Page::Sse => open(face, admission),
        Page::Messages => messages(face, &admission, request).await,
        Page::Tools => {
            let text = tools::list(&face.gateway, &client(&face.gateway, &admission)).await;
            reply::json(StatusCode::OK, Payload::from(text))
        }
    }
}

/// A client of the dialect, as the servers' side knows it: it can be asked nothing.
fn client(gateway: &Gateway, admission: &Admission) -> Arc<Client> {
    let capabilities = Bytes::from_static(b"{}");
    let client = Client::new(
        admission.principal().clone(),
        Revision::NEWEST_LEGACY,
        capabilities,
        Arc::new(NoSink),
    );
    let client = admission.admits(client);
    let client = client.at_desk(gateway.host().desk(), None);
    Arc::new(client.passing().known_by(None))
}

fn open(face: &Arc<Face>, admission: Admission) -> Response<Body> {
    let gone = CancellationToken::new();
    let session = Arc::new(Session {
        client: client(&face.gateway, &admission),
        stream: Arc::new(Mailbox::new(admission.share())),
        admission,
        gone: gone.clone(),
        calls: Arc::new(Semaphore::new(limits::PLAIN_CALLS)),
        used: Mutex::new(Instant::now()),
    });
    let id = random_id();
    let taken = face
        .held
        .take(session.admission.principal(), face.has_several_principals());
    let place = match taken {
        Ok(place) => place,
        Err(full) => return reply::full(&full, None),
    };
    face.plain.0.write().insert(id.clone(), session.clone());
    session.stream.add(event(
        &json!({ "type": "connected", "clientId": id })
            .to_string()
            .into(),
    ));
    let body = session.stream.read(gone.clone().drop_guard());
    let owner = face.clone();
    tasks::spawn_in(&face.tasks, tasks::Kind::Connection, async move {
        let staying = async {
            tokio::select! {
                () = gone.cancelled() => {}
                () = session.unused() => {}
                _ = session.admission.ended() => {}
            }
        };
        let _ = tasks::caught(tasks::Kind::Conversation, staying).await;
        owner.plain.0.write().remove(&id);
        session.gone.cancel();
        session.stream.finish();
        owner.gateway.host().detach(&session.client);
        drop(place);
    });
    event_stream::events(body, ": ping\n\n")
}

impl Session {
    /// Waits until nothing has been invoked for too long.
    async fn unused(&self) {
        loop {
            let until = *self.used.lock() + limits::SESSION_IDLE;
            if Instant::now() >= until && self.calls.available_permits() == limits::PLAIN_CALLS {
                return;
            }
            tokio::time::sleep_until(until.max(Instant::now() + limits::KEEP_ALIVE)).await;
        }
    }
}

async fn messages(
    face: &Arc<Face>,
    admission: &Admission,
    request: Request<Incoming>,
) -> Response<Body> {
    let (parts, mut body) = request.into_parts();
    if !is_json(&parts.headers) {
        return Failure::malformed("Content-Type must be application/json").response();
    }
    let body = match read(&mut body, admission.share()).await {
        Ok(body) => body,
        Err(Unread::Full(full)) => return reply::full(&full, None),
        Err(Unread::Bad(StatusCode::PAYLOAD_TOO_LARGE, text)) => {
            return Failure::malformed(text)
                .with_status(StatusCode::PAYLOAD_TOO_LARGE)
                .response();
        }
        Err(Unread::Bad(_, text)) => return Failure::malformed(text).response(),
    };
    let envelope = match Invocation::envelope(body) {
        Ok(envelope) => envelope,
        Err(failure) => return failure.response(),
    };
    let session = envelope
        .client_id()
        .and_then(|id| face.plain.0.read().get(&id).cloned());
    let Some(session) =
        session.filter(|session| session.admission.principal() == admission.principal())
    else {
        return Failure::unknown_client().response();
    };
    *session.used.lock() = Instant::now();
    let invocation = match envelope.invocation() {
        Ok(invocation) => invocation,
        Err(failure) => return refused(&session, &envelope, &failure),
    };
    let Ok(permit) = session.calls.clone().try_acquire_owned() else {
        return reply::full(&Full::of("calls of this client", limits::PLAIN_CALLS), None);
    };
    // In a task of its own: the stream gets its answer even if nobody waits for this one.
    let (gateway, caller) = (face.gateway.clone(), session.clone());
    let over = face.over.clone();
    let trace = trace(face, &parts.headers);
    let running = tasks::spawn_in(&face.tasks, tasks::Kind::Request, async move {
        let _permit = permit;
        tokio::select! {
            outcome = call::run(&gateway, &caller.client, &invocation, trace) => outcome,
            () = caller.gone.cancelled() => Err(Failure::gone()),
            () = over.cancelled() => {
                Err(Failure::execution(CallError::gateway_ended().to_string()))
            }
        }
    });
    match running
        .await
        .unwrap_or_else(|_| Err(Failure::execution("the call broke off")))
    {
        Ok(result) => {
            let answer = envelope.result(&result);
            session.stream.add(event(&answer));
            reply::json(StatusCode::OK, answer)
        }
        Err(failure) => refused(&session, &envelope, &failure),
    }
}

/// Tells about a failure on both channels.
fn refused(session: &Session, envelope: &shape::Envelope, failure: &Failure) -> Response<Body> {
    session.stream.add(event(&envelope.error(failure)));
    failure.response()
}

/// A message as an event: its data alone, on one line.
fn event(message: &Payload) -> Payload {
    switchboard_transport::http::sse::encode_event(None, None, message.clone())
}
