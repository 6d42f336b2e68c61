//! `/attach`: a program that stands between us and a stdio client. After the
//! same checks as any other request the connection carries lines both ways, as
//! a pipe would, and is one client that shares servers with others.

use super::{Entered, body::Body, reply};
use crate::{
    admission::Admission,
    faces::{conversation::ClientTerms, stdio},
    limits,
};
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use switchboard_host::Scope;
use switchboard_tasks as tasks;
use switchboard_transport::stdio::Lines;
use switchboard_wire::limits::MESSAGE_BYTES;
use tokio::time::timeout;

/// What a connection is upgraded to.
pub const PROTOCOL: &str = "mcp-lines";

/// The parameter that holds what the client is to be told. Only who attaches
/// knows where the client is.
pub const ANNOUNCEMENT: &str = "announcement";

/// Answers the handshake and hands the connection over.
pub(super) fn upgrade(
    open: Arc<Entered>,
    scope: Scope,
    admission: Admission,
    mut request: Request<Incoming>,
) -> Response<Body> {
    let asked = request.headers().get(header::UPGRADE);
    if asked.is_none_or(|protocol| protocol != PROTOCOL) {
        let mut refusal = reply::status(StatusCode::UPGRADE_REQUIRED);
        refusal
            .headers_mut()
            .insert(header::UPGRADE, HeaderValue::from_static(PROTOCOL));
        return refusal;
    }
    let face = open.0.clone();
    let terms = ClientTerms {
        scope,
        admission,
        own_servers: false,
        shared_credential: face.entrance.door().has_several_principals(),
        modern: true,
        announcement: announcement(&request),
    };
    let upgrading = hyper::upgrade::on(&mut request);
    let gateway = face.gateway.clone();
    tasks::spawn_in(&face.tasks, tasks::Kind::Connection, async move {
        // It stays one of its principal's connections.
        let in_use = open.1.begin();
        match timeout(limits::UPGRADE, upgrading).await {
            Ok(Ok(upgraded)) => {
                let (read, write) = tokio::io::split(TokioIo::new(upgraded));
                let lines = Lines::charged(read, MESSAGE_BYTES, terms.admission.share());
                let patience = Some(limits::FIRST_MESSAGE);
                let served = stdio::serve_client(gateway, terms, lines, write, patience).await;
                if let Err(fault) = served {
                    tracing::debug!(%fault, "an attached client ended badly");
                }
            }
            Ok(Err(fault)) => tracing::debug!(%fault, "a connection could not be upgraded"),
            Err(_) => tracing::debug!("a connection was not upgraded in time"),
        }
        drop((in_use, open));
    });
    let mut answer = reply::status(StatusCode::SWITCHING_PROTOCOLS);
    let headers = answer.headers_mut();
    headers.insert(header::UPGRADE, HeaderValue::from_static(PROTOCOL));
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    answer
}

fn announcement(request: &Request<Incoming>) -> Option<Arc<str>> {
    let query = request.uri().query().unwrap_or_default();
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    let (_, text) = pairs.find(|(name, _)| name == ANNOUNCEMENT)?;
    Some(text.into())
}
