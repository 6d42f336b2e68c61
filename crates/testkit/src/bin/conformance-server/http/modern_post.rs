//! A modern POST: one request, answered by JSON or by a stream of its own.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::body::{KEEP_ALIVE, empty, events, json, keep_alive, message_event, rpc_error};
use super::{HttpResponse, headers};
use crate::conversation::initialize_refused;
use crate::modern;
use crate::outlet::Outlet;
use crate::rpc::{self, Message, Request, RpcError, is_response, response};
use crate::server::Server;

/// How long a result may take and still be sent as plain JSON.
const PATIENCE: Duration = Duration::from_millis(20);
/// Messages of one request that wait for the client to read.
const MAX_QUEUED: usize = 64;

pub(super) async fn post(server: Arc<Server>, headers: &HeaderMap, value: Value) -> HttpResponse {
    let request = match Message::read(value) {
        Ok(Message::Request(request)) => request,
        Ok(Message::Notification { .. }) => return empty(StatusCode::ACCEPTED),
        Ok(Message::Response { id, .. }) => {
            let error = RpcError::invalid_request("A client sends no responses");
            return rpc_error(StatusCode::BAD_REQUEST, &id, error);
        }
        Err((id, error)) => return rpc_error(StatusCode::BAD_REQUEST, &id, error),
    };
    if let Err(error) = check(&server, headers, &request) {
        return rpc_error(StatusCode::BAD_REQUEST, &request.id, error);
    }
    let (queue, mut queued) = mpsc::channel(MAX_QUEUED);
    let always_stream = server.options.always_stream;
    let work = tokio::spawn(async move {
        let outcome = modern::answer(server, &request, Outlet::Queue(queue.clone())).await;
        let _ = queue.send(response(&request.id, outcome)).await;
    });
    // Lives as long as the response: a client that goes away has cancelled.
    let work = AbortOnDrop(work.abort_handle());
    let first = timeout(PATIENCE, queued.recv()).await.unwrap_or_default();
    match first {
        Some(message) if is_response(&message) => {
            let status = status_of(&message);
            if always_stream && status == StatusCode::OK {
                return events(stream_of(Some(message), queued, work));
            }
            json(status, &message)
        }
        first => events(stream_of(first, queued, work)),
    }
}

/// What must hold before a request is looked at: all of it is a 400.
fn check(server: &Server, given: &HeaderMap, request: &Request) -> Result<(), RpcError> {
    if request.method == "initialize" && modern::version_of(&request.params).is_none() {
        return Err(initialize_refused(&request.params));
    }
    let version = modern::required_version(&request.params)?;
    headers::check_version(given, version)?;
    modern::check_envelope(&request.params)?;
    headers::check_request(server, given, request)
}

fn status_of(message: &Value) -> StatusCode {
    match message["error"]["code"].as_i64() {
        Some(rpc::METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(rpc::HEADER_MISMATCH | rpc::MISSING_CAPABILITY | rpc::UNSUPPORTED_VERSION) => {
            StatusCode::BAD_REQUEST
        }
        _ => StatusCode::OK,
    }
}

fn stream_of(
    first: Option<Value>,
    queued: mpsc::Receiver<Value>,
    work: AbortOnDrop,
) -> impl Stream<Item = Bytes> + Send {
    stream::unfold((first, queued, work), |(first, mut queued, work)| async {
        let message = match first {
            Some(message) => Some(message),
            None => match timeout(KEEP_ALIVE, queued.recv()).await {
                Ok(message) => message,
                Err(_) => return Some((keep_alive(), (None, queued, work))),
            },
        };
        message.map(|message| (message_event(&message), (None, queued, work)))
    })
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
