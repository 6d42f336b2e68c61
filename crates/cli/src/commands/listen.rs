//! Listening on network addresses: the options for it, who may come in, and
//! the faces that are there. Shared by all commands that do.

use crate::{
    context::warn,
    failure::{Code, Failure},
    show::{live, term},
};
use clap::{ArgGroup, Args, ValueEnum};
use futures_util::future::try_join_all;
use std::{
    io::{BufRead, Write},
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
};
use switchboard::{
    Dirs,
    auth::{self, DoorSettings},
    gateway::{
        Door, Gateway,
        faces::{self, http::Routes},
    },
    tokens::{self, TokenError},
    transport::dial::{DoorFiles, DoorTls},
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Where to listen, and whom to let in.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("listen").args(["http", "plain"]).multiple(true))]
pub struct Listen {
    /// Serve HTTP on this address instead of stdio, such as 127.0.0.1:3700; port 0 picks a free one
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub http: Option<SocketAddr>,
    /// Serve the plain dialect on this address: /sse, /messages and /tools
    #[arg(long, value_name = "ADDR", value_parser = address)]
    pub plain: Option<SocketAddr>,
    /// A file with a client token to accept, instead of the one made at first run; repeatable
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub token_file: Vec<PathBuf>,
    /// Let everybody in who can reach the address
    #[arg(long, requires = "listen", conflicts_with_all = ["token_file", "auth"])]
    pub no_auth: bool,
    /// Also accept tokens of an identity provider
    #[arg(
        long,
        value_name = "KIND",
        requires = "listen",
        requires = "issuer",
        requires = "audience"
    )]
    pub auth: Option<Auth>,
    /// The identity provider whose tokens are accepted
    #[arg(long, value_name = "URL", requires = "auth")]
    pub issuer: Option<url::Url>,
    /// What its tokens must be meant for
    #[arg(long, value_name = "AUD", requires = "auth")]
    pub audience: Option<String>,
    /// Allow an address that other machines can reach; with TLS, behind a proxy, or after a yes
    #[arg(long, requires = "listen", conflicts_with = "no_auth")]
    pub allow_remote: bool,
    /// A file with our certificate and its chain (PEM): clients then speak TLS with us
    #[arg(long, value_name = "FILE", requires = "listen", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// A file with its private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// A file with authorities (PEM): only clients with a certificate of theirs may come in
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub client_ca: Option<PathBuf>,
    /// A proxy in front of us speaks TLS with clients
    #[arg(long, requires = "listen", conflicts_with = "tls_cert")]
    pub behind_proxy: bool,
    /// A host name, besides localhost, under which clients reach us; repeatable
    #[arg(long, value_name = "NAME", requires = "listen")]
    pub host: Vec<String>,
    /// A web page's origin that may talk to us, such as http://localhost:5173; repeatable
    #[arg(long, value_name = "ORIGIN", requires = "listen", value_parser = origin)]
    pub allow_origin: Vec<String>,
}

/// Reads an address; `localhost` is this machine, whatever a resolver says.
fn address(text: &str) -> Result<SocketAddr, String> {
    let local = text.strip_prefix("localhost:");
    let text = local.map_or(text.to_owned(), |port| format!("127.0.0.1:{port}"));
    let parsed = text.parse();
    parsed.map_err(|_| "write a numeric address and a port, such as 127.0.0.1:3700".to_owned())
}

/// Reads an origin as browsers write it.
fn origin(text: &str) -> Result<String, String> {
    let url = url::Url::parse(text).ok();
    let origin = url.map(|url| url.origin().ascii_serialization());
    match origin {
        Some(origin) if text.trim_end_matches('/').eq_ignore_ascii_case(&origin) => Ok(origin),
        _ => Err("write a scheme, a host and a port, such as http://localhost:5173".to_owned()),
    }
}

/// How clients prove who they are, besides tokens of ours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Auth {
    /// By tokens of an OpenID Connect provider
    Oidc,
}

/// An address, what is served there, and who may come in.
pub struct Place {
    address: SocketAddr,
    routes: Routes,
    door: Door,
}

/// A place where somebody listens.
pub struct Open {
    listener: TcpListener,
    routes: Routes,
    door: Door,
}

impl Open {
    /// Its address, if everything is served there.
    pub fn whole(&self) -> Option<SocketAddr> {
        let address = self.listener.local_addr().ok();
        // Other commands speak without TLS, and would not be understood.
        address.filter(|_| self.routes == Routes::All && self.door.tls.is_none())
    }
}

