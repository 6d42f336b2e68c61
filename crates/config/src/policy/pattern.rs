//! Addresses with `*`.

use super::RuleError;
use std::{net::IpAddr, path::Path};
use switchboard_local::{percent, wildcard::matches};
use switchboard_wire::embedded_v4;
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
    /// The sockets of this machine that it means: their paths.
    socket: Option<String>,
    /// All of it, in small letters: what is forbidden is also what simply looks so.
    text: String,
}

/// How addresses of servers begin.
const SCHEMES: [&str; 5] = ["http", "https", "ws", "wss", UNIX];
/// How addresses of sockets on this machine begin.
const UNIX: &str = "unix";

impl UrlPattern {
    /// `scheme://host[:port]/path` or `unix:///path`; without a scheme any, `*` alone
    /// is everything. What can be no address of a server's is refused.
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        let fault = |why: fn(String) -> RuleError| Err(why(text.to_owned()));
        if text
            .chars()
            .any(|c| c.is_whitespace() || c.is_control() || "\\#".contains(c))
        {
            return fault(RuleError::Characters);
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
            None => match text.split_once(':') {
                Some((scheme, _)) if SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) => {
                    let (text, scheme) = (text.to_owned(), scheme.to_owned());
                    return Err(RuleError::NoSlashes { text, scheme });
                }
                _ => ("*".to_owned(), text),
            },
        };
        if !SCHEMES.iter().any(|known| matches(&scheme, known)) {
            return fault(RuleError::Scheme);
        }
        if scheme == UNIX {
            return Self::of_sockets(text, rest);
        }
        let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let (host, port) = split_port(authority);
        if host.is_empty() || authority.contains('@') {
            return fault(RuleError::NoHost);
        }
        if !is_host(&normal_host(host)) {
            return fault(RuleError::Host);
        }
        let is_port = |port: &str| port.chars().all(|c| c.is_ascii_digit() || c == '*');
        if port.is_some_and(|port| port.is_empty() || !is_port(port)) {
            return fault(RuleError::Port);
        }
        let is_everything = text == "*";
        let port = if is_everything { Some("*") } else { port };
        let is_any_host = host.chars().all(|c| c == '*') && port.is_none_or(is_stars);
        let socket = is_any_host && matches(&scheme, UNIX);
        Ok(Self {
            scheme,
            host: normal_host(host),
            port: port.map(str::to_owned),
            socket: socket.then(|| match path {
                "" => "*".to_owned(),
                path => path.to_owned(),
            }),
            path: match path {
                "" if is_everything => Some("*".to_owned()),
                "" => None,
                path => Some(path.to_owned()),
            },
            text: text.to_lowercase(),
        })
    }

    /// Whether it means machines by their addresses, or this one.
    pub(super) fn means_addresses(&self) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let is_part = |c: char| c.is_ascii_digit() || ".:*".contains(c);
        let is_v6 = host.contains(':');
        let digits = |c: char| is_part(c) || is_v6 && c.is_ascii_hexdigit();
        is_this_machine(&folded(&self.host)) || !host.is_empty() && host.chars().all(digits)
    }

    /// `unix:///path[:/path]`.
    fn of_sockets(text: &str, path: &str) -> Result<Self, RuleError> {
        if !path.starts_with(['/', '*']) {
            return Err(RuleError::Socket(text.to_owned()));
        }
        Ok(Self {
            scheme: UNIX.to_owned(),
            host: String::new(),
            port: None,
            path: None,
            socket: Some(path.to_owned()),
            text: text.to_lowercase(),
        })
    }

    /// Whether an allow rule means this address: read narrowly. Without a port
    /// it means the scheme's own, also where the host is a wildcard.
    pub(super) fn allows(&self, url: &str) -> bool {
        if let Some(socket) = Socket::of(url) {
            let is_meant = self.scheme == UNIX || self.text == "*";
            let pattern = self.socket.as_deref().filter(|_| is_meant);
            return socket.is_plain() && pattern.is_some_and(|pattern| socket.fits(pattern));
        }
        let Some(parts) = Parts::of(url) else {
            return false;
        };
        let port_fits = match &self.port {
            Some(port) => matches(port, &parts.port),
            None => self.host == "*" || parts.is_default_port,
        };
        let path = self.path.as_deref().unwrap_or("/");
        // What stands for anything below does not stand for what lies above, however that is
        // written: some servers undo more than one kind of writing.
        if path.contains('*') && climbs(&parts.path) {
            return false;
        }
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
        if let Some(socket) = Socket::of(url) {
            let pattern = self.socket.as_deref();
            return pattern.is_some_and(|pattern| socket.is_meant_by(pattern));
        }
        // Also as people read it who know nothing of parts: `http*`.
        let whole = Url::parse(url).map(|url| url.to_string());
        let whole = whole.unwrap_or_default().to_lowercase();
        if !self.text.contains("://") && matches(&self.text, &whole) {
            return true;
        }
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

/// Whether a path could be taken for one that leads upwards.
fn climbs(path: &str) -> bool {
    let mut text = path.to_owned();
    for _ in 0..3 {
        let parts = text.split(['/', '\\']);
        let mut names = parts.map(|part| part.split(';').next().unwrap_or_default());
        if names.any(|name| name == "..") {
            return true;
        }
        text = decoded(&text);
    }
    false
}

/// A socket of this machine, as an entry names it.
struct Socket<'a> {
    /// With what is asked for behind it.
    whole: &'a str,
    path: &'a str,
}

