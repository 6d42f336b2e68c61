//! The handshake era over HTTP: sessions, POST with JSON or events, GET for
//! what the servers say by themselves, DELETE.

use super::{
    Face,
    accept::{Accepts, not_acceptable},
    adopt,
    body::Body,
    changing::{changes_what_is_kept, noted},
    event_stream::{self, ALIVE},
    events::{EventLog, parse_event_id},
    opening, passing,
    read::Post,
    reply,
    sessions::Held,
};
use crate::{
    admission::Admission,
    limits,
    session::{Outlet, Weight, legacy::Answered},
};
use futures_util::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use smallvec::SmallVec;
use std::{pin::Pin, sync::Arc};
use switchboard_host::{CallError, Full, Scope};
use switchboard_tasks as tasks;
use switchboard_wire::{
    ErrorObject, Id, Kind, Message, Method, Params, ParseError, Payload, Revision, code,
};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// Whose answers a fault of ours would leave out.
type Owed = SmallVec<[Id; 1]>;
pub(super) type Running = Pin<Box<dyn Future<Output = Option<Answered>> + Send>>;

/// One message of a legacy client.
#[expect(
    clippy::manual_async_fn,
    reason = "an async fn has room for each of its arguments twice"
)]
pub(super) fn post(
    post: Post,
    message: Message,
    params: Params,
) -> impl Future<Output = Response<Body>> + Send {
    async move {
        if message.method() == Method::Initialize && message.kind() == Kind::Request {
            return Box::pin(opening::initialize(post, message)).await;
        }
        let held = match held_or_kept(&post.face, &post.scope, &post.admission, &post.headers).await
        {
            Ok(held) => held,
            Err(refusal) => return refusal.response(message.id().as_ref()),
        };
        match message.kind() {
            Kind::Request => {
                let log = held.log();
                let (session, outlet) = (held.session.clone(), outlet(post.accepts, &held, &log));
                let message_id = message.id();
                let owed = message_id.iter().cloned().collect();
                let changes = changes_what_is_kept(message.method());
                let admitted = session.admit(message, params, post.trace());
                // A replica hands answers on whole.
                let is_handed_on = post.admission.is_handed_on();
                let running: Running = match (changes, is_handed_on) {
                    (false, false) => {
                        Box::pin(async move { session.passed_on(admitted, outlet).await })
                    }
                    (false, true) => Box::pin(async move {
                        let answer = session.request(admitted, outlet).await;
                        answer.map(Answered::Whole)
                    }),
                    (true, _) => noted(&post, held.clone(), message_id, async move {
                        session.request(admitted, outlet).await
                    }),
                };
                answer(post, &held, log, owed, running).await
            }
            Kind::Notification => {
                held.session.notification(&message, &params);
                reply::accepted()
            }
            Kind::Response | Kind::Error => {
                held.session.response(message);
                reply::accepted()
            }
        }
    }
}

/// The session that is named, brought back where this process does not have it.
async fn held_or_kept(
    face: &Face,
    scope: &Scope,
    admission: &Admission,
    headers: &HeaderMap,
) -> Result<Arc<Held>, Refusal> {
    match find(face, scope, admission, headers) {
        // Seldom, and large: in a box, so that every request does not have room for it.
        Err(Refusal::Unknown) => Box::pin(kept(face, scope, admission, headers)).await,
        found => found,
    }
}

async fn kept(
    face: &Face,
    scope: &Scope,
    admission: &Admission,
    headers: &HeaderMap,
) -> Result<Arc<Held>, Refusal> {
    let id = named_session(headers).ok_or(Refusal::Unknown)?;
    adopt::adopt(face, scope, admission, id).await?;
    find(face, scope, admission, headers)
}

