//! Connections, sessions and the well-behaved answers.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use switchboard_testkit::{json, record, serve};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};

use crate::request::Request;
use crate::strikes;
use crate::{Args, streams};

const CAPABILITIES: &str = r#"{"tools":{"listChanged":true},"resources":{},"prompts":{}}"#;
const INFO: &str = r#"{"name":"evil-http","version":"1"}"#;
const TOOLS: &str = r#"{"name":"ok","description":"Works.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"strike","description":"Misbehaves.","inputSchema":{"type":"object"}},{"name":"stats","description":"Tells what the server saw.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;

/// The server.
pub struct Server {
    /// How it was started.
    pub args: Args,
    /// The address of the second origin.
    pub second: SocketAddr,
    records: [Option<Mutex<File>>; 2],
    /// Sessions with the number of their requests.
    sessions: Mutex<HashMap<String, u64>>,
    connections: AtomicU64,
    requests: AtomicU64,
    initializes: AtomicU64,
    gets: AtomicU64,
    calls: AtomicU64,
    /// Requests that fitted `--on`.
    fitting: AtomicU64,
    second_requests: AtomicU64,
}

/// Serves both origins until the process ends.
#[expect(
    clippy::print_stderr,
    reason = "tests read the address of the second origin"
)]
pub async fn run(args: Args) -> anyhow::Result<()> {
    let first = TcpListener::bind(("127.0.0.1", args.http)).await?;
    let second = TcpListener::bind("127.0.0.1:0").await?;
    let open = |path: &Path| {
        File::options()
            .create(true)
            .append(true)
            .open(path)
            .map(Mutex::new)
    };
    let records = match &args.record {
        Some(path) => {
            let mut other = path.clone().into_os_string();
            other.push(".second");
            [Some(open(path)?), Some(open(Path::new(&other))?)]
        }
        None => [None, None],
    };
    let server = Arc::new(Server {
        args,
        second: second.local_addr()?,
        records,
        sessions: Mutex::default(),
        connections: AtomicU64::new(0),
        requests: AtomicU64::new(0),
        initializes: AtomicU64::new(0),
        gets: AtomicU64::new(0),
        calls: AtomicU64::new(0),
        fitting: AtomicU64::new(0),
        second_requests: AtomicU64::new(0),
    });
    eprintln!("second origin on http://{}/mcp", server.second);
    serve::announce(&first.local_addr()?);
    tokio::spawn(accept(Arc::clone(&server), second, true));
    accept(server, first, false).await;
    Ok(())
}

async fn accept(server: Arc<Server>, listener: TcpListener, second: bool) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            continue;
        };
        let _ = socket.set_nodelay(true);
        if !second {
            server.connections.fetch_add(1, Ordering::SeqCst);
        }
        let server = Arc::clone(&server);
        // An error here is the client's going away, often just what is tested.
        tokio::spawn(async move { server.connection(socket, second).await.ok() });
    }
}

impl Server {
    async fn connection(&self, mut socket: TcpStream, second: bool) -> io::Result<()> {
        let mut buffer = Vec::new();
        while let Some(request) = Request::read(&mut socket, &mut buffer).await? {
            if let Some(file) = &self.records[usize::from(second)] {
                record::append(&mut *lock(file), &request.raw)?;
            }
            if second {
                self.second_requests.fetch_add(1, Ordering::SeqCst);
            } else {
                self.requests.fetch_add(1, Ordering::SeqCst);
                if self.strikes(&request) {
                    if strikes::strike(self, &request, &mut socket).await? {
                        continue;
                    }
                    return Ok(());
                }
            }
            self.answer(&request, &mut socket).await?;
        }
        Ok(())
    }

    /// Whether the mode strikes on this request.
    fn strikes(&self, request: &Request) -> bool {
        if matches!(
            self.args.mode.as_str(),
            "none" | "session-404" | "session-id-odd"
        ) || request.path == "/other"
        {
            return false;
        }
        let fits = match self.args.on.as_str() {
            "any" => true,
            "strike" => {
                let tool = request.tool();
                request.rpc_method() == "tools/call" && tool.as_deref() == Some("strike")
            }
            on => request.rpc_method() == on,
        };
        let (after, times) = (self.args.after, self.args.times);
        fits && {
            let n = self.fitting.fetch_add(1, Ordering::SeqCst);
            n >= after && n - after < times
        }
    }

    /// `--limit`, or this.
    pub fn limit(&self, otherwise: u64) -> u64 {
        self.args.limit.unwrap_or(otherwise)
    }

