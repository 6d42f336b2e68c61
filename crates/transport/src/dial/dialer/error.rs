//! Why there is no connection: what failed, and the cause behind it.

use super::tls;
use std::{error::Error, io, net::IpAddr, sync::Arc, time::Duration};

/// What lies behind a fault. Shared, since everybody who waits for a connection
/// is told.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// A connection that could not be made.
#[derive(Clone, Debug)]
pub struct DialError {
    place: String,
    why: NoConnection,
}

/// What failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoConnection {
    /// It is no address for this.
    #[error("the address must begin with http:// or https://")]
    Scheme,
    /// Its name leads nowhere.
    #[error("{}", chain(&**.0))]
    Resolve(#[source] Cause),
    /// Its name is known, and has no address.
    #[error("{0} has no address")]
    NoAddress(String),
    /// A name of somebody else's that leads into our own network.
    #[error("it leads to {0}, into your own network, where a connector may not lead")]
    NotPublic(IpAddr),
    /// A rule is about that address.
    #[error("it leads to {0}, {1}")]
    Forbidden(IpAddr, String),
    /// Nobody listens there.
    #[error("connection refused")]
    Refused(#[source] Cause),
    /// Somebody was there, and hung up.
    #[error("connection reset")]
    Reset(#[source] Cause),
    /// The peer cannot prove who it is, does not accept us, or speaks no TLS; or
    /// our own files for that cannot be used.
    #[error("{}", tls_text(&**.0))]
    Tls(#[source] Cause),
    /// The proxy on the way.
    #[error(transparent)]
    Proxy(ProxyError),
    /// It took longer than this.
    #[error("no connection within {0:?}")]
    TimedOut(Duration),
    /// It took longer than the system waits.
    #[error("the connection timed out")]
    GivenUp(#[source] Cause),
    /// Anything else.
    #[error("{}", chain(&**.0))]
    Other(#[source] Cause),
}

/// What is wrong with a proxy, or between it and us.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ProxyError {
    /// There is no connection to it.
    #[error("the proxy {proxy} cannot be reached: {source}")]
    Unreachable {
        /// Its address.
        proxy: String,
        /// Why.
        source: Cause,
    },
    /// It does not let us through.
    #[error("the proxy {proxy}: {why}")]
    Tunnel {
        /// Its address.
        proxy: String,
        /// Why.
        why: TunnelError,
    },
    /// One for SOCKS failed.
    #[error("{}", described(&**.0))]
    Socks(#[source] Cause),
    /// We do not know this kind.
    #[error("a proxy of the kind {0:?} is not supported")]
    Kind(String),
}

/// Why a proxy does not let us through.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TunnelError {
    /// It does not know us.
    #[error(
        "it wants a user name and password (HTTP 407); write them in its address: http://user:password@proxy"
    )]
    Credentials,
    /// It says no.
    #[error("it refuses a connection to {to} (HTTP {status})")]
    Refused {
        /// Host and port.
        to: String,
        /// Its status, as it came.
        status: String,
    },
    /// It says too much.
    #[error("its answer is too long")]
    TooLong,
    /// It says nothing more.
    #[error("it closed the connection")]
    Closed,
    /// It cannot be written to.
    #[error("{0}")]
    Broken(Arc<io::Error>),
}

/// A host whose name could not be looked up.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct Unresolved(#[from] pub io::Error);

impl DialError {
    pub(super) fn new(place: String, why: NoConnection) -> Self {
        Self { place, why }
    }

    /// Where to: scheme, host and port, or a socket; nothing secret.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// What failed.
    pub fn why(&self) -> &NoConnection {
        &self.why
    }
}

impl std::fmt::Display for DialError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.why)
    }
}

impl Error for DialError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.why.source()
    }
}

impl NoConnection {
    /// What a fault on the way means; `otherwise` where it says nothing clearer.
    pub(super) fn of(
        fault: impl Into<Box<dyn Error + Send + Sync>>,
        otherwise: impl FnOnce(Cause) -> Self,
    ) -> Self {
        let cause: Cause = fault.into().into();
        let fault: &(dyn Error + 'static) = &*cause;
        if find::<rustls::Error>(fault).is_some() {
            return Self::Tls(cause);
        }
        if find::<Unresolved>(fault).is_some() {
            return Self::Resolve(cause);
        }
        match find::<io::Error>(fault).map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => Self::Refused(cause),
            Some(io::ErrorKind::ConnectionReset) => Self::Reset(cause),
            Some(io::ErrorKind::TimedOut) => Self::GivenUp(cause),
            _ => otherwise(cause),
        }
    }
}

/// How such a fault reads.
fn described(fault: &(dyn Error + Send + Sync + 'static)) -> String {
    if find::<rustls::Error>(fault).is_some() {
        return tls_text(fault);
    }
    let text = match find::<io::Error>(fault).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => "connection refused",
        Some(io::ErrorKind::ConnectionReset) => "connection reset",
        Some(io::ErrorKind::TimedOut) => "the connection timed out",
        _ => return chain(fault),
    };
    text.to_owned()
}

fn tls_text(fault: &(dyn Error + Send + Sync + 'static)) -> String {
    match find::<rustls::Error>(fault) {
        Some(fault) => tls::explain(fault),
        None => chain(fault),
    }
}

/// The innermost error of type `T` among `fault` and its causes. An `io::Error`
/// hides what it wraps from `source`, so it is opened by hand.
fn find<'a, T: Error + 'static>(fault: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let inner = match fault
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(inner) => Some(inner as &(dyn Error + 'static)),
        None => fault.source(),
    };
    inner.and_then(find).or_else(|| fault.downcast_ref::<T>())
}

/// An error and its causes in one line.
fn chain(fault: &(dyn Error + Send + Sync + 'static)) -> String {
    let mut text = fault.to_string();
    let mut cause = fault.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        cause = next.source();
    }
    text
}
