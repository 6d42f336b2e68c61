//! `status`, `stop` and `restart`: the gateways that run.

use super::{service, up};
use crate::{
    context::{Context, warn},
    failure::{Code, Failure},
    limits,
    show::{out, safe, term},
};
use clap::Args;
use serde::Serialize;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use switchboard::{
    Attached, Used, VERSION,
    api::types::{
        servers::{Served, state_words},
        state::Client,
    },
    gateway::Visitor,
    running::{self, Running},
    several,
};

/// Options of `status`.
#[derive(Debug, Args)]
pub struct Options {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Which gateway is meant.
#[derive(Debug, Args)]
pub struct Which {
    /// Its address, port or process, where several run
    #[arg(value_name = "ADDRESS|PORT|PROCESS")]
    pub which: Option<String>,
}

/// A gateway as `status --json` shows it. The names are what scripts rely on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    address: String,
    process: i32,
    version: String,
    directory: String,
    up: bool,
    answers: bool,
    #[serde(flatten)]
    status: Status,
}

/// Who is connected, and what runs.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    /// When it began, in seconds since 1970.
    since: u64,
    clients: Vec<Visitor>,
    servers: Vec<Server>,
}

/// A server. None is met for this.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Server {
    name: String,
    state: String,
    reason: Option<String>,
    copies: Option<usize>,
    is_process: bool,
    used: Option<Used>,
}

/// Says what runs. Exit code 4 where nothing does.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let found = found(context)?;
    let gateways = context.options.gateways();
    let shown: Vec<Shown> = found.iter().map(|one| look(one, &gateways)).collect();
    if options.json {
        out::json_list(&shown)?;
    } else if shown.is_empty() {
        out::line("No gateway runs. To start one: switchboard up")?;
    } else {
        shown.iter().try_for_each(show)?;
    }
    let runs = shown.iter().any(|gateway| gateway.answers);
    Ok(if runs { Code::Done } else { Code::Unreachable })
}

fn look(running: &Running, gateways: &[Attached]) -> Shown {
    let answering = gateways.iter().find(|gateway| gateway.running == *running);
    let status = answering.and_then(status);
    Shown {
        address: format!("http://{}", running.address),
        process: running.pid,
        version: running.version.clone(),
        directory: running.directory.display().to_string(),
        up: running.by_up,
        answers: status.is_some(),
        status: status.unwrap_or_default(),
    }
}

fn status(gateway: &Attached) -> Option<Status> {
    let (state, servers) = (gateway.state()?, gateway.used()?);
    let client = |client: Client| Visitor {
        name: client.name,
        version: client.version,
        principal: client.principal,
        era: client.era,
        since: client.since / 1000,
        seen: client.seen.map(|seen| seen / 1000),
    };
    let server = |server: Served| Server {
        name: server.name,
        state: server.state,
        reason: server.reason,
        copies: server.copies,
        is_process: server.is_process,
        used: server.used,
    };
    let mut servers: Vec<Server> = servers.into_iter().map(server).collect();
    // What is not served is named all the same, where somebody could do something about it.
    for unserved in state.servers {
        // The document's word for it.
        let waits = unserved.state.word == "pending";
        if waits && !servers.iter().any(|one| one.name == unserved.name) {
            servers.push(Server {
                reason: Some(format!("switchboard approve {}", unserved.name)),
                name: unserved.name,
                state: "pending-approval".to_owned(),
                copies: None,
                is_process: false,
                used: None,
            });
        }
    }
    Some(Status {
        since: state.gateway.since / 1000,
        clients: state.clients.into_iter().map(client).collect(),
        servers,
    })
}

fn show(gateway: &Shown) -> Result<(), Failure> {
    let paint = term::stdout();
    let title = format!("Switchboard {} at {}", gateway.version, gateway.address);
    out::line(&paint.bold(&safe::line(&title)))?;
    out::line(&format!(
        "  process {}, started in {}",
        gateway.process,
        safe::line(&gateway.directory)
    ))?;
    if !gateway.answers {
        return out::line(&paint.red("  runs, but does not answer; see switchboard doctor"));
    }
    if gateway.version != VERSION {
        let text = format!("  this program is {VERSION}: switchboard restart brings both together");
        out::line(&paint.yellow(&text))?;
    }
    let since = ago(gateway.status.since);
    out::line(&format!("  running for {since}"))?;
    out::line(&paint.bold("Clients"))?;
    if gateway.status.clients.is_empty() {
        out::line("  none")?;
    }
    for client in &gateway.status.clients {
        out::line(&format!("  {}", safe::line(&client_words(client))))?;
    }
    out::line(&paint.bold("Servers"))?;
    let widest = gateway.status.servers.iter();
    let widest = widest.map(|server| server.name.chars().count()).max();
    for server in &gateway.status.servers {
        let width = widest.unwrap_or_default().min(40);
        let name = format!("{:<width$}", safe::cut(&safe::line(&server.name), width));
        let line = format!("  {name}  {}", safe::line(&server_words(server)));
        out::line(line.trim_end())?;
    }
    Ok(())
}

