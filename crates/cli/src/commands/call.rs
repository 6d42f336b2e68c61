//! `call`: one tool call, from the name as typed to the result as wanted.

pub mod arguments;
mod ask;
pub mod form;
mod pages;
mod progress;
pub mod resolve;
pub mod terminal;

use crate::{
    commands::tools::unreachable,
    context::{Context, note, warn},
    failure::{Code, Failure},
    life, limits,
    show::{answered, anthropic, content, out, safe, term},
};
use arguments::Arguments;
use clap::{Args, ValueEnum};
use resolve::Found;
use serde_json::Value;
use switchboard::{
    Caller, Governed, Settings,
    agent::{Operator, Question},
    host::{CallError, Reply, catalog::List},
    model::{
        ModelTool, Validators, Verdict,
        limits::PATIENT_VALIDATION,
        shape::{Origin, Shaper, Store},
    },
    wire::{Kind, Message, Method, code, json},
};
use terminal::Terminal;
use tokio_util::sync::CancellationToken;

/// Options of `call`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// The tool: mcp__server__tool, server__tool, or just its name where only one server has it
    pub tool: String,
    /// Its arguments: one by one, or as a JSON object; @FILE reads that from a file, - from stdin
    #[arg(value_name = "JSON|KEY=VALUE")]
    pub arguments: Vec<String>,
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
  switchboard call files__read path=README.md
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
    let (whole, pairs) = arguments::told_apart(&options.arguments, &options.pairs)?;
    let whole = whole.map(arguments::whole).transpose()?;
    let governed = context.servers()?;
    if governed.host().servers().is_empty() {
        // Nothing can be called; why not is still worth saying.
        return Err(resolve::unknown(&governed, List::Tools, &options.tool, &[]));
    }
    life::short(async |stop| {
        let given = (whole.unwrap_or_default(), pairs);
        let done = call(context, &governed, options, given, &stop).await;
        governed.close().await;
        done
    })?
}

async fn call(
    context: &Context,
    governed: &Governed,
    options: &Options,
    (whole, pairs): (Arguments, Vec<String>),
    stop: &CancellationToken,
) -> Result<Code, Failure> {
    let interrupted = || Failure::new(Code::Interrupted, "interrupted");
    let caller = caller(governed);
    let found = tokio::select! {
        found = resolve::find(governed, governed.settings(), &caller, List::Tools, &options.tool) => found?,
        () = stop.cancelled() => return Err(interrupted()),
    };
    let definition: Value = serde_json::from_slice(&found.item.raw).unwrap_or_default();
    let schema = &definition["inputSchema"];
    let mut arguments = arguments::with_pairs(whole, &pairs, schema)?;
    ask::unknown(&arguments, schema)?;
    tokio::select! {
        completed = ask::missing(&mut arguments, schema) => completed?,
        () = stop.cancelled() => return Err(interrupted()),
    }
    let text = arguments.text();
    check_arguments(&found, &text).await?;
    let terminal = Terminal::new(options.progress);
    let answer = tokio::select! {
        answer = send(&found, &text, &terminal) => answer,
        () = stop.cancelled() => {
            terminal.clear();
            // The word must be out before the server's input is closed.
            tokio::time::sleep(limits::LAST_WORD).await;
            return Err(interrupted());
        }
    };
    terminal.clear();
    match answer {
        Ok(reply) => {
            check_result(&found, &reply.message).await;
            let has_gateway = governed.is_behind_a_gateway(found.met.server().name());
            if let Some(refused) = answered::refused(&reply.message).filter(|_| has_gateway) {
                return Err(refused);
            }
            show(
                context,
                options,
                governed.settings(),
                &found,
                &reply.message,
            )
        }
        Err(CallError::Cancelled) => Err(interrupted()),
        Err(fault) => Err(unreachable(found.met.server(), &fault)),
    }
}

/// A caller with the person at the terminal behind it, where there is one.
pub fn caller(governed: &Governed) -> Caller {
    if term::can_ask() {
        Caller::answering(governed.host().clone())
    } else {
        Caller::new(governed.host().clone())
    }
}

/// Sends the call; again, a few times, if the server wants a page visited first.
async fn send(found: &Found, arguments: &str, terminal: &Terminal) -> Result<Reply, CallError> {
    let mut visits = 0;
    loop {
        let call = found.met.follow_tool(&found.item.key, arguments, terminal);
        let reply = call.await?;
        let wanted = reply.message.error_code() == Some(code::URL_ELICITATION_REQUIRED);
        if !wanted || visits == limits::VISITS || !term::can_ask() {
            return Ok(reply);
        }
        visits += 1;
        let body: Value = serde_json::from_slice(reply.message.body()).unwrap_or_default();
        let pages = body["data"]["elicitations"].as_array().cloned();
        for params in pages.unwrap_or_default() {
            let question = Question {
                server: found.met.server().name().clone(),
                method: Method::ElicitationCreate,
                params,
            };
            match terminal.elicit(&question).await {
                Ok(answer) if answer["action"] == "accept" => {}
                _ => return Ok(reply),
            }
        }
    }
}

