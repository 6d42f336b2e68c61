//! How lines of logs are shown.

use super::{
    Options,
    source::{Entry, Source, Whose},
};
use crate::{
    failure::{Code, Failure},
    limits,
    show::safe,
};
use chrono::{DateTime, Local, SecondsFormat, Utc};
use serde_json::{Map, Value, json};
use std::io::{self, BufWriter, Write};
use switchboard::local::secret;

/// Writes lines as they were asked for.
pub(super) struct Shown {
    out: BufWriter<io::Stdout>,
    since: Option<DateTime<Utc>>,
    json: bool,
    /// Whether lines of several logs stand together, with their times and whose they are.
    labelled: bool,
    /// Columns of what says whose they are.
    width: usize,
    /// Whether whoever read has gone.
    over: bool,
}

impl Shown {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            out: BufWriter::new(io::stdout()),
            since: options.since,
            json: options.json,
            labelled: options.server.is_none(),
            width: 0,
            over: false,
        }
    }

    /// Makes room for the names of these.
    pub(super) fn widen(&mut self, sources: &[Source]) {
        let widths = sources
            .iter()
            .map(|source| safe::columns(&label(&source.whose)));
        self.width = widths.max().unwrap_or_default();
    }

    /// Whether nobody reads any more.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Shows a line, where it is one of those that were asked for.
    pub(super) fn entry(&mut self, whose: &Whose, entry: &Entry) -> Result<(), Failure> {
        // A line that does not say when it was written is of the time before.
        if self
            .since
            .is_some_and(|since| entry.time.is_none_or(|time| time < since))
        {
            return Ok(());
        }
        let entry = Entry {
            time: entry.time,
            text: secret::text(&entry.text).into_owned(),
        };
        let line = match (self.json, self.labelled) {
            (true, _) => safe::json(&Value::Object(object(whose, &entry)).to_string()),
            (false, true) => self.with_label(whose, &entry),
            (false, false) => safe::line(&entry.text),
        };
        let written = writeln!(self.out, "{line}");
        self.done(written)
    }

    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        let flushed = self.out.flush();
        self.done(flushed)
    }

    fn done(&mut self, written: io::Result<()>) -> Result<(), Failure> {
        match written {
            Ok(()) => Ok(()),
            // Whoever reads has read enough (`switchboard logs | head -1`).
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.over = true;
                Ok(())
            }
            Err(error) => {
                let text = format!("the result cannot be written: {error}");
                Err(Failure::new(Code::Answered, text))
            }
        }
    }

    fn with_label(&self, whose: &Whose, entry: &Entry) -> String {
        let time = entry.time.map_or_else(
            || "-".to_owned(),
            |time| time.with_timezone(&Local).format("%F %T%.3f").to_string(),
        );
        let label = label(whose);
        let gap = " ".repeat(self.width.saturating_sub(safe::columns(&label)));
        let text = safe::line(entry.text.trim_start());
        format!("{time}  {label}{gap}  {text}")
    }
}

fn label(whose: &Whose) -> String {
    match whose {
        Whose::Gateway => "gateway".to_owned(),
        Whose::Server(name) => safe::cut(&safe::line(name), limits::LOG_LABEL),
    }
}

/// A line for programs.
fn object(whose: &Whose, entry: &Entry) -> Map<String, Value> {
    let mut all = Map::new();
    let mut add = |key: &str, value: Value| {
        if !value.is_null() {
            all.insert(key.to_owned(), value);
        }
    };
    let time = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Micros, true);
    add("time", json!(entry.time.map(time)));
    match whose {
        Whose::Server(name) => {
            add("source", json!("server"));
            add("server", json!(name));
            add("text", json!(entry.text));
        }
        Whose::Gateway => {
            let (process, level, text) = parts(&entry.text);
            add("source", json!("gateway"));
            add("process", json!(process));
            add("level", json!(level.map(str::to_lowercase)));
            add("text", json!(text));
        }
    }
    all
}

/// What a gateway's line says before its text: its process and its level.
fn parts(text: &str) -> (Option<u32>, Option<&str>, &str) {
    let text = text.trim_start();
    let process = text.strip_prefix('[').and_then(|rest| {
        let (process, rest) = rest.split_once("] ")?;
        Some((process.parse().ok()?, rest))
    });
    let (process, text) = process.map_or((None, text), |(process, rest)| (Some(process), rest));
    let text = text.trim_start();
    let levels = ["ERROR", "WARN", "INFO", "DEBUG", "TRACE"];
    match text.split_once(' ') {
        Some((level, rest)) if levels.contains(&level) => (process, Some(level), rest),
        _ => (process, None, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_gateway_says_of_its_lines() {
        for (text, found) in [
            ("[7]  WARN host: odd", (Some(7), Some("WARN"), "host: odd")),
            (
                " INFO host: [7] fine",
                (None, Some("INFO"), "host: [7] fine"),
            ),
            ("something else", (None, None, "something else")),
            ("[x] y", (None, None, "[x] y")),
        ] {
            assert_eq!(parts(text), found);
        }
    }
}
