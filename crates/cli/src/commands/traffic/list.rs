//! The list of calls, as they come.

use super::{encoded, failed, json};
use crate::{
    context::note,
    failure::{Code, Failure},
    limits,
    show::{out, safe, term},
};
use clap::Args;
use std::collections::HashSet;
use switchboard::api::{
    Client,
    types::{
        calls::{Call, Page},
        events::Event,
        filter::Filter,
        insight::TapState,
    },
};
use tokio_util::sync::CancellationToken;

/// Options of the list.
#[derive(Debug, Args)]
pub struct ListOptions {
    /// Only calls that this lets through, such as 'server:git >200ms error'
    #[arg(long, short, value_name = "FILTER", default_value = "")]
    pub filter: String,
    /// How many of those that were made before are shown first
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub last: usize,
    /// Show what is there, and end
    #[arg(long)]
    pub no_follow: bool,
    /// Print an object for each call, when it begins and when it has ended
    #[arg(long)]
    pub json: bool,
}

/// Shows calls until somebody stops it.
pub async fn run(
    gateway: &Client,
    options: &ListOptions,
    stop: CancellationToken,
) -> Result<Code, Failure> {
    // What is wrong with a filter is told before anything is asked.
    let wanted = Filter::parse(&options.filter).map_err(|wrong| {
        let text = format!("--filter: {wrong}");
        Failure::usage(text).hint("switchboard traffic --help lists what a filter can say")
    })?;
    let filter = encoded(&options.filter);
    let before: TapState = gateway.get("tap").await.map_err(|fault| failed(&fault))?;
    let follows = !options.no_follow;
    // What stands in messages is asked for each call by itself.
    let looks = wanted.needs_messages();
    let query = match looks {
        true => "topics=calls".to_owned(),
        false => format!("topics=calls&filter={filter}"),
    };
    let events = match follows {
        true => {
            let events = gateway.events(&query).await;
            Some(events.map_err(|fault| failed(&fault))?)
        }
        false => None,
    };
    let mut shown = HashSet::new();
    let earlier = earlier(gateway, &filter, options.last).await?;
    begin(options, earlier.is_empty(), follows)?;
    for call in earlier {
        if call.took.is_some() {
            shown.insert(call.id);
        }
        show(&call, options.json)?;
    }
    let Some(mut events) = events else {
        return Ok(Code::Done);
    };
    if !before.armed && !options.json {
        note("messages are kept from now on, until ten minutes after nobody looks any more");
    }
    loop {
        let next = tokio::select! {
            () = stop.cancelled() => return Ok(Code::Done),
            next = events.next() => next.map_err(|fault| failed(&fault))?,
        };
        match next {
            Some((_, Event::Call { call })) => {
                let is_over = call.took.is_some();
                // On a line each: what has ended.
                if (is_over || options.json)
                    && !shown.contains(&call.id)
                    && (!looks || matches(gateway, &filter, &call).await?)
                {
                    show(&call, options.json)?;
                }
                if is_over && shown.len() < limits::TRAFFIC_SHOWN {
                    shown.insert(call.id);
                }
            }
            Some((_, Event::Reset)) => {
                note("some calls are missing here: they came faster than they were read");
                let again = gateway.events(&query).await;
                events = again.map_err(|fault| failed(&fault))?;
            }
            Some(_) => {}
            None => {
                let text = "the gateway has ended";
                return Err(Failure::new(Code::Unreachable, text));
            }
        }
    }
}

/// Says what the columns are, or that there is nothing yet.
fn begin(options: &ListOptions, is_empty: bool, follows: bool) -> Result<(), Failure> {
    if options.json {
        return Ok(());
    }
    if is_empty && options.last > 0 {
        note(match options.filter.is_empty() {
            true => "no calls were made yet",
            false => "no calls that were made fit the filter",
        });
    }
    let paint = term::stdout();
    match paint.terminal && (follows || !is_empty) {
        true => out::line(&paint.dim(&head())),
        false => Ok(()),
    }
}

/// The last calls, the oldest first.
async fn earlier(gateway: &Client, filter: &str, most: usize) -> Result<Vec<Call>, Failure> {
    if most == 0 {
        return Ok(Vec::new());
    }
    let (mut calls, mut before) = (Vec::new(), String::new());
    loop {
        let path = format!("calls?filter={filter}&limit={}{before}", most - calls.len());
        let page: Page = gateway.get(&path).await.map_err(|fault| failed(&fault))?;
        let next = page.next.filter(|_| page.more);
        calls.extend(page.calls);
        match next {
            Some(next) if calls.len() < most => before = format!("&before={next}"),
            _ => break,
        }
    }
    calls.reverse();
    Ok(calls)
}

