//! Addresses as people write them: with user and password, or a Unix socket.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderValue, Uri, header, uri::Authority};
use std::path::PathBuf;
use switchboard_local::percent;

/// An address, taken apart.
#[derive(Clone, Debug)]
pub struct Address {
    /// Scheme, host, port, path and query, and nothing secret.
    pub url: Uri,
    /// The Unix socket that stands for host and port.
    pub socket: Option<PathBuf>,
    /// `Authorization` made from user and password.
    pub authorization: Option<HeaderValue>,
}

/// Why a text is no address. Never repeats the text, which may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AddressError(String);

impl Address {
    /// Reads `scheme://[user:password@]host[:port]/path` with one of these
    /// schemes, or `unix:///path/to.sock[:/path]`.
    pub fn parse(text: &str, schemes: &[&str]) -> Result<Self, AddressError> {
        if let Some(rest) = text.strip_prefix("unix://") {
            return unix(rest);
        }
        let expected = schemes
            .iter()
            .map(|scheme| format!("{scheme}://"))
            .collect::<Vec<_>>()
            .join(" or ");
        let fault = |problem: String| Err(AddressError(problem));
        let url: Uri = match text.parse() {
            Ok(url) => url,
            Err(error) => return fault(format!("is no address ({error})")),
        };
        match url.scheme_str() {
            Some(scheme) if schemes.contains(&scheme) => {}
            Some(other) => return fault(format!("begins with {other}://, expected {expected}")),
            None => return fault(format!("does not begin with {expected}")),
        }
        let authority = url.authority().map_or("", Authority::as_str);
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        if url.host().is_none_or(str::is_empty) {
            return fault("names no host".into());
        }
        let Some(user) = user else {
            return Ok(Self {
                url,
                socket: None,
                authorization: None,
            });
        };
        let Ok(place) = place.parse::<Authority>() else {
            return fault("names no host".into());
        };
        let mut parts = url.clone().into_parts();
        parts.authority = Some(place);
        let Ok(bare) = Uri::from_parts(parts) else {
            return fault("is no address".into());
        };
        Ok(Self {
            url: bare,
            socket: None,
            authorization: basic(user),
        })
    }

    /// Adds the credentials to headers, unless those have some of their own.
    pub fn authorize(&self, headers: &mut HeaderMap) {
        if let Some(value) = &self.authorization {
            headers
                .entry(header::AUTHORIZATION)
                .or_insert_with(|| value.clone());
        }
    }
}

fn unix(rest: &str) -> Result<Address, AddressError> {
    let (socket, path) = match rest.split_once(":/") {
        Some((socket, path)) => (socket, format!("/{path}")),
        None => (rest, "/mcp".to_owned()),
    };
    if !socket.starts_with('/') {
        let text = "needs the whole path of the socket: unix:///path/to.sock";
        return Err(AddressError(text.into()));
    }
    let url = format!("http://localhost{path}")
        .parse()
        .map_err(|error| AddressError(format!("is no address ({error})")))?;
    Ok(Address {
        url,
        socket: Some(socket.into()),
        authorization: None,
    })
}

/// `user:password`, both percent-encoded, as `Basic …`.
fn basic(user: &str) -> Option<HeaderValue> {
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    let mut plain = percent::decoded_leniently(user);
    plain.push(b':');
    plain.extend(percent::decoded_leniently(password));
    let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(plain))).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HTTP: [&str; 2] = ["http", "https"];

    #[test]
    fn user_and_password_become_basic_authentication() {
        let address = Address::parse("https://us%65r:p%40ss@host:8443/mcp?a=1", &HTTP).unwrap();
        assert_eq!(address.url.to_string(), "https://host:8443/mcp?a=1");
        let mut headers = HeaderMap::new();
        address.authorize(&mut headers);
        assert_eq!(headers["authorization"], "Basic dXNlcjpwQHNz");
        assert!(headers["authorization"].is_sensitive());
        let mut headers =
            HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static("Bearer x"))]);
        address.authorize(&mut headers);
        assert_eq!(headers["authorization"], "Bearer x");
    }

    #[test]
    fn unix_sockets() {
        let address = Address::parse("unix:///run/a.sock", &HTTP).unwrap();
        assert_eq!(address.socket, Some("/run/a.sock".into()));
        assert_eq!(address.url.to_string(), "http://localhost/mcp");
        let address = Address::parse("unix:///run/a.sock:/other?x=1", &HTTP).unwrap();
        assert_eq!(address.url.to_string(), "http://localhost/other?x=1");
        assert!(Address::parse("unix://run/a.sock", &HTTP).is_err());
    }

    #[test]
    fn faults_do_not_repeat_the_address() {
        for text in [
            "ftp://u:secret@h/",
            "u:secret@h",
            "http://u:secret@/",
            "http:// secret",
        ] {
            let fault = Address::parse(text, &HTTP).unwrap_err();
            assert!(!fault.to_string().contains("secret"), "{text}: {fault}");
        }
    }
}
