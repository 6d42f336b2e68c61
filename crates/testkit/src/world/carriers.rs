//! The program between a client and a server, over any two transports.

use super::{config, switchboard};
use crate::{Channel, Program, bin};
use serde_json::{Value, json};

/// What carries messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// The pipes of a process.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE.
    Sse,
    /// WebSocket.
    Ws,
}

/// All that the program can be reached by from outside its own process.
pub const CARRIERS: [Carrier; 4] = [Carrier::Stdio, Carrier::Http, Carrier::Sse, Carrier::Ws];

/// A server that runs, and the entry that leads to it.
pub struct Upstream {
    /// What leads to it.
    pub entry: Value,
    /// Held so that it runs as long as the entry is used.
    _program: Option<Program>,
}

impl Upstream {
    /// The echo server over this transport.
    pub async fn start(carrier: Carrier, more: &[&str]) -> Self {
        Self::of("echo-server", carrier, more).await
    }

    /// One of the test servers over this transport.
    pub async fn of(server: &str, carrier: Carrier, more: &[&str]) -> Self {
        let flag = match carrier {
            Carrier::Stdio => {
                let args: Vec<&str> = ["--stdio"]
                    .into_iter()
                    .chain(more.iter().copied())
                    .collect();
                let entry = json!({"command": bin(server), "args": args});
                return Self {
                    entry,
                    _program: None,
                };
            }
            Carrier::Http => "--http",
            Carrier::Sse => "--sse",
            Carrier::Ws => "--ws",
        };
        let program = Program::new(bin(server))
            .args([flag, "0"])
            .args(more)
            .spawn();
        let url = program.url().await;
        let entry = match carrier {
            Carrier::Sse => json!({"type": "sse", "url": url.replace("/mcp", "/sse")}),
            Carrier::Ws => json!({"type": "ws", "url": url.replace("http://", "ws://")}),
            _ => json!({"type": "http", "url": url}),
        };
        Self {
            entry,
            _program: Some(program),
        }
    }
}

/// The program, ready for clients of one transport.
pub struct Served {
    carrier: Carrier,
    program: Option<Program>,
    base: String,
}

impl Served {
    /// Starts it in front of one server called `e`.
    pub async fn start(carrier: Carrier, upstream: &Upstream) -> Self {
        let servers = config(&json!({"e": upstream.entry}));
        let launch = switchboard().args(["--mcp-config", &servers, "serve", "--only", "e"]);
        if carrier == Carrier::Stdio {
            return Self {
                carrier,
                program: Some(launch.spawn()),
                base: String::new(),
            };
        }
        let program = launch.args(["--http", "127.0.0.1:0", "--no-auth"]).spawn();
        let base = program.url().await;
        Self {
            carrier,
            program: Some(program),
            base,
        }
    }

    /// A client. Over stdio there is only one, and the program goes with it.
    pub async fn client(&mut self) -> Channel {
        let at = |path: &str| format!("{}/{path}/e", self.base);
        match self.carrier {
            Carrier::Stdio => Channel::stdio(self.program.take().expect("one client over stdio")),
            Carrier::Http => Channel::http(&at("mcp"), &[]),
            Carrier::Sse => Channel::sse(&at("sse"), &[]).await,
            Carrier::Ws => Channel::ws(&at("ws").replace("http://", "ws://"), &[]).await,
        }
    }
}
