//! `traffic`: calls as they pass through the running gateway, both sides of one, and one
//! once more.

mod breakpoints;
mod list;
mod replay;
mod show;

use crate::{
    context::Context,
    failure::{Code, Failure},
    life,
    show::{live, out},
};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use switchboard::{
    api::{Client, ClientError, types::calls::Detail},
    local::{percent, secret},
};

/// Options of `traffic`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: list::ListOptions,
}

/// What is done with one call.
#[derive(Debug, Subcommand)]
enum Action {
    /// Show both sides of one call, with what we changed in between
    Show(show::Options),
    /// Make a call once more, and show where its result differs
    Replay(replay::Options),
    /// Hold calls on their way until somebody lets them go, as they are or changed
    Break(breakpoints::Options),
    /// Print a call as a command, for curl, or as a line of JSON-RPC
    Copy(CopyOptions),
    /// Print calls as a cassette, for switchboard replay and verify
    Export(ExportOptions),
}

/// Options of `traffic export`.
#[derive(Debug, Args)]
struct ExportOptions {
    /// Which calls, as for --filter; all whose messages are kept unless given
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
}

/// Options of `traffic copy`.
#[derive(Debug, Args)]
struct CopyOptions {
    /// Its number
    id: u64,
    /// As what
    #[arg(long = "as", value_name = "FORM", default_value = "call")]
    form: Form,
}

/// As what a call is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// switchboard call …
    Call,
    /// curl …
    Curl,
    /// A line of JSON-RPC
    Json,
}

const EXAMPLES: &str = "Examples:
  switchboard traffic
  switchboard traffic --filter 'server:git tool:*delete* >200ms error'
  switchboard traffic --no-follow --json --filter 'era:bridged'
  switchboard traffic show 42
  switchboard traffic replay 42 --set limit=5
  switchboard traffic break server:git tool:*delete*
  switchboard traffic copy 42 --as curl
  switchboard traffic export server:git ok > git.mcp.jsonl

Calls are always listed. Their messages are kept while somebody looks (this command, the
screen, the console) and for ten minutes after that; up --tap keeps them from the beginning.
Secrets in them are cut; traffic show --reveal shows them, which is put on record.

Filters: server:NAME tool:NAME client:NAME principal:NAME method:NAME era:legacy|modern|bridged
fault:client|ours|server code:N id:N ok error denied cancelled running waiting >200ms <1s
server>200ms ours>1ms bytes>10k tokens>1000 asked retried kept replay \"text in a message\"; names
can have *, -WORD or !WORD is what does not hold, or is between two ways.";

impl Options {
    /// Whether the result is to be JSON.
    pub fn wants_json(&self) -> bool {
        match &self.action {
            None => self.list.json,
            Some(Action::Show(options)) => options.json,
            Some(Action::Replay(options)) => options.json,
            Some(Action::Break(options)) => options.json,
            Some(Action::Copy(_) | Action::Export(_)) => false,
        }
    }
}

/// Shows traffic.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let gateway = Client::find(&context.options).map_err(|fault| failed(&fault))?;
    life::short(async |stop| match &options.action {
        None => list::run(&gateway, &options.list, stop).await,
        Some(Action::Show(options)) => show::run(&gateway, options).await,
        Some(Action::Replay(options)) => replay::run(&gateway, options).await,
        Some(Action::Break(options)) => breakpoints::run(&gateway, options, stop).await,
        Some(Action::Copy(options)) => copy(&gateway, options).await,
        Some(Action::Export(options)) => export(&gateway, options).await,
    })?
}

/// What a gateway did not do, as a failure of the command.
pub fn failed(fault: &ClientError) -> Failure {
    let (code, hint) = match fault {
        ClientError::None => {
            let text = "no gateway runs, so that nothing passes through one";
            let failure = Failure::new(Code::Unreachable, text);
            return failure.hint("to start one: switchboard up");
        }
        ClientError::Refused(_, refused) => (
            match refused.code.as_str() {
                "not-allowed" | "confirm" => Code::NotPermitted,
                "invalid" => Code::Usage,
                _ => Code::Answered,
            },
            refused.hint.clone(),
        ),
        _ => (Code::Unreachable, None),
    };
    let failure = Failure::new(code, fault.to_string());
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// One call with its messages, which must be there.
async fn detail(gateway: &Client, id: u64) -> Result<Detail, Failure> {
    let detail: Detail = gateway
        .get(&format!("calls/{id}"))
        .await
        .map_err(|fault| failed(&fault))?;
    Ok(detail)
}

/// What to say where the messages of a call are not kept.
fn not_kept(id: u64) -> Failure {
    let text = format!("the messages of call {id} are not kept: nobody looked when it was made");
    Failure::new(Code::Answered, text)
        .hint("they are kept from now on for ten minutes; up --tap keeps them from the beginning")
}

async fn copy(gateway: &Client, options: &CopyOptions) -> Result<Code, Failure> {
    let detail = detail(gateway, options.id).await?;
    if !detail.call.kept {
        return Err(not_kept(options.id));
    }
    let copies = detail.copies;
    let text = match options.form {
        Form::Call => copies.command.ok_or_else(|| {
            let text = format!("call {} is no call of a tool at a server", options.id);
            Failure::new(Code::Answered, text).hint("--as json prints it as it is")
        })?,
        Form::Curl => copies.curl.ok_or_else(|| not_kept(options.id))?,
        Form::Json => copies.line.ok_or_else(|| not_kept(options.id))?,
    };
    // What is for curl may take several lines; what stands in one is written out.
    let text = match options.form {
        Form::Curl => crate::show::safe::lines(&text),
        Form::Call | Form::Json => crate::show::safe::line(&text),
    };
    if text.contains(secret::HIDDEN) {
        let id = options.id;
        live::stderr_line(&format!(
            "secrets are cut from this copy, where it says {}; traffic show {id} --reveal shows them, which is put on record",
            secret::HIDDEN
        ));
    }
    out::line(&text)?;
    Ok(Code::Done)
}

async fn export(gateway: &Client, options: &ExportOptions) -> Result<Code, Failure> {
    let filter = encoded(&options.filter.join(" "));
    let pieces = gateway.pieces(&format!("export?filter={filter}")).await;
    let mut pieces = pieces.map_err(|fault| failed(&fault))?;
    while let Some(piece) = pieces.next().await.map_err(|fault| failed(&fault))? {
        out::bytes(&piece)?;
    }
    Ok(Code::Done)
}

/// Writes a value of the API as JSON.
pub fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_vec(value).map_err(|error| {
        let text = format!("the result cannot be written: {error}");
        Failure::new(Code::Answered, text)
    })?;
    out::json(&text)
}

/// A word for a query.
pub fn encoded(word: &str) -> String {
    percent::encoded(word, "")
}