/// What the server would refuse is refused here, with the place that is wrong.
async fn check_arguments(found: &Found, arguments: &str) -> Result<(), Failure> {
    let Ok(Some(schema)) = json::field(&found.item.raw, "inputSchema") else {
        return Ok(());
    };
    let schema = schema.of(&found.item.raw);
    match Validators::new(PATIENT_VALIDATION)
        .check(schema, arguments.as_bytes())
        .await
    {
        Verdict::Valid => Ok(()),
        Verdict::Invalid(invalid) => {
            let text = format!("the arguments are not as the tool wants them: {invalid}");
            let hint = format!("see switchboard tools --search {} --json", found.item.key);
            Err(Failure::usage(text).hint(hint))
        }
        Verdict::Unchecked(why) => {
            tracing::info!(why, "the arguments were not checked");
            Ok(())
        }
    }
}

/// A result that is not what the tool promised is shown all the same, with a warning.
async fn check_result(found: &Found, message: &Message) {
    let (raw, body) = (&found.item.raw, message.body());
    let (Ok(Some(schema)), Ok(Some(result))) = (
        json::field(raw, "outputSchema"),
        json::field(body, "structuredContent"),
    ) else {
        return;
    };
    let validators = Validators::new(PATIENT_VALIDATION);
    let verdict = validators.check(schema.of(raw), result.of(body));
    if let Verdict::Invalid(invalid) = verdict.await {
        warn(&format!(
            "the result is not as the tool's outputSchema says: {invalid}"
        ));
    }
}

/// What shapes results for a model; large ones go to the data directory.
fn shaper(context: &Context, settings: &Settings) -> Shaper {
    let store = context
        .options
        .dirs()
        .map_err(std::io::Error::other)
        .and_then(|dirs| Store::open(dirs.data.join("results")));
    let mut shaper = Shaper::default();
    match store {
        Ok(store) => shaper.store = Some(store),
        Err(fault) => warn(&format!("large results cannot be kept: {fault}")),
    }
    if let Some(tokens) = settings.output_tokens {
        shaper.options.max_tokens = tokens;
    }
    shaper
}

/// Prints the result in the form that is wanted.
fn show(
    context: &Context,
    options: &Options,
    settings: &Settings,
    found: &Found,
    message: &Message,
) -> Result<Code, Failure> {
    let anthropic = options.format == Some(Format::Anthropic);
    let server = found.met.server().name();
    if message.kind() == Kind::Error {
        let text = message
            .error_text()
            .unwrap_or_else(|| "the server gave no reason".to_owned());
        if anthropic {
            out::json(anthropic::error(&text).to_string().as_bytes())?;
            return Ok(Code::Answered);
        }
        return Err(answered::failure(server, message));
    }
    let body = message.body_bytes();
    let result: Option<Value> = serde_json::from_slice(&body).ok();
    let is_error = result
        .as_ref()
        .is_some_and(|result| result["isError"] == true);
    let asks = result
        .as_ref()
        .is_some_and(|result| result["resultType"] == "input_required");
    // What no tree of ours can hold is legal all the same.
    let is_known = result.as_ref().is_none_or(content::is_known);
    if options.json {
        out::json(&body)?;
    } else if asks {
        let text = format!(
            "tool {:?} of server {server:?} asks for input, and nobody can be asked: there is no terminal",
            found.item.key
        );
        return Err(Failure::new(Code::Answered, text).hint("--json shows what it asks for"));
    } else if anthropic {
        let model = ModelTool::read(server, &found.item.raw).ok();
        let origin = Origin {
            server,
            tool: &found.item.key,
            max_chars: model.and_then(|model| model.max_result_chars),
        };
        let result = anthropic::result(&shaper(context, settings), &origin, &body);
        out::json(result.to_string().as_bytes())?;
    } else if !is_known {
        let text = format!("Unexpected response format from tool {}", found.item.key);
        return Err(Failure::new(Code::Answered, text).hint("--json shows it as it came"));
    } else {
        let text = match &result {
            Some(result) => content::text(result, server),
            None => String::from_utf8_lossy(&body).into_owned(),
        };
        if text.is_empty() {
            note("the result is empty");
        }
        let text = match term::stdout().terminal {
            true => content::indented(text),
            false => text,
        };
        out::line(&safe::lines(text.trim_end_matches('\n')))?;
    }
    Ok(if is_error || asks || !is_known {
        Code::Answered
    } else {
        Code::Done
    })
}
