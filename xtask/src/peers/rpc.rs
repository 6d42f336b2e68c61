//! The smallest client that can list and call: JSON-RPC on a program's stdin and
//! stdout, or over HTTP. It uses nothing of ours, so that what it sees is what is there.

use super::http;
use crate::process::Group;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio as Pipe};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// The revision that is spoken.
const REVISION: &str = "2025-11-25";
/// Lines that nobody has read yet.
const LINES: usize = 256;
/// The longest line that is read.
const LINE: u64 = 32 << 20;
/// How many pages a list may have.
const PAGES: usize = 100;

/// What carries a message there and an answer back.
pub trait Carrier {
    /// Sends a message; waits for the answer to it where it is a request.
    fn send(&mut self, message: &Value, limit: Duration) -> Result<Option<Value>>;
}

/// A client that has shaken hands.
pub struct Client<C> {
    carrier: C,
    next: u64,
    limit: Duration,
}

impl<C: Carrier> Client<C> {
    /// Shakes hands; each answer is waited for at most `limit`.
    pub fn connect(carrier: C, limit: Duration) -> Result<Self> {
        let mut client = Self {
            carrier,
            next: 0,
            limit,
        };
        // What a gateway declares for all of its clients: some servers list by it.
        let hello = json!({
            "protocolVersion": REVISION,
            "capabilities": {
                "sampling": {},
                "elicitation": {"form": {}, "url": {}},
                "extensions": {"io.modelcontextprotocol/ui": {
                    "mimeTypes": ["text/html;profile=mcp-app"],
                }},
            },
            "clientInfo": {"name": "peers", "version": "1"},
        });
        let answer = client.ask("initialize", &hello)?;
        ensure!(answer.get("result").is_some(), "initialize: {answer}");
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        client.carrier.send(&done, limit)?;
        Ok(client)
    }

    /// The names of all tools, in order.
    pub fn tools(&mut self) -> Result<Vec<String>> {
        let (mut names, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES {
            let params = match &cursor {
                Some(cursor) => json!({ "cursor": cursor }),
                None => json!({}),
            };
            let answer = self.ask("tools/list", &params)?;
            let tools = answer["result"]["tools"].as_array();
            let tools = tools.with_context(|| format!("tools/list: {answer}"))?;
            names.extend(
                tools
                    .iter()
                    .filter_map(|tool| Some(tool["name"].as_str()?.to_owned())),
            );
            cursor = answer["result"]["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                names.sort();
                return Ok(names);
            }
        }
        bail!("tools/list does not end after {PAGES} pages")
    }

    /// What a call gives: its result or its error, without what is about the way.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.ask("tools/call", &params)?;
        let mut outcome = match answer.get("error") {
            Some(error) => json!({"error": error}),
            None => answer["result"].clone(),
        };
        if let Some(result) = outcome.as_object_mut() {
            result.remove("_meta");
        }
        Ok(outcome)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.next += 1;
        let request =
            json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        let answer = self.carrier.send(&request, self.limit);
        let answer = answer.with_context(|| method.to_owned())?;
        answer.with_context(|| format!("no answer to {method}"))
    }
}

/// A program that speaks on its stdin and stdout; its stderr goes to a file.
pub struct Stdio {
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    _group: Group,
}

impl Stdio {
    /// Starts it.
    pub fn start(command: &mut Command, log: &Path) -> Result<Self> {
        command
            .stdin(Pipe::piped())
            .stdout(Pipe::piped())
            .stderr(File::create(log)?);
        let mut group = Group::spawn(command)?;
        let stdin = group.child().stdin.take();
        let stdout = group.child().stdout.take().context("it has no stdout")?;
        let (sender, lines) = sync_channel(LINES);
        std::thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            loop {
                let mut line = String::new();
                let read = stdout.by_ref().take(LINE).read_line(&mut line);
                if !matches!(read, Ok(1..)) || sender.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            stdin,
            lines,
            _group: group,
        })
    }

    fn say(&mut self, message: &Value) -> Result<()> {
        let stdin = self.stdin.as_mut().context("its stdin is closed")?;
        writeln!(stdin, "{message}").context("it has ended")?;
        Ok(stdin.flush()?)
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        // The end of input is how a server is asked to end; the group follows.
        drop(self.stdin.take());
    }
}

impl Carrier for Stdio {
    fn send(&mut self, message: &Value, limit: Duration) -> Result<Option<Value>> {
        self.say(message)?;
        let Some(id) = message.get("id") else {
            return Ok(None);
        };
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = match self.lines.recv_timeout(left) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    bail!("no answer within {} s", limit.as_secs())
                }
                Err(RecvTimeoutError::Disconnected) => bail!("it ended without an answer"),
            };
            // What is not JSON is a program's chatter; real clients skip it, too.
            let Ok(arrived) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            match (arrived.get("method"), arrived.get("id")) {
                (None, Some(of)) if of == id => return Ok(Some(arrived)),
                (Some(_), Some(of)) => self.say(&json!({
                    "jsonrpc": "2.0", "id": of,
                    "error": {"code": -32601, "message": "this client answers nothing"},
                }))?,
                _ => {}
            }
        }
    }
}

/// A server at an address.
pub struct Http {
    url: String,
    token: String,
    session: Option<String>,
}

impl Http {
    /// Speaks to `url` with this bearer token.
    pub fn new(url: &str, token: &str) -> Self {
        Self {
            url: url.to_owned(),
            token: token.to_owned(),
            session: None,
        }
    }
}

impl Carrier for Http {
    fn send(&mut self, message: &Value, limit: Duration) -> Result<Option<Value>> {
        let mut headers = vec![
            ("authorization", format!("Bearer {}", self.token)),
            ("accept", "application/json, text/event-stream".into()),
            ("content-type", "application/json".into()),
            ("mcp-protocol-version", REVISION.into()),
        ];
        headers.extend(self.session.iter().map(|id| ("mcp-session-id", id.clone())));
        let answer = http::post(&self.url, &headers, &message.to_string(), limit)?;
        if let Some(id) = answer.header("mcp-session-id") {
            self.session = Some(id.to_owned());
        }
        let Some(id) = message.get("id") else {
            return Ok(None);
        };
        let found = answer
            .messages()
            .into_iter()
            .find(|message| message.get("id") == Some(id) && message.get("method").is_none());
        match found {
            Some(found) => Ok(Some(found)),
            None => bail!("HTTP {}: {}", answer.status, answer.body.trim()),
        }
    }
}
