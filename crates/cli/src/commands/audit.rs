//! `audit`: the record of calls and changes, searched and checked.

#[cfg(feature = "cluster")]
mod fleet;
#[cfg(not(feature = "cluster"))]
#[path = "audit/alone.rs"]
mod fleet;

use crate::{
    commands::cluster::OfCluster,
    context::{Context, note},
    failure::{Advice, Code, Failure},
    show::{out, safe},
};
use chrono::{DateTime, Local, NaiveDate, Utc};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::{io, path::PathBuf};
use switchboard::{
    local::visible,
    record::audit::{Keep, read, said, verify},
    watching::audit_folder,
};

/// Options of `audit`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    /// Only what this server is concerned with
    #[arg(long, value_name = "SERVER")]
    server: Option<String>,
    /// Only calls of this tool, prompt or resource
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Only what this principal did
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,
    /// Only what was not permitted
    #[arg(long)]
    denied: bool,
    /// Only since then: a time such as 2026-01-31T12:00:00Z or 2026-01-31, or how long ago, such as
    /// 90s, 15m, 12h or 7d
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<DateTime<Utc>>,
    /// Print the records as they are, one JSON object each; of a cluster with the replica
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    cluster: OfCluster,
}

/// What else can be done with it.
#[derive(Debug, Subcommand)]
enum Action {
    /// Check that no record was altered, removed or moved, and that the end is there
    Verify {
        /// A file to which heads were sent (headsTo): they are compared as well
        #[arg(long, value_name = "FILE")]
        heads: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        cluster: OfCluster,
    },
}

const EXAMPLES: &str = "Examples:
  switchboard audit --denied --since 7d
  switchboard audit --server github --json
  switchboard audit --cluster nats://10.0.0.1:4222 --cluster-key-file cluster.key
  switchboard audit verify";

impl Options {
    /// Whether errors are to be JSON.
    pub fn wants_json(&self) -> bool {
        match &self.action {
            Some(Action::Verify { json, .. }) => *json,
            None => self.json,
        }
    }
}

/// Shows what was asked for.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let of_cluster = match &options.action {
        Some(Action::Verify { cluster, .. }) => cluster,
        None => &options.cluster,
    };
    if let Some(shared) = of_cluster.shared() {
        return match &options.action {
            Some(Action::Verify { heads: Some(_), .. }) => {
                let text = "--heads is about the records of this machine, and --cluster is not";
                Err(Failure::usage(text).hint("leave one of them out"))
            }
            Some(Action::Verify { json, .. }) => fleet::check(context, &shared, *json),
            None => fleet::search(context, &shared, options),
        };
    }
    let keep = Keep::within(audit_folder(&context.dirs()?));
    if !keep.folder.exists() {
        let text = format!("nothing is recorded in {}", keep.folder.display());
        let hint =
            r#"start the gateway with --audit, or put "observe": {"audit": {}} into your settings"#;
        return Err(Failure::new(Code::Configuration, text).hint(hint));
    }
    match &options.action {
        Some(Action::Verify { heads, json, .. }) => check(&keep, heads.as_ref(), *json),
        None => search(&keep, options),
    }
}

fn unreadable(keep: &Keep, error: &io::Error) -> Failure {
    let text = format!("{} cannot be read: {error}", keep.folder.display());
    Failure::new(Code::Configuration, text)
}

fn search(keep: &Keep, options: &Options) -> Result<Code, Failure> {
    let mut shown = Shown::new(options);
    let read = read(keep, |line| shown.take(None, line));
    read.map_err(|error| unreadable(keep, &error))?;
    shown.end()
}

/// The records that are asked for, as they are shown one after the other.
struct Shown<'a> {
    options: &'a Options,
    failed: Option<Failure>,
    any: bool,
}

impl<'a> Shown<'a> {
    fn new(options: &'a Options) -> Self {
        Self {
            options,
            failed: None,
            any: false,
        }
    }

    /// Shows one, if it is asked for; whether there may be more.
    fn take(&mut self, replica: Option<&str>, line: &[u8]) -> bool {
        let Ok(record) = serde_json::from_slice::<Value>(line) else {
            return true;
        };
        if !self.options.wants(&record) {
            return true;
        }
        let text = String::from_utf8_lossy(line);
        let shown = match (self.options.json, replica) {
            (true, None) => visible::json(&text),
            // As it is: it was hashed so.
            (true, Some(replica)) => {
                let replica = json!(replica);
                visible::json(&format!("{{\"replica\":{replica},\"record\":{text}}}"))
            }
            (false, None) => safe::line(&told(&record)),
            (false, Some(replica)) => safe::line(&format!("{}  replica={replica}", told(&record))),
        };
        self.any = true;
        self.failed = out::line(&shown).err();
        self.failed.is_none()
    }

