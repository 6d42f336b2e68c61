//! A client made of plain JSON, speaking over a pipe in this process.

#![allow(dead_code, reason = "each test program uses its part")]

use serde_json::{Value, json};
use std::{collections::HashMap, fs, path::Path, time::Duration};
use switchboard_builtin::{Files, Protection, Session, in_process, tools::Workplace};
use switchboard_testkit::LATE;
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf},
    sync::mpsc,
};

/// No answer takes longer than this.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// What every user has.
pub fn protection() -> Protection {
    Protection::of_this_user(None)
}

/// Where the programs of manifests begin.
pub fn workplace(directory: impl AsRef<Path>) -> Workplace {
    Workplace::new(directory.as_ref(), protection()).expect("a directory")
}

/// The file tools over a directory of their own, and a client of theirs.
pub async fn connected() -> (TempDir, Client) {
    let directory = tempfile::tempdir().expect("a directory");
    let files = Files::new("1", &[directory.path().to_path_buf()], protection()).expect("files");
    let client = Client::connect(files.session()).await;
    (directory, client)
}

/// What is in a file of that directory.
pub fn read(directory: &TempDir, path: &str) -> String {
    fs::read_to_string(directory.path().join(path)).expect("a file")
}

/// One connection.
pub struct Client {
    write: WriteHalf<DuplexStream>,
    incoming: mpsc::UnboundedReceiver<Value>,
    answers: HashMap<u64, Value>,
    pub notices: Vec<Value>,
    next: u64,
    pub hello: Value,
}

impl Client {
    /// Connects and says nothing yet.
    pub fn open(session: impl Session) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        in_process(session, theirs);
        let (read, write) = tokio::io::split(ours);
        let (send, incoming) = mpsc::unbounded_channel();
        tokio::spawn(read_lines(read, send));
        Self {
            write,
            incoming,
            answers: HashMap::new(),
            notices: Vec::new(),
            next: 0,
            hello: Value::Null,
        }
    }

    /// Connects and shakes hands in the legacy way.
    pub async fn connect(session: impl Session) -> Self {
        let mut client = Self::open(session);
        let hello = client
            .request(
                "initialize",
                json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "clientInfo": { "name": "test", "version": "0" },
                }),
            )
            .await;
        client.hello = hello["result"].clone();
        client
            .send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
            .await;
        client
    }

    pub async fn send(&mut self, message: Value) {
        let line = format!("{message}\n");
        let written = self.write.write_all(line.as_bytes());
        tokio::time::timeout(DEADLINE, written)
            .await
            .expect("in time")
            .expect("written");
    }

    /// Sends a request and does not wait.
    pub async fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let id = self.next;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    /// Waits for an answer.
    pub async fn answer(&mut self, id: u64) -> Value {
        let waiting = async {
            loop {
                if let Some(answer) = self.answers.remove(&id) {
                    return answer;
                }
                let message = self.incoming.recv().await.expect("the server is there");
                self.sort(message);
            }
        };
        tokio::time::timeout(DEADLINE, waiting)
            .await
            .expect("an answer in time")
    }

    fn sort(&mut self, message: Value) {
        match message["id"].as_u64() {
            Some(id) if message.get("method").is_none() => drop(self.answers.insert(id, message)),
            _ => self.notices.push(message),
        }
    }

    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.answer(id).await
    }

    /// Waits for a notification of this method.
    pub async fn notice(&mut self, method: &str) -> Value {
        let waiting = async {
            loop {
                if let Some(at) = self.notices.iter().position(|one| one["method"] == method) {
                    return self.notices.remove(at);
                }
                let message = self.incoming.recv().await.expect("the server is there");
                self.sort(message);
            }
        };
        tokio::time::timeout(DEADLINE, waiting)
            .await
            .expect("a notification in time")
    }

    /// Calls a tool; the result, whatever it says.
    pub async fn raw_call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self
            .request(
                "tools/call",
                json!({ "name": tool, "arguments": arguments }),
            )
            .await;
        assert!(
            answer.get("error").is_none(),
            "a tool's failure is a result: {answer}"
        );
        answer["result"].clone()
    }

    /// Calls a tool that must succeed; its structured content.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.raw_call(tool, arguments).await;
        assert_ne!(result["isError"], true, "{tool} failed: {result}");
        let text = result["content"][0]["text"].as_str().expect("text");
        let said: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(
            said, result["structuredContent"],
            "text and structure agree"
        );
        said
    }

    /// Calls a tool that must fail; what it says.
    pub async fn fail(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.raw_call(tool, arguments.clone()).await;
        assert_eq!(
            result["isError"], true,
            "{tool} {arguments} succeeded: {result}"
        );
        result["content"][0]["text"]
            .as_str()
            .expect("text")
            .to_owned()
    }

    /// Calls a tool that must fail while working: the fourth pattern.
    pub async fn error(&mut self, tool: &str, arguments: Value) -> String {
        let text = self.fail(tool, arguments).await;
        let body: Value = serde_json::from_str(&text).expect("a JSON object");
        body["error"].as_str().expect("an error").to_owned()
    }

    pub async fn tools(&mut self) -> Vec<Value> {
        let answer = self.request("tools/list", json!({})).await;
        answer["result"]["tools"].as_array().expect("tools").clone()
    }

    /// Closes our end.
    pub async fn close(mut self) {
        let _ = self.write.shutdown().await;
    }
}

async fn read_lines(read: ReadHalf<DuplexStream>, send: mpsc::UnboundedSender<Value>) {
    let mut lines = BufReader::new(read).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message = serde_json::from_str(&line).expect("every line is JSON");
        if send.send(message).is_err() {
            return;
        }
    }
}

/// Waits until something holds.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(
            begun.elapsed() < Duration::from_secs(10) + LATE,
            "in time: {what}"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Whether a process is there and not dead.
pub fn is_alive(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    status.is_ok_and(|stat| {
        let state = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .trim()
            .chars()
            .next();
        !matches!(state, Some('Z' | 'X') | None)
    })
}
