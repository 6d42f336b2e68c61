//! What is measured, and how it is started. The upstream is always
//! `echo-server`.

use super::fleet::{self, Fleet, Way};
use super::nginx::{Certificate, certificate, nginx};
use super::others::{self, Others};
use super::{collector::collector, proc};
use crate::conformance::own_home;
use crate::process::{Group, Server};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Some take seconds to read their own code.
pub const START_LIMIT: Duration = Duration::from_secs(30);
/// The upstream's name in the gateway's configuration.
const ENTRY: &str = "echo";

/// The programs that are built for the bench.
pub struct Programs {
    /// `switchboard`
    pub gateway: PathBuf,
    /// `echo-server`
    pub upstream: PathBuf,
    /// `bench-load`
    pub load: PathBuf,
    /// The other gateways, where they are wanted.
    pub others: Option<Others>,
    /// agentgateway, where it was given.
    pub agentgateway: Option<PathBuf>,
    /// The server of NATS, where a cluster is measured.
    pub nats: Option<PathBuf>,
}

/// What stands between the clients and the upstream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Subject {
    /// Nothing
    Direct,
    /// nginx as a plain reverse proxy
    Nginx,
    /// Switchboard, the upstream over stdio
    Stdio,
    /// Switchboard, the upstream over HTTP
    Http,
    /// Switchboard, the upstream over WebSocket
    Ws,
    /// Switchboard, the upstream over HTTP+SSE
    Sse,
    /// Switchboard → stdio, a server of the legacy era only
    StdioLegacy,
    /// Switchboard → stdio, a server of the modern era only
    StdioModern,
    /// nginx with TLS, HTTP/1.1
    NginxTls,
    /// Switchboard → HTTP with TLS, HTTP/1.1
    Tls,
    /// nginx with TLS, HTTP/2
    #[value(name = "nginx-h2")]
    NginxH2,
    /// Switchboard → HTTP with TLS, HTTP/2
    H2,
    /// Switchboard → stdio on two threads
    StdioThreads,
    /// Switchboard → HTTP on two threads
    HttpThreads,
    /// Two of Switchboard → stdio on a thread each, half of the clients at each
    StdioTwice,
    /// Two of Switchboard → HTTP on a thread each, half of the clients at each
    HttpTwice,
    /// A replica of two → stdio, for its own sessions
    Replica,
    /// The same for sessions of the other, which it dials
    Forwarded,
    /// The same where only NATS leads to the other
    OverNats,
    /// Switchboard → stdio with nothing watched
    Unwatched,
    /// Switchboard → stdio with metrics and the audit that syncs each second
    Audited,
    /// Switchboard → stdio with metrics and every message kept
    Tapped,
    /// Switchboard → stdio with metrics and every trace sent to a collector
    Traced,
    /// agentgateway, the upstream over stdio
    Agentgateway,
    /// supergateway, the upstream over stdio
    Supergateway,
    /// mcp-proxy, the upstream over stdio
    McpProxy,
    /// FastMCP's proxy, the upstream over stdio
    #[value(name = "fastmcp")]
    FastMcp,
}

/// A subject that is ready for load.
pub struct Running {
    /// The MCP endpoint.
    pub url: String,
    /// A file with the client token, where one is needed.
    pub token: Option<PathBuf>,
    /// The process whose tree is measured; none where nothing stands between.
    pub root: Option<u32>,
    /// Other processes whose trees are measured with it.
    others: Vec<u32>,
    /// What clients are told besides.
    pub asks: Vec<String>,
    // In the order in which they have to end.
    _proxy: Option<Group>,
    _gateways: Vec<Server>,
    _fleet: Option<Fleet>,
    _upstream: Option<Server>,
}

impl Subject {
    /// What the gateway is measured beside, in the table's order.
    pub const ALONE: [Self; 4] = [Self::Direct, Self::Nginx, Self::Stdio, Self::Http];
    /// The gateway and others of its kind.
    pub const AMONG_OTHERS: [Self; 4] = [
        Self::Stdio,
        Self::Supergateway,
        Self::McpProxy,
        Self::FastMcp,
    ];

