//! Making connections: TCP, then TLS where the target asks for it.

use http::{Uri, uri::Scheme};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, MaybeHttpsStream};
use hyper_util::{client::legacy::connect::HttpConnector, rt::TokioIo};
use std::{
    error::Error,
    future::poll_fn,
    io,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{net::TcpStream, time::timeout};
use tower_service::Service;

/// A dead peer is noticed after this much silence and a few unanswered probes.
const KEEPALIVE: Duration = Duration::from_secs(15);
const KEEPALIVE_PROBES: u32 = 2;

/// Connects to one origin.
#[derive(Clone)]
pub(super) struct Connector {
    origin: Uri,
    tcp: HttpConnector,
    limit: Duration,
}

impl Connector {
    pub(super) fn new(origin: Uri, limit: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE));
        tcp.set_keepalive_interval(Some(KEEPALIVE));
        tcp.set_keepalive_retries(Some(KEEPALIVE_PROBES));
        Self { origin, tcp, limit }
    }

    /// A new connection, or one sentence that says what failed.
    pub(super) async fn connect(&self) -> Result<Wire, String> {
        match timeout(self.limit, self.dial()).await {
            Ok(Ok(stream)) => Ok(Wire {
                stream,
                wrote: Arc::default(),
            }),
            Ok(Err(fault)) => Err(self.describe(fault.as_ref())),
            Err(_) => Err(format!(
                "{}: no connection within {:?}",
                self.origin_text(),
                self.limit
            )),
        }
    }

    async fn dial(&self) -> Result<Stream, Box<dyn Error + Send + Sync>> {
        let scheme = self.origin.scheme();
        if scheme == Some(&Scheme::HTTP) {
            let mut tcp = self.tcp.clone();
            poll_fn(|context| tcp.poll_ready(context)).await?;
            return Ok(MaybeHttpsStream::Http(tcp.call(self.origin.clone()).await?));
        }
        if scheme != Some(&Scheme::HTTPS) {
            return Err("the address must begin with http:// or https://".into());
        }
        let mut tls = HttpsConnector::from((self.tcp.clone(), tls_config().await?));
        poll_fn(|context| tls.poll_ready(context)).await?;
        tls.call(self.origin.clone()).await
    }

    fn origin_text(&self) -> String {
        super::redirect::origin(&self.origin)
    }

    fn describe(&self, fault: &(dyn Error + Send + Sync + 'static)) -> String {
        let origin = self.origin_text();
        if let Some(tls) = find::<rustls::Error>(fault) {
            return match tls {
                rustls::Error::InvalidCertificate(why) => {
                    format!("{origin}: the server's certificate is not accepted: {why}")
                }
                other => format!("{origin}: TLS failed: {other}"),
            };
        }
        match find::<io::Error>(fault).map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => format!("{origin}: connection refused"),
            Some(io::ErrorKind::ConnectionReset) => format!("{origin}: connection reset"),
            Some(io::ErrorKind::TimedOut) => format!("{origin}: the connection timed out"),
            _ => format!("{origin}: {}", chain(fault)),
        }
    }
}

/// The TLS settings, the same for all links and for signing in: reading the
/// system's roots takes milliseconds and memory, so nobody pays before the first
/// https connection.
///
/// # Errors
/// When the system's root certificates cannot be read.
pub async fn tls_config() -> io::Result<Arc<rustls::ClientConfig>> {
    static CONFIG: OnceLock<Arc<rustls::ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(config.clone());
    }
    let built = tokio::task::spawn_blocking(|| {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_native_roots()?
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        io::Result::Ok(Arc::new(config))
    })
    .await
    .map_err(io::Error::other)??;
    Ok(CONFIG.get_or_init(|| built).clone())
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

type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// A connection that knows whether anything was written since it was last asked:
/// only then is it certain that a request that failed has not left.
pub(super) struct Wire {
    stream: Stream,
    wrote: Arc<AtomicBool>,
}

impl Wire {
    /// Set when bytes leave.
    pub(super) fn wrote(&self) -> Arc<AtomicBool> {
        self.wrote.clone()
    }

    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(written, Poll::Ready(Ok(1..))) {
            self.wrote.store(true, Ordering::Relaxed);
        }
        written
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