/// Several messages at once, where the session's revision has that.
pub(super) async fn batch(post: Post, batch: Vec<Result<Message, ParseError>>) -> Response<Body> {
    let refuse = |text: &str| {
        reply::error(
            StatusCode::BAD_REQUEST,
            &ErrorObject::new(code::INVALID_REQUEST, text),
            None,
        )
    };
    let held = match held_or_kept(&post.face, &post.scope, &post.admission, &post.headers).await {
        Ok(held) => held,
        Err(Refusal::NoSession) => return refuse("batches are not part of this protocol revision"),
        Err(refusal) => return refusal.response(None),
    };
    if !held.session.client().revision.has_batches() {
        return refuse("batches are not part of this protocol revision");
    }
    if !batch.iter().any(|item| {
        item.as_ref()
            .map_or(true, |message| message.kind() == Kind::Request)
    }) {
        held.session.batch(batch, held.general.clone()).await;
        return reply::accepted();
    }
    let log = held.log();
    let (session, outlet) = (held.session.clone(), outlet(post.accepts, &held, &log));
    let owed = batch.iter().flatten().filter_map(Message::id).collect();
    let asked = async move { session.batch(batch, outlet).await };
    let running = noted(&post, held.clone(), None, asked);
    answer(post, &held, log, owed, running).await
}

/// Where what comes before an answer goes.
fn outlet(accepts: Accepts, held: &Held, log: &Arc<EventLog>) -> Arc<dyn Outlet> {
    match accepts {
        Accepts::Json => Arc::new(Beside(held.general.clone())),
        Accepts::Either | Accepts::Events => log.clone(),
    }
}

/// For a request whose answer is JSON and nothing else: what comes before it goes
/// on the session's own stream, if the client reads that. Progress has no use there.
struct Beside(Arc<EventLog>);

impl Outlet for Beside {
    fn send(&self, payload: Payload, weight: Weight) {
        if self.takes(weight) {
            self.0.send(payload, weight);
        }
    }

    fn takes(&self, weight: Weight) -> bool {
        match weight {
            Weight::Progress => false,
            Weight::Notice => self.0.is_read(),
            Weight::Question | Weight::Reply => true,
        }
    }

    fn takes_questions(&self) -> bool {
        self.0.is_read()
    }
}

/// In the form that the client takes. If it takes both: plain JSON if the answer
/// comes at once and alone, events otherwise.
async fn answer(
    post: Post,
    held: &Arc<Held>,
    log: Arc<EventLog>,
    owed: Owed,
    running: Running,
) -> Response<Body> {
    // The head of the request ends here, and with it the buffer it was read into.
    let Post {
        face,
        admission,
        accepts,
        clock,
        ..
    } = post;
    let mut running = KeepsRunning {
        face: face.clone(),
        admission: admission.clone(),
        future: Some(running),
    };
    match accepts {
        Accepts::Json => {
            let payload = tokio::select! {
                payload = running.get() => payload,
                _ = admission.withdrawn() => {
                    running.done();
                    return reply::status(StatusCode::UNAUTHORIZED);
                }
                () = face.over.cancelled() => {
                    running.done();
                    return reply::json(StatusCode::OK, ended_meanwhile(&owed));
                }
            };
            running.done();
            return match payload {
                Some(answer) => passing::json(answer, &admission).await,
                // Given up by the client: nothing is owed.
                None => reply::accepted(),
            };
        }
        Accepts::Events => {}
        Accepts::Either => tokio::select! {
            biased;
            payload = running.get() => {
                running.done();
                match payload {
                    Some(answer) if !log.has_begun() => return passing::json(answer, &admission).await,
                    // What came before the answer, in the same moment, must not be lost.
                    Some(answer) => { log.send(answer.whole().await, Weight::Reply); log.finish(); }
                    // Given up by the client: nothing is owed, so the stream ends without a word.
                    None => { log.finish(); return events(&log, None, false, admission); }
                }
            }
            () = log.begun() => {}
            () = clock.limit(limits::PLAIN_ANSWER) => {}
        },
    }
    held.keep_owing(&log, &owed).await;
    if let Some(future) = running.take() {
        answer_later(&face, &log, admission.clone(), owed, future);
    }
    events(
        &log,
        None,
        held.session.client().revision.has_priming_events(),
        admission,
    )
}

