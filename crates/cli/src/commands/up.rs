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
        serve::{announce_folder, usable},
        tool_list::ToolOptions,
    },
    context::Context,
    failure::{Code, Failure},
    life,
    show::{out, safe, term},
    trusting,
};
use clap::Args;
use clients::{Entries, Writable};
use std::{
    net::Ipv4Addr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use switchboard::{
    Purpose, VERSION,
    attached::Attached,
    config::Places,
    listen::{Listen, ListenError, Open},
    pipeline::{Arrangement, Show},
    tokens,
};

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
    let config = trusting::asked(context, context.config()?)?;
    let mut approved = config.approve(&context.options.approvals());
    let places = context.places()?;
    let mut notes = Vec::new();
    if !options.no_builtins {
        let lacks_files = Arc::new(AtomicBool::new(false));
        approved = approved.arrange(with_builtins(context, options, &places, &lacks_files))?;
        if lacks_files.load(Ordering::Relaxed) {
            notes.push(builtins::why_no_files(&places));
        }
    }
    if options.enable_shell {
        notes.push(SHELL.to_owned());
    }
    announce_folder(approved.read());
    let governed = approved.govern(None, Purpose::Gateway)?;
    usable(&governed)?;
    let dirs = context.dirs()?;
    let token = tokens::client(&dirs).map_err(unusable)?;
    let show = Show {
        tools: options.tools.lists(),
        word: format!("short{}", options.tools.word()),
        ..Show::default()
    };
    let (port, ports) = match options.port {
        Some(port) => (port, 0),
        None => (PORT, PORTS),
    };
    let listen = Listen {
        http: Some((Ipv4Addr::LOCALHOST, port).into()),
        ports,
        ..Listen::default()
    };
    let doors = listen.doors(&context.options)?;
    life::long(async |stop| {
        let listening = governed.gateway(show).listen(doors).map_err(taken)?;
        announce(listening.places());
        let address = listening.places().first().map(Open::address);
        let address = address.ok_or_else(|| Failure::usage("there is no address"))?;
        let base = format!("http://{address}");
        let entries = Entries::new(&base, token, &dirs, &places).map_err(unusable)?;
        welcome(&base, address.port(), options, &notes)?;
        entries.show(options.show_token)?;
        if let Some(client) = options.write {
            entries.write(client)?;
        }
        let governed = listening.governed();
        let (host, settings) = (governed.host().clone(), governed.settings().clone());
        let members = governed.follower().members();
        let served = tokio::select! {
            served = listening.serve(stop) => served,
            never = table::show(&host, &settings, members) => match never {},
        };
        served?;
        Ok(Code::Done)
    })?
}

/// Writes an entry for a gateway that runs and takes the same token, if there is one.
fn write_for_running(context: &Context, client: Writable) -> Result<Option<Code>, Failure> {
    let dirs = context.dirs()?;
    let file = tokens::client_file(&dirs);
    let gateways = context.options.gateways();
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

fn unusable(error: tokens::TokenError) -> Failure {
    Failure::new(Code::Configuration, error.to_string())
}

/// What is configured becomes what is served: the built-in servers come on top.
fn with_builtins(
    context: &Context,
    options: &Options,
    places: &Places,
    lacks_files: &Arc<AtomicBool>,
) -> Arrangement {
    let (context, options, places) = (context.clone(), options.clone(), places.clone());
    let lacks_files = lacks_files.clone();
    Arc::new(move |loaded| {
        let added = builtins::add(loaded, &context, &options, &places)?;
        lacks_files.store(added.lacks_files, Ordering::Relaxed);
        Ok(())
    })
}

/// A port that is another program's.
fn taken(error: ListenError) -> Failure {
    match error {
        ListenError::Bind { .. } => Failure::usage(error.to_string())
            .hint("name a free port with --port, or --port 0 for any"),
        error => error.into(),
    }
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
