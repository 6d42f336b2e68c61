//! A client over streamable HTTP: one POST for each message, and in the legacy
//! era a session with a stream of its own.

use super::{Channel, Order};
use crate::event_stream::EventStream;
use crate::http_client::{HttpClient, modern_headers};
use http::Method;
use serde_json::Value;
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::{AbortHandle, JoinSet};

const LONG: Duration = Duration::from_secs(3600);

impl Channel {
    /// A client of `http://…/mcp`.
    pub fn http(url: &str, headers: &[(&str, &str)]) -> Self {
        let mut client = headers
            .iter()
            .fold(HttpClient::new(url), |client, (name, value)| {
                client.header(name, value)
            });
        let (orders, mut sending) = unbounded_channel();
        let (received, incoming) = unbounded_channel();
        tokio::spawn(async move {
            let mut under_way: HashMap<u64, AbortHandle> = HashMap::new();
            let mut tasks = JoinSet::new();
            while let Some(order) = sending.recv().await {
                let message = match order {
                    Order::Send(message) => message,
                    Order::Abandon(id) => {
                        if let Some(task) = under_way.remove(&id) {
                            task.abort();
                        }
                        continue;
                    }
                };
                let method = message["method"].as_str().unwrap_or_default().to_owned();
                let modern = message["params"]["_meta"]
                    .get("io.modelcontextprotocol/protocolVersion")
                    .is_some();
                let extra = if modern {
                    modern_headers(&method, &message["params"])
                } else {
                    Vec::new()
                };
                let extra: Vec<(&str, &str)> =
                    extra.iter().map(|(n, v)| (*n, v.as_str())).collect();
                let body = message.to_string();
                if method == "initialize" || message.get("id").is_none() {
                    let stream = client.open(Method::POST, &extra, body).await;
                    if let Some(session) = stream.headers.get("mcp-session-id") {
                        let session = session.to_str().unwrap_or_default().to_owned();
                        client = client.header("mcp-session-id", &session);
                        client = client.header("mcp-protocol-version", "2025-11-25");
                    }
                    forward(stream, &received).await;
                    if method == "notifications/initialized" {
                        let stream = client.listen().await;
                        let received = received.clone();
                        tasks.spawn(async move { forward(stream, &received).await });
                    }
                    continue;
                }
                let opening = client.clone_for(&extra);
                let received = received.clone();
                let id = message["id"].as_u64().unwrap_or_default();
                let task = tasks.spawn(async move {
                    let mut opening = opening;
                    opening.deadline = LONG;
                    let stream = opening.open(Method::POST, &[], body).await;
                    forward(stream, &received).await;
                });
                under_way.insert(id, task);
            }
        });
        Self::over(orders, incoming)
    }
}

/// Hands over every message of an answer.
async fn forward(mut stream: EventStream, received: &UnboundedSender<Value>) {
    if stream.is_events() {
        while let Some(event) = stream.next_within(LONG).await {
            if event.data.as_ref().is_some_and(|data| !data.is_empty()) {
                let _ = received.send(event.json());
            }
        }
    } else if let Ok(message) = serde_json::from_slice(&stream.body().await) {
        let _ = received.send(message);
    }
}
