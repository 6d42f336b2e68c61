//! `stats`: how often tools were called through the running gateway, how long that
//! took, and what came of it.

mod bill;

use crate::{
    context::Context,
    failure::{Code, Failure},
    life, limits,
    near::{did_you_mean, near},
    show::{out, safe, term},
};
use clap::Args;
use std::{collections::HashMap, time::Duration};
use switchboard::{
    Attached,
    api::types::insight::Metrics,
    limits::API_PROMPT,
    record::metrics::{Line, Quantiles, Stats},
};

/// Options of `stats`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Only this server
    pub server: Option<String>,
    /// Show it again every two seconds, with the rates of that time, until you press Ctrl-C
    #[arg(long, short)]
    pub follow: bool,
    /// Print JSON; with --follow, an object each time
    #[arg(long)]
    pub json: bool,
    /// Show what each principal's list of tools costs a model, and which tools nobody called
    #[arg(long, conflicts_with_all = ["follow", "server"])]
    pub bill: bool,
    /// Hide the tools in this principal's list that nobody called: writes rules into your
    /// settings, with the difference first
    #[arg(long, value_name = "PRINCIPAL", requires = "bill")]
    pub hide: Option<String>,
    /// Write them without asking
    #[arg(long, short, requires = "hide")]
    pub yes: bool,
}

const EXAMPLES: &str = "Examples:
  switchboard stats
  switchboard stats github --follow
  switchboard stats --json
  switchboard stats --bill
  switchboard stats --bill --hide default

Times are in two columns each: of the whole call, and of that the server's part.
Tokens are what the answers would cost a model, roughly: a quarter of their bytes.";

/// Shows what the gateway has counted.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    if options.bill {
        return match &options.hide {
            Some(principal) => bill::hide(context, principal, options),
            None => bill::run(context, options.json),
        };
    }
    let gateway = gateway(context)?;
    if let Some(name) = &options.server {
        let names = gateway.servers.iter().map(|server| server.name.as_str());
        if !names.clone().any(|known| known == name) {
            let text = format!("the gateway has no server {name:?}");
            let hint = did_you_mean(&near(name, names));
            let hint = hint.unwrap_or_else(|| "see switchboard list".to_owned());
            return Err(Failure::usage(text).hint(hint));
        }
    }
    let mut before: Option<Stats> = None;
    let mut look = || {
        let mut now = ask(&gateway)?;
        if let Some(server) = &options.server {
            now.lines.retain(|line| line.server == *server);
        }
        let shown = match options.json {
            true => json(&now),
            false => show(&table(&now, before.as_ref(), room()), options.follow),
        };
        before = Some(now);
        shown
    };
    look()?;
    if options.follow {
        life::short(async |stop| {
            let stopped = stop.cancelled();
            tokio::pin!(stopped);
            loop {
                tokio::select! {
                    () = &mut stopped => return Ok::<(), Failure>(()),
                    () = tokio::time::sleep(limits::STATS_LOOK) => {}
                }
                look()?;
            }
        })??;
    }
    Ok(Code::Done)
}

/// The one that `up` runs, or else the first that answers.
fn gateway(context: &Context) -> Result<Attached, Failure> {
    let mut gateways = context.options.gateways();
    gateways.sort_by_key(|gateway| !gateway.running.by_up);
    let first = gateways.into_iter().next();
    first.ok_or_else(|| {
        let text = "no gateway runs, so that nothing is counted";
        Failure::new(Code::Unreachable, text).hint("to start one: switchboard up")
    })
}

fn ask(gateway: &Attached) -> Result<Stats, Failure> {
    let answer = gateway.get::<Metrics>("metrics", API_PROMPT);
    answer.map(Stats::told).map_err(|error| {
        let text = format!(
            "the gateway at http://{} does not say what it has counted: {error}",
            gateway.running.address
        );
        let hint =
            "it counts nothing if it was started with --metrics off, or is older than this program";
        Failure::new(Code::Unreachable, text).hint(hint)
    })
}

fn json(now: &Stats) -> Result<(), Failure> {
    let text = serde_json::to_vec(now);
    let text = text.map_err(|error| {
        let text = format!("the result cannot be written: {error}");
        Failure::new(Code::Answered, text)
    })?;
    out::json(&text)
}

