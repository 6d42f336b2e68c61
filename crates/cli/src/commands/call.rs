//! `call`: one tool call, from the name as typed to the result as wanted.

mod arguments;
mod ask;
mod progress;
mod resolve;

use crate::{
    commands::tools::unreachable,
    context::Context,
    failure::{Code, Failure},
    life,
    show::{anthropic, content, out, safe},
};
use arguments::Arguments;
use clap::{Args, ValueEnum};
use progress::Progress;
use resolve::Found;
use serde_json::Value;
use switchboard::{
    Caller, Roster, Settings,
    host::{CallError, Event, Exchange, Outcome},
    wire::{Kind, Message, Method, name::Style},
};
use tokio_util::sync::CancellationToken;

/// Options of `call`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// The tool: mcp__server__tool, server__tool, or just its name where only one server has it
    pub tool: String,
    /// Its arguments as a JSON object; @FILE reads them from a file, - from stdin
    #[arg(value_name = "JSON")]
    pub arguments: Option<String>,
    /// One argument; its value is typed by the tool's schema, @FILE reads it from a file (@@ for a plain @)
    #[arg(short = 'a', value_name = "KEY=VALUE")]
    pub pairs: Vec<String>,
    /// Print the server's result as it came
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Print the result in another form
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Show progress line by line, also where stderr is no terminal
    #[arg(long)]
    pub progress: bool,
}

const EXAMPLES: &str = "Examples:
  switchboard call system__health
  switchboard call files__read -a path=README.md
  switchboard call search '{\"query\": \"mcp\", \"limit\": 3}' --json";

/// Forms of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Content blocks of Anthropic's API
    Anthropic,
}

/// Calls.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    // A typing error should not cost the start of a server.
    let whole = options
        .arguments
        .as_deref()
        .map(arguments::whole)
        .transpose()?;
    let (roster, settings) = context.roster(context.load_all()?, Style::Full);
    if roster.host.servers().is_empty() {
        // Nothing can be called; why not is still worth saying.
        return Err(resolve::unknown(&roster, &options.tool, &[]));
    }
    life::short(async |stop| {
        let done = call(&roster, &settings, options, whole, &stop).await;
        roster.host.close().await;
        done
    })?
}

async fn call(
    roster: &Roster,
    settings: &Settings,
    options: &Options,
    whole: Option<Arguments>,
    stop: &CancellationToken,
) -> Result<Code, Failure> {
    let interrupted = || Failure::new(Code::Interrupted, "interrupted");
    let caller = Caller::new(roster.host.clone());
    let found = tokio::select! {
        found = resolve::find(roster, settings, &caller, &options.tool) => found?,
        () = stop.cancelled() => return Err(interrupted()),
    };
    let definition: Value = serde_json::from_slice(&found.item.raw).unwrap_or_default();
    let schema = &definition["inputSchema"];
    let mut arguments = arguments::with_pairs(whole.unwrap_or_default(), &options.pairs, schema)?;
    tokio::select! {
        completed = ask::missing(&mut arguments, schema) => completed?,
        () = stop.cancelled() => return Err(interrupted()),
    }
    let server = &found.met.server;
    let text = arguments.text();
    let exchange = tokio::select! {
        exchange = caller.call(&found.met, &found.item.key, &text) => exchange,
        () = stop.cancelled() => return Err(interrupted()),
    };
    let exchange = exchange.map_err(|fault| unreachable(server, &fault))?;
    match follow(exchange, &mut Progress::new(options.progress), stop).await {
        Some(Outcome::Reply(reply)) => show(options, &found, &reply.message),
        Some(Outcome::Failed(CallError::Cancelled)) | None => Err(interrupted()),
        Some(Outcome::Failed(fault)) => Err(unreachable(server, &fault)),
    }
}

/// Follows the call to its end; `None` if the user gave up, and the server was told.
async fn follow(
    mut exchange: Exchange,
    progress: &mut Progress,
    stop: &CancellationToken,
) -> Option<Outcome> {
    loop {
        let event = tokio::select! {
            event = exchange.next() => event,
            () = stop.cancelled() => {
                progress.clear();
                drop(exchange);
                // The word must be out before the server's input is closed.
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                return None;
            }
        };
        match event {
            Event::Notice(notice) if notice.method == Method::Progress => {
                progress.show(notice.message.body())
            }
            Event::Notice(notice) => {
                let body = String::from_utf8_lossy(notice.message.body()).into_owned();
                tracing::info!(
                    method = notice.message.method_name(),
                    body,
                    "the server says"
                );
            }
            Event::Input(input) => input.refuse_unsupported(),
            Event::Outcome(outcome) => {
                progress.clear();
                return Some(outcome);
            }
        }
    }
}

/// Prints the result in the form that is wanted.
fn show(options: &Options, found: &Found, message: &Message) -> Result<Code, Failure> {
    let anthropic = options.format == Some(Format::Anthropic);
    let server = found.met.server.name();
    if message.kind() == Kind::Error {
        let text = message
            .error_text()
            .unwrap_or_else(|| "the server gave no reason".to_owned());
        if anthropic {
            out::line(&anthropic::error(&text).to_string())?;
            return Ok(Code::Answered);
        }
        let code = message
            .error_code()
            .map(|code| format!(" ({code})"))
            .unwrap_or_default();
        return Err(Failure::new(
            Code::Answered,
            format!("server {server:?} answered with an error{code}: {text}"),
        ));
    }
    let body = message.body_bytes();
    let result: Option<Value> = serde_json::from_slice(&body).ok();
    let is_error = result
        .as_ref()
        .is_some_and(|result| result["isError"] == true);
    let asks = result
        .as_ref()
        .is_some_and(|result| result["resultType"] == "input_required");
    if options.json {
        let mut bytes = body.to_vec();
        bytes.push(b'\n');
        out::bytes(&bytes)?;
    } else if asks {
        let text = format!(
            "tool {:?} of server {server:?} asks for input, which `call` cannot give yet",
            found.item.key
        );
        return Err(Failure::new(Code::Answered, text).hint("--json shows what it asks for"));
    } else if anthropic {
        let result = result.unwrap_or_default();
        out::line(&anthropic::result(&result, server, &found.item.key).to_string())?;
    } else {
        let text = match &result {
            Some(result) => content::text(result, server),
            // Legal JSON that no tree of ours can hold.
            None => String::from_utf8_lossy(&body).into_owned(),
        };
        out::line(&safe::lines(text.trim_end_matches('\n')))?;
    }
    Ok(if is_error || asks {
        Code::Answered
    } else {
        Code::Done
    })
}
