//! Streamable HTTP, the client's side: one POST for each message, its answer as
//! JSON or as an event stream, and in the legacy era a session and a GET stream.
//!
//! [`HttpLink`] owns the conversation. A POST lives in [`post`] from its first
//! byte to its conclusion, over [`fetch`] (credentials, redirects) and [`pool`]
//! (connections). [`sse`] is the codec of event streams, for both sides.
//! [`SseLink`] is the older HTTP+SSE, over the same parts.
//!
//! Every request that [`HttpLink::send`] accepts ends in exactly one way: its
//! reply is handed over, or [`Receive::undelivered`] says why there is none, or
//! it was abandoned, or the link was closed.
//!
//! [`Receive::undelivered`]: crate::Receive::undelivered

mod answer;
mod backoff;
mod body;
pub mod challenge;
mod connector;
mod fetch;
mod flights;
mod gate;
mod headers;
mod legacy_sse;
mod link;
mod pool;
mod post;
mod preview;
mod pump;
mod redirect;
pub mod sse;
mod stream;

pub use crate::dial::tls_config;
pub use legacy_sse::SseLink;
pub use link::HttpLink;
pub(crate) use preview::preview;

use crate::dial::{Via, origin};
use http::{HeaderMap, Method, Uri};
use std::{fmt, pin::Pin, sync::Arc, time::Duration};

/// A future behind a pointer, for traits that are used as objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where a server is and what every request to it carries.
#[derive(Clone)]
pub struct HttpTarget {
    /// The MCP endpoint, `http` or `https`.
    pub url: Uri,
    /// Headers from the configuration. They never replace those of the protocol.
    pub headers: HeaderMap,
    /// Who adds credentials, if anybody.
    pub authorize: Option<Arc<dyn Authorize>>,
    /// How it is reached, besides its address.
    pub via: Via,
}

impl HttpTarget {
    /// A target without headers or credentials.
    pub fn new(url: Uri) -> Self {
        Self {
            url,
            headers: HeaderMap::new(),
            authorize: None,
            via: Via::default(),
        }
    }
}

impl fmt::Debug for HttpTarget {
    // Headers and the URL's query may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTarget")
            .field("origin", &origin(&self.url))
            .finish_non_exhaustive()
    }
}

/// Who adds credentials to requests.
pub trait Authorize: Send + Sync {
    /// The headers to add to the next request, or why there are none to be had.
    fn headers<'a>(&'a self, request: &'a Asking<'a>)
    -> BoxFuture<'a, Result<HeaderMap, Withheld>>;

    /// The server refused with 401 or 403. Says whether trying once more makes
    /// sense.
    fn challenged<'a>(&'a self, refusal: &'a Refusal<'a>) -> BoxFuture<'a, bool>;

    /// The head of every answer, refusals included: a server may hand out a
    /// nonce for the next proof with any of them. Must not block.
    fn answered(&self, _headers: &HeaderMap) {}
}

/// Why a request goes out neither with credentials nor without.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Withheld {
    /// The server is known to refuse until somebody signs in, and is not asked again.
    #[error("sign-in needed")]
    SignIn,
    /// They cannot be had; why.
    #[error("{0}")]
    Failed(String),
}

impl Withheld {
    /// What becomes of the request.
    pub(crate) fn undelivered(self) -> crate::Undelivered {
        match self {
            Self::SignIn => crate::Undelivered::NeedsAuth {
                status: 401,
                challenge: None,
            },
            Self::Failed(why) => crate::Undelivered::NotSent(why.into()),
        }
    }
}

impl From<String> for Withheld {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// A request for which credentials are wanted: what a proof of possession must name.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// The request's method.
    pub method: &'a Method,
    /// The whole address, after redirects.
    pub url: &'a Uri,
}

/// A 401 or 403, and what was refused.
#[derive(Clone, Copy)]
pub struct Refusal<'a> {
    /// 401 or 403.
    pub status: u16,
    /// The head of the answer; `WWW-Authenticate` may be there several times.
    pub headers: &'a HeaderMap,
    /// What [`Authorize::headers`] gave for the refused request, so that a token
    /// that was replaced in the meantime is told from one that is no good.
    pub credentials: &'a HeaderMap,
    /// How often this request was refused, this time included.
    pub times: u32,
}

/// The limits of a link.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The largest message that is accepted, as a body or as one event.
    pub message_cap: usize,
    /// How long a connection, with TLS, may take to be made.
    pub connect_timeout: Duration,
    /// How long a message that has no answer of its own may take to be accepted.
    pub notification_timeout: Duration,
    /// How long a body that has begun may stand still.
    pub body_stall: Duration,
    /// How long an unused connection is kept.
    pub idle_timeout: Duration,
    /// How many unused connections are kept.
    pub idle_connections: usize,
    /// How many requests may be under way at once.
    pub in_flight: usize,
    /// The shortest silence that can count as a dead event stream.
    pub silence_floor: Duration,
    /// The same for a stream that answers a request and cannot be resumed: the
    /// request is given up with it.
    pub lasting_silence: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            message_cap: switchboard_wire::limits::MESSAGE_BYTES,
            connect_timeout: Duration::from_secs(30),
            notification_timeout: Duration::from_secs(30),
            body_stall: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(30),
            idle_connections: 256,
            in_flight: 1024,
            silence_floor: Duration::from_secs(5),
            lasting_silence: Duration::from_secs(30),
        }
    }
}
