//! Who may come in: addresses that browsers cannot fake, then a token of ours
//! or of the identity provider that clients sign in at. What a client shows is
//! for us alone and never passed on.

use crate::limits;
pub use crate::wrong_tokens::WrongTokens;
use aws_lc_rs::digest;
use http::{HeaderMap, HeaderValue, StatusCode, Uri, header, uri::Authority};
use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
    time::SystemTime,
};
use subtle::ConstantTimeEq;
use switchboard_auth as auth;
use switchboard_local::hex;
use switchboard_transport::dial::DoorTls;
use url::Url;

/// Who comes in without a token, where everybody may.
const ANYBODY: &str = "anonymous";

/// A token that a client shows; its name is the principal.
#[derive(Clone)]
pub struct ClientToken {
    /// Who it stands for.
    pub name: Arc<str>,
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

/// Tokens that come and go while we run.
pub trait LiveTokens: Send + Sync + fmt::Debug {
    /// Those that are accepted now. Asked for every request, so it must be quick.
    fn current(&self) -> Arc<[ClientToken]>;
}

/// Why somebody may not come in.
#[derive(Debug)]
pub(crate) struct Refused {
    /// How that is said.
    pub status: StatusCode,
    /// `WWW-Authenticate`.
    pub challenge: String,
    /// Whether a token was shown, so that it is a wrong one.
    pub shown: bool,
    /// What is wrong with an identity provider's token, where it is one.
    pub why: Option<&'static str>,
}

/// The checks in front of every HTTP route.
#[derive(Clone, Debug, Default)]
pub struct Door {
    /// Accepted tokens.
    pub tokens: Vec<ClientToken>,
    /// More of them, which may be revoked at any time.
    pub live: Option<Arc<dyn LiveTokens>>,
    /// More of them, of which only digests are known: SHA-256, in hexadecimal digits, in
    /// the place of the secret.
    pub digests: Option<Arc<dyn LiveTokens>>,
    /// The identity provider whose tokens are accepted.
    pub oidc: Option<Arc<auth::Door>>,
    /// How many wrong tokens were shown lately.
    pub wrong_tokens: Arc<WrongTokens>,
    /// Lets everybody in (`--no-auth`).
    pub open: bool,
    /// Host names, besides those of this machine's loopback, under which we are reached.
    pub hosts: Vec<String>,
    /// Origins of web pages that may talk to us besides our own.
    pub origins: Vec<String>,
    /// TLS, where we see to it ourselves.
    pub tls: Option<Arc<DoorTls>>,
    /// Whether clients speak TLS with a proxy in front of us.
    pub behind_proxy: bool,
}

impl Door {
    /// How the addresses begin that clients know us by.
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() || self.behind_proxy {
            "https"
        } else {
            "http"
        }
    }

