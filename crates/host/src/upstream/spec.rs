//! What the host must know to reach a server. Plain values; where they come
//! from (files, flags, a library user) is not its business.

use super::{
    callers::Callers,
    far::Far,
    ide::{Ide, IdeCarrier},
};
use crate::limits;
use http::{HeaderMap, Uri};
use std::{error::Error, fmt, path::PathBuf, sync::Arc, time::Duration};
use switchboard_local::wildcard::matches;
use switchboard_process::ServerCommand;
use switchboard_transport::{
    dial::Via,
    http::{Authorize, BoxFuture},
    in_process::End,
};
use switchboard_wire::{Era, reading::same_name};
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
    /// The addresses that it hears of when it asks for roots, whoever its client is.
    pub roots: Vec<String>,
    /// Its tools never wait to be searched for.
    pub always_load: bool,
    /// Holds a server to one era.
    pub era: Option<Era>,
    /// Its times.
    pub timeouts: Timeouts,
    /// Which of its tools exist for us at all.
    pub tool_filter: ToolFilter,
    /// What serves clients while the server wants a sign-in, if anything.
    pub stand_in: Option<StandIn>,
    /// What it takes to be the same server: two specs of one name and identity
    /// can stand for each other. Empty where nobody says; then none is the same.
    pub identity: Arc<str>,
    /// Where to keep what is known of it, for the next start.
    pub knowledge_file: Option<PathBuf>,
    /// Asked before every start, the first and each that follows.
    pub may_start: Option<MayStart>,
    /// What it says of its tools is our own word, and not somebody's who could
    /// have written anything.
    pub is_vouched_for: bool,
    /// It is behind a gateway that goes by the same rules and asks what they want asked:
    /// nobody is asked a second time on the way there.
    pub asks_itself: bool,
}

/// Why something that is not the host's own did not go well: only whoever gave it
/// knows the kinds.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Says why a server must not be started as things are now.
#[derive(Clone)]
pub struct MayStart(pub Arc<dyn Fn() -> Result<(), BoxError> + Send + Sync>);

impl fmt::Debug for MayStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MayStart")
    }
}

/// What lets clients sign in to a server.
#[derive(Clone)]
pub struct StandIn {
    /// A server inside this process that clients are given while the real one
    /// wants a sign-in. It ends when somebody has signed in. It is told whether its
    /// clients may sign in: it says so, and the rules see to it.
    pub serve: Arc<dyn Fn(End, bool) + Send + Sync>,
    /// Begins a sign-in, or joins the one under way: for a server that works and
    /// wants more rights for one call.
    pub begin: Arc<dyn Fn() -> BoxFuture<'static, SignIn> + Send + Sync>,
    /// A sign-in is everybody's. Whether any client may start one all the same
    /// where several principals come in.
    pub by_any_client: bool,
}

/// A sign-in under way.
pub struct SignIn {
    /// The page where somebody has to go, if anybody has to.
    pub page: Option<String>,
    /// An id of its own.
    pub id: String,
    /// How it ends.
    pub done: BoxFuture<'static, Result<(), BoxError>>,
}

impl fmt::Debug for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StandIn")
    }
}

/// The one tool of a stand-in.
pub const AUTHENTICATE: &str = "authenticate";

/// How a server is reached.
#[derive(Clone)]
pub enum Target {
    /// A child process.
    Stdio(ServerCommand),
    /// Streamable HTTP, or HTTP+SSE where the server turns out to know only that.
    Http(Remote),
    /// HTTP+SSE, as before 2025-03-26.
    Sse(Remote),
    /// WebSocket.
    Ws(Remote),
    /// An IDE on this machine, found by its lock file each time.
    Ide(Ide),
    /// A server on another machine, which is led to by whoever knows the way.
    Far(Far),
    /// A server inside this process: gets one end of a pair and serves it in a task of its own,
    /// or says why it cannot.
    Linked(Arc<dyn Fn(End) -> Result<(), BoxError> + Send + Sync>),
    /// The same for a server that calls others on behalf of whoever calls it.
    Calling(Arc<dyn Fn(End, Callers) -> Result<(), BoxError> + Send + Sync>),
    /// The same as the first for a server that speaks in lines: gets one end of a pipe.
    InProcess(Arc<dyn Fn(DuplexStream) + Send + Sync>),
}

