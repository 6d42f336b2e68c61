//! `verify`: a server, held to what was recorded.

use super::{replay, tools};
use crate::{
    context::Context,
    failure::{Code, Failure},
    life,
    show::{out, safe, term},
};
use clap::Args;
use std::{path::PathBuf, time::Duration};
use switchboard::{
    config::check,
    host::{CallError, ServerSpec, permission::Rules},
    library,
    local::{private, secret},
    record::cassette::{
        junit,
        verify::{Asking, Case, Outcome, Report, verify},
    },
};

/// Options of `verify`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// The cassette
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Which of its servers, where it has several
    #[arg(long, value_name = "NAME")]
    pub server: Option<String>,
    /// Only requests with this method or name, such as tools/call or get_*; repeatable
    #[arg(long, value_name = "PATTERN")]
    pub filter: Vec<String>,
    /// Call all tools, also those that do not say that they change nothing or may be called twice
    #[arg(long)]
    pub all: bool,
    /// Do not compare what is at or below this JSON pointer, such as /result/content/0/text; * is
    /// any one step; repeatable
    #[arg(long, value_name = "POINTER", value_parser = pointer)]
    pub ignore: Vec<String>,
    /// Write what came of it as JUnit XML, for continuous integration
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// A header of every request, for an address; repeatable
    #[arg(
        short = 'H',
        long,
        value_name = "NAME: VALUE",
        conflicts_with = "configured"
    )]
    pub header: Vec<String>,
    /// A server of the configuration, with its variables, headers and sign-in, under its rules
    #[arg(long, value_name = "NAME", conflicts_with = "target")]
    pub configured: Option<String>,
    /// How long one answer may take, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 60_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
    /// The server: a command with its arguments, or an address
    #[arg(last = true, required_unless_present = "configured", num_args = 1.., value_name = "COMMAND|URL")]
    pub target: Vec<String>,
}

const EXAMPLES: &str = "Examples:
  switchboard verify weather.mcp.jsonl -- node build/index.js
  switchboard verify weather.mcp.jsonl --all --junit report.xml -- uv run server.py
  switchboard verify weather.mcp.jsonl --ignore '/result/content/*/text' -- http://127.0.0.1:8000/mcp
  switchboard verify weather.mcp.jsonl -H \"Authorization: Bearer $TOKEN\" -- https://example.com/mcp
  switchboard verify weather.mcp.jsonl --configured weather

Requests are made in the recorded order, and what the server asks is answered as it was.
Tools are called only if the cassette and the server say that they change nothing
(readOnlyHint) or may be called twice (idempotentHint); --all calls every tool.

Exit codes: 0 everything is as it was, 1 something differs or nothing was asked, 3 the cassette
cannot be read, 4 the server cannot be reached.";

fn pointer(text: &str) -> Result<String, crate::failure::Advice> {
    match text.starts_with('/') {
        true => Ok(text.to_owned()),
        false => Err("write a JSON pointer, such as /result/content/0/text".into()),
    }
}

/// Asks the server what was asked, and says what differs.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let cassette = replay::open(&options.file)?;
    let name = replay::server(&cassette, &options.file, options.server.as_deref())?;
    let cassette = cassette.of(&name);
    let held = held(context, &name, options)?;
    let asking = Asking {
        only: options.filter.clone(),
        all: options.all,
        ignored: options.ignore.clone(),
        patience: Some(Duration::from_millis(options.timeout)),
    };
    let ran = life::short(async move |stop| {
        let verified = verify(&cassette, &name, &held.spec, &held.rules, &asking);
        stop.run_until_cancelled(Box::pin(verified)).await
    })?;
    let Some(report) = ran else {
        return Err(Failure::new(Code::Interrupted, "given up"));
    };
    let report = report.map_err(unreachable)?;
    if let Some(file) = &options.junit {
        let text = junit(&options.file.display().to_string(), &report);
        private::write(file, text.as_bytes()).map_err(|error| {
            Failure::usage(format!("{} cannot be written: {error}", file.display()))
        })?;
    }
    match options.json {
        true => json(&report)?,
        false => show(&report)?,
    }
    // Whoever runs it in continuous integration would take silence for a yes.
    if !report.has_asked() {
        let hint = match (report.cases.is_empty(), options.filter.is_empty()) {
            (true, false) => "no request of the cassette matches --filter",
            (true, true) => "the cassette has no request",
            (false, _) => "--all calls every tool",
        };
        return Err(Failure::new(Code::Answered, "nothing was compared").hint(hint));
    }
    Ok(match report.is_same() {
        true => Code::Done,
        false => Code::Answered,
    })
}

