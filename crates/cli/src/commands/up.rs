//! `up`: a gateway on this machine with the built-in servers, and how to
//! connect to it.
//!
//! | module | what |
//! |---|---|
//! | `beside` | what runs already, and what is in the way |
//! | `builtins` | the servers that come with the program |
//! | `clients` | how clients are connected to it |
//! | `table` | how the servers are doing, all the time |
//! | `follow` | where the table knows it from |
//! | `remembered` | what it served last |
//! | `manager` | whoever started the one before as a service |

mod beside;
mod builtins;
mod clients;
mod follow;
mod manager;
mod remembered;
mod table;

use crate::{
    commands::{
        cluster::Membership,
        console,
        inbox::AskOptions,
        listen::{announce, origin},
        serve::{announce_folder, usable},
        tool_list::ToolOptions,
        ui,
        watching::WatchOptions,
    },
    context::{Context, warn},
    failure::{Code, Failure},
    life,
    show::{out, safe, term},
    strays, trusting,
};
pub use beside::{Before, take_over};
use beside::{before, entries_of, is_wanted_beside, other_ports, will_die};
use clap::Args;
use clients::{Entries, Writable, writable};
use remembered::Remembered;
use std::{
    convert::Infallible,
    net::Ipv4Addr,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use switchboard::{
    Arrangement, Config, Dirs, Fronted, Listen, ListenError, Listening, Open, Purpose, Show,
    TakenOver, VERSION, api::Client, config::Places, tokens,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

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
    /// Write our entry into this client's file, after showing the difference, as connect does;
    /// http writes a file with address and token. Where a gateway of yours runs already, that
    /// is all
    #[arg(long, value_name = "CLIENT", value_parser = writable(), hide_possible_values = true)]
    pub write: Option<Writable>,
    /// Take the place of the gateway that runs
    #[arg(long, conflicts_with = "write")]
    pub replace: bool,
    /// A web page's origin that may talk to it, such as http://localhost:5173; repeatable
    #[arg(long, alias = "origin", value_name = "ORIGIN", value_parser = origin)]
    pub allow_origin: Vec<String>,
    #[command(flatten)]
    pub tools: ToolOptions,
    /// Open the page in a browser
    #[arg(long)]
    pub open: bool,
    /// Show the client token, if this is a terminal
    #[arg(long)]
    pub show_token: bool,
    /// Only lines: no key opens the screen
    #[arg(long)]
    pub plain: bool,
    /// Let nobody change over the API what lasts: settings, rules, tokens, approvals
    #[arg(long)]
    pub no_api_edit: bool,
    #[command(flatten)]
    pub ask: AskOptions,
    #[command(flatten)]
    pub watch: WatchOptions,
    #[command(flatten)]
    pub cluster: Membership,
}

impl Options {
    /// Whether anything is said about what is served.
    fn chooses(&self) -> bool {
        let flags = self.read_only || self.enable_shell || self.no_builtins;
        let lists = !self.root.is_empty() || !self.allow_protected.is_empty();
        flags || lists || !self.tools.tools.is_empty()
    }
}

/// Runs until a signal comes.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let before = before(context, options)?;
    run_after(context, options, before)
}

