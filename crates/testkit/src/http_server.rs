//! A server over HTTP inside the test: a closure says what it answers, and what
//! it was sent can be looked at.

use crate::serve::{self, ReplyBody};
use bytes::Bytes;
use http::StatusCode;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// One message that came, with its headers.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub message: Value,
}

impl Heard {
    /// The message's method.
    pub fn method(&self) -> &str {
        self.message["method"].as_str().unwrap_or_default()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What a server answers.
#[derive(Debug)]
pub enum Said {
    /// The result of the request.
    Result(Value),
    /// An error, under this HTTP status.
    Error(u16, i64, &'static str),
    /// A stream that begins with this message and stays open.
    Open(Value),
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct HttpServer {
    /// Where it is.
    pub url: String,
    heard: Arc<Mutex<Vec<Heard>>>,
    open: Arc<Mutex<Vec<UnboundedSender<Bytes>>>>,
    task: JoinHandle<()>,
}

impl HttpServer {
    /// Starts one that answers as `say` says. Only POST is served.
    pub async fn start(say: impl Fn(&Heard) -> Said + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("a port");
        let address = listener.local_addr().expect("an address");
        let (heard, open) = (Arc::<Mutex<Vec<Heard>>>::default(), Arc::default());
        let (say, notes, streams) = (Arc::new(say), heard.clone(), Arc::clone(&open));
        let handler = move |request: http::Request<hyper::body::Incoming>| {
            let (say, notes, streams) = (say.clone(), notes.clone(), Arc::clone(&streams));
            async move {
                let named = request.headers().iter().map(|(name, value)| {
                    let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                    (name.as_str().to_owned(), value)
                });
                let headers = named.collect();
                let Ok(body) = request.into_body().collect().await else {
                    return serve::status(StatusCode::BAD_REQUEST);
                };
                let Ok(message) = serde_json::from_slice(&body.to_bytes()) else {
                    return serve::status(StatusCode::METHOD_NOT_ALLOWED);
                };
                let heard = Heard { headers, message };
                lock(&notes).push(heard.clone());
                answer(&say(&heard), &heard.message["id"], &streams)
            }
        };
        let task = tokio::spawn(async move { serve::serve_on(listener, handler).await });
        Self {
            url: format!("http://{address}/mcp"),
            heard,
            open,
            task,
        }
    }

    /// What came with this method, in order.
    pub fn heard(&self, method: &str) -> Vec<Heard> {
        let all = lock(&self.heard);
        all.iter()
            .filter(|one| one.method() == method)
            .cloned()
            .collect()
    }

    /// Sends a message on every stream that is open.
    pub fn tell(&self, message: &Value) {
        let bytes = Bytes::from(message.to_string());
        lock(&self.open).retain(|stream| stream.send(bytes.clone()).is_ok());
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn answer(
    said: &Said,
    id: &Value,
    streams: &Mutex<Vec<UnboundedSender<Bytes>>>,
) -> http::Response<ReplyBody> {
    match said {
        Said::Result(result) => {
            let text = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
            serve::json(StatusCode::OK, ReplyBody::full(text))
        }
        Said::Error(status, code, message) => {
            let error = json!({"code": code, "message": message});
            let text = json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string();
            let status = StatusCode::from_u16(*status).expect("a status");
            serve::json(status, ReplyBody::full(text))
        }
        Said::Open(first) => {
            let (sender, receiver) = unbounded_channel();
            let _ = sender.send(Bytes::from(first.to_string()));
            lock(streams).push(sender);
            serve::events(ReplyBody::Events(receiver, None))
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
