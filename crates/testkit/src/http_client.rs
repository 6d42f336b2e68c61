//! A raw HTTP/1.1 client for one MCP endpoint.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::event_stream::EventStream;
use crate::headers::encode_value;
use crate::modern::{MODERN, initialize_params, with_meta};
use crate::program::DEADLINE;
use crate::sse::{Decoder, Event};

/// Talks to one URL. By default every request has a connection of its own;
/// with [`keep_alive`](Self::keep_alive) they share one.
#[derive(Debug)]
pub struct HttpClient {
    /// How long each wait may take.
    pub deadline: Duration,
    /// Headers of every request, by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// Whether requests share one connection.
    pub keep_alive: bool,
    authority: String,
    path: String,
    connection: Option<SendRequest<Full<Bytes>>>,
    next_id: u64,
}

/// A whole response.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as it came.
    pub body: Bytes,
}

impl Reply {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The JSON-RPC messages in the body, be it JSON or an event stream.
    ///
    /// # Panics
    /// When there is anything else.
    pub fn messages(&self) -> Vec<Value> {
        if self
            .header("content-type")
            .is_some_and(|t| t.starts_with("text/event-stream"))
        {
            let mut decoder = Decoder::default();
            decoder.push(&self.body);
            let events = std::iter::from_fn(move || decoder.next_event());
            let full = |event: &Event| event.data.as_ref().is_some_and(|data| !data.is_empty());
            return events.filter(full).map(|event| event.json()).collect();
        }
        vec![serde_json::from_slice(&self.body).unwrap_or_else(|error| {
            panic!(
                "{}: not JSON ({error}): {}",
                self.status,
                String::from_utf8_lossy(&self.body)
            )
        })]
    }

    /// The last message of the body: the response.
    ///
    /// # Panics
    /// When there is none.
    pub fn message(&self) -> Value {
        self.messages()
            .pop()
            .unwrap_or_else(|| panic!("no message in {self:?}"))
    }
}

impl HttpClient {
    /// A client for `http://host:port/path`.
    ///
    /// # Panics
    /// When the URL is not of that kind.
    pub fn new(url: &str) -> Self {
        let rest = url
            .strip_prefix("http://")
            .expect("test URLs start with http://");
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        Self {
            deadline: DEADLINE,
            headers: BTreeMap::from([
                ("content-type".to_owned(), "application/json".to_owned()),
                (
                    "accept".to_owned(),
                    "application/json, text/event-stream".to_owned(),
                ),
            ]),
            keep_alive: false,
            authority: authority.to_owned(),
            path: format!("/{path}"),
            connection: None,
            next_id: 0,
        }
    }

