//! `list`: every configured server and whether it works. Servers are met side
//! by side, and each line is printed as soon as it is known.

mod row;

use crate::{
    connectors,
    context::{self, Context, Say},
    failure::{Code, Failure},
    life, limits,
    show::{out, sums},
    trusting,
};
use clap::Args;
use futures_util::{StreamExt, stream::FuturesUnordered};
use row::{Layout, Row, State};
use std::sync::Arc;
use switchboard::tasks;
use switchboard::{
    Approvals, Approved, Caller, Governed, Look, Pools, Preview, Purpose, Report, Status,
    ViaGateway,
    config::{Configured, Loaded, Scope, Standing},
    host::Server,
    report,
};

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
    let found = find(context, options)?;
    let loaded = found.read();
    let connects = !options.no_connect && !loaded.is_lawless();
    let about_folder = loaded.about_folder();
    let unusable = loaded.unusable();
    let fetching = loaded.fetching();
    if connects {
        context.late.begin(fetching.as_ref());
    }
    let is_fetched = |server: &Configured| server.entry.scope == Scope::Connector;
    let known = loaded.servers.iter().any(is_fetched);
    let nothing = loaded.servers.is_empty() && unusable.is_none();
    let mut rows = show(options, connects, found)?;
    // All else is on the screen by now; JSON waits only for what was never there.
    let waits = !known || !options.json;
    if waits && connectors::arrived(context, fetching.as_ref(), known) {
        let shown: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
        let only_new = move |loaded: &mut Loaded| {
            let is_new = |server: &Configured| !shown.contains(&server.entry.name);
            loaded
                .servers
                .retain(|server| is_fetched(server) && is_new(server));
            Ok(())
        };
        let found = context.look(Say::Nothing).lawful()?;
        let found = found.approve(&Approvals::at_start());
        let found = found.arrange(Arc::new(only_new))?;
        rows.extend(show(options, connects, Found::Usable(Box::new(found)))?);
    } else if nothing && !options.json {
        context::warn("no servers are configured; add one: switchboard add NAME -- COMMAND");
    }
    if let Some(text) = about_folder.filter(|_| !options.json) {
        context::warn(&text);
    }
    finish(options, &rows, unusable.map(Failure::from))
}

/// What there is to list.
enum Found {
    /// Servers that can be met.
    Usable(Box<Approved>),
    /// What is forbidden cannot be told: nothing is started.
    Shut(Box<Look>),
}

impl Found {
    fn read(&self) -> &Look {
        match self {
            Self::Usable(approved) => approved.read(),
            Self::Shut(look) => look,
        }
    }
}

fn find(context: &Context, options: &Options) -> Result<Found, Failure> {
    let look = context.look(Say::Problems);
    if look.is_lawless() {
        return Ok(Found::Shut(Box::new(look)));
    }
    let mut config = look.lawful()?;
    if options.no_connect {
        return Ok(Found::Usable(Box::new(
            config.approve(&Approvals::at_start()),
        )));
    }
    if !options.json {
        config = trusting::asked(context, config)?;
    }
    let approved = config.approve(&context.options.approvals());
    Ok(Found::Usable(Box::new(approved.bring_along())))
}

