//! A legacy POST: a message or a batch, within a session.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::Value;

use super::body::{empty, json, rpc_error};
use super::{HttpResponse, SESSION_ID, streams};
use crate::event_stream::{Answer, EventStream};
use crate::legacy;
use crate::outlet::Outlet;
use crate::rpc::{Message, Request, RpcError, response};
use crate::server::{Server, random_id};
use crate::session::Session;

/// How long results may take and still be sent as plain JSON.
const PATIENCE: Duration = Duration::from_millis(20);

pub(super) async fn post(server: Arc<Server>, headers: &HeaderMap, value: Value) -> HttpResponse {
    if value["method"] == "initialize" {
        return initialize(&server, value);
    }
    let session = match streams::session(&server, headers) {
        Ok(session) => session,
        Err(refusal) => return refusal,
    };
    let is_batch = value.is_array();
    let requests = match take_in(&session, value) {
        Ok(requests) if requests.is_empty() => return empty(StatusCode::ACCEPTED),
        Ok(requests) => requests,
        Err((id, error)) => return rpc_error(StatusCode::BAD_REQUEST, &id, error),
    };
    let stream = session.open_stream();
    let reader = stream.attach();
    work(&server, &session, requests, &stream);
    if !server.options.always_stream
        && let Answer::Plain(responses) = stream.answer_within(PATIENCE).await
    {
        match responses.as_slice() {
            // Cancelled: there is nothing to say, which only a stream can.
            [] => {}
            [response] if !is_batch => return json(StatusCode::OK, response),
            _ => return json(StatusCode::OK, &responses.into()),
        }
    }
    streams::read(&session, stream, reader, 0)
}

fn initialize(server: &Server, value: Value) -> HttpResponse {
    let request = match Message::read(value) {
        Ok(Message::Request(request)) => request,
        Ok(_) => return empty(StatusCode::BAD_REQUEST),
        Err((id, error)) => return rpc_error(StatusCode::BAD_REQUEST, &id, error),
    };
    if !request.params["protocolVersion"].is_string() {
        let error = RpcError::invalid_params("protocolVersion must be a string");
        return rpc_error(StatusCode::BAD_REQUEST, &request.id, error);
    }
    let id = random_id();
    let push = Outlet::Stream(Arc::new(EventStream::new("get".to_owned())));
    let session = Arc::new(Session::begin(id.clone(), &request.params, push));
    let result = legacy::initialize_result(&session);
    server.changes.add_session(&session);
    server.add_session(session);
    let mut answer = json(StatusCode::OK, &response(&request.id, Ok(result)));
    let id = HeaderValue::from_str(&id).expect("hexadecimal digits");
    answer.headers_mut().insert(SESSION_ID, id);
    answer
}

/// Deals with all that needs no answer; returns the requests.
fn take_in(session: &Session, value: Value) -> Result<Vec<Request>, (Value, RpcError)> {
    let values = match value {
        Value::Array(values) if session.revision.has_batches() && !values.is_empty() => values,
        Value::Array(_) => {
            let error = RpcError::invalid_request("No batches in this session");
            return Err((Value::Null, error));
        }
        value => vec![value],
    };
    let messages: Vec<_> = values
        .into_iter()
        .map(Message::read)
        .collect::<Result<_, _>>()?;
    let mut requests = Vec::new();
    for message in messages {
        match message {
            Message::Request(request) => requests.push(request),
            Message::Response { id, outcome } => session.answer(&id, outcome),
            Message::Notification { method, params } => {
                legacy::notified(session, &method, &params);
            }
        }
    }
    Ok(requests)
}

/// Works on the requests, each in a task of its own. A client that goes away
/// has not cancelled anything: it may come back for the answers.
fn work(
    server: &Arc<Server>,
    session: &Arc<Session>,
    requests: Vec<Request>,
    stream: &Arc<EventStream>,
) {
    let end = Arc::new(EndOnDrop(Arc::clone(stream)));
    for request in requests {
        let id = request.id.clone();
        if !session.in_flight.reserve(&id) {
            let error = RpcError::invalid_request("This id, or all places, are in use");
            stream.append(response(&id, Err(error)));
            continue;
        }
        let (server, session, end) = (Arc::clone(server), Arc::clone(session), Arc::clone(&end));
        let in_flight = Arc::clone(&session.in_flight);
        let task = tokio::spawn(async move {
            let in_flight = Arc::clone(&session.in_flight);
            let outlet = Outlet::Stream(Arc::clone(&end.0));
            let outcome = legacy::answer(server, session, &request, outlet).await;
            in_flight.release(&request.id);
            end.0.append(response(&request.id, outcome));
        });
        in_flight.set_handle(&id, task.abort_handle());
    }
}

/// Ends a stream when the last of its requests is answered or cancelled.
struct EndOnDrop(Arc<EventStream>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}
