//! `/api/…`: only with the control token, whatever else the door lets in. `/api/v1/…`
//! is open to clients as well, to sessions that a single-use code opened, and to those who
//! bring such a code; what each of them may do there is for others to say.

use super::{
    Entered, Face,
    body::{Body, Coming},
    event_stream, read,
    reply::{self, Refusal},
    request::resource,
};
use crate::{
    control::{Asked, Asker, ControlAccess, Controlled, Said},
    door::{self, Refused},
    limits,
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header,
    request::Parts,
};
use hyper::body::Incoming;
use std::{
    io,
    sync::{Arc, atomic::Ordering},
};
use switchboard_transport::{Full, limits::COUNTED_BYTES};
use switchboard_wire::Payload;
use tokio::time::timeout;

/// What its paths begin with.
pub(super) const PREFIX: &str = "/api/";

/// What the paths begin with that are not for the control token alone.
pub(super) const SHARED: &str = "/api/v1/";

/// What the paths begin with at which a question can be answered once.
pub(super) const ANSWERS: &str = "/answers/";

/// Where what is counted is read.
pub(super) const METRICS: &str = "/metrics";

/// Lets in whoever shows the control token.
pub(super) async fn let_in(face: &Face, request: &Request<Incoming>) -> Result<Asker, Refusal> {
    let access = access(face)?;
    if !door::shows(request.headers(), &access.token) {
        return Err(wrong(face, request).await);
    }
    Ok(Asker::Control)
}

/// Finds out who asks for what is shared. Who shows nothing is nobody; who shows
/// something wrong is refused.
pub(super) async fn let_in_shared(
    face: &Arc<Face>,
    open: &Entered,
    request: &Request<Incoming>,
) -> Result<Asker, Refusal> {
    let access = access(face)?;
    let headers = request.headers();
    if door::shows(headers, &access.token) {
        return Ok(Asker::Control);
    }
    let session = door::shown_bearer(headers).and_then(|bearer| access.control.session(bearer));
    if let Some(session) = session {
        return Ok(Asker::Session(session));
    }
    let shows = headers.contains_key(header::AUTHORIZATION);
    let pass = match face.entrance.let_in(headers) {
        // A door that is open to all takes a wrong token for none. This does not: whose
        // session is over is to learn it.
        Some(_) if shows && face.entrance.door().token_of(headers).is_none() => {
            return Err(wrong(face, request).await);
        }
        Some(pass) => pass,
        None if !shows => return Ok(Asker::Nobody),
        None if face.entrance.door().oidc.is_some() => {
            let resource = resource(face, request, "/mcp");
            let signed = Box::pin(face.entrance.let_in_signed(headers, resource)).await;
            signed.map_err(|refused| unsigned(face, &refused))?
        }
        None => return Err(wrong(face, request).await),
    };
    let share = face.belongs_to(&open.1, pass.principal());
    let share = share.map_err(|full| Box::new(no_room(&full)))?;
    Ok(Asker::Client(pass.admit(share, open.1.address())))
}

fn access(face: &Face) -> Result<&ControlAccess, Refusal> {
    face.gateway.control().ok_or_else(|| {
        let text = "this gateway cannot be controlled";
        Box::new(refusal(StatusCode::NOT_FOUND, text))
    })
}

/// A fault of ours ended a request, in the form that its path has.
pub(super) fn broke_off(is_api: bool) -> Response<Body> {
    match is_api {
        true => {
            let text = "a fault of ours ended this request; the log says more";
            refusal(StatusCode::INTERNAL_SERVER_ERROR, text)
        }
        false => reply::broke_off(None),
    }
}

