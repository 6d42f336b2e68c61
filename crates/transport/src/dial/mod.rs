//! Reaching a server over a network: the connection that HTTP, HTTP+SSE and
//! WebSocket have in common. TCP or a Unix socket, through a proxy where the
//! environment names one, and TLS where the address asks for it.

mod address;
mod class;
mod door;
mod proxy;
mod stream;
mod tls;

pub use address::{Address, AddressFault};
pub use class::Class;
pub use door::{DoorFiles, DoorStream, DoorTls};
pub(crate) use stream::Stream;
pub use tls::{TlsFiles, tls_config};

use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use proxy::Proxy;
use rustls::{ClientConfig, pki_types::ServerName};
use std::{
    error::Error,
    future::poll_fn,
    io,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::OnceCell,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use tower_service::Service;

/// A peer that says nothing for this long is probed, and is dead if it answers
/// none of the probes: noticed after 30 s, whatever the streams on it carry.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_PROBES: u32 = 3;

type AnyError = Box<dyn Error + Send + Sync>;

/// How a server is reached, besides its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Via {
    /// Whom to trust, and who we are.
    pub tls: TlsFiles,
    /// A Unix socket instead of the address's host and port.
    pub socket: Option<PathBuf>,
    /// Only at a public address, whatever its name leads to: somebody else
    /// wrote the address, who must not lead us into our own network.
    pub public_only: bool,
}

/// A connection, whatever it is made of.
pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// Whether the environment names a proxy for this address.
pub fn has_proxy(url: &Uri) -> bool {
    proxy::of(url).is_some()
}

/// A connection to the origin of `url`, with TLS where it asks for that, through
/// the proxy that the environment names for it. For those who must judge every
/// other connection themselves.
///
/// # Errors
/// One sentence that says what failed.
pub async fn through_proxy(url: &Uri, limit: Duration) -> Result<Box<dyn Io>, String> {
    let dialer = Dialer::new(url, Via::default(), limit);
    let stream = dialer.dial().await?;
    Ok(Box::new(stream))
}

/// Connects to one origin.
#[derive(Clone)]
pub(crate) struct Dialer {
    origin: Uri,
    via: Arc<Via>,
    proxy: Option<Proxy>,
    tcp: HttpConnector,
    limit: Duration,
    tls: Arc<OnceCell<Arc<ClientConfig>>>,
}

