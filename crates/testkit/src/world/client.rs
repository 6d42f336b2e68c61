//! A client of either era over HTTP, for tests that are the same in both.

use crate::{EventStream, HttpClient, LEGACY, text_of};
use serde_json::{Value, json};
use std::time::Duration;

/// One client.
pub struct Client {
    /// What it speaks through.
    pub http: HttpClient,
    /// Whether it is of the modern era.
    pub modern: bool,
}

impl Client {
    /// Connects to a gateway, whatever it runs in, and shakes hands where the era has
    /// that.
    pub async fn new(gateway: &impl AsRef<str>, path: &str, modern: bool) -> Self {
        let mut http = at(gateway, path).keep_alive();
        if !modern {
            http.initialize(LEGACY).await;
        }
        Self { http, modern }
    }

    /// A request; the whole answer.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        if self.modern {
            self.http.modern(method, params).await.message()
        } else {
            self.http.request(method, params).await
        }
    }

    /// A request; its result.
    pub async fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.request(method, params).await;
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// A tool call; its text.
    pub async fn call(&mut self, name: &str, arguments: Value) -> String {
        let answer = self
            .request("tools/call", json!({"name": name, "arguments": arguments}))
            .await;
        text_of(&answer).to_owned()
    }

    /// A tool call; the whole answer.
    pub async fn try_call(&mut self, name: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": name, "arguments": arguments}))
            .await
    }

    /// A request whose messages are read as they come.
    pub async fn stream(&mut self, method: &str, params: Value) -> EventStream {
        if self.modern {
            self.http.modern_stream(method, params).await
        } else {
            self.http.stream(method, params).await
        }
    }

    /// The names, or whatever the member is, of a list's items.
    pub async fn list(&mut self, method: &str, items: &str, member: &str) -> Vec<String> {
        let result = self.result(method, json!({})).await;
        let items = result[items].as_array().cloned().unwrap_or_default();
        let text = |item: &Value| item[member].as_str().unwrap_or_default().to_owned();
        items.iter().map(text).collect()
    }
}

fn at(gateway: &impl AsRef<str>, path: &str) -> HttpClient {
    HttpClient::new(&format!("{}{path}", gateway.as_ref()))
}

/// A legacy client with these capabilities.
pub async fn able_to(gateway: &impl AsRef<str>, path: &str, capabilities: Value) -> HttpClient {
    let mut client = at(gateway, path);
    let params = json!({"protocolVersion": LEGACY, "capabilities": capabilities,
        "clientInfo": {"name": "one of several", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let reply = client.post(hello.to_string()).await;
    let session = reply
        .header("mcp-session-id")
        .expect("there is one")
        .to_owned();
    client.headers.insert("mcp-session-id".into(), session);
    client
}

/// The messages of a stream, up to the answer.
pub async fn to_the_end(mut stream: EventStream) -> (Vec<Value>, Value) {
    let mut told = Vec::new();
    if !stream.is_events() {
        return (
            told,
            serde_json::from_slice(&stream.body().await).expect("JSON"),
        );
    }
    loop {
        let message = stream.message().await.expect("an answer before the end");
        if message.get("method").is_none() {
            return (told, message);
        }
        told.push(message);
    }
}

/// The next notification, if one comes soon.
pub async fn news(stream: &mut EventStream, soon: Duration) -> Option<Value> {
    loop {
        let event = stream.next_within(soon).await?;
        if event.data.as_ref().is_some_and(|data| !data.is_empty()) {
            return Some(event.json());
        }
    }
}
