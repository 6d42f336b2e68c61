//! `serve`: the gateway, on stdio or on HTTP.

mod attach;

use crate::{
    commands::{
        listen::{self, Listen},
        tool_list::ToolOptions,
    },
    context::{Context, warn},
    failure::{Code, Failure},
    life,
    near::{did_you_mean, near},
    presence::{Arrangement, Follower, Known, Presence},
};
use clap::{Args, ValueEnum};
use std::sync::Arc;
use switchboard::{
    Purpose, Roster, Settings, Status, VERSION,
    config::{Loaded, Standing},
    gateway::{Announcement, Gateway, GatewayOptions, ToolLists, faces},
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
    /// On stdio: be a way to the gateway that runs, whatever it serves; servers of its own only where
    /// none runs
    #[arg(long, conflicts_with_all = ["only", "names", "tools", "permission_mode", "listen"])]
    pub attach: bool,
    /// Who is asked about tools that no rule is about: client (the default; the connected client
    /// asks its own user), default, auto, read-only or bypassPermissions
    #[arg(long, value_name = "MODE")]
    pub permission_mode: Option<Mode>,
}

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

/// What is served, and what was loaded for it.
pub(crate) struct Assembled {
    roster: Roster,
    settings: Settings,
    known: Known,
    announcement: Announcement,
    /// The one server that was asked for, which is then served under its own names on stdio.
    single: Option<Arc<str>>,
    /// What clients are shown of the tools.
    tools: ToolLists,
}

impl Assembled {
    /// The gateway of one client.
    fn gateway(&self) -> Arc<Gateway> {
        let options = GatewayOptions {
            version: VERSION.to_owned(),
            single: self.single.clone(),
            announcement: self.announcement.clone(),
            tools: self.tools.clone(),
            ..GatewayOptions::default()
        };
        Gateway::new(self.roster.host.clone(), options)
    }
}

/// Loads all that is configured. Nothing is started yet.
fn assemble(context: &Context, options: &Options) -> Result<Assembled, Failure> {
    context.in_use.add_tokens(options.listen.token_files());
    let loaded = context.load_all()?;
    let known = Known::of(context, &loaded);
    let loaded = only(loaded, &options.only)?;
    let announcement = announcement(&loaded);
    let (roster, settings) = context.roster_for(
        Purpose::Gateway,
        options.permission_mode,
        loaded,
        options.names().style(),
    )?;
    usable(&roster)?;
    let single = single(options, &roster);
    Ok(Assembled {
        roster,
        settings,
        known,
        announcement,
        single,
        tools: options.tools.lists(),
    })
}

/// Serves until stdin ends or a signal comes.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    if options.attach
        && let Some(code) = attach::to_any(context, options)?
    {
        return Ok(code);
    }
    let made = assemble(context, options)?;
    let places = options.listen.places()?;
    if places.is_empty() {
        return stdio(context, options, made);
    }
    let Assembled {
        roster,
        settings,
        known,
        announcement,
        tools,
        ..
    } = made;
    let principal = options.listen.principal(&places);
    let rule = arrangement(options, &announcement);
    let alone = options.listen.no_auth || !options.listen.token_file.is_empty();
    let presence = Presence::new(context, &roster, &settings, &principal, known, rule, alone)?;
    life::long(async |stop| {
        let gateway = Gateway::new(
            roster.host.clone(),
            GatewayOptions {
                version: VERSION.to_owned(),
                control: Some(presence.control()),
                announcement,
                tools,
                ..GatewayOptions::default()
            },
        );
        let open = listen::open(places)?;
        let whole = open.iter().find_map(listen::Open::whole);
        let token = options.listen.token_path()?;
        let note = whole.and_then(|address| presence.note(address, &options.shown(), token));
        let served = {
            let serve = listen::serve(&gateway, open, &stop);
            tokio::pin!(serve);
            tokio::select! {
                served = &mut serve => served,
                () = presence.follow(note.as_ref(), stop.clone()) => serve.await,
            }
        };
        drop(note);
        switchboard::library::close(&roster.host).await;
        served
    })?
}

/// What clients are told of the folder that we are in; the user sees it as well.
pub fn announcement(loaded: &Loaded) -> Announcement {
    let announcement = Announcement::default();
    let text = loaded.about_folder();
    if let Some(text) = &text {
        warn(text);
    }
    announcement.set(text);
    announcement
}

/// How what is configured becomes what is served.
fn arrangement(options: &Options, announcement: &Announcement) -> Arrangement {
    let names = options.only.clone();
    Arrangement {
        arrange: Arc::new(move |loaded| only(loaded, &names)),
        mode: options.permission_mode,
        announcement: announcement.clone(),
    }
}

/// One client on our own standard streams: through a running gateway that has
/// the same servers, or with servers of its own.
fn stdio(context: &Context, options: &Options, made: Assembled) -> Result<Code, Failure> {
    if let Some(code) = attach::try_run(context, options, &made)? {
        return Ok(code);
    }
    let rule = arrangement(options, &made.announcement);
    life::long(async |stop| {
        let gateway = made.gateway();
        let follower = Follower::new(context, &made.roster, made.known, rule);
        let follow = follower.follow(stop.clone());
        let served = {
            let serve = faces::stdio::serve(gateway, stop);
            tokio::pin!(serve);
            tokio::select! {
                served = &mut serve => served,
                () = follow => serve.await,
            }
        };
        switchboard::library::close(&made.roster.host).await;
        match served {
            Ok(()) => Ok(Code::Done),
            Err(error) => Err(Failure::new(Code::Answered, error.to_string())),
        }
    })?
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

/// The one server that was asked for, which is then served under its own names.
/// That just one is configured is no reason: names must not change with a second.
fn single(options: &Options, roster: &Roster) -> Option<Arc<str>> {
    let [name] = options.only.as_slice() else {
        return None;
    };
    let server = roster.host.server(name).filter(|_| options.names.is_none());
    server.map(|server| server.name().clone())
}
