//! Who may come in: addresses that browsers cannot fake, then a token.

use http::{HeaderMap, HeaderValue, Uri, header};
use std::{fmt, net::IpAddr, sync::Arc};
use subtle::ConstantTimeEq;

/// A token that a client shows; its name is the principal.
#[derive(Clone)]
pub struct ClientToken {
    /// Who it stands for.
    pub name: String,
    /// The secret itself.
    pub secret: String,
}

impl fmt::Debug for ClientToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientToken")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The checks in front of every HTTP route.
#[derive(Clone, Debug, Default)]
pub struct Door {
    /// Accepted tokens.
    pub tokens: Vec<ClientToken>,
    /// Lets everybody in (`--no-auth`).
    pub open: bool,
    /// Host names, besides those of this machine's loopback, under which we are reached.
    pub hosts: Vec<String>,
}

impl Door {
    /// Whether `Host` and `Origin` are ours. This stops a web page whose name
    /// was rebound to our address; it must come before anything else.
    pub fn is_our_address(&self, headers: &HeaderMap, target: &Uri) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok(),
            (None, _) => target.authority().map(|authority| authority.as_str()),
            _ => None,
        };
        let Some(host) = host else { return false };
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let origin_is_ours = match (origins.next(), origins.next()) {
            (None, _) => true,
            (Some(origin), None) => self.is_our_origin(origin),
            _ => false,
        };
        self.is_our_host(host) && origin_is_ours
    }

    fn is_our_origin(&self, origin: &HeaderValue) -> bool {
        let Ok(origin) = origin.to_str() else {
            return false;
        };
        let rest = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|host| !host.contains('/') && self.is_our_host(host))
    }

    fn is_our_host(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split_once(']').map_or("", |(name, _)| name),
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        let loopback = name.eq_ignore_ascii_case("localhost")
            || name
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback());
        loopback
            || self
                .hosts
                .iter()
                .any(|ours| ours.eq_ignore_ascii_case(name))
    }

    /// Whether more than one principal can come in.
    pub fn has_several_principals(&self) -> bool {
        self.tokens.len() + usize::from(self.open) > 1
    }

    /// The principal behind a request, or `None` if it may not come in.
    pub fn principal(&self, headers: &HeaderMap) -> Option<Arc<str>> {
        let shown = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| bearer(value.as_bytes()));
        // Every token is compared, each in constant time, so that how long it
        // takes says nothing about how close a guess was.
        let mut found = None;
        for token in &self.tokens {
            let same = shown.is_some_and(|shown| bool::from(shown.ct_eq(token.secret.as_bytes())));
            if same {
                found = Some(token.name.as_str());
            }
        }
        match found {
            Some(name) => Some(name.into()),
            None if self.open => Some("anonymous".into()),
            None => None,
        }
    }
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}
