//! How a client with a secret proves itself at a token endpoint.
//!
//! The standard has two ways, and servers insist on one of three: some want the
//! client's id in the form besides the header, although the header holds it;
//! others refuse whoever says it twice. What a registration was answered with
//! is tried first; after `invalid_client` the others are, each once. Nothing is
//! used up by that: a code or a refresh token is looked at only after the client.

use super::error_code;
use crate::net::{Inbound, Outbound};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::header;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::form_urlencoded;
use zeroize::Zeroizing;

/// How a client with a secret proves itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proving {
    /// By the header alone.
    #[default]
    Header,
    /// By the header, with its id in the form as well.
    HeaderAndId,
    /// By the form alone.
    Form,
}

/// Whose request it is, as its header says.
pub(super) struct Named {
    id: Zeroizing<String>,
    secret: Zeroizing<String>,
}

impl Proving {
    pub(super) const ALL: [Self; 3] = [Self::Header, Self::HeaderAndId, Self::Form];

    /// What the answer to a registration says.
    pub(super) fn registered(answer: &Inbound) -> Option<Self> {
        let body: Value = serde_json::from_slice(&answer.body).ok()?;
        match body["token_endpoint_auth_method"].as_str()? {
            "client_secret_post" => Some(Self::Form),
            "client_secret_basic" => Some(Self::Header),
            _ => None,
        }
    }

    /// The request, proven this way.
    pub(super) fn apply(self, out: &Outbound, named: &Named) -> Outbound {
        let mut out = out.clone();
        let mut add = |name: &str, value: &str| {
            let pairs = form_urlencoded::parse(&out.body).into_owned();
            let pairs = pairs.filter(|(known, _)| known != name);
            let mut form = form_urlencoded::Serializer::new(String::new());
            form.extend_pairs(pairs).append_pair(name, value);
            out.body = form.finish().into();
        };
        match self {
            Self::Header => {}
            Self::HeaderAndId => add("client_id", &named.id),
            Self::Form => {
                add("client_id", &named.id);
                add("client_secret", &named.secret);
                out.headers.remove(header::AUTHORIZATION);
            }
        }
        out
    }
}

impl Named {
    /// Who proves itself by the request's header, if anybody does.
    pub(super) fn by_header(out: &Outbound) -> Option<Self> {
        let header = out.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
        let both = STANDARD.decode(header.strip_prefix("Basic ")?).ok()?;
        let both = Zeroizing::new(String::from_utf8(both).ok()?);
        let (id, secret) = both.split_once(':')?;
        let plain = |text: &str| {
            let pair = Zeroizing::new(format!("x={text}"));
            let value = form_urlencoded::parse(pair.as_bytes()).next()?.1;
            Some(Zeroizing::new(value.into_owned()))
        };
        Some(Self {
            id: plain(id)?,
            secret: plain(secret)?,
        })
    }
}

/// Whether the server does not know who is asking.
pub(super) fn refuses_client(answer: &Inbound) -> bool {
    matches!(answer.status.as_u16(), 400 | 401)
        && error_code(answer).as_deref() == Some("invalid_client")
}

#[cfg(test)]
mod tests {
    use super::*;
    use url::Url;

    fn asked() -> Outbound {
        let url = Url::parse("https://as.example/token").unwrap();
        let mut out = Outbound::form(
            url,
            &[("grant_type", "authorization_code"), ("code", "a b")],
        );
        let header = format!("Basic {}", STANDARD.encode("me%2F1:pa%3Ass+word"));
        out.headers
            .insert(header::AUTHORIZATION, header.parse().unwrap());
        out
    }

    #[test]
    fn each_way_says_the_same_in_its_place() {
        let out = asked();
        let named = Named::by_header(&out).unwrap();
        let body = |out: &Outbound| String::from_utf8(out.body.to_vec()).unwrap();
        let header = Proving::Header.apply(&out, &named);
        assert_eq!(body(&header), "grant_type=authorization_code&code=a+b");
        let both = Proving::HeaderAndId.apply(&out, &named);
        assert!(both.headers.contains_key(header::AUTHORIZATION));
        assert!(body(&both).ends_with("&code=a+b&client_id=me%2F1"));
        let form = Proving::Form.apply(&out, &named);
        assert!(!form.headers.contains_key(header::AUTHORIZATION));
        assert!(body(&form).ends_with("&client_id=me%2F1&client_secret=pa%3Ass+word"));
    }

    #[test]
    fn a_public_client_has_nothing_to_prove() {
        let mut out = asked();
        out.headers.remove(header::AUTHORIZATION);
        assert!(Named::by_header(&out).is_none());
    }
}
