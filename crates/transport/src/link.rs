//! What every link offers, whatever carries it.

use crate::{
    begun::Begun,
    http::challenge,
    in_process::InProcessLink,
    limits,
    remote::{DialError, Driving, HttpLink, SseLink, WsLink},
    stdio::StdioLink,
};
use std::time::Duration;
use switchboard_wire::{Era, Message, Method, ParseError, Payload, Revision};

/// A message that arrived.
#[derive(Debug)]
pub struct Inbound {
    /// The message.
    pub message: Message,
    /// The request of ours that it came with: over HTTP on its own stream, and
    /// from a server in this process that says so. Elsewhere everything comes on
    /// one channel and this is `None`.
    pub during: Option<u64>,
}

/// Where a link hands over what happens. Called from the link's own tasks, so
/// nothing here may block.
pub trait Receive: Send + Sync + 'static {
    /// A message arrived.
    fn message(&self, inbound: Inbound);

    /// Whether the reply to a request of ours may be handed over before its end. Asked when
    /// a large one has begun.
    fn may_begin(&self, _request: u64) -> bool {
        false
    }

    /// The reply to a request of ours has begun, for whoever said that it may.
    fn begun(&self, _request: u64, _begun: Begun) {}

    /// Bytes arrived that are no message. `during` as in [`Inbound`].
    fn unreadable(&self, fault: ParseError, during: Option<u64>);

    /// A request of ours will not be answered.
    fn undelivered(&self, request: u64, why: Undelivered);

    /// Nothing more will come. Called once.
    fn closed(&self, why: Closed);
}

/// Something to send.
#[derive(Debug)]
pub struct Outgoing {
    /// The message's bytes.
    pub payload: Payload,
    /// What the link must know about it.
    pub about: About,
}

/// What a link must know about a message to carry it. HTTP needs it for headers
/// and time-outs; pipes do not care.
#[derive(Debug, Clone)]
pub enum About {
    /// A request; its answer comes on its own stream where there are such.
    Request {
        /// Our id for it.
        id: u64,
        /// Its method.
        method: Method,
        /// The method's name where `method` is `Other`.
        method_name: Option<String>,
        /// What `Mcp-Name` must say (modern HTTP).
        name: Option<String>,
        /// `Mcp-Param-*` headers, names without the prefix (modern HTTP).
        params: Vec<(String, String)>,
        /// Other headers, in whichever era: names in lower case.
        headers: Vec<(&'static str, String)>,
        /// How long the answer may take in all, where nobody else sees to that
        /// and abandons it.
        timeout: Option<Duration>,
    },
    /// A notification.
    Notification,
    /// The answer to a request of the peer's.
    Response,
}

/// Why a request of ours will not be answered.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Undelivered {
    /// It did not leave: sending it again is safe.
    #[error("not sent: {0}")]
    NotSent(#[source] Unsent),
    /// It may have arrived; what became of it is unknown.
    #[error("{0}")]
    Unknown(String),
    /// The peer wants us to sign in. What its `WWW-Authenticate` said.
    #[error("{}", refusal(*status, challenge.as_deref()))]
    NeedsAuth {
        /// 401 or 403.
        status: u16,
        /// The challenge as it came.
        challenge: Option<String>,
    },
    /// The session that the request named is not known any more (HTTP 404).
    #[error("the session has expired")]
    SessionExpired,
    /// An HTTP status that is no JSON-RPC answer.
    #[error("{}", status_text(*status, preview))]
    Status {
        /// The status.
        status: u16,
        /// The beginning of the body, made safe to show.
        preview: String,
    },
    /// No answer within its time.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
}

/// Why a request did not leave.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Unsent {
    /// There is no connection.
    #[error(transparent)]
    NoConnection(#[from] DialError),
    /// Anything else: there was one and it broke, or there is nothing to send.
    #[error("{0}")]
    Other(String),
}

impl From<String> for Unsent {
    fn from(why: String) -> Self {
        Self::Other(why)
    }
}

impl From<&str> for Unsent {
    fn from(why: &str) -> Self {
        Self::Other(why.to_owned())
    }
}

impl Undelivered {
    /// The scopes that the peer asks for with 403; empty where it wants more
    /// rights and does not say which.
    pub fn missing_scope(&self) -> Option<String> {
        match self {
            Self::NeedsAuth { status, challenge } => missing_scope(*status, challenge.as_deref()),
            _ => None,
        }
    }
}

fn missing_scope(status: u16, challenge: Option<&str>) -> Option<String> {
    let challenge = challenge.filter(|_| status == 403)?;
    let scopes = challenge::missing_scopes(challenge)?.join(" ");
    // The peer's own text.
    let plain = scopes.chars().filter(|c| c.is_ascii_graphic() || *c == ' ');
    Some(plain.take(limits::SCOPE_CHARS).collect())
}

fn status_text(status: u16, preview: &str) -> String {
    match preview.trim() {
        "" => format!("HTTP {status}, without a word"),
        preview => format!("HTTP {status}: {preview}"),
    }
}

fn refusal(status: u16, challenge: Option<&str>) -> String {
    match missing_scope(status, challenge) {
        Some(scope) if !scope.is_empty() => {
            format!("the server wants a sign-in with the scope {scope:?} (HTTP {status})")
        }
        Some(_) => format!("the server wants a sign-in with more rights (HTTP {status})"),
        None => format!("the server requires authentication (HTTP {status})"),
    }
}

/// Why a link ended.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Closed {
    /// We closed it.
    #[error("closed")]
    ByUs,
    /// The peer ended its side.
    #[error("{0}")]
    ByPeer(String),
    /// It broke.
    #[error("{0}")]
    Broken(String),
}

