//! Which addresses we go to on the word of a server.
//!
//! A server's metadata names other hosts: authorization server, token endpoint,
//! keys. Followed blindly, they lead into the user's own network. The rule: public
//! addresses over https; loopback only where the configured server is loopback
//! itself (then also plain http); private networks only where the server was
//! configured by such an address, or a setting allows them; everything else never.
//! Names are judged by what they resolve to, at the moment of connecting.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use url::{Host, Url};

/// What kind of network an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Public,
    Loopback,
    Private,
    /// Link-local (cloud metadata), unspecified, multicast, reserved.
    Never,
}

impl Class {
    pub(crate) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self::of_v4(v4),
            IpAddr::V6(v6) => match embedded(v6) {
                Some(v4) => Self::of_v4(v4),
                None => Self::of_v6(v6),
            },
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        let [a, b, c, _] = address.octets();
        if address.is_loopback() {
            Self::Loopback
        } else if address.is_private() || (a == 100 && (64..=127).contains(&b)) {
            Self::Private
        } else if a == 0
            || a >= 224
            || address.is_link_local()
            || (a == 198 && matches!(b, 18 | 19))
            || (a == 192 && b == 0 && matches!(c, 0 | 2))
            || (a == 198 && b == 51 && c == 100)
            || (a == 203 && b == 0 && c == 113)
        {
            Self::Never
        } else {
            Self::Public
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let segments = address.segments();
        if address.is_loopback() {
            Self::Loopback
        } else if segments[0] & 0xfe00 == 0xfc00 {
            Self::Private
        } else if address.is_unspecified()
            || address.is_multicast()
            || segments[0] & 0xffc0 == 0xfe80
            // Site-local, as it once was.
            || segments[0] & 0xffc0 == 0xfec0
            // Teredo and local NAT64 hide an address that cannot be judged.
            || segments[..2] == [0x2001, 0]
            || segments[..2] == [0x2001, 0xdb8]
            || segments[..3] == [0x64, 0xff9b, 1]
        {
            Self::Never
        } else {
            Self::Public
        }
    }
}

/// The IPv4 address that an IPv6 one stands for: mapped, compatible, NAT64, 6to4.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0, 0, 0, 0, 0xffff, 0] | [0x64, 0xff9b, 0, 0, 0, 0] => {
            Some(of(g, h))
        }
        [0, 0, 0, 0, 0, 0] if !address.is_loopback() && !address.is_unspecified() => Some(of(g, h)),
        [0x2002, ..] => Some(of(b, c)),
        _ => None,
    }
}

/// What one configured server may make us connect to.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    loopback: bool,
    private: bool,
    /// The host that the user wrote: trusted as far as its own private address.
    own_host: Option<String>,
    /// What names lead to, where a test says so.
    #[cfg(test)]
    pub(crate) pretended: Vec<(String, IpAddr)>,
}

impl Guard {
    /// The rules for a server at `base`.
    pub(crate) fn new(base: &Url, allow_private: bool) -> Self {
        let class = match base.host() {
            Some(Host::Ipv4(v4)) => Some(Class::of(v4.into())),
            Some(Host::Ipv6(v6)) => Some(Class::of(v6.into())),
            Some(Host::Domain(name)) if is_localhost(name) => Some(Class::Loopback),
            _ => None,
        };
        Self {
            loopback: class == Some(Class::Loopback),
            private: allow_private || class == Some(Class::Private),
            own_host: base.host_str().map(normal),
            #[cfg(test)]
            pretended: Vec::new(),
        }
    }

    /// Whether the address may be used at all, judged by its text.
    pub(crate) fn check(&self, url: &Url) -> Result<(), String> {
        let shown = origin(url);
        let Some(host) = url.host() else {
            return Err(format!("{shown} is not an address of a host"));
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(format!("{shown} carries a user name or password"));
        }
        let local = match host {
            Host::Domain(name) => is_localhost(name),
            Host::Ipv4(v4) => Class::of(v4.into()) == Class::Loopback,
            Host::Ipv6(v6) => Class::of(v6.into()) == Class::Loopback,
        };
        match url.scheme() {
            "https" => {}
            "http" if local && self.loopback => {}
            "http" => return Err(format!("{shown} is not https")),
            other => {
                return Err(format!(
                    "{} is not a web address",
                    crate::fault::shown(other)
                ));
            }
        }
        match host {
            Host::Domain(name) if is_localhost(name) && !self.loopback => Err(format!(
                "{shown} is this machine, and the server is not on this machine"
            )),
            Host::Domain(_) => Ok(()),
            Host::Ipv4(v4) => self.allows(v4.into(), url),
            Host::Ipv6(v6) => self.allows(v6.into(), url),
        }
    }

    /// Whether `url` may be reached at `address`.
    pub(crate) fn allows(&self, address: IpAddr, url: &Url) -> Result<(), String> {
        let own = url.host_str().map(normal) == self.own_host;
        let fine = match Class::of(address) {
            Class::Public => true,
            Class::Loopback => self.loopback,
            Class::Private => self.private || own,
            Class::Never => false,
        };
        if fine {
            return Ok(());
        }
        Err(format!(
            "{} leads to {address}, which the server may not send us to",
            origin(url)
        ))
    }

    /// Judges an address that a proxy will find for us: by its text, and by where
    /// its name leads from here, if it leads anywhere.
    pub(crate) async fn foresee(&self, url: &Url) -> Result<(), String> {
        self.check(url)?;
        let Some(Host::Domain(name)) = url.host() else {
            return Ok(());
        };
        let port = url.port_or_known_default().unwrap_or(443);
        for address in self.lookup(name, port).await.unwrap_or_default() {
            self.allows(address.ip(), url)?;
        }
        Ok(())
    }

    async fn lookup(&self, name: &str, port: u16) -> std::io::Result<Vec<SocketAddr>> {
        #[cfg(test)]
        if !self.pretended.is_empty() {
            let found = self.pretended.iter().filter(|(known, _)| known == name);
            return Ok(found.map(|(_, address)| (*address, port).into()).collect());
        }
        Ok(tokio::net::lookup_host((name, port)).await?.collect())
    }

    /// The addresses of `url` that may be used, freshly resolved.
    pub(crate) async fn resolve(&self, url: &Url) -> Result<Vec<SocketAddr>, String> {
        self.check(url)?;
        let port = url.port_or_known_default().unwrap_or(443);
        let found: Vec<SocketAddr> = match url.host() {
            Some(Host::Ipv4(v4)) => vec![(v4, port).into()],
            Some(Host::Ipv6(v6)) => vec![(v6, port).into()],
            Some(Host::Domain(name)) => self
                .lookup(name, port)
                .await
                .map_err(|fault| format!("{}: {fault}", origin(url)))?,
            None => Vec::new(),
        };
        let mut refusal = format!("{} has no address", origin(url));
        let mut allowed = Vec::new();
        for address in found {
            match self.allows(address.ip(), url) {
                Ok(()) => allowed.push(address),
                Err(why) => refusal = why,
            }
        }
        if allowed.is_empty() {
            return Err(refusal);
        }
        Ok(allowed)
    }
}

/// Scheme, host and port: as much of an address as is safe to show.
pub(crate) fn origin(url: &Url) -> String {
    match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{}://{host}:{port}", url.scheme()),
        (Some(host), None) => format!("{}://{host}", url.scheme()),
        (None, _) => format!("{}:", url.scheme()),
    }
}

fn normal(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

fn is_localhost(name: &str) -> bool {
    let name = normal(name);
    name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests;
