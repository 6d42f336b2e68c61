//! `serve`: the gateway, on stdio or on HTTP.

mod gateway;

use crate::{
    commands::{
        cluster::Membership,
        inbox::AskOptions,
        listen::{Listen, announce},
        tool_list::ToolOptions,
        watching::WatchOptions,
    },
    context::{Context, warn},
    failure::{Code, Failure},
    life,
    near::{did_you_mean, near},
};
use clap::{Args, ValueEnum};
use std::sync::Arc;
use switchboard::{
    Behind, Candidate, Fronted, Governed, Look, Purpose, Show, Status,
    config::{Loaded, Standing},
    host::permission::Mode,
    wire::name::Style,
};

/// Options of `serve`.
#[derive(Debug, Args)]
pub struct Options {
    #[command(flatten)]
    pub listen: Listen,
    /// How tools are named: short (server__tool; the default), full (mcp__server__tool), or bare
    /// where that is unambiguous
    #[arg(long, value_name = "STYLE")]
    names: Option<Names>,
    #[command(flatten)]
    tools: ToolOptions,
    /// Only these servers. On stdio, one alone is served under its own names, as if it were asked
    /// directly, unless --names is given
    #[arg(long, value_name = "SERVER", value_delimiter = ',')]
    pub only: Vec<String>,
    /// On stdio: all that the running gateway has, from any directory; its servers, rules and trust
    /// hold, not those of this directory. Where none runs, what up had last is started
    #[arg(long, alias = "attach")]
    #[arg(conflicts_with_all = ["only", "names", "tools", "permission_mode", "ask_at", "listen"])]
    pub gateway: bool,
    /// Who is asked about tools that no rule is about: client (the default; the connected client
    /// asks its own user), default, auto, read-only or bypassPermissions
    #[arg(long, value_name = "MODE")]
    pub permission_mode: Option<Mode>,
    #[command(flatten)]
    pub ask: AskOptions,
    #[command(flatten)]
    pub watch: WatchOptions,
    #[command(flatten)]
    pub cluster: Membership,
    /// Over HTTP: how many threads carry calls (default: half of the cores, four at most)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_THREADS))]
    threads: Option<u16>,
}

/// More than any machine has cores that one runtime could use.
const MOST_THREADS: i64 = 256;

impl Options {
    /// How tools are named.
    fn names(&self) -> Names {
        self.names.unwrap_or(Names::Short)
    }

    /// How tools are named and shown, as a word.
    fn shown(&self) -> String {
        format!("{}{}", self.names().word(), self.tools.word())
    }
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

/// Loads all that is configured. Nothing is started yet.
fn assemble(context: &Context, options: &Options) -> Result<Fronted, Failure> {
    let secrets = options.listen.said().secrets(&context.options);
    context.options.in_use.add_own(secrets);
    let secrets = options.cluster.secrets(context);
    context.options.in_use.add_own(secrets);
    let names = options.only.clone();
    let only = move |loaded: &mut Loaded| Ok(only(loaded, &names, "--only")?);
    let approved = context.config()?.approve(&context.options.approvals());
    let approved = approved.arrange(Arc::new(only))?;
    announce_folder(approved.read());
    let approved = approved.names(options.names().style());
    let governed = approved.govern(options.permission_mode, Purpose::Gateway)?;
    usable(&governed, options.cluster.follows())?;
    let show = Show {
        single: single(options, &governed),
        tools: options.tools.lists(),
        word: options.shown(),
        chosen: !options.only.is_empty(),
        watch: options.watch.watch(),
        ask_at: options.ask.ask_at,
        no_api_edit: options.listen.no_api_edit,
        ..Show::default()
    };
    Ok(governed.gateway(show))
}

/// Serves until stdin ends or a signal comes.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    if options.gateway {
        return gateway::run(context);
    }
    let make = || assemble(context, options);
    let behind = Behind {
        options: &context.options,
        any: None,
        make: &make,
    };
    let made = make()?;
    let doors = options.listen.doors(context)?;
    if !doors.is_empty() {
        let threads = options.threads.map_or_else(life::few, usize::from);
        return life::long_on(threads, async |stop| {
            let joined = options.cluster.join(context).await?;
            let listening = made.listen(doors.join(joined))?;
            announce(listening.places());
            listening.serve(stop).await?;
            Ok(Code::Done)
        })?;
    }
    if options.cluster.is_wanted() {
        let text =
            "--cluster: sessions are shared that come over HTTP, and nothing is served there";
        return Err(Failure::usage(text).hint("say --http as well, or leave --cluster out"));
    }
    if options.watch.has_address() {
        let text = "--metrics: what is counted is read over HTTP, and nothing is served there";
        return Err(Failure::usage(text).hint("say --http as well, or leave --metrics out"));
    }
    // One client on our own standard streams: through a running gateway that has the
    // same servers, or with servers of its own.
    // What another gateway is asked cannot be recorded here.
    let is_ours = options.watch.record.is_some();
    if !is_ours && relay(&behind, behind.candidates(Some(&made)))? {
        return Ok(Code::Done);
    }
    life::long(async |stop| {
        made.stdio(stop).await?;
        Ok(Code::Done)
    })?
}

/// Whether a gateway served the client.
fn relay(behind: &Behind<'_, Failure>, candidates: Vec<Candidate>) -> Result<bool, Failure> {
    if candidates.is_empty() {
        return Ok(false);
    }
    life::short(async |stop| behind.relay(candidates, stop).await)?
}

/// What clients are told of the folder that we are in, the user sees as well.
pub fn announce_folder(look: &Look) {
    if let Some(text) = look.about_folder() {
        warn(&text);
    }
}

/// Leaves only the servers that an option names.
pub fn only(loaded: &mut Loaded, names: &[String], option: &str) -> Result<(), Failure> {
    if names.is_empty() {
        return Ok(());
    }
    for name in names {
        if loaded.find(name).is_none() {
            let all = loaded
                .servers
                .iter()
                .map(|server| server.entry.name.as_str());
            let hint =
                did_you_mean(&near(name, all)).unwrap_or_else(|| "see switchboard list".to_owned());
            return Err(
                Failure::usage(format!("{option}: there is no server {name:?}")).hint(hint),
            );
        }
    }
    loaded
        .servers
        .retain(|server| names.contains(&server.entry.name));
    Ok(())
}

/// Tells about servers that cannot be used, and fails if that leaves none. `more` are
/// to come from elsewhere.
pub fn usable(governed: &Governed, more: bool) -> Result<(), Failure> {
    let mut faults = Vec::new();
    for member in governed.members() {
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
    if governed.host().servers().is_empty() {
        if !faults.is_empty() {
            return Err(Failure::new(Code::Configuration, faults.join("\n")));
        }
        if !more {
            warn("no servers are configured; add one: switchboard add NAME -- COMMAND");
        }
    }
    for fault in faults {
        warn(&fault);
    }
    Ok(())
}

/// The one server that was asked for, which is then served under its own names.
/// That just one is configured is no reason: names must not change with a second.
fn single(options: &Options, governed: &Governed) -> Option<Arc<str>> {
    let [name] = options.only.as_slice() else {
        return None;
    };
    let server = governed
        .host()
        .server(name)
        .filter(|_| options.names.is_none());
    server.map(|server| server.name().clone())
}
