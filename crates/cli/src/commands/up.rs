//! `up`: a gateway on this machine with the built-in servers, and how to
//! connect to it.
//!
//! | module | what |
//! |---|---|
//! | `builtins` | the servers that come with the program |
//! | `clients` | how clients are connected to it |
//! | `table` | how the servers are doing, all the time |
//! | `follow` | where the table knows it from |

mod builtins;
mod clients;
mod follow;
mod table;

use crate::{
    commands::{
        listen::announce,
        serve::{announcement, usable},
        tool_list::ToolOptions,
    },
    context::Context,
    failure::{Code, Failure},
    life,
    presence::{Arrangement, Known, Presence},
    show::{out, safe, term},
    trusting,
};
use clap::Args;
use clients::{Entries, Writable};
use std::{net::Ipv4Addr, path::PathBuf, sync::Arc};
use switchboard::{
    Dirs, Purpose, VERSION,
    attached::Attached,
    config::Places,
    gateway::{Announcement, Door, Gateway, GatewayOptions, faces},
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
    /// Write our entry into this client's file, after showing the difference; where a gateway of
    /// yours runs already, that is all
    #[arg(long, value_name = "CLIENT")]
    pub write: Option<Writable>,
    #[command(flatten)]
    pub tools: ToolOptions,
    /// Show the client token, if this is a terminal
    #[arg(long)]
    pub show_token: bool,
}

/// Runs until a signal comes.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    if let Some(client) = options.write
        && let Some(code) = write_for_running(context, client)?
    {
        return Ok(code);
    }
    let loaded = context.load_all()?;
    let mut loaded = trusting::asked(context, loaded)?;
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
    let announcement = announcement(&loaded);
    let (roster, settings) = context.roster_for(Purpose::Gateway, None, loaded, Style::Short)?;
    usable(&roster)?;
    let dirs = dirs()?;
    let token = tokens::client(&dirs).map_err(unusable)?;
    let rule = arrangement(context, options, &places, &announcement);
    let presence = Presence::new(context, &roster, &settings, &token.name, known, rule, false)?;
    life::long(async |stop| {
        let listener = bind(options.port)?;
        let address = listener
            .local_addr()
            .map_err(|error| Failure::new(Code::Answered, error.to_string()))?;
        announce(address);
        let base = format!("http://{address}");
        let entries = Entries::new(&base, token, &dirs, &places).map_err(unusable)?;
        welcome(&base, address.port(), options, &notes)?;
        entries.show(options.show_token)?;
        if let Some(client) = options.write {
            entries.write(client)?;
        }
        let gateway = Gateway::new(
            roster.host.clone(),
            GatewayOptions {
                version: VERSION.to_owned(),
                control: Some(presence.control()),
                announcement,
                tools: options.tools.lists(),
                ..GatewayOptions::default()
            },
        );
        // All client tokens, this one among them, as long as they are not revoked.
        let door = Door {
            live: Some(tokens::live(&dirs)),
            ..Door::default()
        };
        let shown = format!("short{}", options.tools.word());
        let note = presence.note(address, &shown, Some(tokens::client_file(&dirs)));
        let served = tokio::select! {
            served = faces::http::serve(gateway, listener, door, stop.clone()) => served,
            (never, ()) = async {
                let show = table::show(&roster.host, &settings, presence.members());
                tokio::join!(show, presence.follow(note.as_ref(), stop.clone()))
            } => match never {},
        };
        drop(note);
        switchboard::library::close(&roster.host).await;
        served.map_err(|error| Failure::new(Code::Answered, error.to_string()))?;
        Ok(Code::Done)
    })?
}

/// Writes an entry for a gateway that runs and takes the same token, if there is one.
fn write_for_running(context: &Context, client: Writable) -> Result<Option<Code>, Failure> {
    let dirs = dirs()?;
    let file = tokens::client_file(&dirs);
    let gateways = context.gateways();
    let same = |gateway: &&Attached| gateway.running.client_token.as_ref() == Some(&file);
    let Some(gateway) = gateways.iter().find(same) else {
        return Ok(None);
    };
    let base = format!("http://{}", gateway.running.address);
    let token = tokens::client(&dirs).map_err(unusable)?;
    let entries = Entries::new(&base, token, &dirs, &context.places()?).map_err(unusable)?;
    entries.write(client)?;
    out::line(&format!("A gateway runs already, at {base}."))?;
    Ok(Some(Code::Done))
}

fn dirs() -> Result<Dirs, Failure> {
    Dirs::from_env().map_err(|error| Failure::new(Code::Configuration, error.to_string()))
}

fn unusable(error: tokens::TokenError) -> Failure {
    Failure::new(Code::Configuration, error.to_string())
}

/// What is configured becomes what is served: the built-in servers come on top.
fn arrangement(
    context: &Context,
    options: &Options,
    places: &Places,
    announcement: &Announcement,
) -> Arrangement {
    let (context, options, places) = (context.clone(), options.clone(), places.clone());
    Arrangement {
        arrange: Arc::new(move |mut loaded| {
            if !options.no_builtins {
                builtins::add(&mut loaded, &context, &options, &places)?;
            }
            Ok(loaded)
        }),
        mode: None,
        announcement: announcement.clone(),
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
