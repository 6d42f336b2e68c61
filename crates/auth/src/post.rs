//! Sending something to an address of the user's own choice.

use crate::{
    address::Guard,
    net::{self, NetLimits, Outbound},
};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use url::Url;

/// Why nothing was sent.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotPosted(String);

/// Posts this, and says what was answered. Redirections are not followed.
///
/// # Errors
/// Where nobody is reached, or nobody answers in time.
pub async fn post(
    url: &Url,
    headers: HeaderMap,
    body: Bytes,
    limits: &NetLimits,
) -> Result<StatusCode, NotPosted> {
    let out = Outbound {
        method: Method::POST,
        url: url.clone(),
        headers,
        body,
    };
    let answer = net::send(&Guard::new(url, true), limits, out).await;
    let answer = answer.map_err(|fault| NotPosted(fault.to_string()))?;
    Ok(answer.status)
}
