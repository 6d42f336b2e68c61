//! Addresses with `*`.

use super::RuleError;
use std::net::IpAddr;
use switchboard_local::wildcard::matches;
use switchboard_wire::address::embedded;
use url::Url;

/// An address with `*`, taken apart first: what stands for a host can never
/// reach into a path, nor the other way round.
#[derive(Clone, Debug)]
pub(super) struct UrlPattern {
    scheme: String,
    host: String,
    /// As it is written; `*` is any.
    port: Option<String>,
    /// Without it, an allow rule is about `/` and a deny rule about every path.
    path: Option<String>,
}

impl UrlPattern {
    /// `scheme://host[:port]/path`; without a scheme any, `*` alone is everything.
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        if text
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || c == '\\')
        {
            return Err(RuleError::Characters(text.to_owned()));
        }
        let (scheme, rest) = text.split_once("://").unwrap_or(("*", text));
        let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let (host, port) = split_port(authority);
        if host.is_empty() || authority.contains('@') {
            return Err(RuleError::NoHost(text.to_owned()));
        }
        let is_everything = text == "*";
        let port = if is_everything { Some("*") } else { port };
        Ok(Self {
            scheme: scheme.to_ascii_lowercase(),
            host: normal_host(host),
            port: port.map(str::to_owned),
            path: match path {
                "" if is_everything => Some("*".to_owned()),
                "" => None,
                path => Some(path.to_owned()),
            },
        })
    }

    /// Whether an allow rule means this address: read narrowly. Without a port
    /// it means the scheme's own, also where the host is a wildcard.
    pub(super) fn allows(&self, url: &str) -> bool {
        let Some(parts) = Parts::of(url) else {
            return false;
        };
        let port_fits = match &self.port {
            Some(port) => matches(port, &parts.port),
            None => self.host == "*" || parts.is_default_port,
        };
        let path = self.path.as_deref().unwrap_or("/");
        port_fits
            && matches(&self.scheme, &parts.scheme)
            && matches(&self.host, &parts.host)
            && matches(path, &parts.whole)
    }

    /// Whether a deny rule means this address: read generously. Without a port
    /// it means all of them, whichever way of talking to a web server it names
    /// it means all of them, without a path every path; how a path is escaped,
    /// or what is asked for behind it, makes no difference; and a machine is the
    /// same by each of its addresses.
    pub(super) fn denies(&self, url: &str) -> bool {
        let Some(parts) = Parts::of(url) else {
            return false;
        };
        let is_web = |scheme: &str| matches!(scheme, "http" | "https" | "ws" | "wss");
        let scheme_fits =
            is_web(&self.scheme) && is_web(&parts.scheme) || matches(&self.scheme, &parts.scheme);
        let port = self.port.as_deref();
        let path_fits = self.path.as_deref().is_none_or(|path| {
            let spellings = [
                &parts.whole,
                &parts.path,
                &decoded(&parts.path),
                &plain(&parts.path),
            ];
            let fits = |path: &str| spellings.iter().any(|text| matches(path, text));
            fits(path) || fits(&decoded(path)) || fits(&plain(path))
        });
        scheme_fits
            && path_fits
            && same_machine(&self.host, &parts.host)
            && port.is_none_or(|port| matches(port, &parts.port))
    }
}

/// An address, taken apart.
struct Parts {
    scheme: String,
    host: String,
    /// The scheme's own where the address names none.
    port: String,
    is_default_port: bool,
    path: String,
    /// With what is asked for behind it.
    whole: String,
}

impl Parts {
    fn of(url: &str) -> Option<Self> {
        let url = Url::parse(url).ok()?;
        let host = url.host_str()?;
        let path = url.path().to_owned();
        Some(Self {
            scheme: url.scheme().to_owned(),
            // `example.com.` is the same machine.
            host: host.strip_suffix('.').unwrap_or(host).to_owned(),
            port: url
                .port_or_known_default()
                .map(|port| port.to_string())
                .unwrap_or_default(),
            is_default_port: url.port().is_none(),
            whole: match url.query() {
                Some(query) => format!("{path}?{query}"),
                None => path.clone(),
            },
            path,
        })
    }
}

/// Host and port of `host[:port]`; the colons of `[::1]` are none of that.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

/// A host in the spelling that a parsed address has: `127.1` and `bücher.example`
/// must mean what they mean elsewhere. Of one with wildcards, its labels.
fn normal_host(host: &str) -> String {
    let plain = |text: &str| {
        let url = Url::parse(&format!("http://{text}/")).ok();
        url.and_then(|url| url.host_str().map(str::to_owned))
    };
    let host = host.strip_suffix('.').unwrap_or(host).to_lowercase();
    if !host.contains('*') {
        return plain(&host).unwrap_or(host);
    }
    let labels = host.split('.').map(|label| match label.is_ascii() {
        true => label.to_owned(),
        false => plain(label).unwrap_or_else(|| label.to_owned()),
    });
    labels.collect::<Vec<_>>().join(".")
}

/// Whether a deny rule about a host means this one: by its name, or because both
/// are the same address in other words.
fn same_machine(pattern: &str, host: &str) -> bool {
    const THIS_MACHINE: &[&str] = &["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "[::]"];
    let folded = folded(host);
    let is_ours = is_this_machine(&folded);
    matches(pattern, host)
        || matches(&self::folded(pattern), &folded)
        || is_ours && is_this_machine(&self::folded(pattern))
        || is_ours && THIS_MACHINE.iter().any(|name| matches(pattern, name))
}

/// A host as IPv4 where it is an IPv4 address in the clothes of an IPv6 one.
fn folded(host: &str) -> String {
    match address(host) {
        Some(IpAddr::V6(v6)) => match embedded(v6) {
            Some(v4) => v4.to_string(),
            None => host.to_owned(),
        },
        _ => host.to_owned(),
    }
}

/// Whether it can only be this machine. A system takes no address for its own.
fn is_this_machine(host: &str) -> bool {
    match address(host) {
        Some(IpAddr::V4(v4)) => v4.is_loopback() || v4.octets()[0] == 0,
        Some(IpAddr::V6(v6)) => v6.is_loopback() || v6.is_unspecified(),
        None => host == "localhost" || host.ends_with(".localhost") && !host.contains('*'),
    }
}

fn address(host: &str) -> Option<IpAddr> {
    let plain = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    plain.unwrap_or(host).parse().ok()
}

/// A path without its escapes, and with no `/` but those between its parts.
fn plain(path: &str) -> String {
    let path = decoded(path);
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    format!("/{}", parts.join("/"))
}

/// A path without its escapes.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                digit(*high).zip(digit(*low))
            }
            _ => None,
        };
        match escaped.and_then(|(high, low)| u8::try_from(high * 16 + low).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
