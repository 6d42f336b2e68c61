//! A company's proxy on loopback, and an entry of `npx` behind it, unchanged.

use super::Expected;
use super::package::npm;
use super::row::{Outcome, Row};
use super::rpc::{Client, Stdio};
use super::scene::{Scene, last_words};
use super::{behind, http};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// What is downloaded and started.
const PACKAGE: (&str, &str) = ("@modelcontextprotocol/server-memory", "2026.8.31");
/// How many tools it has.
const TOOLS: usize = 9;

/// `npx -y PACKAGE` with nothing downloaded yet: it reaches its registry through the
/// proxy that the user's variables name, or not at all.
pub fn run(scene: &Scene) -> Row {
    let begun = Instant::now();
    let mut outcome = Outcome {
        direct: Some(TOOLS),
        ..Outcome::default()
    };
    outcome = match look(scene) {
        Ok(tools) => {
            outcome.seen = Some(tools);
            outcome.call = "list only".into();
            match tools == TOOLS {
                true => outcome,
                false => outcome.failed("another number of tools"),
            }
        }
        Err(error) => outcome.failed(format!("{error:#}")),
    };
    let row = Row {
        kind: "server",
        name: "proxy".into(),
        package: format!("npx -y {}", npm(PACKAGE.0, PACKAGE.1).title()),
        way: "stdio → stdio",
        outcome,
        expected: Expected::Works,
        took: begun.elapsed(),
    };
    row.print();
    row
}

fn look(scene: &Scene) -> Result<usize> {
    let proxy = Proxy::start()?;
    let home = scene.folder("proxy-home")?.canonicalize()?;
    let spec = format!("{}@{}", PACKAGE.0, PACKAGE.1);
    let entry = json!({"memory": {"command": "npx", "args": ["-y", spec]}});
    let mut command = scene.command(&scene.switchboard);
    command
        .args(["serve", "--direct", "--strict-mcp-config", "--mcp-config"])
        .arg(scene.config("proxy", &entry)?)
        .env("HOME", &home)
        .env("HTTPS_PROXY", format!("http://{}", proxy.address))
        .current_dir(&home);
    let log = scene.scratch.join("proxy.log");
    let mut client = Client::connect(Stdio::start(&mut command, &log)?, behind::ANSWER)?;
    // A download may take longer than a first list waits: the tools are there later.
    let deadline = Instant::now() + behind::ANSWER;
    let mut tools = client.tools()?.len();
    while tools == 0 && Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(500));
        tools = client.tools()?.len();
    }
    let tunnels = proxy.shared.tunnels.load(Ordering::Relaxed);
    ensure!(
        tunnels > 0,
        "nobody came to the proxy: {}",
        last_words(&log, 2)
    );
    Ok(tools)
}

struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    over: AtomicBool,
    tunnels: AtomicUsize,
}

impl Proxy {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::<Shared>::default();
        let inside = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if inside.over.load(Ordering::Relaxed) {
                    return;
                }
                let inside = Arc::clone(&inside);
                std::thread::spawn(move || inside.tunnel(stream));
            }
        });
        Ok(Self { address, shared })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // Whoever waits for a connection gets one, and looks.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    /// Carries bytes both ways, after one `CONNECT`.
    fn tunnel(&self, client: TcpStream) -> Result<()> {
        let mut reader = BufReader::new(client);
        let target = http::read(&mut reader)?.status;
        let mut client = reader.into_inner();
        let server = TcpStream::connect(&target).with_context(|| target.clone())?;
        self.tunnels.fetch_add(1, Ordering::Relaxed);
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Write);
        });
        std::io::copy(&mut &server, &mut client)?;
        Ok(client.shutdown(std::net::Shutdown::Both)?)
    }
}