/// On a terminal that is looked at again and again, in the place of what was there.
fn show(text: &str, again: bool) -> Result<(), Failure> {
    if again && term::stdout().terminal {
        out::bytes(b"\x1b[H\x1b[J")?;
    }
    out::line(text.trim_end())
}

const HEAD: [&str; 9] = [
    "SERVER", "TOOL", "CALLS", "RATE", "P50", "P95", "P99", "ERRORS", "TOKENS",
];

/// Columns that are left out where there is no room, the first one first.
const LEFT_OUT: [usize; 4] = [6, 3, 8, 5];
/// Columns that a name keeps at least.
const NAME: usize = 12; // tidy: a width on a page
/// Between two columns.
const GAP: usize = 2; // tidy: a width on a page

/// Columns that there are: whoever reads from a pipe or a file has as many as it takes.
fn room() -> usize {
    match term::stdout().terminal {
        true => term::width(),
        false => usize::MAX,
    }
}

fn table(now: &Stats, before: Option<&Stats>, room: usize) -> String {
    if now.lines.is_empty() {
        return "Nothing was called yet.".to_owned();
    }
    let rates = Rates::new(now, before);
    let rows: Vec<[String; 9]> = now.lines.iter().map(|line| row(line, &rates)).collect();
    let width = |at: usize| {
        let cells = rows.iter().map(|row| safe::columns(&row[at]));
        cells.chain([HEAD[at].len()]).max().unwrap_or_default()
    };
    let mut widths: [usize; 9] = std::array::from_fn(width);
    let left_out = fit(&mut widths, room);
    let paint = term::stdout();
    let write = |row: &[String; 9]| {
        let cells = row.iter().zip(widths).enumerate();
        let cells = cells.filter(|(_, (_, width))| *width > 0);
        let cells = cells.map(|(at, (cell, width))| {
            let cell = safe::cut_columns(cell, width);
            // Numbers stand below each other.
            let gap = " ".repeat(width.saturating_sub(safe::columns(&cell)));
            if at < 2 {
                format!("{cell}{gap}")
            } else {
                format!("{gap}{cell}")
            }
        });
        let line = cells.collect::<Vec<_>>().join(&" ".repeat(GAP));
        line.trim_end().to_owned()
    };
    let head = paint.bold(&write(&HEAD.map(str::to_owned)));
    let mut lines = vec![head];
    lines.extend(rows.iter().map(write));
    if !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().map(|at| HEAD[*at]).collect();
        let text = format!("no room for {}: --json has all", names.join(", "));
        let rows = safe::rows(&text, room);
        lines.extend(rows.iter().map(|row| paint.dim(row)));
    }
    lines.join("\n")
}

/// Makes columns fit, and says which have to be left out for that: names are cut first, as
/// far as they can still be told apart.
fn fit(widths: &mut [usize; 9], room: usize) -> Vec<usize> {
    let total = |widths: &[usize; 9]| {
        let shown = widths.iter().filter(|width| **width > 0);
        shown.map(|width| width + GAP).sum::<usize>() - GAP
    };
    let least = |widths: &[usize; 9]| {
        let mut least = *widths;
        least[0] = least[0].min(NAME);
        least[1] = least[1].min(NAME + NAME / 2);
        total(&least)
    };
    let mut left_out = Vec::new();
    for at in LEFT_OUT {
        if least(widths) > room {
            widths[at] = 0;
            left_out.push(at);
        }
    }
    while total(widths) > room && widths[0].max(widths[1]) > NAME / 2 {
        let longer = usize::from(widths[1] >= widths[0]);
        widths[longer] -= 1;
    }
    left_out
}

fn row(line: &Line, rates: &Rates<'_>) -> [String; 9] {
    let name = |text: &str| safe::cut(&safe::line(text), limits::STATS_NAME);
    let what = match line.tool.as_deref() {
        Some("") => "(unknown)".to_owned(),
        Some(tool) => name(tool),
        None => name(&line.method),
    };
    let both = |of: fn(&Quantiles) -> Option<f64>| {
        format!("{} / {}", time(of(&line.took)), time(of(&line.at_server)))
    };
    [
        match line.server.as_str() {
            "" => "(none)".to_owned(),
            server => name(server),
        },
        what,
        line.calls.to_string(),
        rates.of(line),
        both(|times| times.p50),
        both(|times| times.p95),
        both(|times| times.p99),
        line.errors.to_string(),
        line.tokens.to_string(),
    ]
}

