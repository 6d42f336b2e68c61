//! Listening on network addresses: the options for it, and what is said about it.
//! Shared by all commands that do.

use crate::{
    context::{Context, warn},
    failure::{Advice, Code, Failure},
    show::{live, term},
};
use clap::{ArgGroup, Args, ValueEnum};
use std::{
    io::{BufRead, Write},
    net::SocketAddr,
    path::PathBuf,
};
use switchboard::{
    Doors, Issuer, ListenError, Open, PeopleClient, api::types::sessions::Role, auth::RoleClaim,
    gateway::faces::http::Routes, tokens::TokenFile, transport::dial::DoorFiles,
};

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
    /// A file with a client token to accept, instead of the one made at first run, and whom it lets
    /// in (else it is named after the file); repeatable
    #[arg(long, value_name = "[NAME=]FILE", requires = "listen")]
    pub token_file: Vec<TokenFile>,
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
    /// A claim of its tokens that says what somebody may do in the console and over the API:
    /// viewer, operator or admin; a point leads into an object, as in realm_access.roles
    #[arg(long, value_name = "CLAIM", requires = "auth")]
    pub role_claim: Option<String>,
    /// What a value of that claim means, where it is no role itself: platform-team=operator;
    /// repeatable
    #[arg(long, value_name = "VALUE=ROLE", requires = "role_claim", value_parser = role)]
    pub role: Vec<(String, String)>,
    /// Our client at that provider: people then sign in there to come into the console
    #[arg(long, value_name = "ID", requires = "auth")]
    pub sign_in_client: Option<String>,
    /// A file with its secret, where it has one
    #[arg(long, value_name = "FILE", requires = "sign_in_client")]
    pub sign_in_secret_file: Option<PathBuf>,
    /// What the provider's page is asked with besides, such as audience=AUD or scope=SCOPES
    /// (openid unless said); repeatable
    #[arg(long, value_name = "NAME=VALUE", requires = "sign_in_client", value_parser = param)]
    pub sign_in_param: Vec<(String, String)>,
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
    #[arg(long, alias = "origin", value_name = "ORIGIN", requires = "listen", value_parser = origin)]
    pub allow_origin: Vec<String>,
    /// Let nobody change over the API what lasts: settings, rules, tokens, approvals
    #[arg(long, requires = "listen")]
    pub no_api_edit: bool,
}

/// Reads an address; `localhost` is this machine, whatever a resolver says.
pub fn address(text: &str) -> Result<SocketAddr, Advice> {
    let local = text.strip_prefix("localhost:");
    let text = local.map_or(text.to_owned(), |port| format!("127.0.0.1:{port}"));
    let parsed = text.parse();
    parsed.map_err(|_| "write a numeric address and a port, such as 127.0.0.1:3700".into())
}

/// Reads an origin as browsers write it.
pub fn origin(text: &str) -> Result<String, Advice> {
    let url = url::Url::parse(text).ok();
    let origin = url.map(|url| url.origin().ascii_serialization());
    match origin {
        Some(origin) if text.trim_end_matches('/').eq_ignore_ascii_case(&origin) => Ok(origin),
        _ => Err("write a scheme, a host and a port, such as http://localhost:5173".into()),
    }
}

/// How clients prove who they are, besides tokens of ours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Auth {
    /// By tokens of an OpenID Connect provider
    Oidc,
}

/// `VALUE=ROLE`.
fn role(said: &str) -> Result<(String, String), Advice> {
    let (value, role) = said.rsplit_once('=').ok_or("write VALUE=ROLE")?;
    match Role::named(role) {
        Some(role) if role > Role::Own && !value.is_empty() => {
            Ok((value.to_owned(), role.word().to_owned()))
        }
        _ => Err("the role must be viewer, operator or admin".into()),
    }
}

/// What our own part of a sign-in says, and nobody else may.
const OURS: [&str; 6] = [
    "client_id",
    "code_challenge",
    "code_challenge_method",
    "redirect_uri",
    "response_type",
    "state",
];

