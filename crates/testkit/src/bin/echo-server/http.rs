//! Streamable HTTP: sessions for legacy clients, none for modern ones.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use switchboard_testkit::headers::decode_value;
use switchboard_testkit::json::{self as raw, Message};
use switchboard_testkit::serve::{self, ReplyBody};
use tokio::sync::mpsc;

use crate::call::{Answer, Call};
use crate::fast;
use crate::stdio::{admits, era};
use crate::tools;
use crate::world::{Era, MODERN, Out, Session, World, lock};

type Reply = Response<ReplyBody>;

/// Serves until the process ends.
pub async fn serve(world: Arc<World>, port: u16) -> std::io::Result<()> {
    serve::serve(port, move |request| handle(Arc::clone(&world), request)).await
}

async fn handle(world: Arc<World>, request: Request<Incoming>) -> Reply {
    if request.uri().path() != "/mcp" {
        return serve::status(StatusCode::NOT_FOUND);
    }
    if foreign(request.headers()) {
        return serve::status(StatusCode::FORBIDDEN);
    }
    let (parts, body) = request.into_parts();
    match parts.method {
        Method::POST => {
            let Ok(body) = body.collect().await else {
                return serve::status(StatusCode::BAD_REQUEST);
            };
            post(world, &parts.headers, &body.to_bytes()).await
        }
        Method::GET if admits(world.eras, Era::Legacy) => get(&world, &parts.headers),
        Method::DELETE if admits(world.eras, Era::Legacy) => delete(&world, &parts.headers),
        _ => serve::status(StatusCode::METHOD_NOT_ALLOWED),
    }
}

/// A browser page of another site.
fn foreign(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get("origin") else {
        return false;
    };
    let host = origin
        .to_str()
        .ok()
        .and_then(|o| o.split("://").nth(1))
        .unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(name, _)| name);
    !matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

async fn post(world: Arc<World>, headers: &HeaderMap, body: &[u8]) -> Reply {
    let Some(message) = Message::read(body) else {
        return refuse(
            "null",
            StatusCode::BAD_REQUEST,
            &Answer::error(-32700, "Parse error"),
        );
    };
    match era(&message) {
        Era::Modern if admits(world.eras, Era::Modern) => modern(world, headers, &message).await,
        _ => legacy(world, headers, body, &message).await,
    }
}

async fn modern(world: Arc<World>, headers: &HeaderMap, message: &Message<'_>) -> Reply {
    let Some(id) = message.id else {
        return serve::status(StatusCode::ACCEPTED);
    };
    if let Err(reason) = check_headers(headers, message) {
        let id = String::from_utf8_lossy(id);
        let answer = Answer::error(-32020, format!("Header mismatch: {reason}"));
        return refuse(&id, StatusCode::BAD_REQUEST, &answer);
    }
    if let Some(reply) = fast::reply(&world, message, Era::Modern) {
        return quick(reply);
    }
    let session = Arc::new(Session::default());
    run(&world, &session, Era::Modern, message).await
}

/// The mirrored headers must say what the body says.
fn check_headers(headers: &HeaderMap, message: &Message<'_>) -> Result<(), String> {
    let params = message.params.unwrap_or(b"{}");
    let member = |keys: &[&str]| raw::path(params, keys).and_then(raw::string);
    let mut expected = vec![
        (
            "mcp-protocol-version",
            member(&["_meta", "io.modelcontextprotocol/protocolVersion"]),
        ),
        ("mcp-method", message.method.clone()),
    ];
    match message.method.as_deref() {
        Some("tools/call" | "prompts/get") => expected.push(("mcp-name", member(&["name"]))),
        Some("resources/read") => expected.push(("mcp-name", member(&["uri"]))),
        _ => {}
    }
    for (name, body) in expected {
        let header = headers
            .get(name)
            .and_then(|v| v.to_str().ok())
            .and_then(decode_value);
        if header.as_deref() != body.as_deref() {
            return Err(format!("{name} is {header:?}, the body says {body:?}"));
        }
    }
    Ok(())
}

async fn legacy(
    world: Arc<World>,
    headers: &HeaderMap,
    body: &[u8],
    message: &Message<'_>,
) -> Reply {
    let id = message.id.map_or("null".into(), String::from_utf8_lossy);
    if !admits(world.eras, Era::Legacy) {
        let answer = Answer::error(
            -32020,
            format!("headers missing: this server speaks {MODERN} only"),
        );
        return refuse(&id, StatusCode::BAD_REQUEST, &answer);
    }
    if message.method.as_deref() == Some("initialize") {
        return open_session(&world, message).await;
    }
    let session = match session(&world, headers) {
        Ok(session) => session,
        Err(status) => {
            return refuse(
                &id,
                status,
                &Answer::error(-32000, "No valid session ID provided"),
            );
        }
    };
    match (&message.method, message.id) {
        (Some(_), Some(_)) => {
            if let Some(reply) = fast::reply(&world, message, Era::Legacy) {
                return quick(reply);
            }
            run(&world, &session, Era::Legacy, message).await
        }
        (Some(method), None) => {
            if let Some(id) = raw::path(body, &["params", "requestId"])
                && method == "notifications/cancelled"
            {
                session.cancel(id);
            }
            serve::status(StatusCode::ACCEPTED)
        }
        (None, Some(_)) => {
            session.answered(body);
            serve::status(StatusCode::ACCEPTED)
        }
        (None, None) => refuse(
            "null",
            StatusCode::BAD_REQUEST,
            &Answer::error(-32600, "Invalid Request"),
        ),
    }
}