/// How many calls a second, or a minute where that is more than none.
struct Rates<'a> {
    /// What was counted before, and how long ago that was.
    before: HashMap<(&'a str, &'a str, Option<&'a str>), u64>,
    seconds: f64,
}

impl<'a> Rates<'a> {
    fn new(now: &'a Stats, before: Option<&'a Stats>) -> Self {
        let lines = before
            .map(|before| before.lines.as_slice())
            .unwrap_or_default();
        let began = before.map_or(0.0, |before| before.seconds);
        Self {
            before: lines.iter().map(|line| (key(line), line.calls)).collect(),
            seconds: now.seconds - began,
        }
    }

    fn of(&self, line: &Line) -> String {
        let before = self.before.get(&key(line)).copied().unwrap_or_default();
        let each = line.calls.saturating_sub(before) as f64 / self.seconds.max(0.001);
        match each {
            0.0 => "0".to_owned(),
            each if each >= 1.0 => format!("{each:.1}/s"),
            each => format!("{:.1}/min", each * 60.0),
        }
    }
}

fn key(line: &Line) -> (&str, &str, Option<&str>) {
    (&line.server, &line.method, line.tool.as_deref())
}

/// A time as people read it.
fn time(seconds: Option<f64>) -> String {
    let Some(seconds) = seconds else {
        return "-".to_owned();
    };
    let micros = Duration::from_secs_f64(seconds).as_micros() as f64;
    match micros {
        micros if micros < 1e3 => format!("{micros:.0} µs"),
        micros if micros < 1e4 => format!("{:.1} ms", micros / 1e3),
        micros if micros < 1e6 => format!("{:.0} ms", micros / 1e3),
        micros if micros < 1e8 => format!("{:.1} s", micros / 1e6),
        micros => format!("{:.0} s", micros / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(tool: &str, calls: u64) -> Line {
        Line {
            server: "notes".to_owned(),
            method: "tools/call".to_owned(),
            tool: Some(tool.to_owned()),
            calls,
            ..Line::default()
        }
    }

    #[test]
    fn rates_are_of_the_time_between() {
        let before = Stats {
            seconds: 100.0,
            lines: vec![line("find", 50)],
        };
        let now = Stats {
            seconds: 102.0,
            lines: vec![line("find", 60), line("new", 1)],
        };
        let rates = Rates::new(&now, Some(&before));
        assert_eq!(rates.of(&now.lines[0]), "5.0/s");
        assert_eq!(rates.of(&now.lines[1]), "30.0/min");
        assert_eq!(rates.of(&before.lines[0]), "0");
        let whole = Rates::new(&now, None);
        assert_eq!(whole.of(&now.lines[0]), "35.3/min");
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_said() {
        let now = Stats {
            seconds: 10.0,
            lines: vec![line("a_tool_with_a_name_that_is_rather_long", 1_000_000)],
        };
        let wide = table(&now, None, usize::MAX);
        assert!(
            wide.contains("P99") && wide.contains("rather_long"),
            "{wide}"
        );
        for room in [40, 60, 80, 100] {
            let text = table(&now, None, room);
            let longest = text.lines().map(safe::columns).max();
            assert!(longest.is_some_and(|it| it <= room), "{room}:\n{text}");
            assert!(text.contains("a_tool") && text.contains("P50"), "{text}");
        }
        let narrow = table(&now, None, 40);
        assert!(narrow.contains("no room for"), "{narrow}");
    }

    #[test]
    fn times_as_people_read_them() {
        for (seconds, text) in [
            (0.000_25, "250 µs"),
            (0.0042, "4.2 ms"),
            (0.042, "42 ms"),
            (4.2, "4.2 s"),
            (420.0, "420 s"),
        ] {
            assert_eq!(time(Some(seconds)), text);
        }
        assert_eq!(time(None), "-");
    }
}