    /// What each way of watching costs.
    pub const WATCHING: [Self; 5] = [
        Self::Unwatched,
        Self::Stdio,
        Self::Audited,
        Self::Tapped,
        Self::Traced,
    ];

    /// Whether nginx has to be there for it.
    pub fn is_nginx(self) -> bool {
        matches!(self, Self::Nginx | Self::NginxTls | Self::NginxH2)
    }

    /// Whether its clients speak TLS.
    fn is_secure(self) -> bool {
        matches!(self, Self::NginxTls | Self::Tls) || self.speaks_http2()
    }

    fn speaks_http2(self) -> bool {
        matches!(self, Self::NginxH2 | Self::H2)
    }

    /// How its upstream is started, where it is none of the gateway's own processes.
    fn listens(self) -> Option<&'static str> {
        match self {
            Self::Direct
            | Self::Http
            | Self::HttpThreads
            | Self::HttpTwice
            | Self::Tls
            | Self::H2
            | Self::Nginx
            | Self::NginxTls
            | Self::NginxH2 => Some("--http"),
            Self::Ws => Some("--ws"),
            Self::Sse => Some("--sse"),
            _ => None,
        }
    }

    /// Options of `serve` that make it what it is.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::StdioThreads | Self::HttpThreads => &["--threads", "2"],
            Self::StdioTwice | Self::HttpTwice => &["--threads", "1"],
            Self::Unwatched => &["--unwatched"],
            Self::Audited => &["--audit"],
            Self::Tapped => &["--tap"],
            _ => &[],
        }
    }

    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Nginx => "nginx",
            Self::Stdio => "Switchboard → stdio",
            Self::Http => "Switchboard → HTTP",
            Self::Ws => "Switchboard → WebSocket",
            Self::Sse => "Switchboard → HTTP+SSE",
            Self::StdioLegacy => "→ stdio, legacy server",
            Self::StdioModern => "→ stdio, modern server",
            Self::NginxTls => "nginx, TLS",
            Self::Tls => "Switchboard → HTTP, TLS",
            Self::NginxH2 => "nginx, TLS, HTTP/2",
            Self::H2 => "Switchboard → HTTP, TLS, HTTP/2",
            Self::StdioThreads => "→ stdio, two threads",
            Self::HttpThreads => "→ HTTP, two threads",
            Self::StdioTwice => "→ stdio, two runtimes",
            Self::HttpTwice => "→ HTTP, two runtimes",
            Self::Replica => "a replica, its own session",
            Self::Forwarded => "another's session, directly",
            Self::OverNats => "another's session, over NATS",
            Self::Traced => "→ stdio, metrics and traces",
            Self::Agentgateway => "agentgateway → stdio",
            Self::Unwatched => "→ stdio, nothing watched",
            Self::Audited => "→ stdio, metrics and audit",
            Self::Tapped => "→ stdio, metrics and tap",
            Self::Supergateway => "supergateway → stdio",
            Self::McpProxy => "mcp-proxy → stdio",
            Self::FastMcp => "FastMCP → stdio",
        }
    }

    /// Starts it with an upstream of its own.
    pub fn start(self, programs: &Programs, scratch: &Path) -> Result<Running> {
        let upstream = self
            .listens()
            .map(|how| upstream_by(how, &programs.upstream, scratch, &[]));
        let upstream = upstream.transpose()?;
        let url = upstream.as_ref().map(|server| server.url.clone());
        let mut running = Running {
            url: url.clone().unwrap_or_default(),
            token: None,
            root: None,
            others: Vec::new(),
            asks: Vec::new(),
            _proxy: None,
            _gateways: Vec::new(),
            _fleet: None,
            _upstream: upstream,
        };
        if self.speaks_http2() {
            running.asks.push("--http2".into());
        }
        match self {
            Self::Direct => {}
            Self::Nginx | Self::NginxTls | Self::NginxH2 => {
                let tls = match self.is_secure() {
                    true => Some((certificate(scratch)?, self.speaks_http2())),
                    false => None,
                };
                let (proxy, url) = nginx(&running.url, tls.as_ref(), scratch)?;
                running.set_proxy(proxy, url);
            }
            Self::Replica | Self::Forwarded | Self::OverNats => {
                let entries = json!({ENTRY: self.entry(None, &programs.upstream)});
                let way = match self {
                    Self::OverNats => Way::Nats,
                    _ => Way::Direct,
                };
                let fleet = fleet::start(programs, &entries, way, scratch)?;
                running.set_fleet(fleet, self == Self::Replica, token(scratch)?);
            }
            Self::Supergateway | Self::McpProxy | Self::FastMcp | Self::Agentgateway => {
                let (proxy, url) = others::start(self, programs, scratch)?;
                running.set_proxy(proxy, url);
            }
            _ => {
                let entries = json!({ENTRY: self.entry(url.as_deref(), &programs.upstream)});
                let mut with: Vec<String> = self.options().iter().map(|&it| it.into()).collect();
                if self.is_secure() {
                    let Certificate { cert, key } = certificate(scratch)?;
                    for (option, file) in [("--tls-cert", cert), ("--tls-key", key)] {
                        with.extend([option.to_owned(), file.display().to_string()]);
                    }
                }
                let sink = match self {
                    Self::Traced => Some(collector()?),
                    _ => None,
                };
                let path = format!("/mcp/{ENTRY}");
                let how_many = match self {
                    Self::StdioTwice | Self::HttpTwice => 2,
                    _ => 1,
                };
                for nth in 0..how_many {
                    // Each has a home of its own.
                    let scratch = match nth {
                        0 => scratch.to_owned(),
                        _ => scratch.join("second"),
                    };
                    std::fs::create_dir_all(&scratch)?;
                    let with = (&*with, sink.as_deref());
                    running.set_gateway(programs, &entries, with, &path, &scratch)?;
                }
            }
        }
        Ok(running)
    }

    /// The upstream as the gateway has it configured.
    fn entry(self, url: Option<&str>, program: &Path) -> Value {
        let era = match self {
            Self::StdioLegacy => &["--era", "legacy"][..],
            Self::StdioModern => &["--era", "modern"],
            _ => &[],
        };
        match (self, url) {
            (Self::Ws, Some(url)) => {
                let url = url.replacen("http", "ws", 1).replace("/mcp", "/");
                json!({"type": "ws", "url": url})
            }
            (Self::Sse, Some(url)) => {
                json!({"type": "sse", "url": url.replace("/mcp", "/sse")})
            }
            (_, Some(url)) => json!({"type": "http", "url": url}),
            (_, None) => {
                let args = [&["--stdio"], era].concat();
                json!({"type": "stdio", "command": program, "args": args})
            }
        }
    }
}

