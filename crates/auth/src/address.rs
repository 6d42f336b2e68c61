//! Which addresses we go to on the word of a server.
//!
//! A server's metadata names other hosts: authorization server, token endpoint,
//! keys. Followed blindly, they lead into the user's own network. The rule: public
//! addresses over https; loopback only where the configured server is loopback
//! itself (then also plain http); private networks only where the server was
//! configured by such an address, or a setting allows them; everything else never.
//! Names are judged by what they resolve to, at the moment of connecting.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};
pub(crate) use switchboard_transport::dial::Class;
use url::{Host, Url};

/// Why we do not go to an address. Shows no more of it than its origin.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum AddressError {
    #[error("an address that cannot be read")]
    Unreadable,
    #[error("{0} is not an address")]
    NoAddress(String),
    #[error("{0} is not an address of a host")]
    NoHost(String),
    #[error("{0} carries a user name or password")]
    Credentials(String),
    #[error("{0} is not https")]
    NotHttps(String),
    #[error("{0} is not a web address")]
    NotWeb(String),
    #[error("{0} is this machine, and the server is not on this machine")]
    ThisMachine(String),
    #[error("{place} leads to {address}, which the server may not send us to")]
    LeadsTo { place: String, address: IpAddr },
    #[error("{0} has no address")]
    Nowhere(String),
    #[error("{place}: {source}")]
    Unresolved {
        place: String,
        source: Arc<io::Error>,
    },
    #[error("a redirect of a registration is not followed")]
    Redirect,
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
    pub(crate) fn check(&self, url: &Url) -> Result<(), AddressError> {
        let shown = origin(url);
        let Some(host) = url.host() else {
            return Err(AddressError::NoHost(shown));
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressError::Credentials(shown));
        }
        let local = match host {
            Host::Domain(name) => is_localhost(name),
            Host::Ipv4(v4) => Class::of(v4.into()) == Class::Loopback,
            Host::Ipv6(v6) => Class::of(v6.into()) == Class::Loopback,
        };
        match url.scheme() {
            "https" => {}
            "http" if local && self.loopback => {}
            "http" => return Err(AddressError::NotHttps(shown)),
            other => return Err(AddressError::NotWeb(crate::error::shown(other))),
        }
        match host {
            Host::Domain(name) if is_localhost(name) && !self.loopback => {
                Err(AddressError::ThisMachine(shown))
            }
            Host::Domain(_) => Ok(()),
            Host::Ipv4(v4) => self.allows(v4.into(), url),
            Host::Ipv6(v6) => self.allows(v6.into(), url),
        }
    }

    /// Whether `url` may be reached at `address`.
    pub(crate) fn allows(&self, address: IpAddr, url: &Url) -> Result<(), AddressError> {
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
        let place = origin(url);
        Err(AddressError::LeadsTo { place, address })
    }

    /// Judges an address that a proxy will find for us: by its text, and by where
    /// its name leads from here, if it leads anywhere.
    pub(crate) async fn foresee(&self, url: &Url) -> Result<(), AddressError> {
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

    async fn lookup(&self, name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        #[cfg(test)]
        if !self.pretended.is_empty() {
            let found = self.pretended.iter().filter(|(known, _)| known == name);
            return Ok(found.map(|(_, address)| (*address, port).into()).collect());
        }
        Ok(tokio::net::lookup_host((name, port)).await?.collect())
    }

    /// The addresses of `url` that may be used, freshly resolved.
    pub(crate) async fn resolve(&self, url: &Url) -> Result<Vec<SocketAddr>, AddressError> {
        self.check(url)?;
        let port = url.port_or_known_default().unwrap_or(443);
        let found: Vec<SocketAddr> = match url.host() {
            Some(Host::Ipv4(v4)) => vec![(v4, port).into()],
            Some(Host::Ipv6(v6)) => vec![(v6, port).into()],
            Some(Host::Domain(name)) => {
                self.lookup(name, port)
                    .await
                    .map_err(|fault| AddressError::Unresolved {
                        place: origin(url),
                        source: fault.into(),
                    })?
            }
            None => Vec::new(),
        };
        let mut refusal = AddressError::Nowhere(origin(url));
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
