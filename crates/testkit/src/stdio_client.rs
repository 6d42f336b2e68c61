//! A raw JSON-RPC client over a program's stdin and stdout.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::time::Instant;

use crate::modern::with_meta;
use crate::program::{DEADLINE, Program};

/// Answers a request of the server: method and params in, and out either
/// `{"result": …}` or `{"error": …}`.
type Handler = Box<dyn FnMut(&str, &Value) -> Value + Send>;

/// Talks to a program line by line. Every wait has [`deadline`](Self::deadline)
/// and panics with the program's stderr when it passes.
pub struct StdioClient {
    /// The program; it ends with the client.
    pub program: Program,
    /// How long each wait may take.
    pub deadline: Duration,
    /// Notifications seen while waiting for a response, oldest first.
    pub notifications: Vec<Value>,
    /// Requests of the server, in the order they came.
    pub requests: Vec<Value>,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    partial: Vec<u8>,
    next_id: u64,
    handler: Handler,
}

impl fmt::Debug for StdioClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioClient")
            .field("program", &self.program)
            .finish_non_exhaustive()
    }
}

impl StdioClient {
    /// Takes over the program's stdin and stdout.
    ///
    /// # Panics
    /// When they were taken already.
    pub fn new(mut program: Program) -> Self {
        let stdin = program.stdin.take().expect("stdin was not taken yet");
        let stdout = program.stdout.take().expect("stdout was not taken yet");
        Self {
            program,
            deadline: DEADLINE,
            notifications: Vec::new(),
            requests: Vec::new(),
            stdin: Some(stdin),
            stdout: BufReader::with_capacity(64 * 1024, stdout),
            partial: Vec::new(),
            next_id: 0,
            handler: Box::new(
                |method, _| json!({"error": {"code": -32601, "message": format!("no handler for {method}")}}),
            ),
        }
    }

    /// Sets what answers the server's requests.
    pub fn on_request(&mut self, handler: impl FnMut(&str, &Value) -> Value + Send + 'static) {
        self.handler = Box::new(handler);
    }

    /// Sends these bytes and a newline.
    ///
    /// # Panics
    /// When they cannot be written in time.
    pub async fn send_raw(&mut self, line: impl AsRef<[u8]>) {
        let mut bytes = line.as_ref().to_vec();
        bytes.push(b'\n');
        self.send_bytes(&bytes).await;
    }

    /// Sends these bytes and nothing else.
    ///
    /// # Panics
    /// When they cannot be written in time.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        let write = async {
            stdin.write_all(bytes).await?;
            stdin.flush().await
        };
        match tokio::time::timeout(self.deadline, write).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => panic!("cannot write: {error}; stderr:\n{}", self.program.stderr()),
            Err(_) => panic!(
                "the program does not read; stderr:\n{}",
                self.program.stderr()
            ),
        }
    }

    /// Closes the program's stdin.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// The next line as it came, without its newline.
    ///
    /// # Panics
    /// At the deadline and at the end of stdout.
    pub async fn next_raw(&mut self) -> Vec<u8> {
        match self.next_raw_within(self.deadline).await {
            Some(line) => line,
            None => panic!(
                "no line within {:?} (or stdout ended); stderr:\n{}",
                self.deadline,
                self.program.stderr()
            ),
        }
    }

    /// The next line, or `None` at the deadline or at the end of stdout. A line
    /// that has begun is kept for the next time.
    pub async fn next_raw_within(&mut self, limit: Duration) -> Option<Vec<u8>> {
        let read = self.stdout.read_until(b'\n', &mut self.partial);
        let done = tokio::time::timeout(limit, read).await;
        match done {
            Ok(Ok(_)) if self.partial.ends_with(b"\n") => {
                self.partial.pop();
                Some(std::mem::take(&mut self.partial))
            }
            _ => None,
        }
    }

    /// The next message as a tree.
    ///
    /// # Panics
    /// At the deadline, at the end of stdout, and when it is not JSON.
    pub async fn next(&mut self) -> Value {
        let line = self.next_raw().await;
        serde_json::from_slice(&line).unwrap_or_else(|error| {
            panic!("not JSON ({error}): {}", String::from_utf8_lossy(&line))
        })
    }

    /// Sends a request without waiting; gives its id.
    pub async fn start(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send_raw(message.to_string()).await;
        id
    }

    /// Waits for the response with this id. Notifications on the way are
    /// collected, requests of the server are answered by the handler.
    ///
    /// # Panics
    /// At the deadline and at the end of stdout.
    pub async fn response(&mut self, id: u64) -> Value {
        let until = Instant::now() + self.deadline;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Some(line) = self.next_raw_within(left).await else {
                panic!("no response to {id}; stderr:\n{}", self.program.stderr());
            };
            let Ok(message) = serde_json::from_slice::<Value>(&line) else {
                continue;
            };
            if let Some(response) = self.take(message, id).await {
                return response;
            }
        }
    }

    async fn take(&mut self, message: Value, id: u64) -> Option<Value> {
        match (
            message.get("method").and_then(Value::as_str),
            message.get("id"),
        ) {
            (Some(method), Some(theirs)) => {
                let mut answer = (self.handler)(method, &message["params"]);
                answer["jsonrpc"] = "2.0".into();
                answer["id"] = theirs.clone();
                self.requests.push(message);
                self.send_raw(answer.to_string()).await;
                None
            }
            (Some(_), None) => {
                self.notifications.push(message);
                None
            }
            (None, Some(theirs)) if *theirs == id => Some(message),
            _ => None,
        }
    }

    /// Sends a request and waits for its response (the whole message).
    ///
    /// # Panics
    /// At the deadline and at the end of stdout.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        self.response(id).await
    }

    /// The same with the metadata of the modern era added to the params.
    ///
    /// # Panics
    /// At the deadline and at the end of stdout.
    pub async fn modern(&mut self, method: &str, params: Value) -> Value {
        self.request(method, with_meta(params)).await
    }

    /// Sends a notification.
    pub async fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send_raw(message.to_string()).await;
    }

    /// The legacy handshake, declaring all capabilities; the result.
    ///
    /// # Panics
    /// When the server refuses it.
    pub async fn initialize(&mut self, version: &str) -> Value {
        let response = self
            .request("initialize", crate::modern::initialize_params(version))
            .await;
        assert!(
            response.get("result").is_some(),
            "initialize failed: {response}"
        );
        self.notify("notifications/initialized", json!({})).await;
        response["result"].clone()
    }

    /// Calls a tool in the legacy era; the whole response.
    ///
    /// # Panics
    /// At the deadline and at the end of stdout.
    pub async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({"name": name, "arguments": arguments}))
            .await
    }

    /// Waits for a notification with this method, also one seen before.
    ///
    /// # Panics
    /// At the deadline and at the end of stdout.
    pub async fn notification(&mut self, method: &str) -> Value {
        let until = Instant::now() + self.deadline;
        loop {
            if let Some(at) = self
                .notifications
                .iter()
                .position(|n| n["method"] == method)
            {
                return self.notifications.remove(at);
            }
            let left = until.saturating_duration_since(Instant::now());
            let Some(line) = self.next_raw_within(left).await else {
                panic!("no {method}; stderr:\n{}", self.program.stderr());
            };
            if let Ok(message) = serde_json::from_slice::<Value>(&line) {
                self.take(message, u64::MAX).await;
            }
        }
    }
}

/// The text of a tool result's first content block, in a whole response.
///
/// # Panics
/// When there is none.
pub fn text_of(response: &Value) -> &str {
    response["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {response}"))
}