fn client_words(client: &Visitor) -> String {
    let name = client.name.as_deref().unwrap_or("a client without a name");
    let version = client
        .version
        .as_deref()
        .map(|version| format!(" {version}"));
    let when = match client.seen {
        None => format!("connected for {}", ago(client.since)),
        Some(seen) => format!("last asked {} ago", ago(seen)),
    };
    let (version, era) = (version.unwrap_or_default(), &client.era);
    format!("{name}{version} ({}, {era} era), {when}", client.principal)
}

fn server_words(server: &Server) -> String {
    let mut words = vec![state_words(&server.state).to_owned()];
    words.extend(several(server.copies, server.is_process));
    words.extend(server.used.map(|used| used.words()));
    words.extend(
        server
            .reason
            .as_deref()
            .and_then(|reason| reason.lines().next())
            .map(str::to_owned),
    );
    words.join("  ")
}

/// How long ago that was, as people say it.
fn ago(then: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(0, |now| now.as_secs()).saturating_sub(then);
    match (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

/// Ends a gateway, and waits until it has ended.
pub fn stop(context: &Context, which: &Which) -> Result<Code, Failure> {
    let gateway = chosen(context, which)?;
    end(&gateway)?;
    out::line(&format!("Stopped http://{}.", gateway.address))?;
    Ok(Code::Done)
}

/// Ends the gateway of `up` and starts the same once more: by the service manager, if
/// that runs it, else here.
pub fn restart(context: &Context, which: &Which) -> Result<Code, Failure> {
    if which.which.is_none() {
        let before = pids(context)?;
        if service::restart(context)? {
            return until_another(context, &before);
        }
    }
    let gateway = chosen(context, which)?;
    if !gateway.by_up {
        let text = format!("http://{} was not started by up", gateway.address);
        let hint = "stop it, and start it again as it was started";
        return Err(Failure::usage(text).hint(hint));
    }
    let last = up::last(context)?;
    let replaced = up::take_over(context, &gateway, None)?;
    if replaced.is_none() {
        end(&gateway)?;
        out::line(&format!(
            "Stopped http://{}; it goes on here.",
            gateway.address
        ))?;
    }
    let context = last.context(context)?;
    let port = gateway
        .address
        .rsplit_once(':')
        .and_then(|(_, port)| port.parse().ok());
    let options = up::Options {
        port,
        ..last.options()
    };
    let stays = None;
    up::run_after(&context, &options, up::Before { stays, replaced })
}

fn pids(context: &Context) -> Result<Vec<i32>, Failure> {
    let running = running::all(&context.dirs()?).running;
    Ok(running.iter().map(|one| one.pid).collect())
}

/// Waits until the service is another process than these.
fn until_another(context: &Context, before: &[i32]) -> Result<Code, Failure> {
    let until = Instant::now() + limits::ENDING;
    // Where none ran there is none whose place another takes.
    while !before.is_empty() && pids(context)?.iter().all(|pid| before.contains(pid)) {
        if Instant::now() > until {
            let text = "the service was asked to restart, and is what it was";
            let hint = "journalctl --user -u switchboard says why";
            return Err(Failure::new(Code::Answered, text.to_owned()).hint(hint));
        }
        #[expect(clippy::disallowed_methods, reason = "the command does nothing else")]
        std::thread::sleep(limits::ENDING_LOOK);
    }
    out::line("Restarted the service.")?;
    Ok(Code::Done)
}

/// Ends it in good order, and waits until it is gone.
pub fn end(gateway: &Running) -> Result<(), Failure> {
    let refused = |error: std::io::Error| {
        let text = format!("process {} cannot be ended: {error}", gateway.pid);
        Failure::new(Code::NotPermitted, text)
    };
    gateway.stop().map_err(refused)?;
    let until = Instant::now() + limits::ENDING;
    while running::is_there(gateway.pid) {
        if Instant::now() > until {
            let text = format!(
                "process {} has not ended within {} s",
                gateway.pid,
                limits::ENDING.as_secs()
            );
            let hint = format!("kill -KILL {} ends it and its servers", gateway.pid);
            return Err(Failure::new(Code::TimedOut, text).hint(hint));
        }
        #[expect(clippy::disallowed_methods, reason = "the command does nothing else")]
        std::thread::sleep(limits::ENDING_LOOK);
    }
    Ok(())
}

/// All that run, whether they answer or not.
fn found(context: &Context) -> Result<Vec<Running>, Failure> {
    let found = running::all(&context.dirs()?);
    for damaged in &found.damaged {
        warn(&damaged.to_string());
    }
    Ok(found.running)
}

fn chosen(context: &Context, which: &Which) -> Result<Running, Failure> {
    let mut all = found(context)?;
    if let Some(which) = &which.which {
        let which = which.trim_start_matches("http://");
        all.retain(|one| {
            let port = one.address.rsplit_once(':').map(|(_, port)| port);
            one.address == which || port == Some(which) || one.pid.to_string() == which
        });
    }
    match all.len() {
        0 => {
            let text = match &which.which {
                Some(which) => format!("no gateway of yours is {which:?}"),
                None => "no gateway is running".to_owned(),
            };
            Err(Failure::new(Code::Unreachable, text).hint("see switchboard status"))
        }
        1 => Ok(all.remove(0)),
        _ => {
            let each = all.iter().map(|one| one.address.as_str());
            let each: Vec<&str> = each.collect();
            let text = format!("several gateways run: {}", each.join(", "));
            Err(Failure::usage(text).hint(format!("say which, such as {}", each[0])))
        }
    }
}