impl Running {
    /// The gateway in front of these entries, asked at this path.
    pub fn gateway(
        programs: &Programs,
        entries: &Value,
        with: &[String],
        path: &str,
        scratch: &Path,
    ) -> Result<Self> {
        let mut running = Self {
            url: String::new(),
            token: None,
            root: None,
            others: Vec::new(),
            asks: Vec::new(),
            _proxy: None,
            _gateways: Vec::new(),
            _fleet: None,
            _upstream: None,
        };
        running.set_gateway(programs, entries, (with, None), path, scratch)?;
        Ok(running)
    }

    fn set_gateway(
        &mut self,
        programs: &Programs,
        entries: &Value,
        (with, collector): (&[String], Option<&str>),
        path: &str,
        scratch: &Path,
    ) -> Result<()> {
        let token = match &self.token {
            Some(token) => token.clone(),
            None => token(scratch)?,
        };
        let command = Command::new(&programs.gateway);
        let mut command = gateway_command(command, entries, &token, scratch)?;
        command.args(with);
        if let Some(collector) = collector {
            command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector);
        }
        let log = scratch.join("gateway.log");
        let gateway = Server::start(&mut command, log, START_LIMIT).context("the gateway")?;
        let url = format!("{}{path}", gateway.url);
        match self.root {
            None => (self.root, self.url) = (Some(gateway.id()), url),
            // One more beside it, which has half of the clients.
            Some(_) => {
                self.others.push(gateway.id());
                self.asks.extend(["--and-at".to_owned(), url]);
            }
        }
        self.token = Some(token);
        self._gateways.push(gateway);
        Ok(())
    }

    /// Clients ask the first replica, for its own sessions or for those of the last.
    fn set_fleet(&mut self, fleet: Fleet, own: bool, token: PathBuf) {
        let place = |at: Option<&Server>| at.map(|it| format!("{}/mcp/{ENTRY}", it.url));
        self.url = place(fleet.replicas.first()).unwrap_or_default();
        if let Some(opened) = place(fleet.replicas.last()).filter(|_| !own) {
            self.asks.extend(["--opened-at".to_owned(), opened]);
        }
        let mut roots = fleet.replicas.iter().map(Server::id);
        self.root = roots.next();
        self.others = roots.collect();
        self.token = Some(token);
        self._fleet = Some(fleet);
    }

    fn set_proxy(&mut self, proxy: Group, url: String) {
        self.root = Some(proxy.id());
        self.url = url;
        self._proxy = Some(proxy);
    }

    /// The processes that are measured.
    pub fn pids(&self) -> Result<Vec<u32>> {
        let mut pids = Vec::new();
        for root in self.root.iter().chain(&self.others) {
            pids.extend(proc::tree(*root, "echo-server")?);
        }
        Ok(pids)
    }

    /// Their proportional memory now, in KiB.
    pub fn pss_kib(&self) -> Result<f64> {
        Ok(proc::pss_kib(&self.pids()?) as f64)
    }
}