impl Listen {
    /// The places that were asked for; none means stdio.
    pub fn places(&self) -> Result<Vec<Place>, Failure> {
        let mut places = Vec::new();
        let tls = self.tls()?;
        for (address, routes) in [(self.http, Routes::All), (self.plain, Routes::Plain)] {
            if let Some(address) = address {
                let mut door = self.door(address)?;
                door.tls.clone_from(&tls);
                door.behind_proxy = self.behind_proxy;
                places.push(Place {
                    address,
                    routes,
                    door,
                });
            }
        }
        Ok(places)
    }

    /// The files with tokens and keys, wherever we go from here.
    pub fn token_files(&self) -> Vec<PathBuf> {
        let whole = |file: &PathBuf| std::path::absolute(file).ok();
        let files = self.token_file.iter().chain(&self.tls_key);
        let files = files.chain(&self.tls_cert).chain(&self.client_ca);
        files.filter_map(whole).collect()
    }

    /// On whose behalf most clients act.
    pub fn principal(&self, places: &[Place]) -> String {
        let named = places.first().and_then(|place| place.door.tokens.first());
        match named {
            Some(token) => token.name.to_string(),
            None if self.no_auth => "anonymous".to_owned(),
            None => "default".to_owned(),
        }
    }

    /// The file of the token that other commands show at the door.
    pub fn token_path(&self) -> Result<Option<PathBuf>, Failure> {
        if self.no_auth {
            return Ok(None);
        }
        match self.token_file.first() {
            Some(file) => std::path::absolute(file)
                .map(Some)
                .map_err(|error| Failure::new(Code::Configuration, error.to_string())),
            None => Ok(Some(tokens::client_file(&dirs()?))),
        }
    }

    /// Who may come in over HTTP.
    fn door(&self, address: SocketAddr) -> Result<Door, Failure> {
        if !address.ip().is_loopback() && !self.allow_remote {
            let text = format!("{address} can be reached from other machines");
            let hint = "use 127.0.0.1, or say --allow-remote (a token is then always needed)";
            return Err(Failure::usage(text).hint(hint));
        }
        if !address.ip().is_loopback() {
            self.in_clear(address)?;
        }
        let mut hosts = self.host.clone();
        if !address.ip().is_loopback() && !address.ip().is_unspecified() {
            hosts.push(address.ip().to_string());
        }
        if self.no_auth {
            warn("--no-auth: every program and every user of this machine can use these servers");
            return Ok(Door {
                open: true,
                hosts,
                origins: self.allow_origin.clone(),
                ..Door::default()
            });
        }
        let unusable = |error: TokenError| Failure::new(Code::Configuration, error.to_string());
        let mut door = Door {
            hosts,
            origins: self.allow_origin.clone(),
            oidc: self.oidc(address)?,
            ..Door::default()
        };
        if self.token_file.is_empty() {
            let dirs = dirs()?;
            tokens::client(&dirs).map_err(|error| {
                let hint = error.hint();
                unusable(error).hint(hint)
            })?;
            door.live = Some(tokens::live(&dirs));
        } else {
            let files = self.token_file.iter();
            let tokens = files.map(|file| tokens::from_file(file));
            door.tokens = tokens.collect::<Result<_, _>>().map_err(unusable)?;
        }
        Ok(door)
    }

    /// TLS, if we see to it.
    fn tls(&self) -> Result<Option<Arc<DoorTls>>, Failure> {
        let (Some(cert), Some(key)) = (&self.tls_cert, &self.tls_key) else {
            return Ok(None);
        };
        let files = DoorFiles {
            cert: cert.clone(),
            key: key.clone(),
            client_ca: self.client_ca.clone(),
        };
        let tls = DoorTls::open(files).map_err(|error| {
            Failure::new(Code::Configuration, error.to_string())
                .hint("name PEM files: --tls-cert with the chain, --tls-key with its key")
        })?;
        Ok(Some(Arc::new(tls)))
    }

