//! One client API over every transport, so that a test can be written once and
//! run over all of them.

mod http;
mod sse;
mod ws;

pub use ws::dial_ws;

use std::any::Any;
use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, timeout_at};

use crate::modern::{initialize_params, with_meta};
use crate::program::{DEADLINE, Program};

type Handler = Box<dyn FnMut(&str, &Value) -> Value + Send>;

/// What a client asks of its transport.
#[derive(Debug)]
pub enum Order {
    /// Send this message.
    Send(Value),
    /// Give up the request of this id in the transport's own way (a closed
    /// stream), if it has one.
    Abandon(u64),
}

/// A client. Every wait has [`deadline`](Self::deadline) and panics when it passes.
pub struct Channel {
    /// How long each wait may take.
    pub deadline: Duration,
    /// Notifications seen so far, oldest first.
    pub notifications: Vec<Value>,
    /// Requests of the server, in the order they came.
    pub requests: Vec<Value>,
    orders: UnboundedSender<Order>,
    incoming: UnboundedReceiver<Value>,
    next_id: u64,
    handler: Handler,
    kept: Vec<Box<dyn Any + Send>>,
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").finish_non_exhaustive()
    }
}

impl Channel {
    /// A client whose orders and messages somebody carries.
    pub fn over(orders: UnboundedSender<Order>, incoming: UnboundedReceiver<Value>) -> Self {
        Self {
            deadline: DEADLINE,
            notifications: Vec::new(),
            requests: Vec::new(),
            orders,
            incoming,
            next_id: 0,
            handler: Box::new(
                |method, _| json!({"error": {"code": -32601, "message": format!("no handler for {method}")}}),
            ),
            kept: Vec::new(),
        }
    }

    /// Keeps something alive as long as the client.
    #[must_use]
    pub fn keeping(mut self, what: impl Any + Send) -> Self {
        self.kept.push(Box::new(what));
        self
    }

    /// Lines on a program's stdin and stdout.
    ///
    /// # Panics
    /// When they were taken already.
    pub fn stdio(mut program: Program) -> Self {
        let mut stdin = program.stdin.take().expect("stdin was not taken yet");
        let stdout = program.stdout.take().expect("stdout was not taken yet");
        let (orders, mut sending) = unbounded_channel();
        let (received, incoming) = unbounded_channel();
        tokio::spawn(async move {
            while let Some(order) = sending.recv().await {
                if let Order::Send(message) = order {
                    let line = format!("{message}\n");
                    if stdin.write_all(line.as_bytes()).await.is_err() {
                        return;
                    }
                }
            }
        });
        tokio::spawn(async move {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if let Ok(message) = serde_json::from_str(&line) {
                    let _ = received.send(message);
                }
            }
        });
        Self::over(orders, incoming).keeping(program)
    }

    /// Sets what answers the server's requests.
    pub fn on_request(&mut self, handler: impl FnMut(&str, &Value) -> Value + Send + 'static) {
        self.handler = Box::new(handler);
    }

    /// Sends a message.
    pub fn send(&self, message: Value) {
        let _ = self.orders.send(Order::Send(message));
    }

    /// Sends a request without waiting; gives its id.
    pub fn start(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Gives a request up: by a notification, or by closing its stream.
    pub fn cancel(&self, id: u64, modern_http: bool) {
        if modern_http {
            let _ = self.orders.send(Order::Abandon(id));
        } else {
            self.notify("notifications/cancelled", json!({"requestId": id}));
        }
    }

    /// The next message of the server, whatever it is; `None` at the end.
    pub async fn next(&mut self, limit: Duration) -> Option<Value> {
        timeout_at(Instant::now() + limit, self.incoming.recv())
            .await
            .ok()
            .flatten()
    }

    /// Waits for the response with this id.
    ///
    /// # Panics
    /// At the deadline and at the end of the channel.
    pub async fn response(&mut self, id: u64) -> Value {
        let until = Instant::now() + self.deadline;
        loop {
            let Ok(Some(message)) = timeout_at(until, self.incoming.recv()).await else {
                panic!("no response to {id}; seen: {:?}", self.notifications);
            };
            if let Some(response) = self.take(message, Some(id)) {
                return response;
            }
        }
    }

    fn take(&mut self, message: Value, id: Option<u64>) -> Option<Value> {
        let method = message["method"].as_str().map(str::to_owned);
        match (method, message.get("id")) {
            (Some(method), Some(theirs)) => {
                let mut answer = (self.handler)(&method, &message["params"]);
                answer["jsonrpc"] = "2.0".into();
                answer["id"] = theirs.clone();
                self.requests.push(message);
                self.send(answer);
                None
            }
            (Some(_), None) => {
                self.notifications.push(message);
                None
            }
            (None, Some(theirs)) if id.is_some_and(|id| *theirs == id) => Some(message),
            _ => None,
        }
    }

    /// Sends a request and waits for its response (the whole message).
    ///
    /// # Panics
    /// At the deadline.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params);
        self.response(id).await
    }

    /// The same in the modern era.
    ///
    /// # Panics
    /// At the deadline.
    pub async fn modern(&mut self, method: &str, params: Value) -> Value {
        self.request(method, with_meta(params)).await
    }

    /// The legacy handshake, declaring all capabilities; the result.
    ///
    /// # Panics
    /// When the server refuses it.
    pub async fn initialize(&mut self, version: &str) -> Value {
        let response = self.request("initialize", initialize_params(version)).await;
        assert!(response.get("result").is_some(), "initialize: {response}");
        self.notify("notifications/initialized", json!({}));
        response["result"].clone()
    }

    /// Calls a tool in the legacy era; the whole response.
    ///
    /// # Panics
    /// At the deadline.
    pub async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": name, "arguments": arguments}))
            .await
    }

    /// Waits for a notification with this method, also one seen before.
    ///
    /// # Panics
    /// At the deadline.
    pub async fn notification(&mut self, method: &str) -> Value {
        let until = Instant::now() + self.deadline;
        loop {
            let seen = self.notifications.iter();
            if let Some(at) = seen.clone().position(|n| n["method"] == method) {
                return self.notifications.remove(at);
            }
            let Ok(Some(message)) = timeout_at(until, self.incoming.recv()).await else {
                panic!("no {method}; seen: {:?}", self.notifications);
            };
            self.take(message, None);
        }
    }
}