async fn open_session(world: &Arc<World>, message: &Message<'_>) -> Reply {
    let session = Arc::new(Session::default());
    let mut response = run(world, &session, Era::Legacy, message).await;
    let id = format!(
        "{:016x}{:016x}",
        getrandom::u64().unwrap_or_default(),
        getrandom::u64().unwrap_or_default()
    );
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert("mcp-session-id", value);
    }
    lock(&world.sessions).insert(id, session);
    response
}

fn session(world: &World, headers: &HeaderMap) -> Result<Arc<Session>, StatusCode> {
    let id = headers
        .get("mcp-session-id")
        .ok_or(StatusCode::BAD_REQUEST)?;
    let id = id.to_str().map_err(|_| StatusCode::BAD_REQUEST)?;
    lock(&world.sessions)
        .get(id)
        .cloned()
        .ok_or(StatusCode::NOT_FOUND)
}

/// Runs a request on the ordinary path. A legacy call goes on when its client
/// disconnects, a modern one is cancelled by it.
async fn run(world: &Arc<World>, session: &Arc<Session>, era: Era, message: &Message<'_>) -> Reply {
    let name = message
        .params
        .and_then(|p| raw::get(p, "name"))
        .and_then(raw::string);
    let streams = match message.method.as_deref() {
        Some("tools/call") => tools::streams(name.as_deref().unwrap_or_default()),
        Some("subscriptions/listen") => true,
        _ => false,
    };
    let (sender, receiver) = mpsc::unbounded_channel();
    let out = if streams {
        Out::Stream(sender.clone())
    } else {
        Out::Nowhere
    };
    let Some(call) = Call::new(world, session, out, era, message) else {
        return serve::status(StatusCode::BAD_REQUEST);
    };
    let guard = (era == Era::Modern).then(|| call.cancel.clone().drop_guard());
    let id = call.id.clone();
    let running = tokio::spawn(call.run());
    if streams {
        tokio::spawn(async move {
            if let Some(reply) = running.await.ok().and_then(|answer| answer.render(&id)) {
                let _ = sender.send(Bytes::from(reply));
            }
        });
        return serve::events(ReplyBody::Events(receiver, guard));
    }
    let answer = running
        .await
        .unwrap_or_else(|_| Answer::error(-32603, "panic"));
    drop(guard);
    match answer.render(&id) {
        Some(reply) => serve::json(status_of(&answer, era), ReplyBody::full(reply)),
        // Cancelled: the stream ends without a reply.
        None => serve::events(ReplyBody::empty()),
    }
}

fn status_of(answer: &Answer, era: Era) -> StatusCode {
    match (answer, era) {
        (
            Answer::Error {
                code: -32022..=-32020,
                ..
            },
            Era::Modern,
        ) => StatusCode::BAD_REQUEST,
        (Answer::Error { code: -32601, .. }, Era::Modern) => StatusCode::NOT_FOUND,
        (Answer::Error { message, .. }, Era::Modern) if message.starts_with("_meta") => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}

fn quick(reply: fast::Reply) -> Reply {
    let body = ReplyBody::Blocks(Some(reply.head.into()), Some(reply.tail));
    serve::json(StatusCode::OK, body)
}

fn refuse(id: &str, status: StatusCode, answer: &Answer) -> Reply {
    serve::json(
        status,
        ReplyBody::full(answer.render(id).unwrap_or_default()),
    )
}

fn get(world: &World, headers: &HeaderMap) -> Reply {
    match session(world, headers) {
        Ok(session) => {
            let (sender, receiver) = mpsc::unbounded_channel();
            // An empty message is a comment: it sends the headers on their way.
            let _ = sender.send(Bytes::new());
            session.stand(Out::Stream(sender));
            serve::events(ReplyBody::Events(receiver, None))
        }
        Err(status) => serve::status(status),
    }
}

fn delete(world: &World, headers: &HeaderMap) -> Reply {
    let id = headers
        .get("mcp-session-id")
        .and_then(|id| id.to_str().ok())
        .unwrap_or_default();
    match lock(&world.sessions).remove(id) {
        Some(_) => serve::status(StatusCode::OK),
        None => serve::status(StatusCode::NOT_FOUND),
    }
}