/// What was shown opens nothing here.
async fn wrong(face: &Face, request: &Request<Incoming>) -> Refusal {
    face.gateway.refused.fetch_add(1, Ordering::Relaxed);
    let door = face.entrance.door();
    door.count_wrong_token(request.headers()).await;
    if !request.uri().path().starts_with(PREFIX) {
        return Box::new(reply::unauthorized(&Refused {
            status: StatusCode::UNAUTHORIZED,
            challenge: CHALLENGE.to_owned(),
            // What opens it is not for clients to know.
            shown: false,
            why: None,
        }));
    }
    // As all that is refused there.
    let text = Payload::from(Bytes::from_static(WRONG.as_bytes()));
    let mut response = reply::json(StatusCode::UNAUTHORIZED, text);
    let challenge = HeaderValue::from_static(CHALLENGE);
    let headers = response.headers_mut();
    headers.insert(header::WWW_AUTHENTICATE, challenge);
    Box::new(response)
}

/// What the identity provider gave lets nobody in, or no longer.
fn unsigned(face: &Face, refused: &Refused) -> Refusal {
    face.gateway.refused.fetch_add(1, Ordering::Relaxed);
    let (code, hint) = match refused.status {
        StatusCode::SERVICE_UNAVAILABLE => ("unavailable", "try again in a moment"),
        StatusCode::FORBIDDEN => ("not-allowed", "ask for a token that allows more"),
        _ => ("not-allowed", "sign in again"),
    };
    let json = serde_json::json!({
        "error": reply::why(refused),
        "code": code,
        "hint": hint,
        "field": null,
    });
    let mut response = reply::json(refused.status, Payload::from(json.to_string()));
    if let Ok(challenge) = HeaderValue::try_from(&refused.challenge) {
        let headers = response.headers_mut();
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    Box::new(response)
}

const CHALLENGE: &str = "Bearer realm=\"switchboard control\"";
const WRONG: &str = r#"{"error":"this token opens nothing here: it is wrong, or was revoked, or its session is over","code":"not-allowed","hint":null,"field":null}"#;

/// Answers.
pub(super) async fn answer(
    face: &Arc<Face>,
    who: Asker,
    request: Request<Incoming>,
) -> Response<Body> {
    if request.uri().path() == METRICS {
        return metrics(face, &request).await;
    }
    let Some(access) = face.gateway.control() else {
        return reply::status(StatusCode::NOT_FOUND);
    };
    let (
        Parts {
            method,
            uri,
            headers,
            ..
        },
        body,
    ) = request.into_parts();
    let path = uri.path().strip_prefix(PREFIX).unwrap_or(uri.path());
    let mut asked = Asked {
        path: path.to_owned(),
        query: uri.query().unwrap_or_default().to_owned(),
        verb: method,
        body: Bytes::new(),
        who: who.clone(),
        here: face.gateway.counts(),
        origin: text_of(&headers, header::ORIGIN),
        host: text_of(&headers, header::HOST).or_else(|| Some(uri.authority()?.to_string())),
    };
    let most = match access.control.may_ask(&asked) {
        Ok(most) => most,
        Err(refused) => {
            if refused.status == StatusCode::UNAUTHORIZED {
                face.gateway.refused.fetch_add(1, Ordering::Relaxed);
            }
            return response(face, *refused, &who);
        }
    };
    // The older paths say it all, and never read a body.
    if uri.path().starts_with(SHARED) || uri.path().starts_with(ANSWERS) {
        // A page of another origin cannot send this without asking first.
        let is_form = asked.verb == Method::POST
            && !headers.contains_key(header::AUTHORIZATION)
            && !read::is_json(&headers);
        if is_form {
            let text = "Content-Type must be application/json";
            return refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, text);
        }
        let most = match who {
            Asker::Nobody => most.min(limits::API_STRANGER_BODY),
            _ => most.min(limits::API_BODY),
        };
        let within = match who {
            Asker::Nobody => limits::API_STRANGER_WAIT,
            _ => limits::API_WAIT,
        };
        match timeout(within, read::bounded(body, most)).await {
            Ok(Ok(body)) => asked.body = body,
            Ok(Err((status, text))) => return refusal(status, text),
            Err(_) => return refusal(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
        }
    }
    let answer = access.control.answer(asked).await;
    if answer.status == StatusCode::UNAUTHORIZED {
        // A code that opens nothing is as good as a wrong token.
        face.gateway.refused.fetch_add(1, Ordering::Relaxed);
        face.entrance.door().count_wrong().await;
    }
    response(face, answer, &who)
}

/// The text of a header.
fn text_of(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

/// What cannot be taken, in the form that all refusals here have.
pub(super) fn refusal(status: StatusCode, text: &str) -> Response<Body> {
    let code = match status {
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::URI_TOO_LONG => "too-large",
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => "not-allowed",
        StatusCode::NOT_FOUND => "unavailable",
        StatusCode::INTERNAL_SERVER_ERROR => "broken",
        StatusCode::SERVICE_UNAVAILABLE => "too-many",
        _ => "invalid",
    };
    let json = serde_json::json!({ "error": text, "code": code, "hint": null, "field": null });
    reply::json(status, Payload::from(json.to_string()))
}

/// An answer, counted for whoever asked until it is read: one who reads none of many has no
/// more of them made.
fn counted(face: &Face, who: &Asker, text: Bytes) -> Result<Bytes, Full> {
    if text.len() < COUNTED_BYTES {
        return Ok(text);
    }
    let share = match who {
        Asker::Client(admission) => admission.share().clone(),
        Asker::Control | Asker::Session(_) | Asker::Nobody => {
            let several = face.has_several_principals();
            let budget = face.gateway.host().budget();
            budget.share_of(&CONTROL.into(), several)
        }
    };
    match share.has_room() {
        true => Ok(share.keep(text)),
        false => Err(share.full()),
    }
}

/// Who holds what is answered to the control token and to sessions.
const CONTROL: &str = "control";

fn no_room(full: &Full) -> Response<Body> {
    let mut response = refusal(StatusCode::SERVICE_UNAVAILABLE, &full.to_string());
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn response(face: &Arc<Face>, answer: Controlled, who: &Asker) -> Response<Body> {
    let mut response = match answer.said {
        Said::Page(page) => match counted(face, who, page.text.into()) {
            Ok(text) => reply::page(page.content_type, text),
            Err(full) => return no_room(&full),
        },
        Said::Events(events) => {
            let ended = ended(face.clone(), who.clone());
            let events = events.take_until(Box::pin(ended));
            event_stream::events(events.map(io::Result::Ok), event_stream::ALIVE)
        }
        Said::Pieces(page) => {
            let pieces = until_ended(face.clone(), who.clone(), page.pieces);
            reply::pieces(page.content_type, Box::pin(pieces))
        }
    };
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if answer.status == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static(CHALLENGE);
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}

/// Pieces of a page, each counted for whoever asked. Where they may not be told any more it
/// breaks off, so that nobody takes it for whole.
fn until_ended(
    face: Arc<Face>,
    who: Asker,
    pieces: Coming,
) -> impl Stream<Item = io::Result<Bytes>> {
    let ended = Box::pin(ended(face.clone(), who.clone()));
    stream::unfold(Some((pieces, ended)), move |state| {
        let (face, who) = (face.clone(), who.clone());
        async move {
            let (mut pieces, mut ended) = state?;
            let piece = tokio::select! {
                piece = pieces.next() => piece?,
                () = &mut ended => Err(io::Error::other("whoever asked may not ask any more")),
            };
            let full = |full: Full| io::Error::other(full.to_string());
            let piece = piece.and_then(|piece| counted(&face, &who, piece).map_err(full));
            let rest = piece.is_ok().then_some((pieces, ended));
            Some((piece, rest))
        }
    })
}

/// Waits until whoever asked may not be told any more.
async fn ended(face: Arc<Face>, who: Asker) {
    let over = async {
        match &who {
            Asker::Client(admission) => drop(admission.ended().await),
            Asker::Session(session) => session.ended.cancelled().await,
            Asker::Control | Asker::Nobody => std::future::pending().await,
        }
    };
    tokio::select! {
        () = over => {}
        () = face.shutdown.cancelled() => {}
    }
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
