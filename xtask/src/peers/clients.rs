//! The clients: libraries first, then programs that need no model, then agents.

use super::Expected;
use super::agents::{self, Prepare};
use super::commands;
use super::drive::{Saw, Stage};
use super::package::{Package, npm, pypi};
use anyhow::Result;
use std::process::Command;

/// A client, and how it is made to list and call.
pub struct Client {
    pub name: &'static str,
    pub package: Package,
    pub drive: Drive,
    pub ways: &'static [Way],
    /// Small enough for the selection that is run with every change.
    pub quick: bool,
    pub expected: Expected,
}

/// How a client reaches us.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It starts `switchboard serve`.
    Stdio,
    /// Streamable HTTP.
    Http,
}

impl Way {
    /// As tables and scripts have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "HTTP",
        }
    }
}

/// What makes a client do something.
#[derive(Clone, Copy)]
pub enum Drive {
    /// A script that uses it as a library.
    Script {
        text: &'static str,
        /// The era that it is told to speak, where it can be told.
        mode: &'static str,
    },
    /// Its own commands.
    Commands(fn(&Stage) -> Result<Saw>),
    /// It carries messages from its stdin to us.
    Pipe(fn(&Stage) -> Result<Command>),
    /// An agent, which is given a model.
    Agent(Prepare),
}

const BOTH: &[Way] = &[Way::Http, Way::Stdio];
const HTTP: &[Way] = &[Way::Http];
const STDIO: &[Way] = &[Way::Stdio];

macro_rules! script {
    ($file:literal) => {
        script!($file, "")
    };
    ($file:literal, $mode:literal) => {
        Drive::Script {
            text: include_str!(concat!("scripts/", $file)),
            mode: $mode,
        }
    };
}

const fn client(
    name: &'static str,
    package: Package,
    drive: Drive,
    ways: &'static [Way],
) -> Client {
    Client {
        name,
        package,
        drive,
        ways,
        quick: false,
        expected: Expected::Works,
    }
}

impl Client {
    const fn quick(mut self) -> Self {
        self.quick = true;
        self
    }
}

const SDK: &str = "@modelcontextprotocol/sdk";
const CLIENT: &str = "@modelcontextprotocol/client";
const INSPECTOR: &str = "@modelcontextprotocol/inspector";

/// All of them.
pub const CLIENTS: &[Client] = &[
    client("sdk", npm(SDK, "1.32.2"), script!("sdk.mjs"), BOTH).quick(),
    client("sdk-1.10", npm(SDK, "1.10.2"), script!("sdk.mjs"), BOTH),
    client("sdk-1.0", npm(SDK, "1.0.4"), script!("sdk.mjs"), STDIO).quick(),
    client("client", npm(CLIENT, "2.4.0"), script!("client.mjs"), BOTH).quick(),
    client(
        "client-auto",
        npm(CLIENT, "2.4.0"),
        script!("client.mjs", "auto"),
        BOTH,
    ),
    client("mcp-1", pypi("mcp", "1.30.0"), script!("mcp1.py"), BOTH).quick(),
    client(
        "mcp-1.9",
        pypi("mcp", "1.9.4").with(&["pydantic==2.11.10"]),
        script!("mcp1.py"),
        BOTH,
    ),
    client("mcp-2", pypi("mcp", "2.3.0"), script!("mcp2.py"), BOTH).quick(),
    client(
        "mcp-2-legacy",
        pypi("mcp", "2.3.0"),
        script!("mcp2.py", "legacy"),
        BOTH,
    ),
    client(
        "fastmcp",
        pypi("fastmcp", "4.1.2"),
        script!("fastmcp_client.py"),
        BOTH,
    ),
    client(
        "langchain",
        pypi("langchain-mcp-adapters", "0.3.2"),
        script!("langchain.py"),
        BOTH,
    ),
    client(
        "openai-agents",
        pypi("openai-agents", "0.24.0"),
        script!("openai_agents.py"),
        BOTH,
    ),
    client(
        "pydantic-ai",
        pypi("pydantic-ai-slim[mcp]", "2.66.0"),
        script!("pydantic.py"),
        BOTH,
    ),
    client(
        "mcp-use-py",
        pypi("mcp-use", "1.7.1"),
        script!("mcp_use.py"),
        BOTH,
    ),
    client(
        "llama-index",
        pypi("llama-index-tools-mcp", "0.6.0"),
        script!("llama_index.py"),
        BOTH,
    ),
    client(
        "google-adk",
        pypi("google-adk", "2.13.0").with(&["mcp==1.30.0"]),
        script!("adk.py"),
        BOTH,
    ),
    client(
        "inspector",
        npm(INSPECTOR, "2.12.0"),
        Drive::Commands(commands::inspector),
        BOTH,
    )
    .quick(),
    client(
        "inspector-0.15",
        npm(INSPECTOR, "0.15.0"),
        Drive::Commands(commands::inspector),
        STDIO,
    ),
    client(
        "mcporter",
        npm("mcporter", "0.12.3"),
        Drive::Commands(commands::mcporter),
        BOTH,
    ),
    client(
        "wong2-mcp-cli",
        npm("@wong2/mcp-cli", "2.0.0"),
        Drive::Commands(commands::wong2),
        STDIO,
    ),
    client(
        "mcp-remote",
        npm("mcp-remote", "0.15.1"),
        Drive::Pipe(commands::mcp_remote),
        HTTP,
    )
    .quick(),
    client(
        "supergateway",
        npm("supergateway", "4.0.0"),
        Drive::Pipe(commands::supergateway),
        HTTP,
    ),
    client(
        "mcp-proxy",
        pypi("mcp-proxy", "0.13.0"),
        Drive::Pipe(commands::mcp_proxy),
        HTTP,
    ),
    client(
        "claude-code",
        npm("@anthropic-ai/claude-code", "2.1.325"),
        Drive::Agent(agents::claude_code),
        BOTH,
    ),
    client(
        "codex",
        npm("@openai/codex", "0.166.0"),
        Drive::Agent(agents::codex),
        BOTH,
    ),
    client(
        "gemini-cli",
        npm("@google/gemini-cli", "0.61.0"),
        Drive::Agent(agents::gemini),
        BOTH,
    ),
    client(
        "qwen-code",
        npm("@qwen-code/qwen-code", "0.24.4"),
        Drive::Agent(agents::qwen),
        BOTH,
    ),
    client(
        "opencode",
        npm("opencode-ai", "1.18.33"),
        Drive::Agent(agents::opencode),
        BOTH,
    ),
    client(
        "copilot",
        npm("@github/copilot", "1.0.102"),
        Drive::Agent(agents::copilot),
        BOTH,
    ),
];
