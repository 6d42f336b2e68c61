//! A call once more.

use super::{failed, json, list};
use crate::{
    failure::{Advice, Code, Failure},
    show::{out, safe, term},
    trusting,
};
use clap::{Args, ValueEnum};
use serde_json::Value;
use switchboard::api::{
    Client, ClientError,
    types::calls::{Difference, Put, Replay, Replayed},
};

/// Options of `traffic replay`.
#[derive(Debug, Args)]
pub struct Options {
    /// Its number
    id: u64,
    /// At another server
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// As a client of this era
    #[arg(long, value_name = "ERA")]
    era: Option<Spoken>,
    /// With another argument: PATH is a.b.0 or /a/b/0, VALUE is JSON or else text
    #[arg(long, value_name = "PATH=VALUE", value_parser = put)]
    set: Vec<Put>,
    /// So many times
    #[arg(short = 'n', value_name = "N", default_value_t = 1)]
    times: u32,
    /// Also what does not say that it can be called twice without harm
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// An era.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Spoken {
    /// Revisions up to 2025-11-25
    Legacy,
    /// 2026-07-28
    Modern,
}

fn put(text: &str) -> Result<Put, Advice> {
    let (path, value) = text.split_once('=').ok_or("write PATH=VALUE")?;
    let plain = || Value::String(value.to_owned());
    Ok(Put {
        path: path.to_owned(),
        value: serde_json::from_str(value).unwrap_or_else(|_| plain()),
    })
}

/// Makes it, and shows what came of it.
pub async fn run(gateway: &Client, options: &Options) -> Result<Code, Failure> {
    let mut replay = Replay {
        server: options.server.clone(),
        era: options.era.map(|era| match era {
            Spoken::Legacy => "legacy".to_owned(),
            Spoken::Modern => "modern".to_owned(),
        }),
        set: options.set.clone(),
        arguments: None,
        times: Some(options.times),
        confirmed: options.yes,
    };
    let path = format!("calls/{}/replay", options.id);
    let replayed: Replayed = match gateway.call(&path, &replay).await {
        Err(fault) if fault.code() == Some("confirm") => {
            confirmed(&fault)?;
            replay.confirmed = true;
            let again = gateway.call(&path, &replay).await;
            again.map_err(|fault| failed(&fault))?
        }
        other => other.map_err(|fault| failed(&fault))?,
    };
    match options.json {
        true => json(&replayed)?,
        false => out::line(&text(&replayed))?,
    }
    let is_error = replayed.runs.iter().any(|run| run.call.outcome != "ok");
    Ok(if is_error { Code::Answered } else { Code::Done })
}

/// Asks whether it is meant.
fn confirmed(fault: &ClientError) -> Result<(), Failure> {
    let text = fault.to_string();
    if !term::can_ask() {
        let failure = Failure::new(Code::NotPermitted, text);
        return Err(failure.hint("--yes calls it all the same"));
    }
    let question = format!("{}. Call it again all the same?", safe::line(&text));
    match trusting::ask(&question)? {
        true => Ok(()),
        false => Err(Failure::new(Code::NotPermitted, "it was not called")),
    }
}

fn text(replayed: &Replayed) -> String {
    let mut lines: Vec<String> = replayed
        .runs
        .iter()
        .map(|run| list::line(&run.call))
        .collect();
    let mark = match replayed.same || replayed.differences.is_empty() {
        true => "",
        false => ":",
    };
    lines.push(format!("{}{mark}", replayed.words()));
    let shown = |value: &Option<Value>| {
        let text = value
            .as_ref()
            .map_or_else(|| "-".to_owned(), Value::to_string);
        safe::cut(&safe::line(&text), 200)
    };
    lines.extend(replayed.differences.iter().map(|one: &Difference| {
        let path = if one.path.is_empty() { "/" } else { &one.path };
        format!(
            "  {}: {} → {}",
            safe::line(path),
            shown(&one.before),
            shown(&one.after)
        )
    }));
    let last = replayed.runs.last();
    let said = last.and_then(|run| run.result.as_ref().or(run.error.as_ref()));
    if let Some(said) = said {
        let word = last.map_or("result", |run| match run.error {
            Some(_) => "error",
            None => "result",
        });
        let said = safe::cut(&safe::line(&said.to_string()), 2_000);
        lines.push(format!("{word}: {said}"));
    }
    lines.join("\n")
}
