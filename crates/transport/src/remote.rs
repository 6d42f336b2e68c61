//! Links to servers that are somewhere else. A build without `http` has their names
//! and no way to make one, so that whoever handles links need not ask which there are.

#[cfg(not(feature = "http"))]
mod absent;
#[cfg(feature = "http")]
mod present;

#[cfg(not(feature = "http"))]
pub use absent::Driving;
#[cfg(not(feature = "http"))]
pub(crate) use absent::{DialError, HttpLink, SseLink, WsLink};
#[cfg(feature = "http")]
pub use present::Driving;
#[cfg(feature = "http")]
pub(crate) use present::{DialError, HttpLink, SseLink, WsLink};

use crate::{Budget, Link, Receive, http::HttpTarget};
use std::sync::Arc;

#[cfg(not(feature = "http"))]
use absent as links;
#[cfg(feature = "http")]
use present as links;

/// What carries messages to a server that is somewhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE, as before 2025-03-26.
    Sse,
    /// WebSocket.
    Ws,
}

/// This build was made without a part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this build has no `{0}`: it was made without that feature")]
pub struct NotBuilt(pub &'static str);

impl Link {
    /// A link to a server at an address. Nothing is sent before something is to be.
    ///
    /// # Errors
    /// Where the build has no `http`.
    pub fn remote(
        carrier: Carrier,
        target: HttpTarget,
        budget: Budget,
        receive: Arc<dyn Receive>,
    ) -> Result<Self, NotBuilt> {
        links::open(carrier, target, budget, receive)
    }
}
