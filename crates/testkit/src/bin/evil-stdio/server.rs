//! The well-behaved part, and the modes that strike at the start.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_testkit::json::{self, Message};

use crate::{Args, lists, strikes};

const CAPABILITIES: &str =
    r#"{"tools":{"listChanged":true},"resources":{},"prompts":{},"logging":{}}"#;
const INFO: &str = r#"{"name":"evil-stdio","version":"1"}"#;

/// The server.
pub struct Server {
    /// How it was started.
    pub args: Args,
    out: Mutex<File>,
    /// How many `tools/list`, `tools/call` and cancels came.
    pub lists: AtomicU64,
    calls: AtomicU64,
    cancels: AtomicU64,
    questions: AtomicU64,
    /// Our own requests that wait for an answer, by id.
    waiting: Mutex<HashMap<Vec<u8>, Sender<Vec<u8>>>>,
}

/// A request, owned so that a thread can take it.
pub struct Request {
    /// The id as written.
    pub id: String,
    /// The method.
    pub method: String,
    /// The params as written.
    pub params: Vec<u8>,
    /// Whether it carries the modern metadata.
    pub modern: bool,
}

impl Request {
    /// The progress token as written.
    pub fn token(&self) -> String {
        let token = json::path(&self.params, &["_meta", "progressToken"]).unwrap_or(b"0");
        String::from_utf8_lossy(token).into_owned()
    }
}

/// Serves until stdin ends.
pub fn run(args: Args) -> anyhow::Result<()> {
    let stdout = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let server = Arc::new(Server {
        args,
        out: Mutex::new(stdout),
        lists: AtomicU64::new(0),
        calls: AtomicU64::new(0),
        cancels: AtomicU64::new(0),
        questions: AtomicU64::new(0),
        waiting: Mutex::default(),
    });
    server.start()?;
    let stdin = File::from(std::io::stdin().as_fd().try_clone_to_owned()?);
    let mut input = BufReader::with_capacity(64 * 1024, stdin);
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        server.take(&line);
        line.clear();
    }
    if server.is("stubborn") {
        sleep_for_ever();
    }
    Ok(())
}

impl Server {
    /// Whether this is the mode.
    pub fn is(&self, mode: &str) -> bool {
        self.args.mode == mode
    }

    /// `--limit`, or this.
    pub fn limit(&self, otherwise: u64) -> u64 {
        self.args.limit.unwrap_or(otherwise)
    }

    fn start(&self) -> anyhow::Result<()> {
        match self.args.mode.as_str() {
            "banner" => self.write(
                "\u{feff}\n\n  evil-stdio v1.0 \u{1f680}\r\nnpm warn deprecated x@1\nNeed to install the following packages:\nOk to proceed? (y) \n{not json\n[]\n\"text\"\n42\n"
                    .as_bytes(),
            ),
            "crash-start" => {
                self.complain("fatal: cannot find module 'left-pad'");
                std::process::exit(1);
            }
            "deaf" => sleep_for_ever(),
            "stderr-flood" => {
                let limit = self.limit(64 << 20);
                std::thread::spawn(move || {
                    let mut stderr = std::io::stderr();
                    let block = [b'x'; 64 * 1024];
                    let mut sent = 0;
                    while sent < limit && stderr.write_all(&block).is_ok() {
                        sent += block.len() as u64;
                    }
                });
            }
            "stubborn" => ignore_signals()?,
            "control-text" => self.complain(strikes::CONTROL_STDERR),
            _ => {}
        }
        Ok(())
    }

    fn take(self: &Arc<Self>, line: &[u8]) {
        let Some(message) = Message::read(line) else {
            return;
        };
        match (&message.method, message.id) {
            (Some(method), Some(id)) => self.request(Request {
                id: String::from_utf8_lossy(id).into_owned(),
                method: method.to_string(),
                params: message.params.unwrap_or(b"{}").to_vec(),
                modern: is_modern(message.params),
            }),
            (Some(method), None) if method == "notifications/cancelled" => {
                self.cancels.fetch_add(1, Ordering::SeqCst);
                self.complain("cancelled");
            }
            (None, Some(id)) => {
                if let Some(sender) = lock(&self.waiting).remove(id) {
                    let _ = sender.send(line.to_vec());
                }
            }
            _ => {}
        }
    }

