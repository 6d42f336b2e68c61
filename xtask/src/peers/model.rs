//! A scripted model on loopback. Whoever asks it with our tool at hand is told to call
//! it, once; whoever brings its answer is told that all is done. It speaks the forms of
//! three makers, as far as agents need it for that.

use super::dialect::{Dialect, Turn};
use super::drive::{ANSWER, TOOL};
use super::http;
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long an agent may take to send its request.
const REQUEST: Duration = Duration::from_secs(60);
/// How names of our tools go on, whatever an agent puts before them.
const SERVERS: [&str; 7] = [
    "everything__",
    "filesystem__",
    "memory__",
    "github__",
    "git__",
    "time__",
    "fetch__",
];
/// What a body in the log is cut to.
const SHOWN: usize = 4000;

/// The model; it ends when it is dropped.
pub struct Model {
    /// Where it listens, without a path.
    pub url: String,
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// What became of it.
#[derive(Clone, Default)]
pub struct Seen {
    /// How many requests it answered as a model.
    pub requests: usize,
    /// Our tools, as the agent calls them.
    pub tools: BTreeSet<String>,
    /// The answer of our tool was brought.
    pub answered: bool,
}

struct Shared {
    over: AtomicBool,
    arguments: Value,
    seen: Mutex<Seen>,
    log: Mutex<File>,
}

impl Model {
    /// Listens, and writes down in `log` what it is asked. It will call with `arguments`.
    pub fn start(log: PathBuf, arguments: Value) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            over: AtomicBool::new(false),
            arguments,
            seen: Mutex::default(),
            log: Mutex::new(File::create(log)?),
        });
        let inside = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if inside.over.load(Ordering::Relaxed) {
                    return;
                }
                let inside = Arc::clone(&inside);
                std::thread::spawn(move || inside.serve(stream));
            }
        });
        Ok(Self {
            url: format!("http://{address}"),
            address,
            shared,
        })
    }

    /// What it has seen so far.
    pub fn saw(&self) -> Seen {
        let seen = self.shared.seen.lock();
        seen.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // Whoever waits for a connection gets one, and looks.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    /// Answers one request; what goes wrong is the agent's to complain about.
    fn serve(&self, stream: TcpStream) {
        let _ = stream.set_read_timeout(Some(REQUEST));
        let mut reader = BufReader::new(stream);
        let Ok(request) = http::read(&mut reader) else {
            return;
        };
        let path = request.status.as_str();
        let body: Value = serde_json::from_str(&request.body).unwrap_or_default();
        let (kind, answer) = match Dialect::of(path, &body) {
            Some(dialect) => dialect.render(&self.turn(&body)),
            None => ("application/json", other(path).to_string()),
        };
        self.note(path, &request.body, &answer);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n",
            answer.len()
        );
        let mut stream = reader.into_inner();
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(answer.as_bytes());
    }

    /// What the model does next.
    fn turn(&self, body: &Value) -> Turn {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.requests += 1;
        let mut names = Vec::new();
        tool_names(&body["tools"], "", &mut names);
        let ours = |name: &&(String, String)| {
            let (_, name) = name;
            SERVERS.iter().any(|server| name.contains(server))
        };
        seen.tools.extend(
            names
                .iter()
                .filter(ours)
                .map(|(space, name)| format!("{space}{name}")),
        );
        let mut said = body.clone();
        if let Some(said) = said.as_object_mut() {
            said.remove("tools");
        }
        if said.to_string().contains(ANSWER) {
            seen.answered = true;
            return Turn::Say("done".into());
        }
        match names.into_iter().find(|(_, name)| name.ends_with(TOOL)) {
            Some((space, name)) => Turn::Call {
                space,
                name,
                arguments: self.arguments.clone(),
            },
            None => Turn::Say("there is no tool to call".into()),
        }
    }

    fn note(&self, path: &str, body: &str, answer: &str) {
        let cut = |text: &str| text.chars().take(SHOWN).collect::<String>();
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(log, ">> {path}\n{}\n<< {}", cut(body), cut(answer));
    }
}

/// Every name in a list of tools, with the name of the group that it stands in.
fn tool_names(value: &Value, space: &str, names: &mut Vec<(String, String)>) {
    match value {
        Value::Array(values) => {
            for value in values {
                tool_names(value, space, names);
            }
        }
        Value::Object(fields) => {
            let own = fields
                .get("name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            match fields.get("tools") {
                Some(inner) => tool_names(inner, own, names),
                None if !own.is_empty() => names.push((space.into(), own.into())),
                None => {}
            }
            for key in ["function", "functionDeclarations", "function_declarations"] {
                if let Some(inner) = fields.get(key) {
                    tool_names(inner, space, names);
                }
            }
        }
        _ => {}
    }
}

/// What agents ask besides, at their start.
fn other(path: &str) -> Value {
    match path {
        path if path.contains("count_tokens") => json!({"input_tokens": 10}),
        path if path.contains("countTokens") => json!({"totalTokens": 10}),
        _ => json!({"object": "list", "data": []}),
    }
}

#[cfg(test)]
mod tests {
    use super::tool_names;
    use serde_json::json;

    #[test]
    fn names_are_found_in_every_form() {
        let tools = json!([
            {"name": "a", "input_schema": {"properties": {"name": {}}}},
            {"type": "function", "function": {"name": "b"}},
            {"functionDeclarations": [{"name": "c"}]},
            {"type": "namespace", "name": "sb__", "tools": [{"name": "d"}]},
        ]);
        let mut names = Vec::new();
        tool_names(&tools, "", &mut names);
        let names: Vec<String> = names
            .iter()
            .map(|(space, name)| format!("{space}{name}"))
            .collect();
        assert_eq!(names, ["a", "b", "c", "sb__d"]);
    }
}