    /// Tokens and results that could be read on their way need somebody's word.
    fn in_clear(&self, address: SocketAddr) -> Result<(), Failure> {
        if self.tls_cert.is_some() || self.behind_proxy {
            return Ok(());
        }
        let text = format!(
            "without TLS, whoever is on the way to {address} can read tokens, arguments and results"
        );
        let yes = term::can_ask() && {
            let _ = write!(
                std::io::stderr().lock(),
                "{text}.\nListen all the same? [y/N] "
            );
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            read.is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
        };
        if yes {
            return Ok(());
        }
        let hint = "give --tls-cert and --tls-key, or say --behind-proxy where a proxy sees to TLS";
        Err(Failure::usage(text).hint(hint))
    }

    /// The identity provider whose tokens are accepted, if there is one.
    fn oidc(&self, address: SocketAddr) -> Result<Option<Arc<auth::Door>>, Failure> {
        let (Some(issuer), Some(audience)) = (&self.issuer, &self.audience) else {
            return Ok(None);
        };
        let wrong = |text: String| Failure::usage(format!("--issuer: {text}"));
        let secure = self.tls_cert.is_some() || self.behind_proxy;
        let scheme = if secure { "https" } else { "http" };
        let resource = format!("{scheme}://{address}/mcp");
        let settings = DoorSettings {
            issuer: issuer.clone(),
            audience: audience.clone(),
            resource: resource.parse().map_err(|_| wrong("no address".into()))?,
            scopes: Vec::new(),
            // The operator has named it.
            allow_private_addresses: true,
        };
        let door = auth::Door::new(settings).map_err(|fault| wrong(fault.to_string()))?;
        Ok(Some(Arc::new(door)))
    }
}

/// Listens at every place, and says so.
pub fn open(places: Vec<Place>) -> Result<Vec<Open>, Failure> {
    let mut open = Vec::new();
    for place in places {
        open.push(Open {
            listener: bind(&place)?,
            routes: place.routes,
            door: place.door,
        });
    }
    Ok(open)
}

/// Serves at every place until it is told to stop.
pub async fn serve(
    gateway: &Arc<Gateway>,
    open: Vec<Open>,
    stop: &CancellationToken,
) -> Result<Code, Failure> {
    let each = open.into_iter().map(|open| {
        let (gateway, stop) = (gateway.clone(), stop.clone());
        faces::http::serve_routes(gateway, open.listener, open.door, open.routes, stop)
    });
    match try_join_all(each).await {
        Ok(_) => Ok(Code::Done),
        Err(error) => Err(Failure::new(Code::Answered, error.to_string())),
    }
}

fn bind(place: &Place) -> Result<TcpListener, Failure> {
    let address = place.address;
    let failed = |error: std::io::Error| {
        let hint = "choose another port, or port 0 for a free one";
        Failure::new(Code::Usage, format!("cannot listen on {address}: {error}")).hint(hint)
    };
    let listener = faces::http::listen(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let scheme = if place.door.tls.is_some() {
        "https"
    } else {
        "http"
    };
    let what = match place.routes {
        Routes::All => "listening",
        Routes::Plain => "plain dialect",
    };
    live::stderr_line(&format!("{what} on {scheme}://{bound}"));
    Ok(listener)
}

/// Says where we are, in the words that scripts wait for.
pub fn announce(address: SocketAddr) {
    live::stderr_line(&format!("listening on http://{address}"));
}

fn dirs() -> Result<Dirs, Failure> {
    Dirs::from_env().map_err(|error| Failure::new(Code::Configuration, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::{address, origin};

    #[test]
    fn origins_as_browsers_write_them() {
        for (text, expected) in [
            ("http://localhost:5173", "http://localhost:5173"),
            ("https://App.example/", "https://app.example"),
        ] {
            assert_eq!(origin(text).unwrap(), expected);
        }
        for wrong in [
            "localhost:5173",
            "*",
            "null",
            "https://app.example/page",
            // Browsers leave a scheme's own port out.
            "http://localhost:80",
            "",
        ] {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn addresses_as_people_write_them() {
        assert_eq!(address("127.0.0.1:0").unwrap().to_string(), "127.0.0.1:0");
        assert_eq!(address("[::1]:80").unwrap().to_string(), "[::1]:80");
        assert_eq!(
            address("localhost:3700").unwrap().to_string(),
            "127.0.0.1:3700"
        );
        for wrong in [
            "3700",
            "localhost",
            "localhost:",
            "example.com:80",
            ":3700",
            "127.0.0.1:99999",
        ] {
            assert!(
                address(wrong)
                    .unwrap_err()
                    .contains("such as 127.0.0.1:3700"),
                "{wrong}"
            );
        }
    }
}