    fn request(self: &Arc<Self>, request: Request) {
        if self.is("hang-start") {
            return;
        }
        if self.is("banner") {
            self.write(b"\n\ndebug: handling a request\n\xef\xbb\xbf\n");
        }
        match request.method.as_str() {
            "initialize" if self.args.era != "modern" => self.initialize(&request),
            "server/discover" => self.discover(&request),
            "ping" | "logging/setLevel" => self.result(&request, "{}"),
            "tools/list" => {
                self.lists.fetch_add(1, Ordering::SeqCst);
                lists::answer(self, &request);
            }
            "resources/list" => self.result(&request, r#"{"resources":[]}"#),
            "resources/templates/list" => self.result(&request, r#"{"resourceTemplates":[]}"#),
            "prompts/list" => self.result(&request, r#"{"prompts":[]}"#),
            "tools/call" => self.call(request),
            "subscriptions/listen" if request.modern => {
                let id = &request.id;
                self.send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{{"toolsListChanged":true}}}}}}"#));
            }
            _ => self.error(&request, -32601, "Method not found"),
        }
    }

    fn initialize(&self, request: &Request) {
        let asked = json::get(&request.params, "protocolVersion").and_then(json::string);
        let version = asked
            .filter(|v| &**v < "2026")
            .unwrap_or("2025-11-25".into());
        self.result(
            request,
            &format!(r#"{{"protocolVersion":"{version}","capabilities":{CAPABILITIES},"serverInfo":{INFO}}}"#),
        );
        if self.is("crash-loop") {
            self.complain("fatal: lost my mind");
            std::process::exit(2);
        }
    }

    fn discover(&self, request: &Request) {
        match self.args.mode.as_str() {
            "exit-on-probe" => std::process::exit(4),
            "silent-probe" => {}
            "odd-probe" => {
                let id = &request.id;
                self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":[]}}"#));
                self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"what?"}}"#));
            }
            _ if self.args.era == "legacy" => self.error(request, -32601, "Method not found"),
            _ => {
                self.result(
                    request,
                    &format!(r#"{{"supportedVersions":["2026-07-28"],"capabilities":{CAPABILITIES},"_meta":{{"io.modelcontextprotocol/serverInfo":{INFO}}}}}"#),
                );
                if self.is("crash-loop") {
                    std::process::exit(2);
                }
            }
        }
    }

    fn call(self: &Arc<Self>, request: Request) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let name = json::get(&request.params, "name").and_then(json::string);
        match name.as_deref() {
            Some("ok") => self.text(&request, "ok"),
            Some("stats") => {
                let count = |n: &AtomicU64| n.load(Ordering::SeqCst);
                let (lists, calls, cancels) =
                    (count(&self.lists), count(&self.calls), count(&self.cancels));
                let pid = std::process::id();
                self.text(
                    &request,
                    &format!(
                        r#"{{"lists":{lists},"calls":{calls},"cancels":{cancels},"pid":{pid}}}"#
                    ),
                );
            }
            Some(_) if self.is("deaf-later") => sleep_for_ever(),
            Some(_) => {
                let server = Arc::clone(self);
                std::thread::spawn(move || strikes::strike(&server, &request));
            }
            None => self.error(&request, -32602, "name is missing"),
        }
    }

    /// Writes bytes as they are. A client that is gone is noticed on stdin.
    pub fn write(&self, bytes: &[u8]) {
        let _ = lock(&self.out).write_all(bytes);
    }

    /// Holds stdout, so that a long line is not torn by others; false when it
    /// cannot be written any more.
    pub fn write_all(&self, blocks: impl Iterator<Item = Vec<u8>>) -> bool {
        let mut out = lock(&self.out);
        let mut blocks = blocks;
        blocks.all(|block| out.write_all(&block).is_ok())
    }

    /// Sends a message.
    pub fn send(&self, message: &str) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// An id for a request of ours, as it is written: "evil-1" is the first.
    pub fn new_id(&self) -> String {
        let number = self.questions.fetch_add(1, Ordering::Relaxed) + 1;
        format!("\"evil-{number}\"")
    }

    /// Sends a request to the client; the receiver gets the whole response.
    pub fn ask(&self, id: &str, method: &str, params: &str) -> Receiver<Vec<u8>> {
        let (sender, receiver) = channel();
        lock(&self.waiting).insert(id.as_bytes().to_vec(), sender);
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#
        ));
        receiver
    }

    /// Replies with a result (an object as text).
    pub fn result(&self, request: &Request, result: &str) {
        let id = &request.id;
        let result = modernise(result, request.modern);
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#
        ));
    }

    /// Replies with a tool result of one text.
    pub fn text(&self, request: &Request, text: &str) {
        let text = serde_json::Value::from(text);
        self.result(
            request,
            &format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#),
        );
    }

    /// Replies with an error.
    pub fn error(&self, request: &Request, code: i64, message: &str) {
        let id = &request.id;
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#
        ));
    }

    /// Writes a line on stderr.
    #[expect(clippy::print_stderr, reason = "tests wait for these lines")]
    pub fn complain(&self, text: &str) {
        eprintln!("{text}");
    }
}

/// Adds what the modern era wants, to a result that does not say it itself.
fn modernise(result: &str, modern: bool) -> String {
    match result.strip_suffix('}') {
        Some(open) if modern && !result.contains("resultType") => {
            let comma = if open.ends_with('{') { "" } else { "," };
            format!(r#"{open}{comma}"resultType":"complete","ttlMs":0,"cacheScope":"private"}}"#)
        }
        _ => result.to_owned(),
    }
}

fn is_modern(params: Option<&[u8]>) -> bool {
    let keys = ["_meta", "io.modelcontextprotocol/protocolVersion"];
    params
        .and_then(|params| json::path(params, &keys))
        .is_some()
}

/// A handler for each signal that does nothing, for the life of the process.
fn ignore_signals() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let _inside = runtime.enter();
    for kind in [
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ] {
        std::mem::forget(signal(kind)?);
    }
    drop(_inside);
    std::mem::forget(runtime);
    Ok(())
}

/// Never returns.
pub fn sleep_for_ever() -> ! {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
