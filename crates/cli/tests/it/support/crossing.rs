//! One client in front of a gateway whose server is a recorder: raw bytes in,
//! raw bytes out, on either transport.

use http::Method;
use serde_json::{Value, json};
use std::path::PathBuf;
use switchboard_testkit::world::{self, Gateway};
use switchboard_testkit::{
    DEADLINE, HttpClient, LEGACY, Program, StdioClient, bin, headers, initialize_params,
    json as raw, json::Message, record,
};

/// How a side is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Stdio,
    Http,
}

/// A client.
pub enum Face {
    Stdio(Box<StdioClient>),
    Http(Box<HttpClient>),
}

/// What a request brought: every message, the answer last.
pub struct Came {
    pub messages: Vec<Vec<u8>>,
    /// Whether a transport framed them by lines on the client's side.
    pub lines: bool,
}

impl Came {
    pub fn answer(&self) -> &[u8] {
        self.messages.last().map_or(b"", Vec::as_slice)
    }
}

impl Face {
    /// The legacy handshake.
    pub async fn initialize(&mut self) {
        match self {
            Self::Stdio(client) => drop(client.initialize(LEGACY).await),
            Self::Http(client) => drop(client.initialize(LEGACY).await),
        }
    }

    /// The legacy handshake, for the bytes of its answer.
    pub async fn initialize_raw(&mut self) -> Came {
        let params = initialize_params(LEGACY);
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": params});
        self.exchange(message.to_string().as_bytes(), false, b"")
            .await
    }

    /// Sends a notification.
    pub async fn notify(&mut self, message: &[u8]) {
        match self {
            Self::Stdio(client) => client.send_raw(message).await,
            Self::Http(client) => {
                assert_eq!(client.post(message.to_vec()).await.status, 202);
            }
        }
    }

    /// Sends a request and gathers what comes; questions on the way get `result`.
    pub async fn exchange(&mut self, message: &[u8], modern: bool, result: &[u8]) -> Came {
        match self {
            Self::Stdio(client) => over_stdio(client, message, result).await,
            Self::Http(client) => over_http(client, message, modern, result).await,
        }
    }
}

async fn over_stdio(client: &mut StdioClient, message: &[u8], result: &[u8]) -> Came {
    client.send_raw(super::mask::one_line(message)).await;
    let mut messages = Vec::new();
    loop {
        let line = client.next_raw().await;
        let (question, last) = kind(&line);
        messages.push(line);
        if let Some(id) = question {
            client.send_raw(answer(&id, result)).await;
        }
        if last {
            return Came {
                messages,
                lines: true,
            };
        }
    }
}

async fn over_http(client: &mut HttpClient, message: &[u8], modern: bool, result: &[u8]) -> Came {
    let headers = if modern {
        mirrored(message)
    } else {
        Vec::new()
    };
    let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
    let mut stream = client.open(Method::POST, &headers, message.to_vec()).await;
    if !stream.is_events() {
        let messages = vec![stream.body().await.to_vec()];
        return Came {
            messages,
            lines: false,
        };
    }
    let mut messages = Vec::new();
    loop {
        let event = stream.next().await.expect("an answer before the end");
        let Some(data) = event.data.filter(|data| !data.is_empty()) else {
            continue;
        };
        let (question, last) = kind(&data);
        messages.push(data);
        if let Some(id) = question {
            assert_eq!(client.post(answer(&id, result)).await.status, 202);
        }
        if last {
            return Came {
                messages,
                lines: true,
            };
        }
    }
}

/// The id of a question, and whether this is the answer.
fn kind(text: &[u8]) -> (Option<Vec<u8>>, bool) {
    let message = Message::read(text).unwrap_or_default();
    let asks = message.method.is_some();
    let question = message.id.filter(|_| asks).map(<[u8]>::to_vec);
    (question, !asks)
}

fn answer(id: &[u8], result: &[u8]) -> Vec<u8> {
    let parts: [&[u8]; 5] = [
        br#"{"jsonrpc":"2.0","id":"#,
        id,
        br#","result":"#,
        result,
        b"}",
    ];
    parts.concat()
}

/// The headers that a modern request must carry, read without a tree.
fn mirrored(message: &[u8]) -> Vec<(&'static str, String)> {
    let read = Message::read(message).unwrap_or_default();
    let method = read.method.unwrap_or_default().into_owned();
    let field = match method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => "",
    };
    let name = read.params.and_then(|params| raw::get(params, field));
    let name = name
        .and_then(raw::string)
        .map(|name| headers::encode_value(&name));
    let version = "2026-07-28".to_owned();
    let mut all = vec![("mcp-protocol-version", version), ("mcp-method", method)];
    all.extend(name.map(|name| ("mcp-name", name)));
    all
}

/// A recorder as a server, and where it writes.
pub struct Recorder {
    pub entry: Value,
    pub record: PathBuf,
    _folder: tempfile::TempDir,
    _program: Option<Program>,
}

impl Recorder {
    /// Starts one (or prepares its entry) with this script, for one era.
    pub async fn new(side: Side, script: &[Value], modern: bool) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (file, record) = (folder.path().join("script"), folder.path().join("record"));
        let lines: String = script.iter().map(|entry| format!("{entry}\n")).collect();
        std::fs::write(&file, lines).expect("the script can be written");
        let era = if modern { "modern" } else { "legacy" };
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        let (file, out) = (path(&file), path(&record));
        let rest = ["--script", &file, "--record", &out, "--era", era];
        let (entry, program) = match side {
            Side::Stdio => {
                let args = ["--stdio"].into_iter().chain(rest);
                (world::command("recorder", args), None)
            }
            Side::Http => {
                let program = Program::new(bin("recorder"))
                    .args(["--http", "0"])
                    .args(rest)
                    .spawn();
                (world::address(&program).await, Some(program))
            }
        };
        Self {
            entry,
            record,
            _folder: folder,
            _program: program,
        }
    }

    /// How many messages it has received.
    pub fn seen(&self) -> usize {
        record::read(&self.record).map_or(0, |all| all.len())
    }

    /// The first message after the first `from` that satisfies `wanted`.
    pub async fn find(&self, from: usize, wanted: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        world::until(DEADLINE, || {
            let all = record::read(&self.record).unwrap_or_default();
            all.into_iter().skip(from).find(|message| wanted(message))
        })
        .await
    }
}

/// A client of this kind for these servers; `path` counts over HTTP only.
pub async fn face(side: Side, servers: &Value, path: &str) -> (Face, Option<Gateway>) {
    match side {
        Side::Stdio => {
            let client = world::stdio_client(servers);
            (Face::Stdio(Box::new(client)), None)
        }
        Side::Http => {
            let gateway = Gateway::start(servers).await;
            let client = gateway.client(path);
            (Face::Http(Box::new(client)), Some(gateway))
        }
    }
}

/// Whether bytes contain a text.
pub fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|part| part == text.as_bytes())
}
