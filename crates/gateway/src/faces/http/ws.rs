//! The gateway over WebSocket: a request is upgraded after the same checks as
//! any other, and from then on one connection is one client.

use super::{
    Entered, Face,
    body::Body,
    reply::{self, Refusal},
};
use crate::{
    admission::{Admission, Ended},
    faces::{
        backlog::{Backlog, Queue, counted},
        conversation::{ClientTerms, Conversation},
    },
    limits,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};
use hyper::{body::Incoming, upgrade::Upgraded};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use switchboard_host::{Full, Scope};
use switchboard_tasks as tasks;
use switchboard_transport::{
    Share,
    ws::{self, PROTOCOL, WsOptions, WsWriter},
};
use switchboard_wire::Payload;
use tokio::{sync::mpsc, time::timeout};

const NORMAL: u16 = 1000;
const GOING_AWAY: u16 = 1001;
const POLICY: u16 = 1008;
/// A fault of ours.
const FAULT: u16 = 1011;

/// Answers the handshake and hands the connection over.
pub(super) fn upgrade(
    open: Arc<Entered>,
    scope: Scope,
    admission: Admission,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let answer = match handshake(request.headers()) {
        Ok(answer) => answer,
        Err(refusal) => return *refusal,
    };
    let upgrading = hyper::upgrade::on(&mut request);
    let face = open.0.clone();
    let owner = face.clone();
    tasks::spawn_in(&face.tasks, tasks::Kind::Connection, async move {
        // It stays one of its principal's connections.
        let in_use = open.1.begin();
        match timeout(limits::UPGRADE, upgrading).await {
            Ok(Ok(upgraded)) => converse(&owner, scope, admission, upgraded).await,
            Ok(Err(fault)) => tracing::debug!(%fault, "a connection could not be upgraded"),
            Err(_) => tracing::debug!("a connection was not upgraded in time"),
        }
        drop((in_use, open));
    });
    answer
}

/// The answer to a handshake, or why there is none.
fn handshake(headers: &HeaderMap) -> Result<Response<Body>, Refusal> {
    let bad = |text| Err(Box::new(reply::plain(StatusCode::BAD_REQUEST, text)));
    if !says(headers, &header::UPGRADE, "websocket")
        || !says(headers, &header::CONNECTION, "upgrade")
    {
        let mut refusal = reply::plain(
            StatusCode::UPGRADE_REQUIRED,
            "this address speaks WebSocket\n",
        );
        refusal
            .headers_mut()
            .insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        refusal
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        return Err(Box::new(refusal));
    }
    if headers
        .get(header::SEC_WEBSOCKET_VERSION)
        .is_none_or(|version| version != "13")
    {
        let mut refusal = reply::plain(
            StatusCode::UPGRADE_REQUIRED,
            "Sec-WebSocket-Version must be 13\n",
        );
        refusal.headers_mut().insert(
            header::SEC_WEBSOCKET_VERSION,
            HeaderValue::from_static("13"),
        );
        return Err(Box::new(refusal));
    }
    // 16 bytes in base64.
    let key = headers
        .get(header::SEC_WEBSOCKET_KEY)
        .map(HeaderValue::as_bytes);
    let Some(key) = key.filter(|key| key.len() == 24 && key.ends_with(b"==")) else {
        return bad("Sec-WebSocket-Key is missing or wrong\n");
    };
    let offered = headers.contains_key(header::SEC_WEBSOCKET_PROTOCOL);
    if offered && !says(headers, &header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL) {
        return bad("the subprotocol must be mcp\n");
    }
    let Ok(accept) = HeaderValue::try_from(ws::accept_key(key)) else {
        return bad("Sec-WebSocket-Key is missing or wrong\n");
    };
    let mut answer = reply::status(StatusCode::SWITCHING_PROTOCOLS);
    let headers = answer.headers_mut();
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    if offered {
        headers.insert(
            header::SEC_WEBSOCKET_PROTOCOL,
            HeaderValue::from_static(PROTOCOL),
        );
    }
    Ok(answer)
}

/// Whether one of the words in a header's list is this one.
fn says(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    headers.get_all(name).iter().any(|value| {
        value.to_str().is_ok_and(|text| {
            text.split(',')
                .any(|part| part.trim().eq_ignore_ascii_case(word))
        })
    })
}

async fn converse(face: &Arc<Face>, scope: Scope, admission: Admission, upgraded: Upgraded) {
    let options = WsOptions::default();
    let (writer, mut reader) = ws::serve(TokioIo::new(upgraded), &options, admission.share()).await;
    let terms = ClientTerms {
        scope,
        admission: admission.clone(),
        own_servers: false,
        shared_credential: face.entrance.door().has_several_principals(),
        modern: true,
        announcement: face.announcement(),
    };
    let outlet = Backlog::of(writer.clone(), admission.share());
    let client = Conversation::new(face.gateway.clone(), terms, outlet);
    // A handshake with servers takes its time, and what keeps the connection
    // alive must be read meanwhile.
    let (posted, mut incoming) = mpsc::channel::<Bytes>(limits::POSTED);
    let taking = client.clone();
    let mut taking = tasks::spawn(tasks::Kind::Conversation, async move {
        while let Some(bytes) = incoming.recv().await {
            taking.bytes(bytes).await;
        }
    });
    let _end = EndsWith(client.clone(), writer.clone());
    // Whoever opens one has something to say.
    let silence = tokio::time::sleep(limits::FIRST_MESSAGE);
    tokio::pin!(silence);
    let mut spoken = false;
    let (code, reason) = loop {
        tokio::select! {
            () = &mut silence, if !spoken => break (POLICY, "no message came in time"),
            next = reader.next() => match next {
                Ok(bytes) => {
                    spoken = true;
                    if posted.send(bytes).await.is_err() {
                        break (NORMAL, "");
                    }
                }
                Err(end) => {
                    tracing::debug!(%end, "a client's WebSocket ended");
                    break (NORMAL, "");
                }
            },
            _ = &mut taking => break (FAULT, "a bug in Switchboard"),
            ended = admission.ended() => {
                if ended != Ended::Shutdown {
                    break (POLICY, ended.as_str());
                }
                client.drain().await;
                break (GOING_AWAY, ended.as_str());
            }
        }
    };
    taking.abort();
    client.end();
    writer.close(code, reason);
    let _ = timeout(limits::FAREWELL, writer.closed()).await;
}

/// Ends a client's side of things, whatever becomes of the task that serves it.
struct EndsWith(Arc<Conversation>, WsWriter);

impl Drop for EndsWith {
    fn drop(&mut self) {
        self.0.end();
        self.1.close(FAULT, "a bug in Switchboard");
    }
}

impl Queue for WsWriter {
    fn queued(&self) -> usize {
        self.queued()
    }

    fn push(&self, message: Payload, share: Option<&Share>) {
        if self.send(counted(message, share)).is_err() {
            self.close(POLICY, "messages are not read");
        }
    }

    fn end(&self, full: &Full) {
        self.close(POLICY, &full.to_string());
    }
}