/// The same after what was found of a gateway that runs.
pub fn run_after(context: &Context, options: &Options, before: Before) -> Result<Code, Failure> {
    let Before {
        stays: first,
        replaced,
    } = before;
    if let (Some(first), Some(client)) = (&first, options.write) {
        let (base, entries) = entries_of(context, first)?;
        entries.write(context, client)?;
        out::line(&format!("A gateway runs already, at {base}."))?;
        return Ok(Code::Done);
    }
    if let Some(first) = first.as_ref().filter(|_| options.port.is_none())
        && !is_wanted_beside(context, options, first)?
    {
        let (_, entries) = entries_of(context, first)?;
        entries.show(options.show_token)?;
        return Ok(Code::Done);
    }
    let config = trusting::asked(context, context.config()?)?;
    let (fronted, notes) = assemble(context, options, config)?;
    let dirs = context.dirs()?;
    let token = tokens::client(&dirs).map_err(unusable)?;
    let (port, ports) = ports(options, first.is_some(), replaced.is_some())?;
    let handed = replaced.as_ref().map(|taken| taken.addresses());
    let handed = handed.and_then(|addresses| addresses.first().copied());
    let listen = Listen {
        http: Some(handed.unwrap_or((Ipv4Addr::LOCALHOST, port).into())),
        ports,
        origins: options.allow_origin.clone(),
        ..Listen::default()
    };
    let mut doors = listen.doors(&context.options)?;
    let taking = replaced.as_ref().map(TakenOver::try_clone).transpose()?;
    if let Some(replaced) = replaced {
        doors = doors.take_over(replaced);
    }
    life::long(async |stop| {
        let doors = doors.join(options.cluster.join(context).await?);
        let listening = fronted.listen(doors).map_err(taken)?;
        announce(listening.places());
        let address = listening.places().first().map(Open::address);
        let address = address.ok_or_else(|| Failure::usage("there is no address"))?;
        remember(context, options, &dirs);
        let base = format!("http://{address}");
        let entries = Entries::new(&base, token, context)?;
        let stays = options.port.is_some() || handed.is_some() || address.port() == PORT;
        let page = listening.console();
        welcome(
            &base,
            address.port(),
            stays || first.is_some(),
            &notes,
            page.as_deref(),
        )?;
        entries.show(options.show_token)?;
        match options.write {
            Some(Writable::Http) if !stays => out::line(&will_die(address.port()))?,
            Some(client) => entries.write(context, client)?,
            None => {}
        }
        if let Some(taking) = taking {
            // Before the other one ends.
            manager::is_told(context);
            taking.ready()?;
        }
        let page = page.filter(|_| options.open);
        Box::pin(serve_and_show(
            context,
            listening,
            page,
            options.plain,
            stop,
        ))
        .await?;
        Ok(Code::Done)
    })?
}

/// The port to listen on, and how many behind it are as good.
fn ports(options: &Options, beside: bool, replaces: bool) -> Result<(u16, u16), Failure> {
    Ok(match options.port {
        Some(port) => (port, 0),
        // It listens already, where the one before does.
        None if replaces => (PORT, 0),
        None if beside => (PORT, PORTS),
        None => (PORT, other_ports()?),
    })
}

/// Serves until it is told to stop, and shows meanwhile how the servers are doing; opens
/// a page first, where that is wanted.
async fn serve_and_show(
    context: &Context,
    listening: Listening,
    page: Option<String>,
    plain: bool,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let governed = listening.governed();
    let (host, settings) = (governed.host().clone(), governed.settings().clone());
    let members = governed.follower().members();
    let client = listening.client().filter(|_| !plain && ui::is_possible());
    // That servers end when we do is no news.
    let stopping = stop.clone();
    let shown = async {
        if let Some(page) = page
            && let Err(failure) = console::open(&page).await
        {
            warn(&failure.to_string());
        }
        let again = Notify::new();
        let table = table::show(&host, &settings, members, client.is_some(), &again);
        tokio::select! {
            biased;
            () = stopping.cancelled() => std::future::pending().await,
            never = with_screen(context, client, table, &again, &stopping) => match never {},
        }
    };
    tokio::select! {
        served = listening.serve(stop) => Ok(served?),
        never = shown => match never {},
    }
}

/// Shows the table, and the screen over it for as long as somebody wants it; the table
/// rests meanwhile.
async fn with_screen(
    context: &Context,
    client: Option<Client>,
    table: impl Future<Output = Infallible>,
    again: &Notify,
    stop: &CancellationToken,
) -> Infallible {
    let keyboard = client.and_then(|client| Some((client, ui::Keyboard::take().ok()?)));
    let Some((client, mut keyboard)) = keyboard else {
        return table.await;
    };
    let mut table = std::pin::pin!(table);
    loop {
        tokio::select! {
            never = &mut table => match never {},
            () = keyboard.pressed(table::SCREEN) => {}
        }
        keyboard.give_back();
        if let Err(failure) = ui::over(context, &client, stop).await {
            warn(&failure.to_string());
        }
        keyboard.take_again();
        again.notify_one();
    }
}

