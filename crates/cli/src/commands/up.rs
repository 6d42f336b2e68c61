//! `up`: a gateway on this machine with the built-in servers, and how to
//! connect to it.
//!
//! | module | what |
//! |---|---|
//! | `builtins` | the servers that come with the program |
//! | `clients` | what to paste into which client, or to write there |
//! | `table` | how the servers are doing, all the time |
//! | `follow` | where the table knows it from |

mod builtins;
mod clients;
mod follow;
mod table;

use crate::{
    commands::{listen::announce, serve::usable},
    context::Context,
    failure::{Code, Failure},
    life,
    presence::{Arrangement, Known, Presence},
    show::{out, safe, term},
};
use clap::Args;
use clients::{Entries, Writable};
use std::{net::Ipv4Addr, path::PathBuf, sync::Arc};
use switchboard::{
    Dirs, Purpose, VERSION,
    config::Places,
    gateway::{Door, Gateway, GatewayOptions, faces},
    tokens,
    wire::name::Style,
};
use tokio::net::TcpListener;

/// The port that is tried first, and how many after it.
const PORT: u16 = 3700;
const PORTS: u16 = 20;

/// Said where the shell was switched on.
const SHELL: &str =
    "shell is on: its commands reach all that you can reach, also what files leaves alone.";

/// Options of `up`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Listen on this port (default: 3700, or the next free one)
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// A directory that the server files may use; repeatable (default: the working directory)
    #[arg(long, value_name = "DIR")]
    pub root: Vec<PathBuf>,
    /// A path in it that the server files may use although it is protected; repeatable
    #[arg(long, value_name = "PATH")]
    pub allow_protected: Vec<PathBuf>,
    /// The server files changes nothing
    #[arg(long)]
    pub read_only: bool,
    /// Add the server shell, which runs any command
    #[arg(long)]
    pub enable_shell: bool,
    /// Only what is configured, without the built-in servers
    #[arg(long, conflicts_with_all = ["root", "allow_protected", "read_only", "enable_shell"])]
    pub no_builtins: bool,
    /// Write our entry into this client's file, after showing the difference
    #[arg(long, value_name = "CLIENT")]
    pub write: Option<Writable>,
}

/// Runs until a signal comes.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let mut loaded = context.load_all()?;
    let known = Known::of(context, &loaded);
    let places = context.places()?;
    let mut notes = Vec::new();
    if !options.no_builtins {
        let added = builtins::add(&mut loaded, context, options, &places)?;
        if added.lacks_files {
            notes.push(builtins::why_no_files(&places));
        }
    }
    if options.enable_shell {
        notes.push(SHELL.to_owned());
    }
    let (roster, settings) = context.roster_for(Purpose::Gateway, None, loaded, Style::Short)?;
    usable(&roster)?;
    let unusable = |error: tokens::TokenError| Failure::new(Code::Configuration, error.to_string());
    let dirs =
        Dirs::from_env().map_err(|error| Failure::new(Code::Configuration, error.to_string()))?;
    let token = tokens::client(&dirs).map_err(unusable)?;
    let rule = arrangement(context, options, &places);
    let presence = Presence::new(context, &roster, &settings, &token.name, known, rule)?;
    life::long(async |stop| {
        let listener = bind(options.port)?;
        let address = listener
            .local_addr()
            .map_err(|error| Failure::new(Code::Answered, error.to_string()))?;
        announce(address);
        let base = format!("http://{address}");
        let entries = Entries::new(&base, &token, &dirs, &places).map_err(unusable)?;
        welcome(&base, address.port(), options, &notes)?;
        entries.show()?;
        if let Some(client) = options.write {
            entries.write(client)?;
        }
        let gateway = Gateway::new(
            roster.host.clone(),
            GatewayOptions {
                version: VERSION.to_owned(),
                control: Some(presence.control()),
                ..GatewayOptions::default()
            },
        );
        // All client tokens, this one among them, as long as they are not revoked.
        let door = Door {
            live: Some(tokens::live(&dirs)),
            ..Door::default()
        };
        let note = presence.note(address, "short", Some(tokens::client_file(&dirs)));
        let served = tokio::select! {
            served = faces::http::serve(gateway, listener, door, stop.clone()) => served,
            (never, ()) = async {
                let show = table::show(&roster.host, &settings, presence.members());
                tokio::join!(show, presence.follow(stop.clone()))
            } => match never {},
        };
        drop(note);
        roster.host.close().await;
        served.map_err(|error| Failure::new(Code::Answered, error.to_string()))?;
        Ok(Code::Done)
    })?
}

/// What is configured becomes what is served: the built-in servers come on top.
fn arrangement(context: &Context, options: &Options, places: &Places) -> Arrangement {
    let (context, options, places) = (context.clone(), options.clone(), places.clone());
    Arrangement {
        arrange: Arc::new(move |mut loaded| {
            if !options.no_builtins {
                builtins::add(&mut loaded, &context, &options, &places)?;
            }
            Ok(loaded)
        }),
        mode: None,
    }
}

fn bind(port: Option<u16>) -> Result<TcpListener, Failure> {
    let ports = match port {
        Some(port) => port..=port,
        None => PORT..=PORT + PORTS,
    };
    let mut last = None;
    for port in ports {
        match faces::http::listen((Ipv4Addr::LOCALHOST, port).into()) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = Some((port, error)),
        }
    }
    let text = last
        .map(|(port, error)| format!("cannot listen on 127.0.0.1:{port}: {error}"))
        .unwrap_or_default();
    Err(Failure::new(Code::Usage, text).hint("name a free port with --port, or --port 0 for any"))
}

/// What this is, and where.
fn welcome(base: &str, port: u16, options: &Options, notes: &[String]) -> Result<(), Failure> {
    let paint = term::stdout();
    out::line(&paint.bold(&format!("Switchboard {VERSION}")))?;
    out::line(&format!("  all servers as one   {base}/mcp"))?;
    out::line(&format!("  one server alone     {base}/mcp/SERVER"))?;
    for note in notes {
        out::line(&format!("  {}", paint.yellow(&safe::line(note))))?;
    }
    if options.port.is_none() && port != PORT {
        let text = format!("Port {PORT} is taken by another program, so this is {port}.");
        out::line(&format!("  {}", paint.yellow(&text)))?;
    }
    Ok(())
}