    /// Whether `Host` and `Origin` are ours. This stops a web page whose name
    /// was rebound to our address; it must come before anything else.
    pub fn is_our_address(&self, headers: &HeaderMap, target: &Uri) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok(),
            (None, _) => target.authority().map(Authority::as_str),
            _ => None,
        };
        let Some(host) = host else { return false };
        let mut origins = headers.get_all(header::ORIGIN).iter();
        let origin_is_ours = match (origins.next(), origins.next()) {
            (None, _) => true,
            (Some(origin), None) => {
                let is_socket = headers.contains_key(header::UPGRADE);
                self.is_our_origin(origin, is_socket.then_some(host))
            }
            _ => false,
        };
        self.is_our_host(host) && origin_is_ours
    }

    /// `socket`: the `Host` at which a WebSocket is asked for.
    fn is_our_origin(&self, origin: &HeaderValue, socket: Option<&str>) -> bool {
        let Ok(origin) = origin.to_str() else {
            return false;
        };
        let is_this = |allowed: &String| allowed.eq_ignore_ascii_case(origin);
        if self.origins.iter().any(is_this) {
            return true;
        }
        let rest = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        // Browsers keep pages of other ports from reading our answers, but not
        // from opening a socket: where nobody shows a token, it is up to us.
        let is_near = socket.is_none_or(|host| !self.open || is_same_port(origin, host));
        is_near && rest.is_some_and(|page| !page.contains('/') && self.is_our_host(page))
    }

    fn is_our_host(&self, host: &str) -> bool {
        let Some(name) = host_name(host) else {
            return false;
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
        let live: usize = self.revocable().map(|live| live.current().len()).sum();
        self.oidc.is_some() || self.tokens.len() + live + usize::from(self.open) > 1
    }

    /// Who can come in; `None` where an identity provider decides that.
    pub(crate) fn principals(&self) -> Option<Vec<Arc<str>>> {
        if self.oidc.is_some() {
            return None;
        }
        let named = self.tokens.iter().map(|token| token.name.clone());
        let mut all: Vec<Arc<str>> = named.collect();
        for live in self.revocable() {
            all.extend(live.current().iter().map(|token| token.name.clone()));
        }
        if self.open {
            all.push(ANYBODY.into());
        }
        Some(all)
    }

    /// Who shows a token of the identity provider's and until when it is good, or
    /// why it is not. `resource` is the endpoint that is asked for, as the client
    /// wrote it.
    pub(crate) async fn signed(
        &self,
        headers: &HeaderMap,
        resource: Option<Url>,
    ) -> Result<Signed, Refused> {
        let shown = headers.get(header::AUTHORIZATION);
        let refused = match (&self.oidc, resource) {
            (Some(oidc), Some(resource)) => {
                let shown = shown.and_then(|value| value.to_str().ok());
                match oidc.admit(shown).await {
                    Ok(admitted) => {
                        let principal = admitted.principal().into();
                        return Ok(Signed {
                            principal,
                            expires: admitted.good_until(),
                            roles: admitted.roles.into(),
                        });
                    }
                    Err(why) => {
                        tracing::debug!(%why, "a client was not let in");
                        Refused {
                            status: StatusCode::from_u16(why.status())
                                .unwrap_or(StatusCode::UNAUTHORIZED),
                            challenge: oidc.challenge_at(&resource, &why),
                            shown: shown.is_some(),
                            why: why.reason(),
                        }
                    }
                }
            }
            _ => Refused {
                status: StatusCode::UNAUTHORIZED,
                challenge: "Bearer realm=\"switchboard\"".into(),
                shown: shown.is_some(),
                why: None,
            },
        };
        self.count_wrong_token(headers).await;
        Err(refused)
    }

    /// Counts the token of a request that was refused, if it shows one, and
    /// holds the answer back where there were too many lately.
    pub(crate) async fn count_wrong_token(&self, headers: &HeaderMap) {
        if headers.contains_key(header::AUTHORIZATION) {
            self.count_wrong().await;
        }
    }

    /// The same for whatever else somebody could guess.
    pub(crate) async fn count_wrong(&self) {
        if self.wrong_tokens.count() {
            tokio::time::sleep(limits::GUESS_HELD_BACK).await;
        }
    }

    /// Those that come and go.
    fn revocable(&self) -> impl Iterator<Item = &Arc<dyn LiveTokens>> {
        self.live.iter().chain(&self.digests)
    }

    /// Whether these are the tokens that are accepted now.
    pub(crate) fn are_current(&self, tokens: &Arc<[ClientToken]>) -> bool {
        self.revocable()
            .any(|live| Arc::ptr_eq(&live.current(), tokens))
    }

    /// Whether this token, which may be revoked, is still accepted.
    pub(crate) fn accepts(&self, name: &str, secret: &str) -> bool {
        let same = |token: &ClientToken| *token.name == *name && token.secret == secret;
        self.revocable().any(|live| live.current().iter().any(same))
    }

    /// What a request shows, or `None` if it may not come in by that.
    pub(crate) fn shown(&self, headers: &HeaderMap) -> Option<Shown> {
        let found = self.token_of(headers);
        found.or_else(|| self.open.then(|| Shown::Fixed(ANYBODY.into())))
    }

    /// The token of ours that a request shows.
    pub(crate) fn token_of(&self, headers: &HeaderMap) -> Option<Shown> {
        let shown = shown_bearer(headers);
        // Every token is compared, each in constant time, so that how long it
        // takes says nothing about how close a guess was.
        let same = |token: &ClientToken| {
            shown.is_some_and(|shown| bool::from(shown.ct_eq(token.secret.as_bytes())))
        };
        let mut found: Option<Shown> = None;
        for token in &self.tokens {
            if same(token) {
                found = Some(Shown::Fixed(token.name.clone()));
            }
        }
        if let Some(tokens) = self.live.as_ref().map(|live| live.current())
            && let Some(index) = which(&tokens, shown)
        {
            found = Some(Shown::Live { tokens, index });
        }
        if let Some(tokens) = self.digests.as_ref().map(|digests| digests.current())
            && !tokens.is_empty()
            && let Some(shown) = shown
        {
            let shown = hex(digest::digest(&digest::SHA256, shown));
            if let Some(index) = which(&tokens, Some(shown.as_bytes())) {
                found = Some(Shown::Live { tokens, index });
            }
        }
        found
    }
}

