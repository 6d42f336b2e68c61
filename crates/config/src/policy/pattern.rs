//! Patterns with `*`.

use url::Url;

/// Whether the whole text fits; `*` stands for any text.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// An address with `*`, taken apart first: what stands for a host can never
/// reach into a path, nor the other way round.
#[derive(Clone, Debug)]
pub(super) struct UrlPattern {
    scheme: String,
    host: String,
    path: String,
}

impl UrlPattern {
    /// `scheme://host[:port]/path`; without a scheme any, `*` alone is everything.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if text
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || c == '\\')
        {
            return Err(format!(
                "`serverUrl`: {text:?} has characters that no address has"
            ));
        }
        let (scheme, rest) = text.split_once("://").unwrap_or(("*", text));
        let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(at);
        if host.is_empty() || host.contains('@') {
            return Err(format!(
                "`serverUrl`: {text:?} names no host; write https://*.example.com/*"
            ));
        }
        let path = match path {
            "" if text == "*" => "*",
            "" => "/",
            path => path,
        };
        let scheme = scheme.to_ascii_lowercase();
        let host = host.to_ascii_lowercase();
        let default = match scheme.as_str() {
            "https" | "wss" => ":443",
            "http" | "ws" => ":80",
            _ => "",
        };
        let host = match host.strip_suffix(default) {
            Some(plain) if !default.is_empty() => plain.to_owned(),
            _ => host,
        };
        Ok(Self {
            scheme,
            host,
            path: path.to_owned(),
        })
    }

    pub(super) fn matches(&self, url: &str) -> bool {
        let Ok(url) = Url::parse(url) else {
            return false;
        };
        let Some(host) = url.host_str() else {
            return false;
        };
        // `example.com.` is the same machine.
        let host = host.strip_suffix('.').unwrap_or(host);
        let host = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        // A wildcard for a host does not let in every port.
        let ports = self.host == "*" || self.host.contains(':') || url.port().is_none();
        let host_fits = glob(&self.host, &host) && ports;
        glob(&self.scheme, url.scheme()) && host_fits && glob(&self.path, &path)
    }
}
