//! A real gateway in front of real servers.

use serde_json::{Map, Value, json};
use std::{ffi::OsStr, path::Path, time::Duration};
use switchboard_testkit::{DEADLINE, HttpClient, LEGACY, Launch, Program, StdioClient, bin};
use tokio::time::Instant;

/// `switchboard serve --http`, running.
pub struct Gateway {
    pub program: Program,
    /// `http://127.0.0.1:PORT`
    pub url: String,
}

impl Gateway {
    /// Serves these servers on a free port, without tokens.
    pub async fn start(servers: &Value) -> Self {
        Self::launch(http(servers)).await
    }

    /// The same, prepared by the test.
    pub async fn launch(launch: Launch) -> Self {
        let program = launch.spawn();
        let url = program.url().await;
        Self { program, url }
    }

    /// A client of `/mcp` or `/mcp/{server}`.
    pub fn client(&self, path: &str) -> HttpClient {
        HttpClient::new(&format!("{}{path}", self.url))
    }

    /// A legacy client that has shaken hands.
    pub async fn legacy(&self, path: &str) -> HttpClient {
        let mut client = self.client(path);
        client.initialize(LEGACY).await;
        client
    }

    /// `host:port`.
    pub fn authority(&self) -> &str {
        self.url.strip_prefix("http://").unwrap_or(&self.url)
    }

    /// The working process below the keeper, which is the process we started.
    pub async fn worker(&self) -> i32 {
        worker_of(self.program.pid()).await
    }
}

/// The arguments of a gateway over HTTP.
pub fn http(servers: &Value) -> Launch {
    Program::new(env!("CARGO_BIN_EXE_switchboard"))
        .args(["serve", "--http", "127.0.0.1:0", "--no-auth"])
        .args(["--strict-mcp-config", "--mcp-config", &config(servers)])
}

/// The arguments of a gateway over stdio. If there is one server it is asked for
/// by name, and keeps its own names.
pub fn stdio(servers: &Value) -> Launch {
    let launch = Program::new(env!("CARGO_BIN_EXE_switchboard"))
        .args(["serve", "--strict-mcp-config", "--mcp-config"])
        .arg(config(servers));
    match servers
        .as_object()
        .map(|all| all.keys().collect::<Vec<_>>())
    {
        Some(names) if names.len() == 1 => launch.args(["--only", names[0]]),
        _ => launch,
    }
}

/// A client of a gateway over stdio.
pub fn stdio_client(servers: &Value) -> StdioClient {
    StdioClient::new(stdio(servers).spawn())
}

/// The text for `--mcp-config`.
pub fn config(servers: &Value) -> String {
    json!({ "mcpServers": servers }).to_string()
}

/// Named entries together.
pub fn servers<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let entries = entries.map(|(name, entry)| (name.to_owned(), entry));
    Value::Object(Map::from_iter(entries))
}

/// An entry that starts a program of the testkit.
pub fn command(name: &str, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Value {
    let args: Vec<String> = args
        .into_iter()
        .map(|arg| arg.as_ref().to_string_lossy().into_owned())
        .collect();
    json!({ "command": bin(name), "args": args })
}

/// An entry for an HTTP server that runs already.
pub async fn address(server: &Program) -> Value {
    json!({ "type": "http", "url": server.url().await })
}

/// An echo server over HTTP.
pub fn echo_http(args: &[&str]) -> Program {
    Program::new(bin("echo-server"))
        .args(["--http", "0"])
        .args(args)
        .spawn()
}

/// An echo server over stdio, as an entry.
pub fn echo(args: &[&str]) -> Value {
    command("echo-server", ["--stdio"].iter().chain(args))
}

/// The worker of a keeper, once it is there.
pub async fn worker_of(keeper: i32) -> i32 {
    only_child(guard_of(keeper).await).await
}

/// The guard that stands between a keeper and its worker, once it is there.
pub async fn guard_of(keeper: i32) -> i32 {
    only_child(keeper).await
}

async fn only_child(pid: i32) -> i32 {
    let found = until(DEADLINE, || children(pid).first().copied());
    found
        .await
        .unwrap_or_else(|| panic!("process {pid} has no child"))
}

/// The children of a process.
pub fn children(pid: i32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let lists = tasks.into_iter().flatten().flatten();
    lists
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|list| numbers(&list))
        .collect()
}

/// The numbers in a text.
pub fn numbers(text: &str) -> Vec<i32> {
    text.split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// Whether a process lives; one that has ended and was not waited for does not.
pub fn alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().next());
    !matches!(state, None | Some("Z" | "X"))
}

/// A figure of `/proc/PID/status` or `smaps_rollup`, in KiB. Our programs hide
/// their memory: who is not root gets, for `smaps_rollup`, all that is resident,
/// which is more than any figure there.
pub fn kib(pid: i32, file: &str, field: &str) -> u64 {
    let path = format!("/proc/{pid}/{file}");
    let text = match std::fs::read_to_string(Path::new(&path)) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied && file != "status" => {
            return kib(pid, "status", "VmRSS");
        }
        read => read.unwrap_or_else(|error| panic!("{path}: {error}")),
    };
    text.lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("no {field} in {path}"))
}

/// The most memory that a process has ever had, in MiB.
pub fn peak_mib(pid: i32) -> u64 {
    kib(pid, "status", "VmHWM") / 1024
}

/// Asks again and again until there is something, or the time is over.
pub async fn until<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
