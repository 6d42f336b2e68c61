//! Proxies from the environment: `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and
//! `NO_PROXY`, in either case, read as curl reads them. What is on this machine
//! is never asked for through a proxy.

use super::{
    AnyError, Connector, ProxyError, Stream, TunnelError, origin, secured, tcp, tls::tls_config,
};
use crate::limits;
use http::{HeaderValue, Uri};
use hyper_util::client::{
    legacy::connect::proxy::SocksV5,
    proxy::matcher::{Intercept, Matcher},
};
use std::{future::poll_fn, io, net::IpAddr, sync::OnceLock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower_service::Service;

/// The proxy for one origin.
#[derive(Clone)]
pub(super) struct Proxy(Intercept);

/// The proxy that the environment names for this address, if any.
pub(super) fn of(url: &Uri) -> Option<Proxy> {
    static MATCHER: OnceLock<Matcher> = OnceLock::new();
    let host = url.host()?;
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let here = bare.eq_ignore_ascii_case("localhost")
        || bare
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    if here {
        return None;
    }
    MATCHER
        .get_or_init(Matcher::from_env)
        .intercept(url)
        .map(Proxy)
}

impl Proxy {
    /// Whether it takes plain requests with whole addresses.
    pub(super) fn forwards(&self) -> bool {
        matches!(self.0.uri().scheme_str(), Some("http" | "https") | None)
    }

    /// What the proxy wants to be shown.
    pub(super) fn credentials(&self) -> Option<&HeaderValue> {
        self.0.basic_auth()
    }

    /// A connection to `to` through the proxy, or to the proxy itself.
    pub(super) async fn connect(
        &self,
        connector: &Connector,
        to: Option<(&str, u16)>,
    ) -> Result<Stream, ProxyError> {
        let uri = self.0.uri();
        match (uri.scheme_str(), to) {
            (Some("socks5" | "socks5h"), Some((host, port))) => {
                let through = self.socks(connector, host, port).await;
                through.map_err(|fault| ProxyError::Socks(fault.into()))
            }
            (Some("http" | "https") | None, to) => {
                let reached = async {
                    let stream = tcp(connector, uri).await?;
                    match uri.scheme_str() {
                        Some("https") => {
                            secured(tls_config().await?, uri.host().unwrap_or_default(), stream)
                                .await
                        }
                        _ => Ok(stream),
                    }
                };
                let mut stream = reached.await.map_err(|fault: AnyError| {
                    let (proxy, source) = (origin(uri), fault.into());
                    ProxyError::Unreachable { proxy, source }
                })?;
                if let Some((host, port)) = to {
                    let through = self.tunnel(&mut stream, host, port).await;
                    through.map_err(|why| {
                        let proxy = origin(uri);
                        ProxyError::Tunnel { proxy, why }
                    })?;
                }
                Ok(stream)
            }
            (scheme, _) => {
                let scheme = scheme.unwrap_or_default();
                Err(ProxyError::Kind(scheme.to_owned()))
            }
        }
    }

    async fn socks(
        &self,
        connector: &Connector,
        host: &str,
        port: u16,
    ) -> Result<Stream, AnyError> {
        let mut socks = SocksV5::new(self.0.uri().clone(), connector.clone());
        if let Some((user, password)) = self.0.raw_auth() {
            socks = socks.with_auth(user.to_owned(), password.to_owned());
        }
        poll_fn(|context| socks.poll_ready(context)).await?;
        let target: Uri = format!("http://{host}:{port}/").parse()?;
        Ok(Stream::Tcp(socks.call(target).await?.into_inner()))
    }

    /// Asks the proxy for a tunnel. Nothing of ours but its own credentials is shown to it.
    async fn tunnel(&self, stream: &mut Stream, host: &str, port: u16) -> Result<(), TunnelError> {
        let broken = |fault: io::Error| TunnelError::Broken(fault.into());
        let mut head =
            format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n").into_bytes();
        if let Some(credentials) = self.credentials() {
            head.extend_from_slice(b"Proxy-Authorization: ");
            head.extend_from_slice(credentials.as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        stream.write_all(&head).await.map_err(broken)?;
        stream.flush().await.map_err(broken)?;
        let mut answer = Vec::with_capacity(256);
        // Byte by byte: what follows the head belongs to whoever is behind the proxy.
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() >= limits::PROXY_HEAD_BYTES {
                return Err(TunnelError::TooLong);
            }
            let byte = stream.read_u8().await;
            answer.push(byte.map_err(|_| TunnelError::Closed)?);
        }
        let line = answer.split(|byte| *byte == b'\r').next().unwrap_or(b"");
        let status = line.split(|byte| *byte == b' ').nth(1).unwrap_or(b"");
        match status {
            [b'2', _, _] => Ok(()),
            b"407" => Err(TunnelError::Credentials),
            status => Err(TunnelError::Refused {
                to: format!("{host}:{port}"),
                status: String::from_utf8_lossy(status).into_owned(),
            }),
        }
    }
}