/// Puts an answer on its stream when it is there, for as long as anybody may come
/// back for it.
fn answer_later(
    face: &Face,
    log: &Arc<EventLog>,
    admission: Admission,
    owed: Owed,
    future: Running,
) {
    let (log, broken) = (log.clone(), log.clone());
    let (ending, unanswered) = (face.over.clone(), owed.clone());
    let answering = async move {
        tokio::select! {
            answer = passing::whole(future) => if let Some(answer) = answer {
                log.send_last(answer).await;
            },
            () = ending.cancelled() => log.send_last(ended_meanwhile(&unanswered)).await,
            // Nothing is done any more for a client that may not come in.
            _ = admission.withdrawn() => {}
            () = log.deserted(limits::DEPARTED) => {
                tracing::info!("nobody came back for an answer; the call is given up");
            }
        }
        log.finish();
    };
    let kind = tasks::Kind::Stream;
    tasks::spawn_in_or(&face.tasks, kind, answering, move || {
        let error = CallError::broke_off().to_error();
        for id in &owed {
            broken.send(error.response(Some(id)), Weight::Reply);
        }
        broken.finish();
    });
}

/// What is said where the gateway ends before an answer is there: to a batch in one.
fn ended_meanwhile(owed: &[Id]) -> Payload {
    let error = CallError::gateway_ended().to_error();
    let mut all = owed.iter().map(|id| error.response(Some(id)));
    match (all.next(), owed.len()) {
        (Some(only), 1) => only,
        (first, _) => {
            let all = first.into_iter().chain(all);
            let all: Vec<_> = all.map(Payload::into_bytes).collect();
            let mut array = vec![b'['];
            for (at, one) in all.iter().enumerate() {
                array.extend_from_slice(if at > 0 { b"," } else { b"" });
                array.extend_from_slice(one);
            }
            array.push(b']');
            Payload::from(bytes::Bytes::from(array))
        }
    }
}

/// A client that goes away has not given its request up: it may come back for the
/// answer, as long as it may come in.
struct KeepsRunning {
    face: Arc<Face>,
    admission: Admission,
    future: Option<Running>,
}

impl KeepsRunning {
    async fn get(&mut self) -> Option<Answered> {
        match &mut self.future {
            Some(future) => future.await,
            None => None,
        }
    }

    fn done(&mut self) {
        self.future = None;
    }

    fn take(&mut self) -> Option<Running> {
        self.future.take()
    }
}

impl Drop for KeepsRunning {
    fn drop(&mut self) {
        if let Some(future) = self.future.take() {
            let admission = self.admission.clone();
            let kept = async move {
                tokio::select! {
                    _ = future => {}
                    _ = admission.withdrawn() => {}
                    () = tokio::time::sleep(limits::DEPARTED) => {}
                }
            };
            tasks::spawn_in(&self.face.tasks, tasks::Kind::Background, kept);
        }
    }
}

