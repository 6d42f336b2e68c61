//! The command line: the one source of help, completions and man page.

mod level;

pub use level::Level;

use crate::{commands, failure::Failure, logging::Filter};
use clap::{
    Args, ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind,
};
use std::{
    ffi::{OsStr, OsString},
    path::PathBuf,
};

/// Connects any MCP client to any set of MCP servers.
///
/// `switchboard mcp <command>` is the same as `switchboard <command>`.
#[derive(Debug, Parser)]
#[command(name = "switchboard", version, arg_required_else_help = true, after_help = AFTER)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub global: Global,
}

/// How clap says that no command was given.
const NO_COMMAND: [ErrorKind; 2] = [
    ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
    ErrorKind::MissingSubcommand,
];

const AFTER: &str = "To begin: switchboard alone, on a terminal, opens the screen; switchboard up starts a gateway and shows how clients connect to it.\n\nExit codes: 0 done, 1 the tool or server answered with an error, 2 usage, \
                          3 configuration, 4 server not reachable, 5 not permitted, 6 sign-in needed, 7 timed out, \
                          130 interrupted \
                          (143 by SIGTERM, 129 by SIGHUP).";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve all servers as one MCP server, on stdio or HTTP
    Serve(Box<With<commands::serve::Options>>),
    /// Start a gateway on this machine and show how to connect to it
    Up(With<commands::up::Options>),
    /// Open the screen: everything about servers, tools and calls, in the terminal
    Ui(With<commands::ui::Options>),
    /// Say whether a gateway runs, who is connected, and what runs
    Status(With<commands::status::Options>),
    /// Show how often tools were called through the running gateway, and how long that took
    Stats(With<commands::stats::Options>),
    /// Show calls as they pass through the running gateway, both sides of one, and one once more
    Traffic(With<commands::traffic::Options>),
    /// Print the address of the running gateway's page, with a code that opens it once
    Console(With<commands::console::Options>),
    /// Stop the gateway that runs
    Stop(With<commands::status::Which>),
    /// Stop the gateway that runs, and start the same once more
    Restart(With<commands::status::Which>),
    /// Have the gateway start with the machine
    Service(With<commands::service::Options>),
    /// Say how Switchboard is updated
    Update(With<Nothing>),
    /// Add a server
    Add(With<commands::add::Options>),
    /// Add a server from JSON
    AddJson(With<commands::add::JsonOptions>),
    /// Import servers from other clients
    Import(With<commands::import::Options>),
    /// Connect clients on this machine: write our entry into their files
    Connect(With<commands::connect::Options>),
    /// Take our entry out of a client's file, and put back what was there
    Disconnect(With<commands::connect::DisconnectOptions>),
    /// Remove a server
    Remove(With<commands::remove::Options>),
    /// Show one server in full
    Get(With<commands::get::Options>),
    /// Switch a server on, in this project
    Enable(With<commands::switch::Options>),
    /// Switch a server off, in this project
    Disable(With<commands::switch::Options>),
    /// Have a running gateway connect to a server anew
    Reconnect(With<commands::reconnect::Options>),
    /// Approve a server that comes from inside a project
    Approve(With<commands::approve::Options>),
    /// Reject a server that comes from inside a project
    Reject(With<commands::approve::RejectOptions>),
    /// Forget what was approved and rejected in this project
    ResetProjectChoices(With<Nothing>),
    /// Trust a folder: your servers may be started in it
    Trust(With<commands::trust::Options>),
    /// Do not trust a folder (any more)
    Untrust(With<commands::trust::UntrustOptions>),
    /// Say why a server or a tool is there, or is not
    Explain(With<commands::explain::Options>),
    /// Sign in to a server
    Login(With<commands::login::Options>),
    /// Sign out of a server
    Logout(With<commands::login::LogoutOptions>),
    /// Check configuration, servers, sign-ins and what runs, and say what to do
    Doctor(With<commands::doctor::Options>),
    /// Show what gateways log and servers write to stderr
    Logs(With<commands::logs::Options>),
    /// Show who called what and what was changed, and check that nothing of it is missing
    Audit(With<commands::audit::Options>),
    /// Change how much a running gateway logs
    Log(With<commands::log::Options>),
    /// Show everything that waits for a person at the running gateway
    Inbox(With<commands::inbox::Options>),
    /// Answer what waits for a person
    Answer(With<commands::answer::Options>),
    /// Show every configured server and whether it works
    List(With<commands::list::Options>),
    /// Show the tools of all servers
    Tools(With<commands::tools::Options>),
    /// Call a tool
    Call(With<commands::call::Options>),
    /// Make, show and revoke the tokens that let clients in
    Token(With<commands::token::Options>),
    /// Several gateways as one: show them, and make what they know each other by
    #[cfg(feature = "cluster")]
    Cluster(With<commands::cluster::Options>),
    /// Run servers for the gateways of a cluster, from this machine
    #[cfg(feature = "cluster")]
    #[command(
        override_usage = "switchboard worker [OPTIONS] --join <URL>\n           --cluster-key-file <FILE> --cluster-cert <FILE>"
    )]
    Worker(With<commands::worker::Options>),
    /// Show the resources of all servers
    Resources(With<commands::resources::Options>),
    /// Read a resource
    Read(With<commands::resources::ReadOptions>),
    /// Show the prompts of all servers
    Prompts(With<commands::prompts::Options>),
    /// Get a prompt, filled in
    Prompt(With<commands::prompts::GetOptions>),
    /// Run one built-in server on its own, on stdio
    Builtin(With<commands::builtin::Options>),
    /// Serve a server from a cassette: what was recorded of it
    Replay(With<commands::replay::Options>),
    /// Hold a server to a cassette, and say what differs
    Verify(With<commands::verify::Options>),
    /// Run a server that starts again when its sources change, while clients stay connected
    Dev(With<commands::dev::Options>),
    /// Print completions for a shell
    Completions(With<commands::generate::Options>),
    /// Print the man page
    Man(With<Nothing>),
}

