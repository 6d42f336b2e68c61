//! What is measured, and how it is started. The upstream is always
//! `echo-server`.

use super::others::Others;
use crate::conformance::own_home;
use crate::process::{Group, Server};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde_json::json;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
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
    /// Switchboard → stdio with nothing watched
    Unwatched,
    /// Switchboard → stdio with metrics and the audit that syncs each second
    Audited,
    /// Switchboard → stdio with metrics and every message kept
    Tapped,
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
    // In the order in which they have to end.
    _proxy: Option<Group>,
    _gateway: Option<Server>,
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
    pub const WATCHING: [Self; 4] = [Self::Unwatched, Self::Stdio, Self::Audited, Self::Tapped];

    /// Options of `serve` that make it what it is.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Unwatched => &["--metrics", "off"],
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
        let upstream = match self {
            Self::Direct | Self::Nginx | Self::Http => Some(upstream(&programs.upstream, scratch)?),
            _ => None,
        };
        let upstream_url = upstream.as_ref().map(|server| server.url.clone());
        let mut running = Running {
            url: upstream_url.clone().unwrap_or_default(),
            token: None,
            root: None,
            _proxy: None,
            _gateway: None,
            _upstream: upstream,
        };
        match self {
            Self::Direct => {}
            Self::Nginx => {
                let (proxy, url) = nginx(&running.url, scratch)?;
                running.root = Some(proxy.id());
                running.url = url;
                running._proxy = Some(proxy);
            }
            Self::Stdio | Self::Http | Self::Unwatched | Self::Audited | Self::Tapped => {
                let entry = match &upstream_url {
                    Some(url) => json!({"type": "http", "url": url}),
                    None => {
                        json!({"type": "stdio", "command": programs.upstream, "args": ["--stdio"]})
                    }
                };
                let token = token(scratch)?;
                let gateway = gateway(programs, &entry, &token, self.options(), scratch)?;
                running.root = Some(gateway.id());
                running.url = format!("{}/mcp/{ENTRY}", gateway.url);
                running.token = Some(token);
                running._gateway = Some(gateway);
            }
            Self::Supergateway | Self::McpProxy | Self::FastMcp => {
                let others = programs.others.as_ref();
                let others = others.context("the other gateways are not installed: --others")?;
                let (proxy, url) = others.start(self, &programs.upstream, scratch)?;
                running.root = Some(proxy.id());
                running.url = url;
                running._proxy = Some(proxy);
            }
        }
        Ok(running)
    }
}

/// `echo-server` on HTTP.
pub fn upstream(program: &Path, scratch: &Path) -> Result<Server> {
    upstream_with(program, scratch, &[])
}

/// The same with these options.
pub fn upstream_with(program: &Path, scratch: &Path, options: &[&str]) -> Result<Server> {
    let mut command = Command::new(program);
    command.args(["--http", "0"]).args(options);
    Server::start(&mut command, scratch.join("upstream.log"), START_LIMIT)
}

/// The gateway with everything on that is on by default, the token included, and these
/// options of `serve`.
fn gateway(
    programs: &Programs,
    entry: &serde_json::Value,
    token: &Path,
    options: &[&str],
    scratch: &Path,
) -> Result<Server> {
    let command = Command::new(&programs.gateway);
    let entries = json!({ENTRY: entry});
    let mut command = gateway_command(command, &entries, token, scratch)?;
    command.args(options);
    Server::start(&mut command, scratch.join("gateway.log"), START_LIMIT).context("the gateway")
}

/// `command`, which is the gateway's program or runs it, with what it serves, by name.
pub fn gateway_command(
    mut command: Command,
    entries: &serde_json::Value,
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

/// `nginx/1.2.3`, or none where it is not installed.
pub fn nginx_version() -> Option<String> {
    let output = Command::new("nginx").arg("-v").output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    Some(text.trim().strip_prefix("nginx version: ")?.to_owned())
}

/// nginx with kept-alive connections on both sides, as many workers as there
/// are processors, no access log, and no buffering of whole answers: what MCP
/// needs so that events arrive when they are sent.
fn nginx(upstream: &str, scratch: &Path) -> Result<(Group, String)> {
    let dir = scratch.join("nginx");
    std::fs::create_dir_all(&dir)?;
    let address = upstream.trim_start_matches("http://");
    let (address, path) = address.split_once('/').unwrap_or((address, ""));
    let port = free_port()?;
    let user = match rustix::process::geteuid().is_root() {
        true => "user root;",
        false => "",
    };
    let dir_text = dir.display();
    let config = format!(
        r#"{user}
daemon off;
worker_processes auto;
pid "{dir_text}/pid";
error_log stderr error;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path "{dir_text}/body";
  proxy_temp_path "{dir_text}/proxy";
  fastcgi_temp_path "{dir_text}/fastcgi";
  uwsgi_temp_path "{dir_text}/uwsgi";
  scgi_temp_path "{dir_text}/scgi";
  keepalive_requests 100000000;
  upstream echo {{
    server {address};
    keepalive 512;
    keepalive_requests 100000000;
  }}
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://echo;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_buffering off;
      proxy_buffer_size 64k;
      proxy_buffers 8 64k;
    }}
  }}
}}
"#
    );
    let file = dir.join("nginx.conf");
    std::fs::write(&file, config)?;
    let log = dir.join("stderr.log");
    let mut command = Command::new("nginx");
    command
        .arg("-c")
        .arg(&file)
        .arg("-p")
        .arg(&dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&log)?);
    let group = Group::spawn(&mut command)?;
    listens("nginx", port, &log, START_LIMIT)?;
    Ok((group, format!("http://127.0.0.1:{port}/{path}")))
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
