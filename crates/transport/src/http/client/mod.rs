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
mod driving;
mod fetch;
mod flights;
mod gate;
mod headers;
pub mod http1;
mod legacy_sse;
mod link;
mod passing;
mod pool;
mod post;
mod preview;
mod pump;
mod redirect;
pub mod sse;
mod stream;

pub use driving::Driving;
pub use legacy_sse::SseLink;
pub use link::HttpLink;
pub(crate) use preview::preview;

use super::{Asking, Authorize, HttpTarget, Refusal, Withheld};
use crate::limits;
use std::time::Duration;

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
            connect_timeout: limits::CONNECT,
            notification_timeout: limits::NOTIFICATION,
            body_stall: limits::BODY_STALL,
            idle_timeout: limits::IDLE,
            idle_connections: 256,
            in_flight: 1024,
            silence_floor: limits::SILENCE_FLOOR,
            lasting_silence: limits::LASTING_SILENCE,
        }
    }
}
