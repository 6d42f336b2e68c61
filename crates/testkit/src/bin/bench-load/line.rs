//! A client's connection, in the version of HTTP that it speaks, with TLS or without.

use crate::http::{Connection, Head, Stream};
use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::{Request, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};
use tokio_util::either::Either;

/// Where connections go, and how.
pub struct Address {
    /// `HOST:PORT`
    pub authority: String,
    tls: Option<TlsConnector>,
    http2: bool,
}

/// One connection.
pub enum Line {
    /// HTTP/1.1
    One(Box<Connection>),
    /// HTTP/2, with the body of the last answer.
    Two(SendRequest<Full<Bytes>>, Vec<u8>),
}

impl Address {
    /// Of a URL with this scheme.
    pub fn new(authority: &str, secure: bool, http2: bool) -> Result<Self> {
        ensure!(secure || !http2, "--http2 needs an https URL");
        let tls = match secure {
            true => Some(TlsConnector::from(Arc::new(any_certificate(http2)?))),
            false => None,
        };
        Ok(Self {
            authority: authority.to_owned(),
            tls,
            http2,
        })
    }

    /// Connects.
    pub async fn open(&self) -> Result<Line> {
        let stream = TcpStream::connect(&self.authority)
            .await
            .with_context(|| format!("connecting to {}", self.authority))?;
        stream.set_nodelay(true)?;
        let stream: Stream = match &self.tls {
            None => Either::Left(stream),
            Some(tls) => {
                let name = ServerName::try_from("localhost").context("its name")?;
                Either::Right(tls.connect(name, stream).await.context("TLS")?)
            }
        };
        if !self.http2 {
            return Ok(Line::One(Box::new(Connection::new(stream))));
        }
        let shaken = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (send, driver) = shaken.context("HTTP/2")?;
        tokio::spawn(driver);
        Ok(Line::Two(send, Vec::new()))
    }
}

impl Line {
    /// Sends a request, written as one of HTTP/1.1, and reads the whole answer.
    pub async fn exchange(&mut self, request: &[u8]) -> Result<Head> {
        match self {
            Self::One(connection) => connection.exchange(request).await,
            Self::Two(send, body) => {
                let answer = send.send_request(translated(request)?).await?;
                let (head, rest) = answer.into_parts();
                let text = |name: &str| head.headers.get(name)?.to_str().ok();
                body.clear();
                body.extend_from_slice(&rest.collect().await?.to_bytes());
                Ok(Head::new(
                    head.status.as_u16(),
                    text("mcp-session-id").map(str::to_owned),
                    text("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")),
                ))
            }
        }
    }

    /// The body of the last answer.
    pub fn body(&self) -> &[u8] {
        match self {
            Self::One(connection) => &connection.body,
            Self::Two(_, body) => body,
        }
    }
}

/// A request of HTTP/1.1 as one of HTTP/2.
fn translated(request: &[u8]) -> Result<Request<Full<Bytes>>> {
    let end = request.windows(4).position(|at| at == b"\r\n\r\n");
    let end = end.context("a request without a head")?;
    let head = std::str::from_utf8(&request[..end])?;
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let method = first.next().context("no method")?;
    let path = first.next().context("no path")?;
    let mut builder = Request::builder().method(method);
    let mut host = "";
    for line in lines {
        let (name, value) = line.split_once(": ").context("no header")?;
        match name {
            "Host" => host = value,
            "Content-Length" => {}
            _ => builder = builder.header(name, value),
        }
    }
    let uri: Uri = format!("https://{host}{path}").parse()?;
    let body = Bytes::copy_from_slice(&request[end + 4..]);
    let mut request = builder.uri(uri).body(Full::new(body))?;
    request.headers_mut().remove(header::CONNECTION);
    Ok(request)
}

/// TLS to a peer on this machine that the bench has just made a certificate for: it is
/// not looked at.
fn any_certificate(http2: bool) -> Result<ClientConfig> {
    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::crypto::CryptoProvider;
    use tokio_rustls::rustls::pki_types::{CertificateDer, UnixTime};

    #[derive(Debug)]
    struct Any(Arc<CryptoProvider>);

    impl ServerCertVerifier for Any {
        fn verify_server_cert(
            &self,
            _: &CertificateDer<'_>,
            _: &[CertificateDer<'_>],
            _: &ServerName<'_>,
            _: &[u8],
            _: UnixTime,
        ) -> Result<ServerCertVerified, rustls::Error> {
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &rustls::DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn verify_tls13_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &rustls::DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, rustls::Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
            self.0.signature_verification_algorithms.supported_schemes()
        }
    }

    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Any(provider)))
        .with_no_client_auth();
    config.alpn_protocols = match http2 {
        true => vec![b"h2".to_vec()],
        false => vec![b"http/1.1".to_vec()],
    };
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::translated;

    #[test]
    fn a_request_is_the_same_in_both_versions() {
        let text = b"POST /mcp HTTP/1.1\r\nHost: a:1\r\nAccept: b\r\nContent-Length: 2\r\n\r\n{}";
        let request = translated(text).expect("a request");
        assert_eq!(request.uri(), "https://a:1/mcp");
        assert_eq!(request.headers().len(), 1);
        assert_eq!(request.headers()["accept"], "b");
        assert!(translated(b"POST").is_err());
    }
}
