//! One HTTP request to an address that a server supplied, with every guard: the
//! connection is made to an address that was judged, no redirect is followed, the
//! body is capped, everything has a time limit. No pool: signing in is rare, and
//! a connection that was judged for one server is not lent to another.

use crate::{
    address::{AddressError, Guard, origin},
    dpop::DpopError,
    limits,
};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::{io, sync::Arc, time::Duration};
use switchboard_tasks as tasks;
use switchboard_transport::dial::{self, DialError, Io};
use tokio::{net::TcpStream, time::timeout};
use url::Url;

/// How long and how large.
#[derive(Clone, Copy, Debug)]
pub struct NetLimits {
    /// For a connection, with TLS.
    pub connect: Duration,
    /// For a whole exchange.
    pub total: Duration,
    /// For the answer's body; as many bytes as this are too many.
    pub body: usize,
}

impl Default for NetLimits {
    fn default() -> Self {
        Self {
            connect: limits::NET_CONNECT,
            total: limits::NET_TOTAL,
            body: 1024 * 1024,
        }
    }
}

/// What to send.
#[derive(Clone)]
pub(crate) struct Outbound {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Outbound {
    pub(crate) fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }

    /// A form POST.
    pub(crate) fn form(url: Url, pairs: &[(&str, &str)]) -> Self {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(pairs);
        let mut headers = HeaderMap::new();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/x-www-form-urlencoded"),
        );
        Self {
            method: Method::POST,
            url,
            headers,
            body: form.finish().into(),
        }
    }
}

