//! `list`: every configured server and whether it works. Servers are met side
//! by side, and each line is printed as soon as it is known.

mod row;

use super::tools::sign_in_hint;
use crate::{
    context::{self, Context},
    failure::{Code, Failure},
    life,
    show::out,
};
use clap::Args;
use futures_util::{StreamExt, stream::FuturesUnordered};
use row::{Layout, Row, State};
use std::{sync::Arc, time::Instant};
use switchboard::{
    Caller, Met, Pools, Roster, Settings, Status, caller,
    config::Standing,
    host::{CallError, Server, catalog::List},
    wire::name::Style,
};
use tokio::time::timeout;

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
    if !options.no_connect {
        context.pin(&mut loaded);
    }
    let unusable = context::unusable(&loaded);
    let (roster, settings) = context.roster(loaded, Style::Full)?;
    let layout = Layout::of(&roster.members);
    let mut rows: Vec<Row> = roster.members.iter().map(first_row).collect();
    let settled = |row: &Row| options.no_connect || row.state != State::NotConnected;
    if !options.json {
        if rows.is_empty() && unusable.is_none() {
            context::warn("no servers are configured; add one: switchboard add NAME COMMAND");
        }
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
            roster.host.close().await;
            met
        })??;
    }
    if options.json {
        out::json_list(&rows)?;
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
    let caller = Caller::new(roster.host.clone());
    let pools = Pools::new(settings);
    let mut meetings = FuturesUnordered::new();
    for (i, (member, row)) in roster.members.iter().zip(&rows).enumerate() {
        if let Status::Server(server) = &member.status {
            let (caller, pools, row) = (&caller, &pools, row.clone());
            let remote = member.entry.transport.is_remote();
            meetings.push(async move { (i, meet(caller, server, row, pools, remote).await) });
        }
    }
    while let Some((i, row)) = meetings.next().await {
        if let Some(layout) = layout {
            layout.print(&row)?;
        }
        rows[i] = row;
    }
    Ok(rows)
}

/// Meets one server and counts what it has.
async fn meet(caller: &Caller, server: &Arc<Server>, row: Row, pools: &Pools, remote: bool) -> Row {
    let (started, met) = pools
        .run(remote, async {
            let started = Instant::now();
            (started, caller.meet(server).await)
        })
        .await;
    let mut row = match met {
        Ok(met) => {
            let left = server
                .spec
                .timeouts
                .connect
                .saturating_sub(started.elapsed());
            count(caller, &met, row, left).await
        }
        Err(_) if caller::needs_auth(server) => row.with(State::NeedsAuth, sign_in_hint(server)),
        Err(CallError::NotConnected { reason, .. }) => row.with(State::Failed, reason),
        Err(fault) => row.with(State::Failed, fault.to_string()),
    };
    row.ms = Some(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX));
    row
}

async fn count(caller: &Caller, met: &Met, mut row: Row, left: std::time::Duration) -> Row {
    row.state = State::Connected;
    row.era = Some(met.era().to_string());
    row.version = Some(met.connection.revision().to_string());
    row.server_info = met.connection.hello().and_then(row::server_info);
    let size = async |list: List| match timeout(left, caller.list(met, list)).await {
        Ok(Ok(listing)) => Some(listing.items.len()),
        Ok(Err(fault)) => {
            tracing::warn!(server = %met.server.name(), %fault, "a list could not be fetched");
            None
        }
        Err(_) => None,
    };
    let tools = async {
        timeout(left, caller.tools(met))
            .await
            .ok()
            .and_then(Result::ok)
            .map(|tools| tools.len())
    };
    (row.tools, row.resources, row.prompts) =
        tokio::join!(tools, size(List::Resources), size(List::Prompts));
    row
}