/// The stream for what belongs to no request, or one that is to be resumed.
pub(super) async fn get(
    face: &Face,
    scope: &Scope,
    admission: Admission,
    request: &Request<Incoming>,
) -> Response<Body> {
    let headers = request.headers();
    if !headers.contains_key(&SESSION) {
        return reply::method_not_allowed();
    }
    if !Accepts::events(headers) {
        return not_acceptable("text/event-stream");
    }
    let held = match held_or_kept(face, scope, &admission, headers).await {
        Ok(held) => held,
        Err(refusal) => return refusal.response(None),
    };
    let last = headers.get(&LAST_EVENT).filter(|last| !last.is_empty());
    let seen = last.and_then(|last| parse_event_id(last.to_str().ok()?));
    // One that we never gave leads to no stream of ours.
    if last.is_some() && seen.is_none() {
        return Refusal::NoStream.response(None);
    }
    let resumed = match seen {
        Some(seen) => {
            let here = held.stream(seen.stream);
            let log = match here {
                None => held.earlier(seen.stream, &seen.owed).await,
                here => Ok(here),
            };
            match log {
                Ok(Some(log)) => Some((log, seen.number)),
                // Not the stream for what belongs to no request: whoever waits for an answer
                // would wait there for ever.
                Ok(None) => return Refusal::NoStream.response(None),
                Err(fault) => {
                    tracing::warn!(%fault, "what is kept of a stream cannot be read");
                    return Refusal::NotNow.response(None);
                }
            }
        }
        None => None,
    };
    if resumed.as_ref().is_none_or(|(log, _)| log.number() == 0) {
        let seen = resumed.as_ref().map(|(_, number)| *number);
        held.keep_general(seen).await;
    }
    match resumed {
        Some((log, number)) => events(&log, Some(number), false, admission),
        None => events(
            &held.general,
            None,
            held.session.client().revision.has_priming_events(),
            admission,
        ),
    }
}

/// Why a session is not given.
pub(super) enum Refusal {
    /// None is named.
    NoSession,
    /// There is none of this id.
    Unknown,
    /// Another process has it, which lives.
    Elsewhere(String),
    /// A revision that nobody knows.
    Version,
    /// It may be there; that cannot be found out at this moment.
    NotNow,
    /// There is no room for it.
    Full(Full),
    /// Nothing is kept of the stream that it is to go on with.
    NoStream,
}

impl Refusal {
    pub(super) fn response(&self, id: Option<&Id>) -> Response<Body> {
        let text = match self {
            Self::Unknown | Self::Elsewhere(_) => return reply::session_not_found(id),
            Self::NotNow => return reply::not_now(id),
            Self::Full(full) => return reply::full(full, id),
            Self::NoSession => "Mcp-Session-Id is missing; send initialize first",
            Self::Version => "MCP-Protocol-Version names no revision that is known here",
            Self::NoStream => {
                "nothing is kept of the stream that Last-Event-ID names: what became of requests whose answers did not come is not known"
            }
        };
        let error = ErrorObject::new(code::INVALID_REQUEST, text);
        reply::error(StatusCode::BAD_REQUEST, &error, id)
    }
}

fn find(
    face: &Face,
    scope: &Scope,
    admission: &Admission,
    headers: &HeaderMap,
) -> Result<Arc<Held>, Refusal> {
    let id = headers.get(&SESSION).ok_or(Refusal::NoSession)?;
    let id = text_of(id).ok_or(Refusal::Unknown)?;
    let principal = admission.principal();
    let held = face.sessions.get(id, principal, path_of(scope));
    let held = held.ok_or(Refusal::Unknown)?;
    // Perhaps by a newer token than the one before.
    admission.lets_in(held.session.client());
    if let Some(version) = headers.get(&VERSION)
        && version.to_str().ok().and_then(Revision::parse).is_none()
    {
        return Err(Refusal::Version);
    }
    Ok(held)
}

/// The session that a request names. What is no text is looked for no further.
pub(super) fn named_session(headers: &HeaderMap) -> Option<&str> {
    text_of(headers.get(&SESSION)?)
}

/// A header's own way to its text looks at each byte by itself, which takes long.
fn text_of(value: &HeaderValue) -> Option<&str> {
    std::str::from_utf8(value.as_bytes()).ok()
}

/// What distinguishes the addresses that a session can belong to.
pub(super) fn path_of(scope: &Scope) -> &str {
    match scope {
        Scope::All => "",
        Scope::One(server) => server.name(),
    }
}

/// A log as a stream, for as long as its reader may read it.
pub(super) fn events(
    log: &Arc<EventLog>,
    last: Option<u64>,
    prime: bool,
    admission: Admission,
) -> Response<Body> {
    let over = async move { admission.withdrawn().await };
    let events = log.read(last, prime).take_until(Box::pin(over));
    event_stream::events(events, ALIVE)
}