impl<'a> Socket<'a> {
    fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = url.trim().split_once(':')?;
        let whole = rest.strip_prefix("//").unwrap_or(rest);
        let path = whole.split_once(":/").map_or(whole, |(path, _)| path);
        scheme
            .eq_ignore_ascii_case(UNIX)
            .then_some(Self { whole, path })
    }

    fn fits(&self, pattern: &str) -> bool {
        matches(pattern, self.whole) || matches(pattern, self.path)
    }

    /// Whether it is written in the one way that leads there without detours.
    fn is_plain(&self) -> bool {
        let path = Path::new(self.path);
        let real = path.canonicalize();
        lexical(self.path) == self.path && real.is_ok_and(|real| real == path)
            || lexical(self.path) == self.path && !path.exists()
    }

    /// Whether a deny rule means it: however it is written, and wherever links lead.
    fn is_meant_by(&self, pattern: &str) -> bool {
        let real = |path: &str| {
            let real = Path::new(path).canonicalize().ok()?;
            Some(real.display().to_string())
        };
        let decoded = decoded(self.path);
        let spellings = [
            Some(lexical(self.path)),
            Some(lexical(&decoded)),
            real(self.path),
            real(&decoded),
        ];
        let forbidden = pattern.split_once(":/").map_or(pattern, |(path, _)| path);
        let forbidden = [
            Some(pattern.to_owned()),
            real(forbidden),
            Some(lexical(forbidden)),
        ];
        self.fits(pattern)
            || forbidden.iter().flatten().any(|pattern| {
                let mut all = spellings.iter().flatten();
                all.any(|path| matches(pattern, path))
            })
    }
}

/// A path without empty parts, `.` and `..`.
fn lexical(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

fn is_stars(text: &str) -> bool {
    text.chars().all(|c| c == '*')
}

/// Whether a host with `*` can be part of an address.
fn is_host(host: &str) -> bool {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    match bare {
        Some(v6) => v6
            .chars()
            .all(|c| c.is_ascii_hexdigit() || ":.*".contains(c)),
        None => host
            .chars()
            .all(|c| c.is_alphanumeric() || "-._*".contains(c)),
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
        Some(IpAddr::V6(v6)) => match embedded_v4(v6) {
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
pub(crate) fn decoded(path: &str) -> String {
    String::from_utf8_lossy(&percent::decoded_leniently(path)).into_owned()
}
