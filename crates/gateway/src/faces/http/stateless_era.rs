//! The stateless era over HTTP: headers that must agree with the body, an
//! answer as JSON or as events, and a closed stream as the sign to stop.

use super::{
    Face,
    accept::{Accepts, not_acceptable},
    body::Body,
    clock::Clock,
    elsewhere,
    event_stream::{self, ALIVE, event, one_event},
    passing,
    read::{Post, id_of},
    reply, spool,
};
use crate::{
    admission::{Admission, Ended},
    limits,
    session::{
        modern::{self, Answer, Begun, Relayed, Request},
        steps::{Step, Steps},
    },
};
use futures_util::stream;
use http::{HeaderMap, Response, StatusCode};
use std::sync::Arc;
use switchboard_host::CallError;
use switchboard_tasks as tasks;
use switchboard_wire::{
    ErrorObject, Id, Kind, Message, Method, Params, Payload, code, header as mirror,
};

/// One message of a modern client.
pub(super) async fn post(post: Post, message: Message, params: Params) -> Response<Body> {
    if message.kind() == Kind::Notification {
        // The revision has none from client to server over HTTP.
        return reply::accepted();
    }
    let id = id_of(&message);
    if let Err(error) = check(&post.headers, &message, &params) {
        return reply::error(StatusCode::BAD_REQUEST, &error, Some(&id));
    }
    if message.method() == Method::Listen && post.accepts == Accepts::Json {
        return not_acceptable("text/event-stream");
    }
    if let Some(replica) = elsewhere::parked_at(&post.face, &message, &params) {
        // Seldom, and large.
        let answer = Box::pin(elsewhere::come_back(&post, &message, &replica)).await;
        if let Some(answer) = answer {
            return answer;
        }
    }
    let (face, admission, accepts) = (post.face.clone(), post.admission.clone(), post.accepts);
    let clock = post.clock.clone();
    let begun = tokio::select! {
        biased;
        begun = modern::begin(&face.gateway, request(post, message, params)) => begun,
        // Its server may take long to be there.
        end = no_more(&face, &admission) => return end.response(&id),
    };
    let watched = |admission| Some((face.clone(), admission));
    match begun {
        Begun::Answer(answer) => whole(answer, accepts, &admission).await,
        Begun::Told(told) if accepts == Accepts::Json => {
            whole(alone(told).await, accepts, &admission).await
        }
        Begun::Told(told) => relay(told, None, watched(admission), id),
        Begun::Exchange(relayed) if accepts == Accepts::Json => {
            tokio::select! {
                answer = alone(relayed) => whole(answer, accepts, &admission).await,
                end = no_more(&face, &admission) => end.response(&id),
            }
        }
        Begun::Exchange(mut relayed) => {
            match first(&mut relayed, &clock, &face, &admission).await {
                Ok(Some(Step::Done(answer))) => whole(answer, accepts, &admission).await,
                Ok(Some(Step::Notice(notice, _))) => {
                    relay(relayed, Some(notice), watched(admission), id)
                }
                Ok(None) => relay(relayed, None, watched(admission), id),
                Err(end) => end.response(&id),
            }
        }
        // It sees to its end by itself.
        Begun::Listen(listen) => relay(listen, None, None, id),
    }
}

/// Why a client gets no answer any more.
enum NoMore {
    /// It may not have any.
    Ended(Ended),
    /// The gateway ends.
    Over,
}

/// Waits until there is no answer any more for a client.
async fn no_more(face: &Face, admission: &Admission) -> NoMore {
    tokio::select! {
        ended = admission.withdrawn() => NoMore::Ended(ended),
        () = face.over.cancelled() => NoMore::Over,
    }
}

impl NoMore {
    /// What is said where nothing has been said yet.
    fn response(self, id: &Id) -> Response<Body> {
        match self {
            Self::Ended(_) => reply::status(StatusCode::UNAUTHORIZED),
            Self::Over => reply::json(StatusCode::OK, self.last(id)),
        }
    }

    /// The last answer.
    fn last(self, id: &Id) -> Payload {
        let error = match self {
            Self::Ended(ended) => ErrorObject::new(code::INVALID_REQUEST, ended.as_str()),
            Self::Over => CallError::gateway_ended().to_error(),
        };
        error.response(Some(id))
    }
}

/// What comes of a request first; nothing, if that takes longer than an answer may
/// that comes alone. Most come at once: only what takes longer is worth watching
/// whether the client may still have it.
async fn first(
    relayed: &mut Relayed,
    clock: &Clock,
    face: &Face,
    admission: &Admission,
) -> Result<Option<Step<Answer>>, NoMore> {
    tokio::select! {
        biased;
        step = relayed.next() => return Ok(Some(step)),
        () = clock.limit(limits::AT_ONCE) => {}
    }
    tokio::select! {
        step = relayed.next() => Ok(Some(step)),
        () = clock.limit(limits::MODERN_PLAIN_ANSWER) => Ok(None),
        end = no_more(face, admission) => Err(end),
    }
}

