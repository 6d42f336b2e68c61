//! `prompts` and `prompt`.

use super::{
    call::{arguments, caller, resolve, terminal::Terminal},
    gather::gather,
    resources::answered,
    tools::unreachable,
};
use crate::{
    context::Context,
    failure::{Code, Failure},
    life,
    show::{content::block_text, out, safe, term},
};
use clap::Args;
use serde_json::{Map, Value, json};
use std::io::{BufRead, Write};
use switchboard::tasks;
use switchboard::{
    Caller, Governed, Settings,
    host::catalog::List,
    wire::{Kind, Method, json as raw},
};

/// Options of `prompts`.
#[derive(Debug, Args)]
pub struct Options {
    /// Only this server's prompts
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `prompt`.
#[derive(Debug, Args)]
pub struct GetOptions {
    /// The prompt: mcp__server__prompt, server__prompt, or just its name where only one server has it
    pub name: String,
    /// Its arguments: one by one, or as a JSON object; @FILE reads that from a file, - from stdin
    #[arg(value_name = "JSON|KEY=VALUE")]
    pub arguments: Vec<String>,
    /// One argument; @FILE reads it from a file (@@ for a plain @)
    #[arg(short = 'a', value_name = "KEY=VALUE")]
    pub pairs: Vec<String>,
    /// Print the server's result as it came
    #[arg(long)]
    pub json: bool,
}

/// Lists.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let governed = context.servers()?;
    let gathered = gather(
        &governed,
        governed.settings(),
        options.server.as_deref(),
        &[List::Prompts],
    )?;
    let pairs: Vec<(&str, &str)> = gathered
        .items
        .iter()
        .map(|(server, _, item)| (server.name().as_ref(), item.key.as_str()))
        .collect();
    let names = governed.host().namer().assign(&pairs);
    let rows: Vec<Value> = gathered
        .items
        .iter()
        .zip(names)
        .map(|((server, _, item), name)| {
            let written: Value = serde_json::from_slice(&item.raw).unwrap_or_default();
            json!({
                "name": name,
                "server": server.name().as_ref(),
                "prompt": item.key,
                "title": written["title"],
                "description": written["description"],
                "arguments": written["arguments"].as_array().cloned().unwrap_or_default(),
            })
        })
        .collect();
    if options.json {
        out::json_list(&rows)?;
        return Ok(gathered.code());
    }
    let paint = term::stdout();
    for row in &rows {
        let text = |value: &Value| safe::line(value.as_str().unwrap_or_default());
        let arguments = row["arguments"].as_array().into_iter().flatten();
        let arguments: Vec<String> = arguments
            .map(|argument| match argument["required"] == true {
                true => format!(" {}=…", text(&argument["name"])),
                false => format!(" [{}=…]", text(&argument["name"])),
            })
            .collect();
        out::line(&format!(
            "{}{}  {}",
            text(&row["name"]),
            arguments.concat(),
            paint.dim(&text(&row["description"]))
        ))?;
    }
    Ok(gathered.code())
}

/// Gets one.
pub fn get(context: &Context, options: &GetOptions) -> Result<Code, Failure> {
    let given = given(options)?;
    let governed = context.servers()?;
    if governed.host().servers().is_empty() {
        return Err(resolve::unknown(
            &governed,
            List::Prompts,
            &options.name,
            &[],
        ));
    }
    life::short(async |stop| {
        let caller = caller(&governed);
        let done = tokio::select! {
            done = fetch(&governed, governed.settings(), &caller, options, given) => done,
            () = stop.cancelled() => Err(Failure::new(Code::Interrupted, "interrupted")),
        };
        governed.close().await;
        done
    })?
}