impl Command {
    /// Whether errors are to be JSON.
    pub fn wants_json(&self) -> bool {
        match self {
            Self::List(with) => with.own.json,
            Self::Tools(with) => with.own.json,
            Self::Call(with) => with.own.json,
            Self::Get(with) => with.own.json,
            Self::Explain(with) => with.own.json,
            Self::Trust(with) => with.own.json,
            Self::Import(with) => with.own.json,
            Self::Connect(with) => with.own.json,
            Self::Disconnect(with) => with.own.json,
            Self::Token(with) => {
                matches!(
                    with.own.action,
                    commands::token::Action::List { json: true }
                )
            }
            #[cfg(feature = "cluster")]
            Self::Cluster(with) => with.own.action.wants_json(),
            Self::Resources(with) => with.own.json,
            Self::Read(with) => with.own.json,
            Self::Prompts(with) => with.own.json,
            Self::Prompt(with) => with.own.json,
            Self::Reconnect(with) => with.own.json,
            Self::Inbox(with) => with.own.json,
            Self::Answer(with) => with.own.json,
            Self::Status(with) => with.own.json,
            Self::Stats(with) => with.own.json,
            Self::Traffic(with) => with.own.wants_json(),
            Self::Console(with) => with.own.json,
            Self::Service(with) => {
                matches!(
                    with.own.action,
                    commands::service::Action::Status { json: true }
                )
            }
            Self::Doctor(with) => with.own.json,
            Self::Logs(with) => with.own.json,
            Self::Audit(with) => with.own.wants_json(),
            Self::Log(with) => with.own.json,
            Self::Verify(with) => with.own.json,
            _ => false,
        }
    }

    /// How much is logged if nobody says: gateways tell what they do.
    pub fn default_log(&self) -> Level {
        match self {
            // On a terminal `up` shows a table, which lines of a log would tear apart.
            Self::Up(_) | Self::Restart(_) if crate::show::term::stdout().terminal => Level::Warn,
            Self::Serve(_) | Self::Up(_) | Self::Restart(_) | Self::Builtin(_) => Level::Info,
            #[cfg(feature = "cluster")]
            Self::Worker(_) => Level::Info,
            _ => Level::Warn,
        }
    }

