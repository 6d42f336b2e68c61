//! Fetching a document that a bearer token opens, from an address that the user
//! configured. The guards are those of signing in: the connection is made to an
//! address that was judged, no redirect is followed (the token would go along),
//! the body is capped, everything has a time limit.

use crate::{
    address::Guard,
    error::shown,
    net::{self, NetError, NetLimits, Outbound},
    secret::Secret,
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use url::Url;

/// Why there is no document. None of these holds the token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BearerError {
    /// The token cannot be a header's value.
    #[error("the token has characters that no header can have")]
    Token,
    /// The address may not be used; nothing was sent.
    #[error("{0}")]
    Refused(String),
    /// It cannot be reached, or does not answer in time, or says too much.
    #[error("{0}")]
    Unreachable(String),
    /// 401 or 403.
    #[error("the token is not accepted (HTTP {0})")]
    NotAccepted(u16),
    /// It is said to be somewhere else.
    #[error("it has moved to {0}; redirects are not followed with a token")]
    Moved(String),
    /// Any other status.
    #[error("HTTP {0}")]
    Status(u16),
}

/// Fetches it.
///
/// # Errors
/// See [`BearerError`].
pub async fn get_with_token(
    url: &Url,
    token: &Secret,
    limits: &NetLimits,
) -> Result<Bytes, BearerError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose()))
        .map_err(|_| BearerError::Token)?;
    value.set_sensitive(true);
    let mut out = Outbound::get(url.clone());
    out.headers.insert(header::AUTHORIZATION, value);
    let answer = net::send(&Guard::new(url, false), limits, out)
        .await
        .map_err(|fault| match fault {
            NetError::Refused(why) => BearerError::Refused(why.to_string()),
            other => BearerError::Unreachable(other.to_string()),
        })?;
    match answer.status {
        StatusCode::OK => Ok(answer.body),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            Err(BearerError::NotAccepted(answer.status.as_u16()))
        }
        status if status.is_redirection() => {
            let to = answer.headers.get(header::LOCATION);
            let to = to.map_or_else(String::new, |to| {
                String::from_utf8_lossy(to.as_bytes()).into()
            });
            Err(BearerError::Moved(shown(&to)))
        }
        status => Err(BearerError::Status(status.as_u16())),
    }
}
