//! HTTP: the listener, who may talk to it, and which era a request belongs to.

mod body;
mod headers;
mod legacy_post;
mod modern_post;
mod old_sse;
mod streams;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use self::body::{ResponseBody, empty, rpc_error};
use crate::modern;
use crate::revision::{MODERN, Revision};
use crate::rpc::RpcError;
use crate::server::Server;

const MAX_CONNECTIONS: usize = 1_024;
const MAX_BODY: usize = 16 * 1024 * 1024;

const SESSION_ID: &str = "mcp-session-id";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";

type HttpResponse = Response<ResponseBody>;

/// Serves on the loopback interface until the process ends.
pub(crate) async fn serve(server: Arc<Server>, port: u16) -> anyhow::Result<()> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
    eprintln!("listening on http://{}/mcp", listener.local_addr()?);
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let old_clients = Arc::new(old_sse::Clients::default());
    loop {
        let place = Arc::clone(&places).acquire_owned().await?;
        let Ok((connection, _)) = listener.accept().await else {
            continue;
        };
        // Small events must not wait for one another.
        let _ = connection.set_nodelay(true);
        let (server, old_clients) = (Arc::clone(&server), Arc::clone(&old_clients));
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let (server, old_clients) = (Arc::clone(&server), Arc::clone(&old_clients));
                async move { Ok::<_, Infallible>(route(server, &old_clients, request).await) }
            });
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(connection), service)
                .await;
            drop(place);
        });
    }
}

async fn route(
    server: Arc<Server>,
    old_clients: &old_sse::Clients,
    request: Request<Incoming>,
) -> HttpResponse {
    if !comes_from_here(request.headers()) {
        return empty(StatusCode::FORBIDDEN);
    }
    let legacy = server.options.legacy;
    match (request.method(), request.uri().path()) {
        (&Method::POST, "/mcp") => post(server, request).await,
        (&Method::GET, "/mcp") if legacy => streams::get(&server, request.headers()),
        (&Method::DELETE, "/mcp") if legacy => streams::delete(&server, request.headers()),
        (_, "/mcp") => empty(StatusCode::METHOD_NOT_ALLOWED),
        (&Method::GET, "/sse") if legacy => old_clients.open(server),
        (&Method::POST, "/messages") if legacy => old_clients.post(request).await,
        _ => empty(StatusCode::NOT_FOUND),
    }
}

/// Keeps other people's web pages out (DNS rebinding).
fn comes_from_here(headers: &HeaderMap) -> bool {
    let is_local = |authority: &str| {
        let port = authority.rsplit_once(':').filter(|(_, port)| {
            // Not a part of an IPv6 address.
            port.bytes().all(|byte| byte.is_ascii_digit())
        });
        let host = port.map_or(authority, |(host, _)| host);
        ["localhost", "127.0.0.1", "[::1]"].contains(&host)
    };
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or(""));
    let host_is_local = text(HOST).is_some_and(is_local);
    let origin_is_local = text(ORIGIN).is_none_or(|origin| {
        let authority = origin
            .split_once("://")
            .map_or("", |(_, authority)| authority);
        is_local(authority)
    });
    host_is_local && origin_is_local
}

async fn post(server: Arc<Server>, request: Request<Incoming>) -> HttpResponse {
    let (parts, body) = request.into_parts();
    let accepts = |kind| mentions(&parts.headers, ACCEPT, kind);
    if !accepts("application/json") || !accepts("text/event-stream") {
        let error = RpcError::invalid_request("Accept must list JSON and event streams");
        return rpc_error(StatusCode::NOT_ACCEPTABLE, &Value::Null, error);
    }
    let value = match read_json(&parts.headers, body).await {
        Ok(value) => value,
        Err(refusal) => return refusal,
    };
    if is_modern(&server, &parts.headers, &value) {
        modern_post::post(server, &parts.headers, value).await
    } else {
        legacy_post::post(server, &parts.headers, value).await
    }
}

async fn read_json(headers: &HeaderMap, body: Incoming) -> Result<Value, HttpResponse> {
    if !mentions(headers, CONTENT_TYPE, "application/json") {
        return Err(empty(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    let body: Bytes = match Limited::new(body, MAX_BODY).collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return Err(empty(StatusCode::PAYLOAD_TOO_LARGE)),
    };
    serde_json::from_slice(&body).map_err(|error| {
        rpc_error(
            StatusCode::BAD_REQUEST,
            &Value::Null,
            RpcError::parse(error),
        )
    })
}

/// A request is modern by its body; a broken one may still be by its headers,
/// unless it has a session.
fn is_modern(server: &Server, headers: &HeaderMap, value: &Value) -> bool {
    match (server.options.legacy, server.options.modern) {
        (_, false) => return false,
        (false, true) => return true,
        (true, true) => {}
    }
    if modern::version_of(&value["params"]).is_some() {
        return true;
    }
    if headers.contains_key(SESSION_ID) {
        return false;
    }
    match text(headers, PROTOCOL_VERSION) {
        Some(version) => version == MODERN || Revision::parse(version).is_none(),
        None => headers.contains_key("mcp-method"),
    }
}

/// A header's value, if it is text.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn mentions(headers: &HeaderMap, name: http::HeaderName, kind: &str) -> bool {
    headers.get_all(name).iter().any(|value| {
        let value = value.to_str().unwrap_or_default();
        value.contains(kind) || value.contains("*/*")
    })
}
