//! One POST, from its first byte to its conclusion.

use super::{
    answer::{Answer, BodyError, Content},
    fetch::{LEFTOVERS, Wanted, fetch},
    flights::Flight,
    gate::Shut,
    headers::{SESSION, Spoken, beside, mirrored},
    link::Shared,
    passing,
    preview::{LOOKED_AT, preview},
    pump::deliver,
    stream,
};
use crate::{
    limits,
    link::{About, Outgoing, Undelivered},
};
use http::header;
use std::{future::poll_fn, sync::Arc, task::Poll};
use switchboard_tasks as tasks;
use switchboard_wire::{
    Era, Kind, Message, Method, Passing, Payload, Received, code, limits::PASS_FROM,
};
use tokio::time::timeout;

/// Sends one message and reports what became of it. While `gate` is held, later
/// requests wait.
#[expect(
    clippy::manual_async_fn,
    reason = "an async fn has room for each of its arguments twice"
)]
pub(super) fn run(
    shared: Arc<Shared>,
    mut flight: Flight,
    out: Outgoing,
    gate: Option<Shut>,
) -> impl Future<Output = ()> + Send {
    async move {
        let About::Request {
            id,
            method,
            timeout: limit,
            ..
        } = out.about
        else {
            return tell_in_time(&shared, &out.payload, gate).await;
        };
        let asked = ask(&shared, &mut flight, &out.payload, &out.about, id, method);
        let outcome = match limit {
            Some(limit) => Box::pin(timeout(limit, asked))
                .await
                .unwrap_or(Err(Undelivered::TimedOut(limit))),
            None => asked.await,
        };
        drop(out);
        let wanted = flight.land();
        match outcome {
            // The rest of an event stream after its reply; its end lets the connection be kept.
            Ok(Some(rest)) => leave(shared, rest).await,
            Err(why) if wanted => shared.receive.undelivered(id, why),
            Ok(None) | Err(_) => {}
        }
    }
}

/// Reads what follows a reply: here as far as it has come, for the rest in a task of its
/// own, since whoever drives this waits for nothing more.
async fn leave(shared: Arc<Shared>, rest: Answer) {
    if rest.is_ended() {
        return rest.finish(&shared.pool);
    }
    let mut left = Box::pin(async move { rest.discard(&shared.pool, LEFTOVERS).await });
    let is_over = poll_fn(|context| Poll::Ready(left.as_mut().poll(context).is_ready())).await;
    if !is_over {
        tasks::spawn(tasks::Kind::Post, left);
    }
}

/// Sends a message that has no answer of its own, if that is soon done.
async fn tell_in_time(shared: &Shared, payload: &Payload, gate: Option<Shut>) {
    let limit = shared.options.notification_timeout;
    // Boxed: requests do without its state.
    let told = Box::pin(timeout(limit, tell(shared, payload, gate)));
    if told.await.is_err() {
        tracing::debug!("a notification was not accepted within {limit:?}");
    }
}

/// Sends a message that has no answer of its own.
async fn tell(shared: &Shared, payload: &Payload, gate: Option<Shut>) {
    let spoken = shared.spoken(None);
    let told = fetch(shared, wanted(&spoken, payload)).await;
    drop(gate);
    match told {
        Ok(answer) => {
            if !answer.status.is_success() {
                tracing::debug!(
                    status = answer.status.as_u16(),
                    "the server did not accept a notification or response"
                );
            }
            answer.discard(&shared.pool, LEFTOVERS).await;
        }
        Err(why) => tracing::debug!(%why, "a notification or response was not delivered"),
    }
}

/// Sends a request and hands over what comes in answer, up to the reply. Gives
/// back the answer where its body goes on after the reply.
async fn ask(
    shared: &Arc<Shared>,
    flight: &mut Flight,
    payload: &Payload,
    about: &About,
    id: u64,
    method: Method,
) -> Result<Option<Answer>, Undelivered> {
    shared.gate.pass().await;
    let spoken = shared.spoken(Some(method));
    let mut more = match spoken.era {
        Some(Era::Modern) => {
            mirrored(about).map_err(|why| Undelivered::NotSent(why.to_string().into()))?
        }
        _ => Vec::new(),
    };
    more.extend(beside(about));
    let answer = fetch(
        shared,
        Wanted {
            more: &more,
            ..wanted(&spoken, payload)
        },
    )
    .await?;
    flight.departed();
    if !answer.status.is_success() {
        return refused(shared, answer, id, &spoken).await;
    }
    if method == Method::Initialize {
        shared.set_session(answer.headers.get(SESSION));
    }
    if let Some(encoding) = answer.encoding() {
        let preview = format!(
            "the answer is compressed ({}) although identity was asked for",
            preview(encoding.as_bytes())
        );
        return Err(Undelivered::Status {
            status: answer.status.as_u16(),
            preview,
        });
    }
    match answer.content() {
        Content::Events => stream::answer(shared, answer, id, &spoken).await,
        Content::Json | Content::Unstated => document(shared, answer, id).await,
        Content::Other => {
            let kind = preview(answer.text(header::CONTENT_TYPE).unwrap_or("?").as_bytes());
            Err(unexpected(
                answer,
                &format!("the server answered with {kind}, not with JSON or events"),
            )
            .await)
        }
    }
}