    /// Whether what it logs is kept, for `switchboard logs`: it is a gateway.
    pub fn keeps_log(&self) -> bool {
        matches!(self, Self::Serve(_) | Self::Up(_) | Self::Restart(_))
    }

    fn take_global(&mut self) -> Global {
        std::mem::take(match self {
            Self::Serve(with) => &mut with.global,
            Self::Up(with) => &mut with.global,
            Self::Ui(with) => &mut with.global,
            Self::Status(with) => &mut with.global,
            Self::Stats(with) => &mut with.global,
            Self::Traffic(with) => &mut with.global,
            Self::Console(with) => &mut with.global,
            Self::Stop(with) | Self::Restart(with) => &mut with.global,
            Self::Service(with) => &mut with.global,
            Self::Update(with) => &mut with.global,
            Self::Add(with) => &mut with.global,
            Self::AddJson(with) => &mut with.global,
            Self::Import(with) => &mut with.global,
            Self::Connect(with) => &mut with.global,
            Self::Disconnect(with) => &mut with.global,
            Self::Remove(with) => &mut with.global,
            Self::Get(with) => &mut with.global,
            Self::Enable(with) => &mut with.global,
            Self::Disable(with) => &mut with.global,
            Self::Reconnect(with) => &mut with.global,
            Self::Inbox(with) => &mut with.global,
            Self::Answer(with) => &mut with.global,
            Self::Logs(with) => &mut with.global,
            Self::Audit(with) => &mut with.global,
            Self::Log(with) => &mut with.global,
            Self::Approve(with) => &mut with.global,
            Self::Reject(with) => &mut with.global,
            Self::ResetProjectChoices(with) => &mut with.global,
            Self::Trust(with) => &mut with.global,
            Self::Untrust(with) => &mut with.global,
            Self::Explain(with) => &mut with.global,
            Self::Login(with) => &mut with.global,
            Self::Logout(with) => &mut with.global,
            Self::Doctor(with) => &mut with.global,
            Self::List(with) => &mut with.global,
            Self::Tools(with) => &mut with.global,
            Self::Call(with) => &mut with.global,
            Self::Token(with) => &mut with.global,
            #[cfg(feature = "cluster")]
            Self::Cluster(with) => &mut with.global,
            #[cfg(feature = "cluster")]
            Self::Worker(with) => &mut with.global,
            Self::Resources(with) => &mut with.global,
            Self::Read(with) => &mut with.global,
            Self::Prompts(with) => &mut with.global,
            Self::Prompt(with) => &mut with.global,
            Self::Builtin(with) => &mut with.global,
            Self::Replay(with) => &mut with.global,
            Self::Verify(with) => &mut with.global,
            Self::Dev(with) => &mut with.global,
            Self::Completions(with) => &mut with.global,
            Self::Man(with) => &mut with.global,
        })
    }
}

/// A command's own options, and the global ones, which may also follow it.
#[derive(Debug, Args)]
pub struct With<T: Args> {
    #[command(flatten)]
    pub own: T,
    #[command(flatten)]
    pub global: Global,
}

/// No options.
#[derive(Debug, Args)]
pub struct Nothing {}

/// Options of every command, accepted before and after it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Servers to use: a file with "mcpServers", or JSON; repeatable, later ones win
    #[arg(long, value_name = "FILE|JSON")]
    pub mcp_config: Vec<String>,
    /// Use only the servers given with --mcp-config
    #[arg(long)]
    pub strict_mcp_config: bool,
    /// Do not use a running gateway: start servers for this command alone
    #[arg(long)]
    pub direct: bool,
    /// How much to log: error, warn, info, debug or trace; MODULE=LEVEL for one part, such as
    /// warn,host=debug
    #[arg(long, value_name = "LEVEL[,MODULE=LEVEL]")]
    pub log: Option<Filter>,
    /// Log to this file instead of stderr; it is put aside when it is large or old
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// No colours and symbols (also: NO_COLOR)
    #[arg(long)]
    pub no_color: bool,
    /// As if started in this directory
    #[arg(short = 'C', value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