    fn end(self) -> Result<Code, Failure> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        if !self.any && !self.options.json {
            note("nothing is recorded that this asks for");
        }
        Ok(Code::Done)
    }
}

impl Options {
    fn wants(&self, record: &Value) -> bool {
        let is = |key: &str, wanted: &Option<String>| {
            let said = said(record, key);
            wanted.is_none() || said == wanted.as_deref()
        };
        let is_tool = ["tool", "prompt", "resource", "name"];
        let since = self.since.is_none_or(|since| {
            let time = said(record, "time").and_then(|time| time.parse::<DateTime<Utc>>().ok());
            time.is_none_or(|time| time >= since)
        });
        let denied = said(record, "outcome") == Some("denied");
        is("server", &self.server)
            && is("principal", &self.principal)
            && is_tool.iter().any(|key| is(key, &self.tool))
            && (!self.denied || denied)
            && since
    }
}

/// A record for people.
fn told(record: &Value) -> String {
    let time = said(record, "time").unwrap_or_default();
    let time = time.parse::<DateTime<Utc>>().map_or_else(
        |_| time.to_owned(),
        |time| time.with_timezone(&Local).format("%F %T").to_string(),
    );
    let event = said(record, "event").unwrap_or("?");
    let mut text = format!("{time}  {event}");
    let skip = [
        "n",
        "time",
        "prev",
        "event",
        "argumentsSha256",
        "call",
        "session",
        "era",
    ];
    for (key, value) in record.as_object().into_iter().flatten() {
        if skip.contains(&key.as_str()) {
            continue;
        }
        let value = match value {
            Value::String(said) => said.clone(),
            other => other.to_string(),
        };
        text.push_str(&format!("  {key}={value}"));
    }
    text
}

fn check(keep: &Keep, heads: Option<&PathBuf>, as_json: bool) -> Result<Code, Failure> {
    let verified = verify(keep, heads.map(PathBuf::as_path));
    let verified = verified.map_err(|error| unreadable(keep, &error))?;
    let is_whole = verified.problem_count == 0;
    if as_json {
        let problems: Vec<String> = verified.problems.iter().map(ToString::to_string).collect();
        out::line(
            &json!({"whole": is_whole, "records": verified.records, "last": verified.last,
                "afterHead": verified.after_head, "torn": verified.is_torn,
                "problems": problems, "problemCount": verified.problem_count})
            .to_string(),
        )?;
    } else {
        for problem in &verified.problems {
            out::line(&safe::line(&problem.to_string()))?;
        }
        let rest = verified.problem_count - verified.problems.len();
        if rest > 0 {
            out::line(&format!("… and {rest} more"))?;
        }
        if verified.after_head > 0 || verified.is_torn {
            out::line(&format!(
                "{} records stand behind the head: a program ended before it could write it, or writes now.",
                verified.after_head
            ))?;
        }
        let word = if is_whole { "whole" } else { "NOT whole" };
        out::line(&format!("{} records, {word}.", verified.records))?;
    }
    Ok(if is_whole { Code::Done } else { Code::Answered })
}

/// A time, or how long ago.
pub fn since(text: &str) -> Result<DateTime<Utc>, Advice> {
    if let Ok(time) = text.parse::<DateTime<Utc>>() {
        return Ok(time);
    }
    if let Some(day) = text
        .parse::<NaiveDate>()
        .ok()
        .and_then(|day| day.and_hms_opt(0, 0, 0))
    {
        return Ok(day.and_utc());
    }
    let ago = || {
        let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 24 * 3600,
            _ => return None,
        };
        let seconds = number.parse::<u32>().ok()?.checked_mul(seconds)?;
        Utc::now().checked_sub_signed(chrono::Duration::seconds(seconds.into()))
    };
    ago().ok_or_else(|| {
        "write a time such as 2026-01-31T12:00:00Z, or how long ago: 90s, 15m, 12h, 7d".into()
    })
}

#[cfg(test)]
mod tests {
    use super::since;

    #[test]
    fn times_as_people_write_them() {
        for fine in [
            "2026-01-31T12:00:00Z",
            "2026-01-31",
            "90s",
            "15m",
            "12h",
            "7d",
        ] {
            assert!(since(fine).is_ok(), "{fine}");
        }
        for wrong in ["", "s", "7", "7w", "-1d", "yesterday", "99999999999d"] {
            assert!(since(wrong).is_err(), "{wrong}");
        }
        let hour = chrono::Utc::now() - since("1h").unwrap();
        assert!((3590..3700).contains(&hour.num_seconds()), "{hour}");
    }
}
