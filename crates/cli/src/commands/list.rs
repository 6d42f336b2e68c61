//! `list`: every configured server and whether it works. Servers are met side
//! by side, and each line is printed as soon as it is known.

mod row;

use crate::{
    connectors,
    context::{self, Context},
    failure::{Code, Failure},
    life,
    show::out,
    trusting,
};
use clap::Args;
use futures_util::{StreamExt, stream::FuturesUnordered};
use row::{Layout, Row, State};
use std::time::Duration;
use switchboard::tasks;
use switchboard::{
    Caller, Pools, Roster, Settings, Status,
    config::{Configured, Loaded, Scope, Standing},
    host::Server,
    report::{Report, report},
    roster::Through,
    wire::name::Style,
};

/// How much longer than its server a gateway may take to answer.
const GRACE: Duration = Duration::from_secs(10);

/// Options of `list`.
#[derive(Debug, Args)]
pub struct Options {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Do not start or contact any server
    #[arg(long)]
    pub no_connect: bool,
    /// Exit with 4 if a server has failed, needs a sign-in or an approval
    #[arg(long)]
    pub check: bool,
}

/// Lists.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let mut loaded = context.load();
    // What is forbidden cannot be told: nothing is started.
    let connects = !options.no_connect && !context::is_lawless(&loaded);
    if connects {
        context.pin(&mut loaded);
        if !options.json {
            loaded = trusting::asked(context, loaded)?;
        }
        context.bring_along(&mut loaded);
    }
    let about_folder = loaded.about_folder();
    let unusable = context::unusable(&loaded);
    let fetching = connectors::fetching(context, &loaded);
    if connects {
        context.late.begin(fetching.as_ref());
    }
    let is_fetched = |server: &Configured| server.entry.scope == Scope::Connector;
    let known = loaded.servers.iter().any(is_fetched);
    let nothing = loaded.servers.is_empty() && unusable.is_none();
    let mut rows = show(context, options, connects, loaded)?;
    // All else is on the screen by now; JSON waits only for what was never there.
    let waits = !known || !options.json;
    if waits && connectors::arrived(context, fetching.as_ref(), known) {
        let mut loaded = context.quiet_load();
        let shown = |server: &Configured| rows.iter().any(|row| row.name == server.entry.name);
        loaded
            .servers
            .retain(|server| is_fetched(server) && !shown(server));
        rows.extend(show(context, options, connects, loaded)?);
    } else if nothing && !options.json {
        context::warn("no servers are configured; add one: switchboard add NAME COMMAND");
    }
    if let Some(text) = about_folder.filter(|_| !options.json) {
        context::warn(&text);
    }
    finish(options, &rows, unusable)
}

/// The rows of these servers, printed as they become known where there is no JSON.
fn show(
    context: &Context,
    options: &Options,
    connects: bool,
    loaded: Loaded,
) -> Result<Vec<Row>, Failure> {
    let (roster, settings) = context.roster(loaded, Style::Full)?;
    let layout = Layout::of(&roster.members);
    let mut rows: Vec<Row> = roster.members.iter().map(first_row).collect();
    let settled = |row: &Row| !connects || row.state != State::NotConnected;
    if !options.json {
        for row in rows.iter().filter(|row| settled(row)) {
            layout.print(row)?;
        }
    }
    // Nothing to meet: no runtime either.
    if !rows.iter().all(settled) {
        rows = life::short(async |stop| {
            let work = meet_all(&roster, &settings, rows, (!options.json).then_some(&layout));
            let met = tokio::select! {
                met = work => met,
                () = stop.cancelled() => Err(Failure::new(Code::Interrupted, "interrupted")),
            };
            switchboard::library::close(&roster.host).await;
            met
        })??;
    }
    Ok(rows)
}

