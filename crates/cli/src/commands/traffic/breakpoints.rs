//! Calls that are held on their way.

use super::{failed, json};
use crate::{
    commands::inbox,
    context::warn,
    failure::{Advice, Code, Failure},
    show::{out, safe, term},
};
use clap::{Args, ValueEnum};
use switchboard::api::{
    Client,
    types::{
        breakpoints::{At, Breakpoint, Breakpoints, SetBreakpoint},
        events::Event,
        questions::Kind,
        servers::Serving,
    },
};
use tokio_util::sync::CancellationToken;

/// Options of `traffic break`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Which calls, as for --filter; without it the breakpoints that are set are listed
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// What is held: the call before it goes to its server, its result before that goes to its
    /// client, or both
    #[arg(long, value_name = "WHERE", default_value = "call")]
    at: Where,
    /// Stay, show what is held, and remove the breakpoint at the end
    #[arg(short, long, requires = "filter")]
    follow: bool,
    /// Remove this one, or all
    #[arg(long, value_name = "ID", value_parser = which, conflicts_with_all = ["filter", "follow"])]
    remove: Option<Which>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "Examples:
  switchboard traffic break server:git tool:*delete*
  switchboard traffic break --at result 'server:git error' -f
  switchboard traffic break
  switchboard traffic break --remove all

What is held waits in the inbox: switchboard answer ID release lets it go as it is, edit with --set
or --content changes its arguments or its result, refuse ends it. A changed call is held to the
permission rules as any other. What nobody lets go ends by its own time-out, at the latest after
ten minutes. Breakpoints are removed ten minutes after somebody last looked at the inbox.";

/// What is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Where {
    /// Calls, before they go to their server
    Call,
    /// Results, before they go to their client
    Result,
    /// Both
    Both,
}

/// Which breakpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    All,
    One(u64),
}

fn which(text: &str) -> Result<Which, Advice> {
    match text {
        "all" => Ok(Which::All),
        number => {
            let number = number.parse().map_err(|_| "it is a number, or all")?;
            Ok(Which::One(number))
        }
    }
}

/// Sets one, removes one, or shows them.
pub async fn run(
    gateway: &Client,
    options: &Options,
    stop: CancellationToken,
) -> Result<Code, Failure> {
    let all: Breakpoints = match (options.remove, options.filter.is_empty()) {
        (Some(Which::All), _) => gateway.delete("breakpoints").await,
        (Some(Which::One(id)), _) => gateway.delete(&format!("breakpoints/{id}")).await,
        (None, true) => gateway.get("breakpoints").await,
        (None, false) => return set(gateway, options, stop).await,
    }
    .map_err(|fault| failed(&fault))?;
    show(&all, options.json)
}

/// The servers that a filter names and the gateway does not have.
async fn unknown_servers(gateway: &Client, filter: &[String]) -> Vec<String> {
    let words = filter.iter().flat_map(|part| part.split_whitespace());
    let named = words.filter_map(|word| word.strip_prefix("server:"));
    let named: Vec<&str> = named
        .filter(|name| !name.contains(['*', '"', ',']))
        .collect();
    if named.is_empty() {
        return Vec::new();
    }
    let Ok(serving) = gateway.get::<Serving>("servers").await else {
        return Vec::new();
    };
    let is_there = |name: &str| serving.servers.iter().any(|server| server.name == name);
    let unknown = named.into_iter().filter(|name| !is_there(name));
    unknown.map(str::to_owned).collect()
}

async fn set(
    gateway: &Client,
    options: &Options,
    stop: CancellationToken,
) -> Result<Code, Failure> {
    // Before it is set, so that nothing is missed between.
    let events = match options.follow {
        true => Some(gateway.events("topics=questions").await),
        false => None,
    };
    for name in unknown_servers(gateway, &options.filter).await {
        warn(&format!(
            "the gateway has no server {name:?}: nothing of it can be held"
        ));
    }
    let set = SetBreakpoint {
        filter: options.filter.join(" "),
        at: match options.at {
            Where::Call => At::Call,
            Where::Result => At::Result,
            Where::Both => At::Both,
        },
    };
    let all: Breakpoints = gateway
        .post("breakpoints", &set)
        .await
        .map_err(|fault| failed(&fault))?;
    let Some(events) = events else {
        return show(&all, options.json);
    };
    let mut events = events.map_err(|fault| failed(&fault))?;
    let id = all.breakpoints.last().map_or(0, |one| one.id);
    if !options.json {
        show(&all, false)?;
    }
    let ended = loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = stop.cancelled() => break Ok(()),
        };
        match event {
            Ok(Some((_, Event::Question { question, .. }))) if question.kind == Kind::Held => {
                let question = inbox::whole(gateway, *question).await;
                let question = question.map_err(inbox::failed)?;
                match options.json {
                    true => json(&question)?,
                    false => inbox::show(&question)?,
                }
            }
            Ok(Some(_)) => {}
            Ok(None) => break Ok(()),
            Err(fault) => break Err(failed(&fault)),
        }
    };
    let removed = gateway
        .delete::<Breakpoints>(&format!("breakpoints/{id}"))
        .await;
    // One that is gone already needs nobody to remove it.
    if let Err(fault) = removed
        && fault.code() != Some("not-found")
        && ended.is_ok()
    {
        return Err(failed(&fault));
    }
    ended.map(|()| Code::Done)
}

fn show(all: &Breakpoints, as_json: bool) -> Result<Code, Failure> {
    if as_json {
        json(all)?;
        return Ok(Code::Done);
    }
    if all.breakpoints.is_empty() {
        out::line("No breakpoints are set: nothing is held.")?;
    }
    all.breakpoints
        .iter()
        .try_for_each(|one| out::line(&line(one)))?;
    if all.held > 0 {
        let held = all.held;
        out::line(&format!("{held} held: switchboard inbox"))?;
    }
    if all.missed > 0 {
        let missed = all.missed;
        out::line(&format!(
            "{missed} could not be held: there was no room for them"
        ))?;
    }
    Ok(Code::Done)
}

fn line(one: &Breakpoint) -> String {
    let paint = term::stdout();
    let at = match one.at {
        At::Call => "calls",
        At::Result => "results",
        At::Both => "calls and results",
    };
    let filter = match one.filter.as_str() {
        "" => "all",
        filter => filter,
    };
    let about = format!("set by {}, held {}", one.by, one.hits);
    format!(
        "{}  holds {at}: {}  {}",
        paint.bold(&one.id.to_string()),
        safe::line(filter),
        paint.dim(&safe::line(&about))
    )
}
