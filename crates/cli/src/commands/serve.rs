//! `serve`: the gateway, on stdio or on HTTP.

mod attach;

use crate::{
    connectors,
    context::{Context, warn},
    failure::{Code, Failure},
    life,
    near::{did_you_mean, near},
    presence::{Arrangement, Known, Presence},
};
use clap::{ArgGroup, Args, ValueEnum};
use futures_util::future::try_join_all;
use std::{
    io::Write,
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};
use switchboard::{
    Dirs, Purpose, Roster, Status, VERSION,
    auth::{self, DoorSettings},
    config::{Loaded, Standing},
    connectors::Fetching,
    gateway::{
        Door, Gateway, GatewayOptions,
        faces::{self, http::Routes},
    },
    host::permission::Mode,
    tokens,
    wire::name::Style,
};
use tokio::net::TcpListener;

/// Options of `serve`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("listen").args(["http", "plain"]).multiple(true))]
pub struct Options {
    /// Serve HTTP on this address instead of stdio, such as 127.0.0.1:3700; port 0 picks a free one
    #[arg(long, value_name = "ADDR")]
    pub http: Option<SocketAddr>,
    /// Serve the plain dialect on this address: /sse, /messages and /tools
    #[arg(long, value_name = "ADDR")]
    pub plain: Option<SocketAddr>,
    /// How tools are named: server__tool, mcp__server__tool, or bare where that is unambiguous
    #[arg(long, value_name = "STYLE", default_value = "short")]
    pub names: Names,
    /// Only these servers
    #[arg(long, value_name = "SERVER", value_delimiter = ',')]
    pub only: Vec<String>,
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
    /// Allow an address that other machines can reach
    #[arg(long, requires = "listen", conflicts_with = "no_auth")]
    pub allow_remote: bool,
    /// Who is asked about tools that no rule is about: client (the default; the connected client
    /// asks its own user), default, auto, read-only or bypassPermissions
    #[arg(long, value_name = "MODE")]
    pub permission_mode: Option<Mode>,
    /// A host name, besides localhost, under which clients reach us; repeatable
    #[arg(long, value_name = "NAME", requires = "listen")]
    pub host: Vec<String>,
}

/// How clients prove who they are, besides tokens of ours.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Auth {
    /// By tokens of an OpenID Connect provider
    Oidc,
}

/// How tools are named outward.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Names {
    /// server__tool
    Short,
    /// mcp__server__tool
    Full,
    /// tool, where only one server has it
    Bare,
}

impl Names {
    /// The word for it on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Full => "full",
            Self::Bare => "bare",
        }
    }

    fn style(self) -> Style {
        match self {
            Self::Short => Style::Short,
            Self::Full => Style::Full,
            Self::Bare => Style::Bare,
        }
    }
}