    /// Adds a header to every request.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(name.to_lowercase(), value.to_owned());
        self
    }

    /// Another client with the same headers and some more.
    #[must_use]
    pub fn clone_for(&self, extra: &[(&str, &str)]) -> Self {
        let mut headers = self.headers.clone();
        for (name, value) in extra {
            headers.insert(name.to_lowercase(), (*value).to_owned());
        }
        Self {
            deadline: self.deadline,
            headers,
            keep_alive: false,
            authority: self.authority.clone(),
            path: self.path.clone(),
            connection: None,
            next_id: 0,
        }
    }

    /// Asks there from now on, at the same path.
    ///
    /// # Panics
    /// When the URL is not of that kind.
    pub fn move_to(&mut self, url: &str) {
        let other = Self::new(url);
        (self.authority, self.connection) = (other.authority, None);
    }

    /// Makes the requests share one connection.
    #[must_use]
    pub fn keep_alive(mut self) -> Self {
        self.keep_alive = true;
        self
    }

    /// `host:port`.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Sends a request and reads the whole response.
    ///
    /// # Panics
    /// At the deadline and when the connection fails.
    pub async fn send(
        &mut self,
        method: Method,
        extra: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        let limit = self.deadline;
        match tokio::time::timeout(limit, self.try_send(method, extra, body.into())).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => panic!("no response: {error}"),
            Err(_) => panic!("no response within {limit:?}"),
        }
    }

    /// Sends a request and gives the error instead of panicking.
    ///
    /// # Errors
    /// What the connection or the response suffered from.
    pub async fn try_send(
        &mut self,
        method: Method,
        extra: &[(&str, &str)],
        body: Bytes,
    ) -> anyhow::Result<Reply> {
        let mut connection = self.connect().await?;
        let response = connection
            .send_request(self.build(method, extra, body)?)
            .await?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        if self.keep_alive {
            self.connection = Some(connection);
        }
        Ok(Reply {
            status: parts.status,
            headers: parts.headers,
            body,
        })
    }

    /// Sends a request and leaves the body to be read event by event, always
    /// on a connection of its own.
    ///
    /// # Panics
    /// At the deadline and when the connection fails.
    pub async fn open(
        &mut self,
        method: Method,
        extra: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> EventStream {
        let limit = self.deadline;
        match tokio::time::timeout(limit, self.try_open(method, extra, body)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => panic!("no response: {error}"),
            Err(_) => panic!("no response within {limit:?}"),
        }
    }

    /// The same, and gives the error instead of panicking.
    ///
    /// # Errors
    /// What the connection suffered from before the head of the response.
    pub async fn try_open(
        &mut self,
        method: Method,
        extra: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> anyhow::Result<EventStream> {
        let request = self.build(method, extra, body.into())?;
        let mut connection = dial(&self.authority).await?;
        let response = connection.send_request(request).await?;
        let (parts, body) = response.into_parts();
        Ok(EventStream::new(parts, body, connection, self.deadline))
    }

    /// POSTs these bytes.
    ///
    /// # Panics
    /// At the deadline and when the connection fails.
    pub async fn post(&mut self, body: impl Into<Bytes>) -> Reply {
        self.send(Method::POST, &[], body).await
    }

    /// The legacy handshake; from then on every request carries the session id
    /// and the version. The result.
    ///
    /// # Panics
    /// When the server refuses it.
    pub async fn initialize(&mut self, version: &str) -> Value {
        let body = message("initialize", initialize_params(version), 0);
        let reply = self.post(body).await;
        let answer = reply.message();
        assert!(
            answer.get("result").is_some(),
            "initialize failed: {} {answer}",
            reply.status
        );
        if let Some(session) = reply.header("mcp-session-id") {
            self.headers
                .insert("mcp-session-id".into(), session.to_owned());
        }
        let agreed = answer["result"]["protocolVersion"]
            .as_str()
            .unwrap_or(version);
        self.headers
            .insert("mcp-protocol-version".into(), agreed.to_owned());
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let reply = self.post(done.to_string()).await;
        assert_eq!(
            reply.status,
            StatusCode::ACCEPTED,
            "initialized was not accepted"
        );
        answer["result"].clone()
    }

    /// A legacy request after [`initialize`](Self::initialize); the response.
    ///
    /// # Panics
    /// At the deadline and when there is no message in the reply.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        self.post(message(method, params, self.next_id))
            .await
            .message()
    }

    /// A legacy tool call; the whole response.
    ///
    /// # Panics
    /// At the deadline and when there is no message in the reply.
    pub async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": name, "arguments": arguments}))
            .await
    }

    /// A modern request, with metadata and headers; the whole reply.
    ///
    /// # Panics
    /// At the deadline and when the connection fails.
    pub async fn modern(&mut self, method: &str, params: Value) -> Reply {
        self.next_id += 1;
        let params = with_meta(params);
        let headers = modern_headers(method, &params);
        let body = message(method, params, self.next_id);
        self.send(Method::POST, &pairs(&headers), body).await
    }

    /// A modern request whose reply is read event by event.
    ///
    /// # Panics
    /// At the deadline and when the connection fails.
    pub async fn modern_stream(&mut self, method: &str, params: Value) -> EventStream {
        self.next_id += 1;
        let params = with_meta(params);
        let headers = modern_headers(method, &params);
        let body = message(method, params, self.next_id);
        self.open(Method::POST, &pairs(&headers), body).await
    }

    /// A legacy request whose reply is read event by event.
    ///
    /// # Panics
    /// At the deadline and when the connection fails.
    pub async fn stream(&mut self, method: &str, params: Value) -> EventStream {
        self.next_id += 1;
        self.open(Method::POST, &[], message(method, params, self.next_id))
            .await
    }

    /// The legacy GET stream.
    ///
    /// # Panics
    /// At the deadline and when the connection fails.
    pub async fn listen(&mut self) -> EventStream {
        self.open(Method::GET, &[("accept", "text/event-stream")], "")
            .await
    }

    fn build(
        &self,
        method: Method,
        extra: &[(&str, &str)],
        body: Bytes,
    ) -> anyhow::Result<Request<Full<Bytes>>> {
        let mut headers = self.headers.clone();
        for (name, value) in extra {
            headers.insert(name.to_lowercase(), (*value).to_owned());
        }
        let mut request = Request::builder().method(method).uri(&self.path);
        if !headers.contains_key("host") {
            request = request.header("host", &self.authority);
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        Ok(request.body(Full::new(body))?)
    }

    async fn connect(&mut self) -> anyhow::Result<SendRequest<Full<Bytes>>> {
        if let Some(mut connection) = self.connection.take()
            && connection.ready().await.is_ok()
        {
            return Ok(connection);
        }
        dial(&self.authority).await
    }
}

fn message(method: &str, params: Value, id: u64) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// The headers that a modern request with these params must carry.
pub fn modern_headers(method: &str, params: &Value) -> Vec<(&'static str, String)> {
    let mut headers = vec![
        ("mcp-protocol-version", MODERN.to_owned()),
        ("mcp-method", method.to_owned()),
    ];
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    headers.extend(name.map(|name| ("mcp-name", encode_value(name))));
    headers
}

fn pairs<'a>(headers: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect()
}

async fn dial(authority: &str) -> anyhow::Result<SendRequest<Full<Bytes>>> {
    let socket = TcpStream::connect(authority).await?;
    socket.set_nodelay(true)?;
    let (sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

/// Sends raw bytes on a new connection and reads until the peer closes it or
/// the limit passes: for requests that no client library would send.
///
/// # Panics
/// When the peer cannot be reached.
pub async fn raw_exchange(authority: &str, bytes: &[u8], limit: Duration) -> Vec<u8> {
    let mut socket = TcpStream::connect(authority)
        .await
        .expect("the peer accepts connections");
    let mut reply = Vec::new();
    let exchange = async {
        socket.write_all(bytes).await?;
        socket.read_to_end(&mut reply).await
    };
    let _ = tokio::time::timeout(limit, exchange).await;
    reply
}