/// `echo-server` on HTTP.
pub fn upstream(program: &Path, scratch: &Path) -> Result<Server> {
    upstream_with(program, scratch, &[])
}

/// The same with these options.
pub fn upstream_with(program: &Path, scratch: &Path, options: &[&str]) -> Result<Server> {
    upstream_by("--http", program, scratch, options)
}

fn upstream_by(how: &str, program: &Path, scratch: &Path, options: &[&str]) -> Result<Server> {
    let mut command = Command::new(program);
    command.args([how, "0"]).args(options);
    Server::start(&mut command, scratch.join("upstream.log"), START_LIMIT)
}

/// `command`, which is the gateway's program or runs it, with what it serves, by name.
pub fn gateway_command(
    mut command: Command,
    entries: &Value,
    token: &Path,
    scratch: &Path,
) -> Result<Command> {
    let config = json!({"mcpServers": entries}).to_string();
    command
        .args(["serve", "--http", "127.0.0.1:0", "--token-file"])
        .arg(token)
        .args(["--strict-mcp-config", "--mcp-config", &config]);
    own_home(&mut command, scratch)?;
    Ok(command)
}

/// A file with a client token.
pub fn token(scratch: &Path) -> Result<PathBuf> {
    let path = scratch.join("token");
    if !path.exists() {
        let mut random = [0; 24];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut options = File::options();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        writeln!(file, "{text}")?;
    }
    Ok(path)
}

/// A port that nothing has at this moment.
pub fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Waits until something listens on `port`.
pub fn listens(name: &str, port: u16, log: &Path, limit: Duration) -> Result<()> {
    let deadline = Instant::now() + limit;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if Instant::now() > deadline {
            let text = std::fs::read_to_string(log).unwrap_or_default();
            bail!("{name} does not listen: {text}");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