/// What `up` serves: what is configured, and the built-in servers on top. With what is
/// worth a line about them.
fn assemble(
    context: &Context,
    options: &Options,
    config: Config,
) -> Result<(Fronted, Vec<String>), Failure> {
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
    for stray in strays::all(approved.read()) {
        let meant = stray.meant.as_ref().map(|meant| format!("; {meant}"));
        let (place, text) = (&stray.rule.rule.place, stray.text());
        warn(&format!("{place}: {text}{}", meant.unwrap_or_default()));
    }
    let governed = approved.govern(None, Purpose::Gateway)?;
    usable(&governed, options.cluster.follows())?;
    let show = Show {
        tools: options.tools.lists(),
        word: format!("short{}", options.tools.word()),
        by_up: true,
        watch: options.watch.watch(),
        ask_at: options.ask.ask_at,
        no_api_edit: options.no_api_edit,
        ..Show::default()
    };
    Ok((governed.gateway(show), notes))
}

/// What `up` served last, made once more, and the directory that it is for.
pub fn again(context: &Context) -> Result<(Fronted, PathBuf), Failure> {
    let last = last(context)?;
    let context = last.context(context)?;
    let (fronted, notes) = assemble(&context, &last.options(), context.config()?)?;
    for note in notes {
        tracing::info!("{note}");
    }
    Ok((fronted, last.directory))
}

/// What `up` served last: where it was never started, what it would in the home.
pub fn last(context: &Context) -> Result<Remembered, Failure> {
    let dirs = context.dirs()?;
    let last = Remembered::last(&dirs).unwrap_or_else(|error| {
        let file = remembered::file(&dirs);
        warn(&format!("{}: {error}; it is not used", file.display()));
        None
    });
    let last = last.unwrap_or_default();
    if last.directory.is_dir() {
        return Ok(last);
    }
    let home = context.places()?.home;
    Ok(Remembered {
        directory: home.unwrap_or_else(|| context.options.directory.clone()),
        ..Remembered::default()
    })
}

/// Keeps what is served here, for clients that come when it does not run.
fn remember(context: &Context, options: &Options, dirs: &Dirs) {
    let now = Remembered::of(&context.global, options, &context.options.directory);
    if let Err(error) = now.keep(dirs) {
        let file = remembered::file(dirs);
        warn(&format!("{}: {error}", file.display()));
    }
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

/// What this is, and where. `expected` says that this port is no surprise.
fn welcome(
    base: &str,
    port: u16,
    expected: bool,
    notes: &[String],
    console: Option<&str>,
) -> Result<(), Failure> {
    let paint = term::stdout();
    out::line(&paint.bold(&format!("Switchboard {VERSION}")))?;
    out::line(&format!("  all servers as one   {base}/mcp"))?;
    out::line(&format!("  one server alone     {base}/mcp/SERVER"))?;
    match console {
        // It holds a code that opens it once, within a minute: it is for a person, and
        // what is no terminal is a file, or another program.
        Some(address) if paint.terminal => {
            out::line(&format!("  console              {address}"))?;
        }
        Some(_) => out::line(&format!(
            "  console              {base}/, by switchboard console"
        ))?,
        None => {}
    }
    for note in notes {
        let note = safe::line(note);
        let rows = match paint.terminal {
            true => safe::rows(&note, term::width().saturating_sub(2)),
            false => vec![note],
        };
        for row in rows {
            out::line(&format!("  {}", paint.yellow(&row)))?;
        }
    }
    if !expected {
        let text = format!("Port {PORT} is taken by another program, so this is {port}.");
        out::line(&format!("  {}", paint.yellow(&text)))?;
    }
    Ok(())
}