/// The server that is held to the cassette, and what it may be asked.
struct Held {
    spec: ServerSpec,
    rules: Rules,
}

/// The server that is meant: one of the configuration, an address, or a command.
fn held(context: &Context, name: &str, options: &Options) -> Result<Held, Failure> {
    if let Some(configured) = &options.configured {
        // Through a gateway it would be that which is compared.
        let mut context = context.clone();
        context.options.direct = true;
        let governed = context.servers()?;
        let spec = ServerSpec::clone(&tools::one(&governed, configured)?.spec);
        let rules = governed.host().guard().rules();
        return Ok(Held {
            spec,
            rules: Rules::clone(&rules),
        });
    }
    Ok(Held {
        spec: target(name, &options.target, &options.header)?,
        rules: Rules::everything_allowed(),
    })
}

fn target(name: &str, words: &[String], headers: &[String]) -> Result<ServerSpec, Failure> {
    let [first, rest @ ..] = words else {
        return Err(Failure::usage("the server is missing").hint("write it behind --"));
    };
    let is_address = first.starts_with("http://") || first.starts_with("https://");
    if !is_address {
        if !headers.is_empty() {
            let text = "headers are for an address, and this is a command";
            return Err(Failure::usage(text).hint("leave --header out"));
        }
        return Ok(library::command(name, first, rest));
    }
    if !rest.is_empty() {
        return Err(Failure::usage("an address is all that stands behind --"));
    }
    let address = first.parse();
    let address = address.map_err(|error| Failure::usage(format!("{first}: {error}")))?;
    let mut spec = library::remote(name, address);
    for header in headers {
        let (name, value) = check::header(header)?;
        secret::remember_value(&name, &value);
        let sent = library::header(&mut spec, &name, &value);
        sent.map_err(|error| Failure::usage(format!("the header {name:?}: {error}")))?;
    }
    Ok(spec)
}

fn unreachable(fault: CallError) -> Failure {
    Failure::new(Code::Unreachable, fault.to_string())
}

fn json(report: &Report) -> Result<(), Failure> {
    let text = serde_json::to_vec_pretty(report)
        .map_err(|error| Failure::new(Code::Answered, error.to_string()))?;
    out::json(&text)
}

fn show(report: &Report) -> Result<(), Failure> {
    for case in &report.cases {
        one(case)?;
    }
    let count = |outcome| report.count(outcome);
    let mut sum = format!("{} as recorded", count(Outcome::Same));
    for (outcome, words) in [
        (Outcome::Differs, "differ"),
        (Outcome::Failed, "got no answer"),
        (Outcome::Skipped, "not asked (--all calls every tool)"),
    ] {
        if count(outcome) > 0 {
            sum.push_str(&format!(", {} {words}", count(outcome)));
        }
    }
    out::line(&sum)
}

fn one(case: &Case) -> Result<(), Failure> {
    let paint = term::stdout();
    let what = match &case.name {
        Some(name) => format!("{} {}", safe::line(&case.method), safe::line(name)),
        None => safe::line(&case.method),
    };
    let (word, painted) = match case.outcome {
        Outcome::Same => ("same", paint.green("same")),
        Outcome::Differs => ("differs", paint.red("differs")),
        Outcome::Failed => ("failed", paint.red("failed")),
        Outcome::Skipped => ("skipped", paint.yellow("skipped")),
    };
    let gap = " ".repeat(9_usize.saturating_sub(word.len()));
    let mut text = format!("{painted}{gap}{what} (line {})", case.line);
    if let Some(reason) = &case.reason {
        text.push_str(&format!(": {}", safe::lines(reason)));
    }
    out::line(&text)?;
    for difference in &case.differences {
        let value = |value: &Option<serde_json::Value>| match value {
            Some(value) => safe::line(&value.to_string()),
            None => "nothing".to_owned(),
        };
        out::line(&format!("  {}", safe::line(&difference.path)))?;
        out::line(&format!("    recorded: {}", value(&difference.recorded)))?;
        out::line(&format!("    actual:   {}", value(&difference.actual)))?;
    }
    Ok(())
}