impl Dialer {
    /// A dialer for the origin of `url`, which begins with `http` or `https`
    /// (also for WebSocket: `ws` is `http` here).
    pub(crate) fn new(url: &Uri, via: Via, limit: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE));
        tcp.set_keepalive_interval(Some(KEEPALIVE_INTERVAL));
        tcp.set_keepalive_retries(Some(KEEPALIVE_PROBES));
        let proxy = match &via.socket {
            None => proxy::of(url),
            Some(_) => None,
        };
        let (via, tls) = (Arc::new(via), Arc::default());
        Self {
            origin: url.clone(),
            via,
            proxy,
            tcp,
            limit,
            tls,
        }
    }

    /// A new connection to the origin itself, or one sentence that says what failed.
    pub(crate) async fn dial(&self) -> Result<Stream, String> {
        self.within(self.reach(true)).await
    }

    /// A new connection for requests in which the whole address is named, so
    /// that a proxy which takes such requests need not tunnel them.
    pub(crate) async fn dial_forward(&self) -> Result<Stream, String> {
        self.within(self.reach(self.forward().is_none())).await
    }

    /// The proxy that wants requests with whole addresses, and what it is shown.
    pub(crate) fn forward(&self) -> Option<Option<&HeaderValue>> {
        let proxy = self.proxy.as_ref()?;
        (!self.is_secure() && proxy.forwards()).then(|| proxy.credentials())
    }

    async fn within(
        &self,
        connecting: impl Future<Output = Result<Stream, AnyError>>,
    ) -> Result<Stream, String> {
        match timeout(self.limit, connecting).await {
            Ok(Ok(stream)) => Ok(stream),
            Ok(Err(fault)) => Err(self.describe(fault.as_ref())),
            Err(_) => Err(format!(
                "{}: no connection within {:?}",
                origin(&self.origin),
                self.limit
            )),
        }
    }

    async fn reach(&self, tunnel: bool) -> Result<Stream, AnyError> {
        if !matches!(self.origin.scheme_str(), Some("http" | "https")) {
            return Err("the address must begin with http:// or https://".into());
        }
        let host = self.origin.host().unwrap_or_default();
        let stream = match (&self.via.socket, &self.proxy) {
            (Some(path), _) => unix(path).await?,
            (None, Some(proxy)) => {
                if self.via.public_only {
                    // The proxy finds the host; what we see of it must be public.
                    self.public_addresses(host).await.or_else(unless_refused)?;
                }
                proxy
                    .connect(&self.tcp, tunnel.then_some((host, port(&self.origin))))
                    .await?
            }
            (None, None) if self.via.public_only => self.tcp_to_public(host).await?,
            (None, None) => tcp(&self.tcp, &self.origin).await?,
        };
        if !self.is_secure() {
            return Ok(stream);
        }
        let config = self.tls.get_or_try_init(|| tls::config(&self.via.tls));
        secured(config.await?.clone(), host, stream).await
    }

    /// A connection to one of the host's addresses, each of which was judged.
    async fn tcp_to_public(&self, host: &str) -> Result<Stream, AnyError> {
        let mut last: AnyError = format!("{host} has no address").into();
        for address in self.public_addresses(host).await? {
            // As a number, so that nobody looks the name up again.
            let there = Uri::builder()
                .scheme(self.origin.scheme_str().unwrap_or("http"))
                .authority(address.to_string())
                .path_and_query("/")
                .build()?;
            match tcp(&self.tcp, &there).await {
                Ok(stream) => return Ok(stream),
                Err(fault) => last = fault,
            }
        }
        Err(last)
    }

    /// The addresses of a host; an error if one of them is not public.
    async fn public_addresses(&self, host: &str) -> Result<Vec<SocketAddr>, AnyError> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let found: Vec<SocketAddr> = tokio::net::lookup_host((bare, port(&self.origin)))
            .await?
            .collect();
        match found
            .iter()
            .find(|found| Class::of(found.ip()) != Class::Public)
        {
            Some(near) => Err(Box::new(NotPublic(near.ip()))),
            None => Ok(found),
        }
    }

    fn is_secure(&self) -> bool {
        self.origin.scheme_str() == Some("https")
    }

    fn describe(&self, fault: &(dyn Error + Send + Sync + 'static)) -> String {
        let place = match &self.via.socket {
            Some(path) => path.display().to_string(),
            None => origin(&self.origin),
        };
        if let Some(fault) = find::<rustls::Error>(fault) {
            return format!("{place}: {}", tls::explain(fault));
        }
        match find::<io::Error>(fault).map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => format!("{place}: connection refused"),
            Some(io::ErrorKind::ConnectionReset) => format!("{place}: connection reset"),
            Some(io::ErrorKind::TimedOut) => format!("{place}: the connection timed out"),
            _ => format!("{place}: {}", chain(fault)),
        }
    }
}

/// A name of somebody else's that leads into our own network.
#[derive(Debug, thiserror::Error)]
#[error("it leads to {0}, into your own network, where a connector may not lead")]
struct NotPublic(IpAddr);

/// What cannot be looked up here may be known to the proxy.
fn unless_refused(fault: AnyError) -> Result<Vec<SocketAddr>, AnyError> {
    match fault.is::<NotPublic>() {
        true => Err(fault),
        false => Ok(Vec::new()),
    }
}

async fn tcp(connector: &HttpConnector, url: &Uri) -> Result<Stream, AnyError> {
    let mut connector = connector.clone();
    poll_fn(|context| connector.poll_ready(context)).await?;
    Ok(Stream::Tcp(connector.call(url.clone()).await?.into_inner()))
}

async fn unix(path: &std::path::Path) -> Result<Stream, AnyError> {
    Ok(Stream::other(tokio::net::UnixStream::connect(path).await?))
}

/// TLS over a connection to `host`.
async fn secured(
    config: Arc<ClientConfig>,
    host: &str,
    stream: Stream,
) -> Result<Stream, AnyError> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let name = match bare.parse::<IpAddr>() {
        Ok(address) => ServerName::from(address),
        Err(_) => ServerName::try_from(bare.to_owned())?,
    };
    let stream = TlsConnector::from(config).connect(name, stream).await?;
    Ok(Stream::other(stream))
}

fn port(url: &Uri) -> u16 {
    let default = match url.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    url.port_u16().unwrap_or(default)
}

/// Scheme, host and port of an address, to show and to compare. Leaves out
/// whatever else the address holds, since that may be secret.
pub(crate) fn origin(url: &Uri) -> String {
    let scheme = url.scheme_str().unwrap_or("http").to_ascii_lowercase();
    let host = url.host().unwrap_or_default().to_ascii_lowercase();
    let default = match scheme.as_str() {
        "https" | "wss" => 443,
        _ => 80,
    };
    match url.port_u16() {
        Some(port) if port != default => format!("{scheme}://{host}:{port}"),
        _ => format!("{scheme}://{host}"),
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
fn chain(fault: &(dyn Error + 'static)) -> String {
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