/// The arguments as they were typed: those of a prompt are texts.
fn given(options: &GetOptions) -> Result<Map<String, Value>, Failure> {
    let (whole, pairs) = arguments::told_apart(&options.arguments, &options.pairs)?;
    if let Some(word) = whole.filter(|word| !word.starts_with(['{', '@', '-'])) {
        return Err(Failure::usage(format!("{word:?}: expected KEY=VALUE")));
    }
    let whole = whole.map(arguments::whole).transpose()?.unwrap_or_default();
    let names = pairs.iter().filter_map(|pair| pair.split_once('='));
    let texts: Map<String, Value> = names
        .map(|(name, _)| (name.to_owned(), json!({"type": "string"})))
        .collect();
    let all = arguments::with_pairs(whole, &pairs, &json!({ "properties": texts }))?;
    Ok(serde_json::from_str(&all.text()).unwrap_or_default())
}

async fn fetch(
    governed: &Governed,
    settings: &Settings,
    caller: &Caller,
    options: &GetOptions,
    given: Map<String, Value>,
) -> Result<Code, Failure> {
    let found = resolve::find(governed, settings, caller, List::Prompts, &options.name).await?;
    let definition: Value = serde_json::from_slice(&found.item.raw).unwrap_or_default();
    let given = complete(&definition, given).await?;
    let server = found.met.server();
    let members = format!(
        "\"name\":{},\"arguments\":{}",
        raw::quote(&found.item.key),
        Value::Object(given)
    );
    let terminal = Terminal::new(false);
    let reply = found
        .met
        .follow(Method::PromptsGet, &members, &terminal)
        .await
        .map_err(|fault| unreachable(server, &fault))?;
    if reply.message.kind() == Kind::Error {
        return Err(answered(server, &reply.message));
    }
    let body = reply.message.body_bytes();
    if options.json {
        out::json(&body)?;
        return Ok(Code::Done);
    }
    let result: Value = serde_json::from_slice(&body).unwrap_or_default();
    let paint = term::stdout();
    for message in result["messages"].as_array().into_iter().flatten() {
        let role = message["role"].as_str().unwrap_or_default();
        out::line(&paint.bold(&format!("{}:", safe::line(role))))?;
        out::line(&safe::lines(&block_text(
            &message["content"],
            server.name(),
        )))?;
    }
    Ok(Code::Done)
}

/// Checks the arguments against the prompt's own list; what is missing is
/// asked for on a terminal.
async fn complete(
    definition: &Value,
    mut given: Map<String, Value>,
) -> Result<Map<String, Value>, Failure> {
    let known: Vec<&Value> = definition["arguments"]
        .as_array()
        .into_iter()
        .flatten()
        .collect();
    let names: Vec<&str> = known
        .iter()
        .filter_map(|argument| argument["name"].as_str())
        .collect();
    if let Some(odd) = given.keys().find(|key| !names.contains(&key.as_str())) {
        let text = format!("the prompt has no argument {odd:?}");
        let hint = match names.as_slice() {
            [] => "it has none at all".to_owned(),
            names => format!("it has: {}", names.join(", ")),
        };
        return Err(Failure::usage(text).hint(hint));
    }
    for argument in known {
        let Some(name) = argument["name"].as_str() else {
            continue;
        };
        if argument["required"] != true || given.contains_key(name) {
            continue;
        }
        if !term::can_ask() {
            let text = format!("the prompt needs the argument {name:?}");
            return Err(Failure::usage(text).hint(format!("give it as {name}=…")));
        }
        let about = argument["description"].as_str().map(safe::line);
        let question = format!(
            "{}{}: ",
            safe::line(name),
            about.map(|about| format!(" – {about}")).unwrap_or_default()
        );
        // Waiting for a person must not stop everything else.
        let answer = tasks::blocking(move || {
            let mut err = std::io::stderr().lock();
            let _ = write!(err, "{question}");
            let _ = err.flush();
            let mut line = String::new();
            match std::io::stdin().lock().read_line(&mut line) {
                Ok(0) | Err(_) => None,
                Ok(_) => Some(line.trim_end_matches(['\n', '\r']).to_owned()),
            }
        });
        let answer = answer.await.ok().flatten();
        let missing = || Failure::usage(format!("the prompt needs the argument {name:?}"));
        given.insert(name.to_owned(), json!(answer.ok_or_else(missing)?));
    }
    Ok(given)
}
