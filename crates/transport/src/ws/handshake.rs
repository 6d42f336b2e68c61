//! Asking a server for a WebSocket.

use super::{
    PROTOCOL, WsOptions, WsReader, WsWriter,
    heard::Clock,
    socket::{Counts, config, heard, open},
};
use crate::{
    budget::Budget,
    dial::{Dialer, origin},
    http::{Asking, HttpTarget, Refusal, Withheld, preview},
    limits,
    link::Undelivered,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, Uri, header};
use tokio::time::timeout;
use tokio_tungstenite::{
    client_async_with_config,
    tungstenite::{Error, handshake::client::generate_key},
};

/// Connects and shakes hands.
pub(super) async fn connect(
    target: &HttpTarget,
    options: &WsOptions,
    budget: Budget,
) -> Result<(WsWriter, WsReader), Undelivered> {
    let url = as_http(&target.url).ok_or_else(|| {
        Undelivered::NotSent("the address must begin with ws:// or wss://".into())
    })?;
    let dialer = Dialer::new(&url, target.via.clone(), options.connect_timeout);
    let mut refusals = 0;
    loop {
        let asking = Asking {
            method: &Method::GET,
            url: &url,
            let_in: false,
        };
        let credentials = match &target.authorize {
            Some(authorize) => authorize
                .headers(&asking)
                .await
                .map_err(Withheld::undelivered)?,
            None => HeaderMap::new(),
        };
        let stream = dialer.dial().await;
        let stream = stream.map_err(|fault| Undelivered::NotSent(fault.into()))?;
        let clock = Clock::new();
        let request = request(&url, &target.headers, &credentials)?;
        let shaking =
            client_async_with_config(request, heard(stream, clock.clone()), Some(config(options)));
        let refused = match timeout(options.connect_timeout, shaking).await {
            Ok(Ok((socket, _))) => return Ok(open(socket, clock, options, Counts::All(budget))),
            Ok(Err(Error::Http(response))) => response,
            Ok(Err(fault)) => {
                let text = format!("{}: no WebSocket: {fault}", origin(&url));
                return Err(Undelivered::NotSent(text.into()));
            }
            Err(_) => {
                let text = format!("{}: no answer to the WebSocket handshake", origin(&url));
                return Err(Undelivered::NotSent(text.into()));
            }
        };
        refusals += 1;
        let refusal = Refusal {
            status: refused.status().as_u16(),
            headers: refused.headers(),
            credentials: &credentials,
            times: refusals,
        };
        let again = match &target.authorize {
            Some(authorize)
                if matches!(refusal.status, 401 | 403) && refusals < limits::REFUSALS =>
            {
                authorize.challenged(&refusal).await
            }
            _ => false,
        };
        if !again {
            return Err(refused_with(&refused));
        }
    }
}

fn refused_with(response: &Response<Option<Vec<u8>>>) -> Undelivered {
    let status = response.status().as_u16();
    let challenge = response.headers().get(header::WWW_AUTHENTICATE);
    let challenge = challenge
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    if status == 401 || (status == 403 && challenge.is_some()) {
        return Undelivered::NeedsAuth { status, challenge };
    }
    let body = response.body().as_deref().unwrap_or_default();
    let preview = match preview(body) {
        shown if shown.is_empty() => "the server has no WebSocket here".into(),
        shown => shown,
    };
    Undelivered::Status { status, preview }
}

fn request(
    url: &Uri,
    configured: &HeaderMap,
    credentials: &HeaderMap,
) -> Result<Request<()>, Undelivered> {
    let failed = |fault: http::Error| Undelivered::NotSent(fault.to_string().into());
    let scheme = if url.scheme_str() == Some("https") {
        "wss"
    } else {
        "ws"
    };
    let authority = url.authority().map_or("", |authority| authority.as_str());
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    let uri = Uri::builder()
        .scheme(scheme)
        .authority(authority)
        .path_and_query(path)
        .build()
        .map_err(failed)?;
    let mut request = Request::builder()
        .uri(uri)
        .header(header::HOST, authority)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(header::SEC_WEBSOCKET_VERSION, "13")
        .header(header::SEC_WEBSOCKET_KEY, generate_key())
        .header(header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL)
        .body(())
        .map_err(failed)?;
    let headers = request.headers_mut();
    headers.insert(header::USER_AGENT, AGENT);
    for (name, value) in configured.iter().chain(credentials) {
        if !is_ours(name) {
            headers.insert(name.clone(), value.clone());
        }
    }
    Ok(request)
}

const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("switchboard/", env!("CARGO_PKG_VERSION")));

/// Whether a header belongs to the handshake itself.
fn is_ours(name: &HeaderName) -> bool {
    [
        header::CONNECTION,
        header::UPGRADE,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
    ]
    .contains(name)
        || name.as_str().starts_with("sec-websocket-")
}

/// The address with the scheme under which it is dialled.
fn as_http(url: &Uri) -> Option<Uri> {
    let scheme = match url.scheme_str()? {
        "ws" | "http" => "http",
        "wss" | "https" => "https",
        _ => return None,
    };
    let mut parts = url.clone().into_parts();
    parts.scheme = Some(scheme.parse().ok()?);
    Uri::from_parts(parts).ok()
}