/// Serves until stdin ends or a signal comes.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let loaded = context.load_all()?;
    let known = Known::of(context, &loaded);
    let fetching = connectors::fetching(context, &loaded);
    let loaded = only(loaded, &options.only)?;
    let (roster, settings) = context.roster_for(
        Purpose::Gateway,
        options.permission_mode,
        loaded,
        options.names.style(),
    )?;
    usable(&roster)?;
    if options.http.is_none() && options.plain.is_none() {
        return stdio(context, options, &roster, fetching);
    }
    let mut doors = Vec::new();
    for (address, routes) in [(options.http, Routes::All), (options.plain, Routes::Plain)] {
        if let Some(address) = address {
            doors.push((address, routes, door(options, address)?));
        }
    }
    let named = doors.first().and_then(|(_, _, door)| door.tokens.first());
    let principal = match named {
        Some(token) => token.name.clone(),
        None if options.no_auth => "anonymous".to_owned(),
        None => "default".to_owned(),
    };
    let names = options.only.clone();
    let rule = Arrangement {
        arrange: Arc::new(move |loaded| only(loaded, &names)),
        mode: options.permission_mode,
    };
    let presence = Presence::new(context, &roster, &settings, &principal, known, rule)?;
    life::long(async |stop| {
        let gateway = Gateway::new(
            roster.host.clone(),
            GatewayOptions {
                version: VERSION.to_owned(),
                control: Some(presence.control()),
                ..GatewayOptions::default()
            },
        );
        let mut faces = Vec::new();
        let mut note = None;
        for (address, routes, door) in doors {
            let listener = bind(address, routes).await?;
            if let (Routes::All, Ok(address)) = (routes, listener.local_addr()) {
                note = presence.note(address, options.names.word(), token_file(options)?);
            }
            let (gateway, stop) = (gateway.clone(), stop.clone());
            faces.push(faces::http::serve_routes(
                gateway, listener, door, routes, stop,
            ));
        }
        let served = {
            let serve = try_join_all(faces);
            tokio::pin!(serve);
            tokio::select! {
                served = &mut serve => served,
                () = presence.follow(stop) => serve.await,
            }
        };
        drop(note);
        roster.host.close().await;
        match served {
            Ok(_) => Ok(Code::Done),
            Err(error) => Err(Failure::new(Code::Answered, error.to_string())),
        }
    })?
}

/// One client on our own standard streams: through a running gateway that has
/// the same servers, or with servers of its own.
fn stdio(
    context: &Context,
    options: &Options,
    roster: &Roster,
    fetching: Option<Fetching>,
) -> Result<Code, Failure> {
    let single = single(roster);
    if let Some(code) = attach::try_run(context, options, roster, single.as_deref())? {
        return Ok(code);
    }
    life::long(async |stop| {
        let gateway = Gateway::new(
            roster.host.clone(),
            GatewayOptions {
                version: VERSION.to_owned(),
                single,
                ..GatewayOptions::default()
            },
        );
        // For the next start: a list that changes names in the middle of a
        // conversation would be worse than one that is a start old.
        let fetch = switchboard::connectors::follow(|| fetching.clone(), stop.clone());
        let served = {
            let serve = faces::stdio::serve(gateway, stop);
            tokio::pin!(serve);
            tokio::select! {
                served = &mut serve => served,
                () = fetch => serve.await,
            }
        };
        roster.host.close().await;
        match served {
            Ok(()) => Ok(Code::Done),
            Err(error) => Err(Failure::new(Code::Answered, error.to_string())),
        }
    })?
}

/// The file of the token that other commands show at the door.
fn token_file(options: &Options) -> Result<Option<PathBuf>, Failure> {
    if options.no_auth {
        return Ok(None);
    }
    let wrong = |error: String| Failure::new(Code::Configuration, error);
    match options.token_file.first() {
        Some(file) => std::path::absolute(file)
            .map(Some)
            .map_err(|error| wrong(error.to_string())),
        None => {
            let dirs = Dirs::from_env().map_err(|error| wrong(error.to_string()))?;
            Ok(Some(tokens::client_file(&dirs)))
        }
    }
}

