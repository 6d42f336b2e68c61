//! What the host must know to reach a server. Plain values; where they come
//! from (files, flags, a library user) is not its business.

use crate::limits;
use http::{HeaderMap, Uri};
use std::{fmt, path::PathBuf, sync::Arc, time::Duration};
use switchboard_transport::process::ServerCommand;
use switchboard_wire::Era;
use tokio::io::DuplexStream;

/// One server, as the host needs to know it.
#[derive(Clone, Debug)]
pub struct ServerSpec {
    /// Its configured name.
    pub name: Arc<str>,
    /// How it is reached.
    pub target: Target,
    /// Who shares a copy of it.
    pub isolation: Isolation,
    /// Holds a server to one era.
    pub era: Option<Era>,
    /// Its times.
    pub timeouts: Timeouts,
    /// Which of its tools exist for us at all.
    pub rooms: Rooms,
}

/// How a server is reached.
#[derive(Clone)]
pub enum Target {
    /// A child process.
    Stdio(ServerCommand),
    /// Streamable HTTP.
    Http {
        /// The endpoint.
        url: Uri,
        /// Headers that go with every request.
        headers: HeaderMap,
    },
    /// A server inside this process: gets one end of a pipe and serves it in a task of its own.
    InProcess(Arc<dyn Fn(DuplexStream) + Send + Sync>),
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio(command) => f.debug_tuple("Stdio").field(&command.program).finish(),
            // Headers may hold secrets.
            Self::Http { url, .. } => f.debug_tuple("Http").field(&url.host()).finish(),
            Self::InProcess(_) => f.write_str("InProcess"),
        }
    }
}

/// Who shares one copy of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Isolation {
    /// All clients of one principal.
    #[default]
    Shared,
    /// Nobody: each client has its own.
    Session,
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Start and handshake.
    pub connect: Duration,
    /// A tool call.
    pub tool_call: Duration,
    /// Any other request.
    pub request: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: limits::CONNECT, tool_call: limits::TOOL_CALL, request: limits::REQUEST }
    }
}

/// The entry's own `tools: {allow, deny}`: names as the server writes them, `*` as a wildcard.
#[derive(Clone, Debug, Default)]
pub struct Rooms {
    /// If there is a list, only these.
    pub allow: Option<Vec<String>>,
    /// Never these.
    pub deny: Vec<String>,
}

impl Rooms {
    /// Whether there is any restriction.
    pub fn hides_anything(&self) -> bool {
        self.allow.is_some() || !self.deny.is_empty()
    }

    /// Whether the entry lets this tool exist.
    pub fn has(&self, tool: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|pattern| matches(pattern, tool));
        self.allow.as_deref().is_none_or(listed) && !listed(&self.deny)
    }
}

/// `*` stands for any run of characters; everything else for itself.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

impl ServerSpec {
    /// A server with everything by default.
    pub fn new(name: impl Into<Arc<str>>, target: Target) -> Self {
        Self {
            name: name.into(),
            target,
            isolation: Isolation::default(),
            era: None,
            timeouts: Timeouts::default(),
            rooms: Rooms::default(),
        }
    }

    /// Where a relative path of this server's would start; for display.
    pub fn cwd(&self) -> Option<&PathBuf> {
        match &self.target {
            Target::Stdio(command) => command.cwd.as_ref(),
            _ => None,
        }
    }
}