impl Global {
    /// What was said before the command and after it, together.
    fn and(mut self, later: Self) -> Self {
        self.mcp_config.extend(later.mcp_config);
        Self {
            mcp_config: self.mcp_config,
            strict_mcp_config: self.strict_mcp_config || later.strict_mcp_config,
            direct: self.direct || later.direct,
            log: later.log.or(self.log),
            log_file: later.log_file.or(self.log_file),
            no_color: self.no_color || later.no_color,
            directory: later.directory.or(self.directory),
        }
    }
}

impl Cli {
    /// Whether a server may be started: then a keeper must be there first.
    pub fn starts_servers(&self) -> bool {
        match self.command {
            Command::Serve(_)
            | Command::Up(_)
            | Command::Restart(_)
            | Command::Verify(_)
            | Command::Dev(_) => true,
            #[cfg(feature = "cluster")]
            Command::Worker(_) => true,
            // Beside a gateway the screen starts nothing itself.
            Command::Ui(_) => self.global.direct || !crate::context::has_gateway(&self.global),
            Command::Builtin(ref with) => commands::builtin::starts_processes(&with.own),
            // With nothing to start these commands answer at once, in one process.
            Command::List(_)
            | Command::Doctor(_)
            | Command::Tools(_)
            | Command::Call(_)
            | Command::Explain(_)
            | Command::Approve(_)
            | Command::Resources(_)
            | Command::Read(_)
            | Command::Prompts(_)
            | Command::Prompt(_) => {
                !self.global.mcp_config.is_empty() || crate::context::has_servers(&self.global)
            }
            _ => false,
        }
    }
}

/// Reads the arguments; help, version and usage errors end here.
pub fn parse() -> Cli {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    drop_mcp(&mut args);
    let given = args.clone();
    let has = |flag: &str| given.iter().any(|arg| arg == flag);
    let color = if has("--no-color") {
        ColorChoice::Never
    } else {
        ColorChoice::Auto
    };
    let mut parsed = Cli::command().color(color).try_get_matches_from(&args);
    // Nothing but the name, on a terminal: the screen.
    let lacks_command = |error: &clap::Error| NO_COMMAND.contains(&error.kind());
    if parsed.as_ref().is_err_and(lacks_command) && commands::ui::is_possible() {
        args.push("ui".into());
        parsed = Cli::command().color(color).try_get_matches_from(&args);
    }
    #[cfg(not(feature = "cluster"))]
    if parsed.is_err()
        && let Some(failure) = commands::cluster::lacking(&args)
    {
        failure.show(has("--json"));
        crate::life::end(failure.code)
    }
    match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(mut cli) => {
            let later = cli.command.take_global();
            cli.global = std::mem::take(&mut cli.global).and(later);
            cli
        }
        Err(error) if error.use_stderr() && has("--json") => {
            let text = error.render().to_string();
            let mut lines = text.lines().filter(|line| !line.trim().is_empty());
            let first = lines
                .next()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned();
            let failure = Failure::usage(first).hint("see switchboard --help");
            failure.show(true);
            crate::life::end(failure.code)
        }
        Err(error) => {
            if let Some(failure) = commands::add::guess::without_a_name(&args, &error) {
                failure.show(false);
                crate::life::end(failure.code)
            }
            error.exit()
        }
    }
}

/// `switchboard mcp list` is `switchboard list`, for the habit of other clients.
fn drop_mcp(args: &mut Vec<OsString>) {
    let takes_value = |arg: &OsStr| {
        ["--mcp-config", "--log", "--log-file", "-C"].contains(&&*arg.to_string_lossy())
    };
    let mut at = 1;
    while let Some(arg) = args.get(at) {
        if takes_value(arg) {
            at += 2;
        } else if arg.as_encoded_bytes().starts_with(b"-") {
            at += 1;
        } else {
            break;
        }
    }
    if args.get(at).is_some_and(|arg| arg == "mcp") {
        args.remove(at);
    }
    // The other client's word for one case of ours.
    if args
        .get(at)
        .is_some_and(|arg| arg == "add-from-claude-desktop")
    {
        args.splice(at..=at, ["import", "claude-desktop"].map(OsString::from));
    }
}

#[cfg(test)]
mod tests;