/// Reads an answer that is one JSON text.
async fn document(
    shared: &Arc<Shared>,
    mut answer: Answer,
    id: u64,
) -> Result<Option<Answer>, Undelivered> {
    let status = answer.status.as_u16();
    let mut begun = Vec::new();
    let cap = shared.options.message_cap as u64;
    let may_be_large = answer
        .left()
        .is_none_or(|left| left > PASS_FROM as u64 && left <= cap);
    if may_be_large && shared.receive.may_begin(id) {
        let beginning = passing::beginning(shared, &mut answer).await;
        begun = beginning.map_err(|fault| Undelivered::Unknown(fault.to_string()))?;
        if !answer.is_ended()
            && let Some(passing) = Passing::begin(&begun, id)
        {
            let begun = passing::hand_over(shared, answer, begun, passing);
            shared.receive.begun(id, begun);
            return Ok(None);
        }
    }
    let body = collect(shared, &mut answer, begun).await?;
    answer.finish(&shared.pool);
    if body.trim_ascii().is_empty() {
        return Err(Undelivered::Status {
            status,
            preview: "the answer to a request is empty".into(),
        });
    }
    let received = match Received::parse(body) {
        Ok(received) => received,
        Err(fault) => {
            let why = Undelivered::Unknown(format!("the server's answer cannot be read: {fault}"));
            shared.receive.unreadable(fault, Some(id));
            return Err(why);
        }
    };
    if deliver(shared, received, Some(id)) {
        return Ok(None);
    }
    Err(Undelivered::Unknown(
        "the server's answer holds no reply to this request".into(),
    ))
}

/// Reads an answer whose status is no success. A JSON-RPC error in it is the
/// reply, also one without an id.
async fn refused(
    shared: &Shared,
    mut answer: Answer,
    id: u64,
    spoken: &Spoken,
) -> Result<Option<Answer>, Undelivered> {
    let status = answer.status.as_u16();
    let challenge = answer.text(header::WWW_AUTHENTICATE).map(str::to_owned);
    let session_gone = status == 404 && spoken.session;
    if status == 401 || (status == 403 && challenge.is_some()) {
        answer.discard(&shared.pool, LEFTOVERS).await;
        return Err(Undelivered::NeedsAuth { status, challenge });
    }
    if let Content::Json | Content::Unstated = answer.content()
        && answer.encoding().is_none()
    {
        let body = collect(shared, &mut answer, Vec::new()).await?;
        answer.finish(&shared.pool);
        let shown = preview(&body);
        let reply = Message::parse(body)
            .ok()
            .filter(|message| message.kind() == Kind::Error);
        // A 404 ends the session, unless it is the reply to this very request.
        let ours = |reply: &Message| match reply.id_span() {
            None => !session_gone,
            Some(_) => {
                reply.own_id() == Some(id)
                    && (!session_gone || reply.error_code() == Some(code::METHOD_NOT_FOUND))
            }
        };
        if let Some(reply) = reply.filter(ours) {
            deliver(shared, Received::One(reply), Some(id));
            return Ok(None);
        }
        return Err(match status {
            _ if session_gone => Undelivered::SessionExpired,
            403 => Undelivered::NeedsAuth { status, challenge },
            _ => Undelivered::Status {
                status,
                preview: shown,
            },
        });
    }
    match status {
        _ if session_gone => {
            answer.discard(&shared.pool, LEFTOVERS).await;
            Err(Undelivered::SessionExpired)
        }
        403 => Err(Undelivered::NeedsAuth { status, challenge }),
        300..=399 => Err(Undelivered::Status {
            status,
            preview: "a redirect that a POST does not follow".into(),
        }),
        _ => Err(unexpected(answer, "").await),
    }
}

/// What an answer that accepts nothing means, where no reply can be in it.
pub(super) async fn refusal(answer: Answer) -> Undelivered {
    let status = answer.status.as_u16();
    let challenge = answer.text(header::WWW_AUTHENTICATE).map(str::to_owned);
    if status == 401 || (status == 403 && challenge.is_some()) {
        return Undelivered::NeedsAuth { status, challenge };
    }
    unexpected(answer, "").await
}

async fn collect(
    shared: &Shared,
    answer: &mut Answer,
    begun: Vec<u8>,
) -> Result<bytes::Bytes, Undelivered> {
    let (cap, stall) = (shared.options.message_cap, shared.options.body_stall);
    answer
        .collect(begun, cap, stall, &shared.budget)
        .await
        .map_err(|fault: BodyError| Undelivered::Unknown(fault.to_string()))
}

/// What to say about an answer that is no message: its beginning, made safe.
async fn unexpected(mut answer: Answer, what: &str) -> Undelivered {
    let status = answer.status.as_u16();
    let shown = if answer.encoding().is_some() {
        String::new()
    } else {
        preview(&answer.beginning(LOOKED_AT, limits::PREVIEW).await)
    };
    let preview = match (what, shown.as_str()) {
        ("", "") => "the answer is empty".into(),
        ("", shown) => shown.into(),
        (what, "") => what.into(),
        (what, shown) => format!("{what}: {shown}"),
    };
    Undelivered::Status { status, preview }
}

fn wanted<'a>(spoken: &'a Spoken, payload: &'a Payload) -> Wanted<'a> {
    Wanted {
        method: http::Method::POST,
        headers: &spoken.headers,
        more: &[],
        payload,
    }
}