/// Whether a call matches by what stands in its messages.
async fn matches(gateway: &Client, filter: &str, call: &Call) -> Result<bool, Failure> {
    let path = format!("calls?filter={filter}&only={}", call.id);
    let page: Page = gateway.get(&path).await.map_err(|fault| failed(&fault))?;
    Ok(page.matching > 0)
}

fn show(call: &Call, as_json: bool) -> Result<(), Failure> {
    match as_json {
        true => json(call),
        false => out::line(&line(call)),
    }
}

/// Columns for client, server and name; where there is no room, the client is left out, and
/// so are sizes and the last digits of times.
struct Room {
    client: usize,
    server: usize,
    name: usize,
    is_narrow: bool,
}

impl Room {
    fn now() -> Self {
        let width = match term::stdout().terminal {
            true => term::width(),
            false => usize::MAX,
        };
        match width {
            0..WHOLE => {
                let rest = width.saturating_sub(BESIDE_NARROW);
                let server = (rest / 3).clamp(6, 14);
                Self {
                    client: 0,
                    server,
                    name: rest.saturating_sub(server).max(8),
                    is_narrow: true,
                }
            }
            _ => Self {
                client: 16,
                server: 14,
                name: 28,
                is_narrow: false,
            },
        }
    }

    /// The parts of a line in their columns.
    fn line(&self, parts: [&str; 9]) -> String {
        let [id, at, client, server, name, outcome, theirs, ours, size] = parts;
        let right = |text: &str, room: usize| {
            let fill = room.saturating_sub(safe::columns(text));
            format!("{}{text}", " ".repeat(fill))
        };
        let (server, name) = (column(server, self.server), column(name, self.name));
        let (id, theirs, ours) = (right(id, 6), right(theirs, 9), right(ours, 9));
        match self.is_narrow {
            true => {
                let at = column(at, 8);
                format!("{id}  {at}  {server} {name} {outcome} {theirs} {ours}")
            }
            false => {
                let (at, client) = (column(at, 12), column(client, self.client));
                let size = right(size, 8);
                format!("{id}  {at}  {client} {server} {name} {outcome} {theirs} {ours} {size}")
            }
        }
    }
}

/// Columns of a line with all that there is to show of a call.
// tidy: columns, no cap.
const WHOLE: usize = 124;
/// Columns of a narrow line besides the names.
// tidy: columns, no cap.
const BESIDE_NARROW: usize = 49;

/// What the columns are. Times are UTC.
fn head() -> String {
    Room::now().line([
        "call",
        "UTC",
        "client",
        "server",
        "what",
        "outcome  ",
        "server",
        "ours",
        "bytes",
    ])
}

/// A text in so many columns, and no more.
fn column(text: &str, room: usize) -> String {
    let text = safe::cut_columns(&safe::line(text), room);
    let fill = room.saturating_sub(safe::columns(&text));
    format!("{text}{}", " ".repeat(fill))
}

/// One call on one line; on a narrow terminal what went wrong stands below it.
pub fn line(call: &Call) -> String {
    let paint = term::stdout();
    let room = Room::now();
    let name = call.name.as_deref().unwrap_or(&call.method);
    let server = call.server.as_deref().unwrap_or("-");
    let client = call.client.as_deref().unwrap_or(&call.principal);
    let outcome = safe::line(&call.outcome);
    let outcome = format!("{outcome:<9}");
    let outcome = match call.outcome.as_str() {
        "ok" => paint.green(&outcome),
        "error" | "denied" => paint.red(&outcome),
        _ => outcome,
    };
    let ours = call.ours();
    let error = call.error.as_deref().map(|error| match room.is_narrow {
        true => format!("\n        {}", safe::line(error)),
        false => format!("  {}", safe::line(error)),
    });
    let theirs = call.at_server.map_or_else(|| "-".to_owned(), millis);
    let ours = ours.map_or_else(|| "-".to_owned(), |ours| format!("+{}", millis(ours)));
    let clock = clock(call.at);
    let at = match room.is_narrow {
        true => &clock[..8],
        false => &clock,
    };
    let line = room.line([
        &call.id.to_string(),
        at,
        client,
        server,
        name,
        &outcome,
        &theirs,
        &ours,
        &size(call.bytes_out),
    ]);
    format!("{line}{}", error.unwrap_or_default())
}

/// A time of the day, in UTC.
fn clock(at: u64) -> String {
    let seconds = at / 1000 % 86_400;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!(
        "{hours:02}:{minutes:02}:{:02}.{:03}",
        seconds % 60,
        at % 1000
    )
}

/// Microseconds for people.
pub fn millis(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..100_000 => format!("{:.1} ms", micros as f64 / 1e3),
        100_000..10_000_000 => format!("{} ms", micros / 1_000),
        _ => format!("{:.1} s", micros as f64 / 1e6),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} B"),
        10_240..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