/// The rows of these servers, printed as they become known where there is no JSON.
fn show(options: &Options, connects: bool, found: Found) -> Result<Vec<Row>, Failure> {
    let (previews, governed) = match found {
        Found::Shut(look) => (look.previews(), None),
        Found::Usable(approved) => {
            let governed = approved.govern(None, Purpose::Command)?;
            let previews = governed.members().iter().map(Preview::from).collect();
            (previews, Some(governed))
        }
    };
    let layout = Layout::of(&previews);
    let mut rows: Vec<Row> = previews.iter().map(first_row).collect();
    let settled = |row: &Row| !connects || row.state != State::NotConnected;
    if !options.json {
        for row in rows.iter().filter(|row| settled(row)) {
            layout.print(row)?;
        }
    }
    // Nothing to meet: no runtime either.
    if let Some(governed) = governed.filter(|_| !rows.iter().all(settled)) {
        rows = life::short(async |stop| {
            let work = meet_all(&governed, rows, (!options.json).then_some(&layout));
            let met = tokio::select! {
                met = work => met,
                () = stop.cancelled() => Err(Failure::new(Code::Interrupted, "interrupted")),
            };
            governed.close().await;
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
        let (come, they, them) = match waiting {
            1 => ("server above comes", "it is", "it"),
            _ => ("servers above come", "they are", "them"),
        };
        context::warn(&format!(
            "{waiting} {come} from inside the project; {they} not started, since nobody has \
             approved {them}. To look and approve: switchboard approve NAME, or approve all"
        ));
    }
    if !options.json {
        let connected = rows
            .iter()
            .filter(|row| matches!(row.state, State::Connected | State::Asleep));
        let (mut servers, mut tools, mut tokens) = (0, 0, 0);
        for row in connected {
            servers += 1;
            tools += row.tools.unwrap_or_default();
            tokens += row.tokens.unwrap_or_default();
        }
        sums::say(servers, tools, tokens);
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
fn first_row(found: &Preview) -> Row {
    let row = Row::new(&found.entry);
    let why = found.why.clone().unwrap_or_default();
    match &found.standing {
        Standing::Active if found.faults.is_empty() => row,
        Standing::Active => {
            let texts: Vec<String> = found.faults.iter().map(ToString::to_string).collect();
            row.with(State::Failed, texts.join("\n"))
        }
        Standing::Shadowed(by) | Standing::Duplicate(by) => Row {
            state: State::Shadowed,
            shadowed_by: Some(by.clone()),
            ..row
        },
        Standing::PendingApproval => row.with(State::PendingApproval, why),
        Standing::Rejected => row.with(State::Rejected, why),
        Standing::Denied(_) => row.with(State::Denied, why),
        Standing::Itself | Standing::Disabled => row.with(State::Disabled, why),
    }
}

async fn meet_all(
    governed: &Governed,
    mut rows: Vec<Row>,
    layout: Option<&Layout>,
) -> Result<Vec<Row>, Failure> {
    meet_each(governed, |i, report| {
        rows[i] = rows[i].clone().reported(report);
        layout.map_or(Ok(()), |layout| layout.print(&rows[i]))
    })
    .await?;
    Ok(rows)
}

/// How every server is doing, by name, in the order they are configured.
pub fn reports(governed: &Governed) -> Result<Vec<(String, Report)>, Failure> {
    let mut found = Vec::new();
    life::short(async |stop| {
        let work = meet_each(governed, |i, report| {
            found.push((i, report));
            Ok(())
        });
        let met = tokio::select! {
            met = work => met,
            () = stop.cancelled() => Err(Failure::new(Code::Interrupted, "interrupted")),
        };
        governed.close().await;
        met
    })??;
    found.sort_by_key(|(i, _)| *i);
    let named = |(i, report): (usize, Report)| (governed.members()[i].entry.name.clone(), report);
    Ok(found.into_iter().map(named).collect())
}

/// Meets every server, side by side, and tells each as soon as it is known.
async fn meet_each(
    governed: &Governed,
    mut tell: impl FnMut(usize, Report) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let caller = Caller::new(governed.host().clone());
    let pools = Pools::new(governed.settings());
    let mut meetings = FuturesUnordered::new();
    for (i, member) in governed.members().iter().enumerate() {
        let Status::Server(server) = &member.status else {
            continue;
        };
        let (caller, pools) = (&caller, &pools);
        let via = governed.via(&member.entry.name);
        let remote = member.entry.transport.is_remote();
        meetings.push(async move {
            let report = match via {
                Some(via) => ask(via, server).await,
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
async fn ask(via: &ViaGateway, server: &Server) -> Report {
    let (gateway, path) = (
        via.gateway.clone(),
        format!("servers/{}/report", via.segment),
    );
    let patience = server.spec.timeouts.connect * 2 + limits::GATEWAY_GRACE;
    let asked = tasks::blocking(move || gateway.get::<Report>(&path, patience)).await;
    let report = asked.map_err(std::io::Error::other).flatten();
    report.unwrap_or_else(|error| Report {
        reason: Some(format!(
            "the gateway at http://{} does not say: {error}",
            via.gateway.running.address
        )),
        ..Report::default()
    })
}