async fn bind(address: SocketAddr, routes: Routes) -> Result<TcpListener, Failure> {
    let failed = |error: std::io::Error| {
        let hint = "choose another port, or port 0 for a free one";
        Failure::new(Code::Usage, format!("cannot listen on {address}: {error}")).hint(hint)
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    match routes {
        Routes::All => announce(bound),
        Routes::Plain => {
            let _ = writeln!(std::io::stderr().lock(), "plain dialect on http://{bound}");
        }
    }
    Ok(listener)
}

/// Says where we are, in the words that scripts wait for.
pub fn announce(address: SocketAddr) {
    let _ = writeln!(std::io::stderr().lock(), "listening on http://{address}");
}

/// Leaves only the named servers.
fn only(mut loaded: Loaded, names: &[String]) -> Result<Loaded, Failure> {
    if names.is_empty() {
        return Ok(loaded);
    }
    for name in names {
        if loaded.find(name).is_none() {
            let all = loaded
                .servers
                .iter()
                .map(|server| server.entry.name.as_str());
            let hint =
                did_you_mean(&near(name, all)).unwrap_or_else(|| "see switchboard list".to_owned());
            return Err(Failure::usage(format!("--only: there is no server {name:?}")).hint(hint));
        }
    }
    loaded
        .servers
        .retain(|server| names.contains(&server.entry.name));
    Ok(loaded)
}

/// Tells about servers that cannot be used, and fails if that leaves none.
pub fn usable(roster: &Roster) -> Result<(), Failure> {
    let mut faults = Vec::new();
    for member in &roster.members {
        match &member.status {
            Status::Faulty(found) => faults.extend(found.iter().map(ToString::to_string)),
            Status::Unused(Standing::PendingApproval) => {
                warn(&format!(
                    "server {:?} ({}) waits for approval and is not started; look at it with: switchboard approve {}",
                    member.entry.name,
                    member.entry.place(),
                    member.entry.name
                ));
            }
            Status::Unused(Standing::Itself) => {
                tracing::info!(
                    server = member.entry.name,
                    "starts Switchboard itself, left out"
                );
            }
            Status::Unused(_) | Status::Server(_) => {}
        }
    }
    if roster.host.servers().is_empty() {
        if !faults.is_empty() {
            return Err(Failure::new(Code::Configuration, faults.join("\n")));
        }
        warn("no servers are configured; add one: switchboard add NAME COMMAND");
    }
    for fault in faults {
        warn(&fault);
    }
    Ok(())
}

/// The only server, which is then served under its own names. A second one
/// that is configured and broken counts: names must not depend on who is well.
fn single(roster: &Roster) -> Option<Arc<str>> {
    let mut counting = roster.counting();
    match (
        counting.next().map(|member| &member.status),
        counting.next(),
    ) {
        (Some(Status::Server(server)), None) => Some(server.name().clone()),
        _ => None,
    }
}

/// Who may come in over HTTP.
fn door(options: &Options, address: SocketAddr) -> Result<Door, Failure> {
    if !address.ip().is_loopback() && !options.allow_remote {
        let text = format!("{address} can be reached from other machines");
        let hint = "use 127.0.0.1, or say --allow-remote (a token is then always needed)";
        return Err(Failure::usage(text).hint(hint));
    }
    let mut hosts = options.host.clone();
    if !address.ip().is_loopback() && !address.ip().is_unspecified() {
        hosts.push(host_name(address.ip()));
    }
    if options.no_auth {
        warn("--no-auth: every program and every user of this machine can use these servers");
        return Ok(Door {
            open: true,
            hosts,
            ..Door::default()
        });
    }
    let unusable = |error: tokens::TokenError| Failure::new(Code::Configuration, error.to_string());
    let mut door = Door {
        hosts,
        oidc: oidc(options, address)?,
        ..Door::default()
    };
    if options.token_file.is_empty() {
        let dirs = Dirs::from_env()
            .map_err(|error| Failure::new(Code::Configuration, error.to_string()))?;
        tokens::client(&dirs).map_err(unusable)?;
        door.live = Some(tokens::live(&dirs));
    } else {
        let files = options.token_file.iter();
        let tokens = files.map(|file| tokens::from_file(file));
        door.tokens = tokens.collect::<Result<_, _>>().map_err(unusable)?;
    }
    Ok(door)
}

/// The identity provider whose tokens are accepted, if there is one.
fn oidc(options: &Options, address: SocketAddr) -> Result<Option<Arc<auth::Door>>, Failure> {
    let (Some(issuer), Some(audience)) = (&options.issuer, &options.audience) else {
        return Ok(None);
    };
    let wrong = |text: String| Failure::usage(format!("--issuer: {text}"));
    let resource = format!("http://{address}/mcp");
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

fn host_name(address: IpAddr) -> String {
    address.to_string()
}
