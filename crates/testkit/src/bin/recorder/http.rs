//! POST bodies in; JSON out, or an event stream where messages go first.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use switchboard_testkit::json;
use switchboard_testkit::serve::{self, ReplyBody};
use tokio::sync::mpsc;

use crate::Recorder;
use crate::script::Answer;

/// Serves until the process ends.
pub async fn serve(recorder: Arc<Recorder>, port: u16) -> std::io::Result<()> {
    serve::serve(port, move |request| handle(Arc::clone(&recorder), request)).await
}

async fn handle(recorder: Arc<Recorder>, request: Request<Incoming>) -> Response<ReplyBody> {
    match *request.method() {
        Method::POST => {}
        Method::GET if recorder.legacy => {
            let (sender, receiver) = mpsc::unbounded_channel();
            let _ = sender.send(Bytes::new());
            tokio::spawn(async move { sender.closed().await });
            return serve::events(ReplyBody::Events(receiver, None));
        }
        Method::DELETE if recorder.legacy => return serve::status(StatusCode::OK),
        _ => return serve::status(StatusCode::METHOD_NOT_ALLOWED),
    }
    let Ok(body) = request.into_body().collect().await else {
        return serve::status(StatusCode::BAD_REQUEST);
    };
    let body = body.to_bytes();
    let Some(answer) = recorder.received(&body) else {
        return serve::status(StatusCode::ACCEPTED);
    };
    let mut response = reply(&recorder, answer);
    if json::get(&body, "method") == Some(b"\"initialize\"") {
        let id = HeaderValue::from_static("recorder-session");
        response.headers_mut().insert("mcp-session-id", id);
    }
    response
}

fn reply(recorder: &Recorder, answer: Answer) -> Response<ReplyBody> {
    if answer.before.is_empty() {
        let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
        return serve::json(status, ReplyBody::full(answer.reply));
    }
    let (sender, receiver) = mpsc::unbounded_channel();
    let answers = recorder.expect(&answer.before);
    for message in answer.before {
        let _ = sender.send(Bytes::from(message));
    }
    tokio::spawn(async move {
        for answered in answers {
            let _ = answered.await;
        }
        if answer.hold {
            sender.closed().await;
        } else {
            let _ = sender.send(Bytes::from(answer.reply));
        }
    });
    serve::events(ReplyBody::Events(receiver, None))
}