impl Closed {
    /// A fault of our own ended it.
    pub(crate) fn faulty() -> Self {
        Self::Broken("a bug in Switchboard ended the connection; its log says where".into())
    }
}

/// Why something could not be queued.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SendError {
    /// The link has ended.
    #[error("the connection is closed")]
    Closed,
    /// The peer does not read, and the queue is full.
    #[error("the server does not read its input; {0} bytes are waiting")]
    Full(usize),
}

/// A link of any kind.
#[derive(Clone, Debug)]
pub enum Link {
    /// A child process, or any pair of byte streams framed by lines.
    Stdio(StdioLink),
    /// A server behind an HTTP endpoint.
    Http(HttpLink),
    /// A server behind an event stream, as before 2025-03-26.
    Sse(SseLink),
    /// A server behind a WebSocket.
    Ws(WsLink),
    /// A server in this process.
    InProcess(InProcessLink),
}

impl Link {
    /// Queues a message. Never waits.
    pub fn send(&self, out: Outgoing) -> Result<(), SendError> {
        match self {
            Self::Stdio(link) => link.send(out.payload),
            Self::Http(link) => link.send(out),
            Self::Sse(link) => link.send(out),
            Self::Ws(link) => link.send(out),
            Self::InProcess(link) => link.send(out.payload),
        }
    }

    /// Queues a request of ours. Over HTTP whoever waits for its answer has to drive it:
    /// nothing leaves before that.
    pub fn begin(&self, out: Outgoing) -> Result<Option<Driving>, SendError> {
        match self {
            Self::Http(link) => link.begin(out),
            _ => self.send(out).map(|()| None),
        }
    }

    /// Says which revision is spoken from now on: in headers where there are
    /// such, and it decides whether batches are taken.
    pub fn speak(&self, revision: Revision) {
        match self {
            Self::Stdio(link) => link.speak(revision),
            Self::Http(link) => link.speak(revision),
            Self::Sse(link) => link.speak(revision),
            Self::Ws(link) => link.speak(revision),
            Self::InProcess(link) => link.speak(revision),
        }
    }

    /// Stops waiting for the answer to a request of ours and, where the request
    /// has a stream of its own, closes that.
    pub fn abandon(&self, request: u64) {
        match self {
            Self::Stdio(_) | Self::Ws(_) | Self::InProcess(_) => {}
            Self::Http(link) => link.abandon(request),
            Self::Sse(link) => link.abandon(request),
        }
    }

    /// Whether closing a request's stream is how it is cancelled: over HTTP, in
    /// the modern era. Everywhere else the peer must be told.
    pub fn closing_cancels(&self, revision: Revision) -> bool {
        match self {
            Self::Stdio(_) | Self::Sse(_) | Self::Ws(_) | Self::InProcess(_) => false,
            Self::Http(_) => revision.era() == Era::Modern,
        }
    }

    /// Ends the link and what is behind it.
    pub async fn close(&self) {
        match self {
            Self::Stdio(link) => link.close().await,
            Self::Http(link) => link.close().await,
            Self::Sse(link) => link.close().await,
            Self::Ws(link) => link.close().await,
            Self::InProcess(link) => link.close(),
        }
    }
}
