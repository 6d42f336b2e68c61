//! Servers behind HTTP: where one is, what every request to it carries, and who
//! adds credentials. The links to them are the `client`'s, in builds that have `http`.

pub mod challenge;
#[cfg(feature = "http")]
mod client;

#[cfg(feature = "http")]
pub use crate::dial::tls_config;
#[cfg(feature = "http")]
pub(crate) use client::preview;
#[cfg(feature = "http")]
pub use client::{Driving, HttpLink, HttpOptions, SseLink, http1, sse};

use crate::dial::{Via, origin};
use http::{HeaderMap, Method, Uri};
use std::{fmt, pin::Pin, sync::Arc};

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
    /// Whether the server let in what was last asked on this connection. What it
    /// refused on others says nothing about this one then.
    pub let_in: bool,
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