    /// The well-behaved answer.
    async fn answer(&self, request: &Request, socket: &mut TcpStream) -> io::Result<()> {
        let legacy = self.args.era != "modern";
        match request.method.as_str() {
            "POST" => {}
            "GET" if legacy => {
                self.gets.fetch_add(1, Ordering::SeqCst);
                if let Err(status) = self.session(request) {
                    return respond(socket, status, &[], b"").await;
                }
                streams::open(socket).await?;
                return streams::idle(socket).await;
            }
            "DELETE" if legacy => {
                let id = request.header("mcp-session-id").unwrap_or_default();
                lock(&self.sessions).remove(id);
                return respond(socket, "200 OK", &[], b"").await;
            }
            _ => return respond(socket, "405 Method Not Allowed", &[], b"").await,
        }
        let method = request.rpc_method();
        if method == "initialize" && legacy {
            return self.initialize(request, socket).await;
        }
        let modern = request.is_modern() && self.args.era != "legacy";
        if !modern && let Err(status) = self.session(request) {
            let body =
                br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}"#;
            return respond(socket, status, &[JSON], body).await;
        }
        let Some(id) = request.id() else {
            return respond(socket, "202 Accepted", &[], b"").await;
        };
        match self.result(request, &method, modern) {
            Some(result) => {
                let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                respond(socket, "200 OK", &[JSON], body.as_bytes()).await
            }
            None => {
                let body = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"Method not found"}}}}"#
                );
                let status = if modern { "404 Not Found" } else { "200 OK" };
                respond(socket, status, &[JSON], body.as_bytes()).await
            }
        }
    }

    fn result(&self, request: &Request, method: &str, modern: bool) -> Option<String> {
        let more = if modern {
            r#","resultType":"complete","ttlMs":0,"cacheScope":"private""#
        } else {
            ""
        };
        Some(match method {
            "server/discover" if modern => format!(
                r#"{{"supportedVersions":["2026-07-28"],"capabilities":{CAPABILITIES},"_meta":{{"io.modelcontextprotocol/serverInfo":{INFO}}}{more}}}"#
            ),
            "tools/list" => format!(r#"{{"tools":[{TOOLS}]{more}}}"#),
            "resources/list" => format!(r#"{{"resources":[]{more}}}"#),
            "resources/templates/list" => format!(r#"{{"resourceTemplates":[]{more}}}"#),
            "prompts/list" => format!(r#"{{"prompts":[]{more}}}"#),
            "ping" | "logging/setLevel" if !modern => "{}".to_owned(),
            "tools/call" => {
                self.calls.fetch_add(1, Ordering::SeqCst);
                let text = match request.tool().as_deref() {
                    Some("stats") => self.stats(),
                    _ => "ok".to_owned(),
                };
                let text = serde_json::Value::from(text);
                format!(r#"{{"content":[{{"type":"text","text":{text}}}]{more}}}"#)
            }
            _ => return None,
        })
    }

    fn stats(&self) -> String {
        let count = |n: &AtomicU64| n.load(Ordering::SeqCst);
        serde_json::json!({
            "connections": count(&self.connections),
            "requests": count(&self.requests),
            "initializes": count(&self.initializes),
            "gets": count(&self.gets),
            "calls": count(&self.calls),
            "fitting": count(&self.fitting),
            "second": count(&self.second_requests),
        })
        .to_string()
    }

    async fn initialize(&self, request: &Request, socket: &mut TcpStream) -> io::Result<()> {
        let n = self.initializes.fetch_add(1, Ordering::SeqCst);
        let mut session = format!("evil-{n}-{:016x}", getrandom::u64().unwrap_or_default());
        if self.args.mode == "session-id-odd" {
            let visible: String = (0x21..=0x7e_u8).map(char::from).collect();
            session = format!("{n}{}", visible.repeat(44));
        }
        lock(&self.sessions).insert(session.clone(), 0);
        let asked =
            json::path(&request.body, &["params", "protocolVersion"]).and_then(json::string);
        let version = asked
            .filter(|v| &**v < "2026")
            .unwrap_or("2025-11-25".into());
        let id = request.id().unwrap_or_else(|| "null".into());
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"{version}","capabilities":{CAPABILITIES},"serverInfo":{INFO}}}}}"#
        );
        let header = format!("Mcp-Session-Id: {session}");
        respond(socket, "200 OK", &[JSON, &header], body.as_bytes()).await
    }

    /// Counts a request of a session; the status when there is no such session.
    fn session(&self, request: &Request) -> Result<(), &'static str> {
        let id = request.header("mcp-session-id").ok_or("400 Bad Request")?;
        let mut sessions = lock(&self.sessions);
        let used = sessions.get_mut(id).ok_or("404 Not Found")?;
        *used += 1;
        // `notifications/initialized` and the GET stream are free.
        let counts = request.method == "POST" && request.id().is_some();
        if self.args.mode == "session-404" && counts && *used > self.args.after.max(1) {
            sessions.remove(id);
            return Err("404 Not Found");
        }
        Ok(())
    }
}

/// The header of JSON bodies.
pub const JSON: &str = "Content-Type: application/json";

/// Sends a whole response.
pub async fn respond(
    socket: &mut TcpStream,
    status: &str,
    headers: &[&str],
    body: &[u8],
) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n", body.len());
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body);
    socket.write_all(&bytes).await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