/// The request. With it ends the head that it came with, and the buffer that
/// was read into.
fn request(post: Post, message: Message, params: Params) -> Box<Request> {
    let trace = post.trace();
    // A replica hands answers on whole.
    let passes_on = !post.admission.is_handed_on();
    Box::new(Request {
        trace,
        scope: post.scope,
        admission: post.admission,
        key: post.key,
        headers: Some(param_headers(&post.headers)),
        shared_credential: post.face.has_several_principals(),
        passes_on,
        own_servers: false,
        message,
        params,
    })
}

/// Everything that must be right before a server hears of the request, in the order in which it is told.
fn check(headers: &HeaderMap, message: &Message, params: &Params) -> Result<(), ErrorObject> {
    if let Some(body) = Params::text(message, params.protocol_version, "protocolVersion")? {
        agree(headers, "mcp-protocol-version", &body, false)?;
    }
    modern::check(message, params)?;
    agree(headers, "mcp-method", &message.method_name(), false)?;
    // Only where a header repeats it: a method that this era has not is told so
    // first, whatever it names.
    if message.method().name_header_field().is_some()
        && let Some(name) = params.named(message)?.0.text()
    {
        agree(headers, "mcp-name", name, true)?;
    }
    Ok(())
}

/// Whether a header is there, once, and says what the body says.
fn agree(headers: &HeaderMap, name: &str, body: &str, encoded: bool) -> Result<(), ErrorObject> {
    let mismatch = |text: String| {
        Err(ErrorObject::new(
            code::HEADER_MISMATCH,
            format!("Header mismatch: {name} {text}"),
        ))
    };
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return mismatch("is missing".into());
    };
    if values.next().is_some() {
        return mismatch("is there more than once".into());
    }
    let said = if encoded {
        mirror::decode(value.as_bytes())
    } else {
        value.to_str().ok().map(std::borrow::Cow::Borrowed)
    };
    match said {
        Some(said) if said == body => Ok(()),
        Some(said) => mismatch(format!("says {said:.80?} where the body says {body:.80?}")),
        None => mismatch("cannot be decoded".into()),
    }
}

fn param_headers(headers: &HeaderMap) -> Vec<(String, String)> {
    let params = headers.iter().filter_map(|(name, value)| {
        let name = name.as_str().strip_prefix(mirror::PARAM_PREFIX)?;
        Some((
            name.to_owned(),
            String::from_utf8_lossy(value.as_bytes()).into_owned(),
        ))
    });
    params.collect()
}

/// The answer, however long it takes, without what comes before it.
async fn alone(mut steps: Box<impl Steps<End = Answer>>) -> Answer {
    loop {
        if let Step::Done(answer) = steps.next().await {
            return answer;
        }
    }
}

/// An answer that came alone, with the status that its error asks for. One that
/// is refused is JSON for everybody.
async fn whole(mut answer: Answer, accepts: Accepts, admission: &Admission) -> Response<Body> {
    let status = match answer.code {
        Some(code::HEADER_MISMATCH | code::MISSING_CAPABILITY | code::UNSUPPORTED_VERSION) => {
            StatusCode::BAD_REQUEST
        }
        Some(code::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        _ if accepts == Accepts::Events => return one_event(answer.whole().await),
        _ => StatusCode::OK,
    };
    let body = match answer.begun.take() {
        Some((begun, id)) => passing::body(begun, &id, admission.clone()),
        None => spool::body(answer.payload, admission.share()).await,
    };
    reply::json(status, body)
}

/// What comes of a request, as events. Dropping the body drops the request, which
/// cancels it; so does the end of the client's admission.
fn relay<S>(
    steps: Box<S>,
    first: Option<Payload>,
    watched: Option<(Arc<Face>, Admission)>,
    id: Id,
) -> Response<Body>
where
    S: Steps<End = Answer> + 'static,
{
    let ending = Arc::new((watched, id));
    let events = stream::unfold((Some(steps), first), move |(steps, first)| {
        let ending = ending.clone();
        async move {
            let (watched, id) = &*ending;
            let mut steps = steps?;
            // A client that does not read leaves some of them in its connection.
            let event = |notice| match watched {
                Some((_, admission)) => event(notice).map(|it| admission.share().queue_bytes(it)),
                None => event(notice),
            };
            if let Some(notice) = first {
                return Some((event(notice), (Some(steps), None)));
            }
            let last = tokio::select! {
                step = tasks::caught(tasks::Kind::Stream, steps.next()) => match step {
                    Ok(Step::Notice(notice, _)) => {
                        return Some((event(notice), (Some(steps), None)));
                    }
                    Ok(Step::Done(answer)) => answer.whole().await,
                    Err(_) => CallError::broke_off().to_error().response(Some(id)),
                },
                end = over(watched.as_ref()) => end.last(id),
            };
            Some((event(last), (None, None)))
        }
    });
    event_stream::events(Box::pin(events), ALIVE)
}

/// The same where it is up to us to see to that.
async fn over(watched: Option<&(Arc<Face>, Admission)>) -> NoMore {
    match watched {
        Some((face, admission)) => no_more(face, admission).await,
        None => std::future::pending().await,
    }
}