fn finish(options: &Options, rows: &[Row], unusable: Option<Failure>) -> Result<Code, Failure> {
    if options.json {
        out::json_list(rows)?;
    }
    let waiting = rows
        .iter()
        .filter(|row| row.state == State::PendingApproval)
        .count();
    if waiting > 0 && !options.json {
        context::warn(&format!(
            "{waiting} of the servers above come from inside the project; they are not started, since nobody has \
             approved them. To look at one and approve it: switchboard approve NAME"
        ));
    }
    match unusable {
        Some(failure) => Err(failure),
        None if options.check && rows.iter().any(|row| row.state.is_trouble()) => {
            Ok(Code::Unreachable)
        }
        None => Ok(Code::Done),
    }
}

/// What is known without asking anybody.
fn first_row(member: &switchboard::Member) -> Row {
    let mut row = Row::new(&member.entry);
    match &member.status {
        Status::Server(_) => {}
        Status::Faulty(faults) => {
            let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
            row = row.with(State::Failed, texts.join("\n"));
        }
        Status::Unused(standing) => {
            let why = member.why.clone().unwrap_or_default();
            match standing {
                Standing::Shadowed(by) | Standing::Duplicate(by) => {
                    row.state = State::Shadowed;
                    row.shadowed_by = Some(by.clone());
                }
                Standing::PendingApproval => row = row.with(State::PendingApproval, why),
                Standing::Rejected => row = row.with(State::Rejected, why),
                Standing::Denied(_) => row = row.with(State::Denied, why),
                Standing::Itself | Standing::Disabled | Standing::Active => {
                    row = row.with(State::Disabled, why);
                }
            }
        }
    }
    row
}

async fn meet_all(
    roster: &Roster,
    settings: &Settings,
    mut rows: Vec<Row>,
    layout: Option<&Layout>,
) -> Result<Vec<Row>, Failure> {
    meet_each(roster, settings, |i, report| {
        rows[i] = rows[i].clone().reported(report);
        layout.map_or(Ok(()), |layout| layout.print(&rows[i]))
    })
    .await?;
    Ok(rows)
}

/// How every server is doing, by name, in the order they are configured.
pub fn reports(roster: &Roster, settings: &Settings) -> Result<Vec<(String, Report)>, Failure> {
    let mut found = Vec::new();
    life::short(async |stop| {
        let work = meet_each(roster, settings, |i, report| {
            found.push((i, report));
            Ok(())
        });
        let met = tokio::select! {
            met = work => met,
            () = stop.cancelled() => Err(Failure::new(Code::Interrupted, "interrupted")),
        };
        switchboard::library::close(&roster.host).await;
        met
    })??;
    found.sort_by_key(|(i, _)| *i);
    let named = |(i, report): (usize, Report)| (roster.members[i].entry.name.clone(), report);
    Ok(found.into_iter().map(named).collect())
}

/// Meets every server, side by side, and tells each as soon as it is known.
async fn meet_each(
    roster: &Roster,
    settings: &Settings,
    mut tell: impl FnMut(usize, Report) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let caller = Caller::new(roster.host.clone());
    let pools = Pools::new(settings);
    let mut meetings = FuturesUnordered::new();
    for (i, member) in roster.members.iter().enumerate() {
        let Status::Server(server) = &member.status else {
            continue;
        };
        let (caller, pools) = (&caller, &pools);
        let through = roster.through.get(&member.entry.name);
        let remote = member.entry.transport.is_remote();
        meetings.push(async move {
            let report = match through {
                Some(through) => ask(through, server).await,
                None => pools.run(remote, report(caller, server)).await,
            };
            (i, report)
        });
    }
    while let Some((i, report)) = meetings.next().await {
        tell(i, report)?;
    }
    Ok(())
}

/// What a running gateway says of a server.
async fn ask(through: &Through, server: &Server) -> Report {
    let (gateway, path) = (
        through.gateway.clone(),
        format!("servers/{}", through.segment),
    );
    let patience = server.spec.timeouts.connect * 2 + GRACE;
    let asked = tasks::blocking(move || gateway.ask("GET", &path, patience)).await;
    let answer = asked.map_err(std::io::Error::other).flatten();
    let report = answer.and_then(|text| Ok(serde_json::from_str(&text)?));
    report.unwrap_or_else(|error| Report {
        reason: Some(format!(
            "the gateway at http://{} does not say: {error}",
            through.gateway.running.address
        )),
        ..Report::default()
    })
}