/// `NAME=VALUE`.
fn param(said: &str) -> Result<(String, String), Advice> {
    match said.split_once('=') {
        Some((name, _)) if OURS.contains(&name) => {
            Err("that one is ours to say: name another".into())
        }
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE, such as audience=switchboard".into()),
    }
}

impl Listen {
    /// Where to listen and whom to let in, as it was said.
    pub fn said(&self) -> switchboard::Listen {
        let tls = self.tls_cert.as_ref().zip(self.tls_key.as_ref());
        let issuer = self.issuer.as_ref().zip(self.audience.as_ref());
        switchboard::Listen {
            http: self.http,
            plain: self.plain,
            token_files: self.token_file.clone(),
            open: self.no_auth,
            issuer: issuer.map(|(url, audience)| Issuer {
                url: url.clone(),
                audience: audience.clone(),
                roles: self.role_claim.clone().map(|claim| RoleClaim {
                    claim,
                    means: self.role.clone(),
                }),
                people: self.sign_in_client.clone().map(|id| PeopleClient {
                    id,
                    secret: self.sign_in_secret_file.clone(),
                    params: self.sign_in_param.clone(),
                }),
            }),
            remote: self.allow_remote,
            tls: tls.map(|(cert, key)| DoorFiles {
                cert: cert.clone(),
                key: key.clone(),
                client_ca: self.client_ca.clone(),
            }),
            behind_proxy: self.behind_proxy,
            hosts: self.host.clone(),
            origins: self.allow_origin.clone(),
            ..switchboard::Listen::default()
        }
    }

    /// The doors that were asked for; none means stdio. Tokens and results that could
    /// be read on their way need somebody's word.
    pub fn doors(&self, context: &Context) -> Result<Doors, Failure> {
        let mut said = self.said();
        loop {
            match said.doors(&context.options) {
                Ok(doors) => {
                    if said.open && !doors.is_empty() {
                        warn(
                            "--no-auth: every program and every user of this machine can use these servers",
                        );
                    }
                    return Ok(doors);
                }
                Err(ListenError::InClear(address)) if is_meant(address) => {
                    said.in_clear.push(address);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Whether somebody says that what goes to this address may be read on its way.
fn is_meant(address: SocketAddr) -> bool {
    term::can_ask() && {
        let text = ListenError::InClear(address);
        let _ = write!(
            std::io::stderr().lock(),
            "{text}.\nListen all the same? [y/N] "
        );
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        read.is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
    }
}

impl From<ListenError> for Failure {
    fn from(error: ListenError) -> Self {
        let text = error.to_string();
        let failure = Self::new(Code::Configuration, text.clone());
        match error {
            ListenError::Remote(_) => Self::usage(text)
                .hint("use 127.0.0.1, or say --allow-remote (a token is then always needed)"),
            ListenError::OpenToAll(_) => {
                Self::usage(text).hint("use 127.0.0.1, or leave --no-auth out")
            }
            ListenError::InClear(_) => Self::usage(text).hint(
                "give --tls-cert and --tls-key, or say --behind-proxy where a proxy sees to TLS",
            ),
            ListenError::Token(error) => failure.hint(error.hint()),
            ListenError::Home(_) | ListenError::Watch(_) => failure,
            ListenError::Tls(_) => {
                failure.hint("name PEM files: --tls-cert with the chain, --tls-key with its key")
            }
            ListenError::Issuer(why) => Self::usage(format!("--issuer: {why}")),
            ListenError::Bind { .. } => {
                Self::usage(text).hint("choose another port, or port 0 for a free one")
            }
        }
    }
}

/// Says where we are, in the words that scripts wait for.
pub fn announce(places: &[Open]) {
    for place in places {
        let scheme = if place.is_secure() { "https" } else { "http" };
        let what = match place.routes() {
            Routes::All => "listening",
            Routes::Plain => "plain dialect",
            Routes::Metrics => "metrics",
        };
        live::stderr_line(&format!("{what} on {scheme}://{}", place.address()));
    }
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
                    .to_string()
                    .contains("such as 127.0.0.1:3700"),
                "{wrong}"
            );
        }
    }
}
