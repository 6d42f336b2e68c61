//! A client in the same process, of either era; servers by a script, and a gateway
//! that is reached over HTTP.

#[expect(dead_code, reason = "tests of the running program use the rest")]
#[path = "../../../../cli/tests/it/support/scripted.rs"]
pub mod scripted;
pub mod served;

use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use switchboard_gateway::{Gateway, faces};
use switchboard_testkit::{LEGACY, initialize_params, with_meta};
use switchboard_transport::in_process::{self, End};
use switchboard_wire::Payload;
use tokio_util::sync::CancellationToken;

/// How long anything may take on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Client {
    end: End,
    id: u64,
    is_modern: bool,
    /// What came that is no answer.
    pub heard: Vec<Value>,
}

impl Client {
    /// A modern client of one server, or of all of them.
    pub fn modern(gateway: &Arc<Gateway>, server: Option<&'static str>) -> Self {
        let (end, theirs) = in_process::pair();
        let gateway = gateway.clone();
        tokio::spawn(async move {
            let stop = CancellationToken::new();
            faces::in_process::serve(gateway, theirs, "ada".into(), server, stop).await;
        });
        Self {
            end,
            id: 0,
            is_modern: true,
            heard: Vec::new(),
        }
    }

    /// A legacy client, after its handshake; and what it was told there.
    pub async fn legacy(gateway: &Arc<Gateway>, server: Option<&'static str>) -> (Self, Value) {
        let mut client = Self::modern(gateway, server);
        client.is_modern = false;
        let hello = client.ask("initialize", initialize_params(LEGACY)).await;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        (client, hello["result"].clone())
    }

    pub fn send(&self, message: &Value) {
        let _ = self.end.sender.send(Payload::from(message.to_string()));
    }

    /// Sends a request, with what its era wants; the id.
    pub fn start(&mut self, method: &str, mut params: Value) -> u64 {
        if self.is_modern {
            params = with_meta(params);
        }
        self.id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}));
        self.id
    }

    /// Sends a request; the whole answer.
    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params);
        self.answer(id).await
    }

    /// The answer to a request.
    pub async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// The next message, whatever it is.
    pub async fn next(&mut self) -> Value {
        let next = tokio::time::timeout(PATIENCE, self.end.receiver.next()).await;
        let bytes = next.expect("a message in time").expect("a message");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// Waits for something of this method that is no answer, and takes it out.
    pub async fn hears(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.heard.iter().position(|one| one["method"] == method) {
                return self.heard.remove(at);
            }
            let message = self.next().await;
            self.heard.push(message);
        }
    }
}