/// What came back.
pub(crate) struct Inbound {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Why nothing came back.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum NetError {
    /// A guard said no; nothing was sent.
    #[error(transparent)]
    Refused(#[from] AddressError),
    /// There is no proof to send along; nothing was sent.
    #[error(transparent)]
    Proof(#[from] DpopError),
    /// No connection, so nothing was sent.
    #[error("{place}: {source}")]
    NoConnection {
        place: String,
        source: Arc<io::Error>,
    },
    /// The same, through a proxy.
    #[error(transparent)]
    NoProxy(#[from] DialError),
    /// The same, since it took too long.
    #[error("{place}: no connection within {limit:?}")]
    TooSlow { place: String, limit: Duration },
    /// The same, since nobody has such a name.
    #[error("{0} is not a host's name")]
    NoName(String),
    /// It may have arrived and taken effect.
    #[error("{place}: {why}")]
    Broken { place: String, why: ExchangeError },
}

/// What broke an exchange off.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    #[error("{}", chain(&**.0))]
    Http(#[from] Arc<hyper::Error>),
    #[error("the answer has {0} bytes or more")]
    TooLarge(usize),
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    #[error("an address that cannot be sent")]
    Address,
    #[error("a host that cannot be sent")]
    Host,
}

/// Sends one request and reads the head of the answer.
pub(crate) async fn head(
    guard: &Guard,
    limits: &NetLimits,
    out: Outbound,
) -> Result<Inbound, NetError> {
    exchanged(guard, limits, out, None).await
}

/// Sends one request and reads the whole answer.
pub(crate) async fn send(
    guard: &Guard,
    limits: &NetLimits,
    out: Outbound,
) -> Result<Inbound, NetError> {
    exchanged(guard, limits, out, Some(limits.body)).await
}

/// Without a cap the body is not read at all.
async fn exchanged(
    guard: &Guard,
    limits: &NetLimits,
    out: Outbound,
    cap: Option<usize>,
) -> Result<Inbound, NetError> {
    let place = origin(&out.url);
    let stream = match timeout(limits.connect, dial(guard, &out.url, limits.connect)).await {
        Ok(stream) => stream?,
        Err(_) => {
            let limit = limits.connect;
            return Err(NetError::TooSlow { place, limit });
        }
    };
    let exchanged = timeout(limits.total, exchange(stream, cap, out)).await;
    exchanged
        .unwrap_or(Err(ExchangeError::TimedOut(limits.total)))
        .map_err(|why| NetError::Broken { place, why })
}

async fn dial(guard: &Guard, url: &Url, limit: Duration) -> Result<Box<dyn Io>, NetError> {
    let place = origin(url);
    let uri: http::Uri = url
        .as_str()
        .parse()
        .map_err(|_| AddressError::NoAddress(place.clone()))?;
    if dial::has_proxy(&uri) {
        // The proxy finds the host. What we can judge is the name, and where it
        // leads as far as we can see.
        guard.foresee(url).await?;
        return Ok(dial::through_proxy(&uri, limit).await?);
    }
    let addresses = guard.resolve(url).await?;
    let broken = |fault: io::Error| NetError::NoConnection {
        place: place.clone(),
        source: fault.into(),
    };
    // One after the other; there is at least one.
    let tcp = TcpStream::connect(&addresses[..]).await.map_err(broken)?;
    // The judgement that counts is the one on the connection that exists.
    let peer = tcp.peer_addr().map_err(broken)?;
    guard.allows(peer.ip(), url)?;
    let _ = tcp.set_nodelay(true);
    if url.scheme() == "http" {
        return Ok(Box::new(tcp));
    }
    let config = switchboard_transport::http::tls_config()
        .await
        .map_err(broken)?;
    let name = match url.host() {
        Some(url::Host::Ipv4(v4)) => rustls::pki_types::ServerName::from(std::net::IpAddr::V4(v4)),
        Some(url::Host::Ipv6(v6)) => rustls::pki_types::ServerName::from(std::net::IpAddr::V6(v6)),
        _ => rustls::pki_types::ServerName::try_from(
            url.host_str()
                .unwrap_or_default()
                .trim_end_matches('.')
                .to_owned(),
        )
        .map_err(|_| NetError::NoName(place.clone()))?,
    };
    let tls = tokio_rustls::TlsConnector::from(Arc::clone(&config))
        .connect(name, tcp)
        .await
        .map_err(broken)?;
    Ok(Box::new(tls))
}

async fn exchange(
    stream: Box<dyn Io>,
    cap: Option<usize>,
    out: Outbound,
) -> Result<Inbound, ExchangeError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(Arc::new)?;
    let driver = tasks::spawn(tasks::Kind::SignIn, connection);
    let answered = converse(&mut sender, cap, out).await;
    // Whatever else the peer has to say is of no interest.
    driver.abort();
    answered
}

async fn converse(
    sender: &mut http1::SendRequest<Full<Bytes>>,
    cap: Option<usize>,
    out: Outbound,
) -> Result<Inbound, ExchangeError> {
    let request = request(out)?;
    let response = sender.send_request(request).await.map_err(Arc::new)?;
    let (head, mut body) = response.into_parts();
    let mut whole = BytesMut::new();
    while let Some(cap) = cap
        && let Some(frame) = body.frame().await
    {
        let frame = frame.map_err(Arc::new)?;
        if let Ok(data) = frame.into_data() {
            if whole.len() + data.len() >= cap {
                return Err(ExchangeError::TooLarge(cap));
            }
            whole.extend_from_slice(&data);
        }
    }
    Ok(Inbound {
        status: head.status,
        headers: head.headers,
        body: whole.freeze(),
    })
}

fn request(out: Outbound) -> Result<Request<Full<Bytes>>, ExchangeError> {
    let path = match out.url.query() {
        Some(query) => format!("{}?{query}", out.url.path()),
        None => out.url.path().to_owned(),
    };
    let host = match (out.url.host_str(), out.url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}"),
        (Some(host), None) => host.to_owned(),
        (None, _) => String::new(),
    };
    let mut request = Request::new(Full::new(out.body));
    *request.method_mut() = out.method;
    *request.uri_mut() = path.parse().map_err(|_| ExchangeError::Address)?;
    let headers = request.headers_mut();
    *headers = out.headers;
    headers.insert(
        header::HOST,
        HeaderValue::try_from(host).map_err(|_| ExchangeError::Host)?,
    );
    headers
        .entry(header::ACCEPT)
        .or_insert(HeaderValue::from_static("application/json"));
    headers
        .entry(header::USER_AGENT)
        .or_insert(HeaderValue::from_static(concat!(
            "switchboard/",
            env!("CARGO_PKG_VERSION")
        )));
    Ok(request)
}

fn chain(fault: &(dyn std::error::Error + 'static)) -> String {
    let mut text = fault.to_string();
    let mut cause = fault.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests;
