//! Connects, as far as addresses and rules let it.

mod class;
mod error;
mod link_tls;
mod proxy;
mod resolver;
mod server_tls;
mod stream;
mod tls;

pub use class::Class;
pub use error::{Cause, DialError, NoConnection, ProxyError, TunnelError};
pub use link_tls::{LINK_NAME, LinkOver, LinkStream, LinkTls, WORKER_NAMES, is_made_out_to};
pub use server_tls::{DoorFiles, DoorStream, DoorTls};
pub(crate) use stream::Stream;
pub use tls::tls_config;

use super::{Via, origin};
use crate::limits;
use http::{HeaderValue, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use proxy::Proxy;
use resolver::Resolver;
use rustls::{ClientConfig, pki_types::ServerName};
use std::{
    error::Error,
    future::poll_fn,
    net::{IpAddr, SocketAddr},
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

type AnyError = Box<dyn Error + Send + Sync>;
type Connector = HttpConnector<Resolver>;

impl Via {
    /// Whether addresses are judged before they are connected to.
    fn judges(&self) -> bool {
        self.public_only || self.refuses.is_some()
    }

    /// Why an address may not be connected to.
    fn judge(&self, address: IpAddr) -> Option<NoConnection> {
        if self.public_only && Class::of(address) != Class::Public {
            return Some(NoConnection::NotPublic(address));
        }
        let why = self.refuses.as_ref()?.refuse(address)?;
        Some(NoConnection::Forbidden(address, why))
    }
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
/// What failed; as a text, one sentence.
pub async fn through_proxy(url: &Uri, limit: Duration) -> Result<Box<dyn Io>, DialError> {
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
    tcp: Connector,
    limit: Duration,
    tls: Arc<OnceCell<Arc<ClientConfig>>>,
}

impl Dialer {
    /// A dialer for the origin of `url`, which begins with `http` or `https`
    /// (also for WebSocket: `ws` is `http` here).
    pub(crate) fn new(url: &Uri, via: Via, limit: Duration) -> Self {
        let mut tcp = HttpConnector::new_with_resolver(Resolver::default());
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(limits::KEEPALIVE));
        tcp.set_keepalive_interval(Some(limits::KEEPALIVE_INTERVAL));
        tcp.set_keepalive_retries(Some(limits::KEEPALIVE_PROBES));
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

    /// A new connection to the origin itself.
    pub(crate) async fn dial(&self) -> Result<Stream, DialError> {
        self.within(self.reach(true)).await
    }

    /// A new connection for requests in which the whole address is named, so
    /// that a proxy which takes such requests need not tunnel them.
    pub(crate) async fn dial_forward(&self) -> Result<Stream, DialError> {
        self.within(self.reach(self.forward().is_none())).await
    }

    /// The proxy that wants requests with whole addresses, and what it is shown.
    pub(crate) fn forward(&self) -> Option<Option<&HeaderValue>> {
        let proxy = self.proxy.as_ref()?;
        (!self.is_secure() && proxy.forwards()).then(|| proxy.credentials())
    }

    async fn within(
        &self,
        connecting: impl Future<Output = Result<Stream, NoConnection>>,
    ) -> Result<Stream, DialError> {
        let why = match timeout(self.limit, connecting).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(why)) => why,
            Err(_) => NoConnection::TimedOut(self.limit),
        };
        Err(DialError::new(self.place(), why))
    }

    async fn reach(&self, tunnel: bool) -> Result<Stream, NoConnection> {
        if !matches!(self.origin.scheme_str(), Some("http" | "https")) {
            return Err(NoConnection::Scheme);
        }
        let host = self.origin.host().unwrap_or_default();
        let stream = match (&self.via.socket, &self.proxy) {
            (Some(path), _) => unix(path).await.map_err(other)?,
            (None, Some(proxy)) => {
                if self.via.judges() {
                    // The proxy finds the host; what we see of it must be fine.
                    self.judged_addresses(host).await.or_else(unless_refused)?;
                }
                let to = tunnel.then_some((host, port(&self.origin)));
                let through = proxy.connect(&self.tcp, to).await;
                through.map_err(NoConnection::Proxy)?
            }
            (None, None) if self.via.judges() => self.tcp_to_judged(host).await?,
            (None, None) => tcp(&self.tcp, &self.origin).await.map_err(other)?,
        };
        if !self.is_secure() {
            return Ok(stream);
        }
        let in_tls = |fault: AnyError| NoConnection::of(fault, NoConnection::Tls);
        let config = self.tls.get_or_try_init(|| tls::config(&self.via.tls));
        let config = config.await.map_err(|fault| in_tls(fault.into()))?;
        secured(config.clone(), host, stream).await.map_err(in_tls)
    }

    /// A connection to one of the host's addresses, each of which was judged.
    async fn tcp_to_judged(&self, host: &str) -> Result<Stream, NoConnection> {
        let mut last = NoConnection::NoAddress(host.to_owned());
        for address in self.judged_addresses(host).await? {
            // As a number, so that nobody looks the name up again.
            let there = Uri::builder()
                .scheme(self.origin.scheme_str().unwrap_or("http"))
                .authority(address.to_string())
                .path_and_query("/")
                .build()
                .map_err(|fault| other(fault.into()))?;
            match tcp(&self.tcp, &there).await {
                Ok(stream) => return Ok(stream),
                Err(fault) => last = other(fault),
            }
        }
        Err(last)
    }

    /// The addresses of a host; an error if one of them is refused.
    async fn judged_addresses(&self, host: &str) -> Result<Vec<SocketAddr>, NoConnection> {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let found: Vec<SocketAddr> = tokio::net::lookup_host((bare, port(&self.origin)))
            .await
            .map_err(|fault| NoConnection::Resolve(Arc::new(fault)))?
            .collect();
        match found.iter().find_map(|found| self.via.judge(found.ip())) {
            Some(refused) => Err(refused),
            None => Ok(found),
        }
    }

    fn is_secure(&self) -> bool {
        self.origin.scheme_str() == Some("https")
    }

    fn place(&self) -> String {
        match &self.via.socket {
            Some(path) => path.display().to_string(),
            None => origin(&self.origin),
        }
    }
}

/// What cannot be looked up here may be known to the proxy.
fn unless_refused(why: NoConnection) -> Result<Vec<SocketAddr>, NoConnection> {
    match why {
        NoConnection::NotPublic(_) | NoConnection::Forbidden(..) => Err(why),
        _ => Ok(Vec::new()),
    }
}

/// A fault on the way to a server, where that is all that is known of it.
fn other(fault: AnyError) -> NoConnection {
    NoConnection::of(fault, NoConnection::Other)
}

async fn tcp(connector: &Connector, url: &Uri) -> Result<Stream, AnyError> {
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