/// A server somewhere else.
#[derive(Clone)]
pub struct Remote {
    /// Its address, without user and password.
    pub url: Uri,
    /// Headers that go with every request.
    pub headers: HeaderMap,
    /// How it is reached, besides its address.
    pub via: Via,
    /// Who adds credentials, if anybody.
    pub authorize: Option<Arc<dyn Authorize>>,
}

impl Remote {
    /// A server of which only the address is known.
    pub fn new(url: Uri) -> Self {
        Self {
            url,
            headers: HeaderMap::new(),
            via: Via::default(),
            authorize: None,
        }
    }
}

impl Target {
    /// Whether the server is reached over a network protocol.
    pub fn is_remote(&self) -> bool {
        matches!(
            self,
            Self::Http(_) | Self::Sse(_) | Self::Ws(_) | Self::Ide(_)
        )
    }

    /// Whether the transport exists in the legacy era alone.
    pub(super) fn is_legacy_only(&self) -> bool {
        matches!(self, Self::Sse(_))
            || matches!(self, Self::Ide(ide) if ide.carrier == IdeCarrier::Sse)
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio(command) => f.debug_tuple("Stdio").field(&command.program).finish(),
            // Headers may hold secrets.
            Self::Http(remote) => f.debug_tuple("Http").field(&remote.url.host()).finish(),
            Self::Sse(remote) => f.debug_tuple("Sse").field(&remote.url.host()).finish(),
            Self::Ws(remote) => f.debug_tuple("Ws").field(&remote.url.host()).finish(),
            Self::Ide(ide) => f.debug_tuple("Ide").field(ide).finish(),
            Self::Far(far) => f.debug_tuple("Far").field(&far.server).finish(),
            Self::Linked(_) | Self::Calling(_) | Self::InProcess(_) => f.write_str("InProcess"),
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
    /// How long one of two processes, one for each era, is kept without being used.
    pub unused_era: Duration,
    /// How long a process is kept without being used by anybody; for ever where
    /// nothing is said.
    pub idle: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: limits::CONNECT,
            tool_call: limits::TOOL_CALL,
            request: limits::REQUEST,
            unused_era: limits::UNUSED_ERA,
            idle: Some(limits::IDLE),
        }
    }
}

/// The entry's own `tools: {allow, deny}`: names as the server writes them, `*` as a wildcard.
#[derive(Clone, Debug, Default)]
pub struct ToolFilter {
    /// If there is a list, only these.
    pub allow: Option<Vec<String>>,
    /// Never these.
    pub deny: Vec<String>,
}

impl ToolFilter {
    /// Whether there is any restriction.
    pub fn hides_anything(&self) -> bool {
        self.allow.is_some() || !self.deny.is_empty()
    }

    /// Whether the entry lets this tool exist. A name that is left out is so in
    /// every spelling that a server could take for it.
    pub fn has(&self, tool: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|pattern| matches(pattern, tool));
        self.allow.as_deref().is_none_or(listed) && !listed(&self.deny) && !self.denies_like(tool)
    }

    fn denies_like(&self, tool: &str) -> bool {
        if self.deny.is_empty() {
            return false;
        }
        let tool = same_name(tool);
        self.deny
            .iter()
            .any(|pattern| matches(&same_name(pattern), &tool))
    }
}

impl ServerSpec {
    /// A server with everything by default.
    pub fn new(name: impl Into<Arc<str>>, target: Target) -> Self {
        Self {
            name: name.into(),
            target,
            isolation: Isolation::default(),
            roots: Vec::new(),
            always_load: false,
            era: None,
            timeouts: Timeouts::default(),
            tool_filter: ToolFilter::default(),
            stand_in: None,
            identity: "".into(),
            knowledge_file: None,
            may_start: None,
            is_vouched_for: false,
            asks_itself: false,
        }
    }

    /// Whether a server made of the one can go on as the other.
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && !self.identity.is_empty() && self.identity == other.identity
    }

    /// Where a relative path of this server's would start; for display.
    pub fn cwd(&self) -> Option<&PathBuf> {
        match &self.target {
            Target::Stdio(command) => command.cwd.as_ref(),
            _ => None,
        }
    }
}