/// Which of these it is; all of them are compared.
fn which(tokens: &[ClientToken], shown: Option<&[u8]>) -> Option<usize> {
    let shown = shown?;
    let mut which = None;
    for (index, token) in tokens.iter().enumerate() {
        if bool::from(shown.ct_eq(token.secret.as_bytes())) {
            which = Some(index);
        }
    }
    which
}

/// Who shows a token of the identity provider's.
pub(crate) struct Signed {
    /// Who it is.
    pub(crate) principal: Arc<str>,
    /// Until when it is good.
    pub(crate) expires: SystemTime,
    /// What its claims say it may do besides being a client.
    pub(crate) roles: Arc<[String]>,
}

/// What somebody comes in by.
pub(crate) enum Shown {
    /// A token that is good for as long as we run, or none where everybody may.
    Fixed(Arc<str>),
    /// One of these, which may be revoked.
    Live {
        tokens: Arc<[ClientToken]>,
        index: usize,
    },
}

/// Whether the target of a request names another machine than `Host` does: then
/// two readers would not agree on whom it is for.
pub(crate) fn names_two_hosts(headers: &HeaderMap, target: &Uri) -> bool {
    let Some(named) = target.authority() else {
        return false;
    };
    let default = match target.scheme_str() {
        Some("https" | "wss") => 443,
        _ => 80,
    };
    headers.get_all(header::HOST).iter().any(|host| {
        let host = host.to_str().ok().and_then(|host| host.parse().ok());
        host.is_none_or(|host: Authority| {
            let port = |of: &Authority| of.port_u16().unwrap_or(default);
            !host.host().eq_ignore_ascii_case(named.host())
                || port(&host) != port(named)
                || named.as_str().contains('@')
        })
    })
}

/// The name in `host[:port]`; `None` if it is anything else. A name that only begins
/// like ours is another's.
fn host_name(host: &str) -> Option<&str> {
    let (name, rest) = match host.strip_prefix('[') {
        Some(address) => {
            let (name, rest) = address.split_once(']')?;
            name.parse::<Ipv6Addr>().ok()?;
            (name, rest)
        }
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port =
        |port: &str| port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok();
    let has_port = rest.strip_prefix(':').is_some_and(is_port);
    (rest.is_empty() || has_port).then_some(name)
}

/// Whether an origin has the port at which we are reached. `Host` does not say
/// the scheme, so where it names no port either scheme's own will do.
fn is_same_port(origin: &str, host: &str) -> bool {
    let port = |authority: &str| authority.parse::<Authority>().ok()?.port_u16();
    let (page, default) = match origin.strip_prefix("https://") {
        Some(page) => (page, 443),
        None => (origin.strip_prefix("http://").unwrap_or(origin), 80),
    };
    let page = port(page).unwrap_or(default);
    match port(host) {
        Some(ours) => ours == page,
        None => matches!(page, 80 | 443),
    }
}

/// Whether a request shows this very secret.
pub(crate) fn shows(headers: &HeaderMap, secret: &str) -> bool {
    let shown = shown_bearer(headers);
    shown.is_some_and(|shown| bool::from(shown.ct_eq(secret.as_bytes())))
}

/// The bearer that a request shows.
pub(crate) fn shown_bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(header::AUTHORIZATION)?;
    bearer(value.as_bytes())
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(7)?;
    scheme
        .eq_ignore_ascii_case(b"bearer ")
        .then(|| token.trim_ascii())
}
