//! `resources` and `read`.

use super::{
    call::{caller, terminal::Terminal},
    gather::{ask, gather},
    tools::{one, unreachable},
};
use crate::{
    context::Context,
    failure::{Code, Failure},
    life,
    show::{answered, out, safe, term},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use clap::Args;
use serde_json::{Map, Value, json};
use std::{path::PathBuf, sync::Arc};
use switchboard::{
    Caller, Governed, Settings,
    host::{
        Server,
        catalog::{Destination, List, UriRoutes},
    },
    wire::{Kind, Message, Method, json as raw},
};

/// Options of `resources`.
#[derive(Debug, Args)]
pub struct Options {
    /// Only this server's resources
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Options of `read`.
#[derive(Debug, Args)]
pub struct ReadOptions {
    /// The resource: its URI, or @server:uri
    #[arg(value_name = "URI|@SERVER:URI")]
    pub uri: String,
    /// Write what it holds to this file
    #[arg(short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the server's result as it came
    #[arg(long, conflicts_with = "output")]
    pub json: bool,
}

/// Lists.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let governed = context.servers()?;
    let lists = [List::Resources, List::Templates];
    let gathered = gather(
        &governed,
        governed.settings(),
        options.server.as_deref(),
        &lists,
    )?;
    let rows: Vec<Value> = gathered
        .items
        .iter()
        .map(|(server, list, item)| {
            let written: Value = serde_json::from_slice(&item.raw).unwrap_or_default();
            let mut row = Map::new();
            row.insert("server".to_owned(), json!(server.name().as_ref()));
            row.insert("uri".to_owned(), json!(item.key));
            let address = format!("@{}:{}", server.name(), item.key);
            row.insert("address".to_owned(), json!(address));
            row.insert("template".to_owned(), json!(*list == List::Templates));
            for key in ["name", "title", "description", "mimeType", "size"] {
                row.insert(key.to_owned(), written[key].clone());
            }
            Value::Object(row)
        })
        .collect();
    if options.json {
        out::json_list(&rows)?;
    } else {
        let paint = term::stdout();
        for row in &rows {
            let text = |key: &str| row[key].as_str().unwrap_or_default();
            let about = [text("title"), text("name"), text("description")];
            let about = about.into_iter().find(|text| !text.is_empty());
            let kind = if row["template"] == true {
                "  (template)"
            } else {
                ""
            };
            out::line(&format!(
                "{}{kind}  {}",
                safe::line(text("address")),
                paint.dim(&safe::line(about.unwrap_or_default()))
            ))?;
        }
    }
    Ok(gathered.code())
}

/// Reads.
pub fn read(context: &Context, options: &ReadOptions) -> Result<Code, Failure> {
    let governed = context.servers()?;
    life::short(async |stop| {
        let caller = caller(&governed);
        let message = tokio::select! {
            message = fetch(&governed, governed.settings(), &caller, &options.uri) => message,
            () = stop.cancelled() => Err(Failure::new(Code::Interrupted, "interrupted")),
        };
        governed.close().await;
        message
    })?
    .and_then(|(server, message)| show(options, &server, &message))
}

async fn fetch(
    governed: &Governed,
    settings: &Settings,
    caller: &Caller,
    uri: &str,
) -> Result<(Arc<Server>, Message), Failure> {
    let (server, uri) = find(governed, settings, caller, uri).await?;
    let failed = |fault| unreachable(&server, &fault);
    let met = caller.meet(&server).await.map_err(failed)?;
    let members = format!("\"uri\":{}", raw::quote(&uri));
    let terminal = Terminal::new(false);
    let reply = met
        .follow(Method::ResourcesRead, &members, &terminal)
        .await
        .map_err(failed)?;
    Ok((server, reply.message))
}

/// Whose it is. `@server:uri` says so; a plain URI is looked for in the lists.
async fn find(
    governed: &Governed,
    settings: &Settings,
    caller: &Caller,
    uri: &str,
) -> Result<(Arc<Server>, String), Failure> {
    if let Some(address) = uri.strip_prefix('@') {
        let Some((server, uri)) = split(governed, address) else {
            let text = format!("{uri:?} names no server: expected @server:uri");
            return Err(Failure::usage(text).hint("see switchboard resources"));
        };
        return Ok((one(governed, server)?, uri.to_owned()));
    }
    let servers = governed.host().servers();
    let lists = [List::Resources, List::Templates];
    let mut routes = UriRoutes::default();
    let mut failures = Vec::new();
    for (server, answer) in servers
        .iter()
        .zip(ask(caller, settings, &servers, &lists).await)
    {
        match answer {
            Err(failure) => failures.push(failure),
            Ok(items) => {
                for list in lists {
                    let own = items.iter().filter(|(of, _)| *of == list);
                    let own: Vec<_> = own.map(|(_, item)| item.clone()).collect();
                    routes.add(server.name(), &own, list == List::Templates);
                }
            }
        }
    }
    match routes.route(&governed.host().namer(), uri) {
        Destination::Server(name, plain) => Ok((one(governed, &name)?, plain)),
        Destination::Unclear(candidates) if candidates.is_empty() => {
            // A single server may have more than it lists.
            if let ([only], []) = (&servers[..], failures.as_slice()) {
                return Ok((only.clone(), uri.to_owned()));
            }
            for failure in &failures {
                failure.show(false);
            }
            let text = format!("no server has a resource {uri:?}");
            Err(Failure::usage(text)
                .hint("see switchboard resources, or say whose it is: @server:uri"))
        }
        Destination::Unclear(candidates) => {
            let each = candidates.iter().map(|server| format!("@{server}:{uri}"));
            let each: Vec<String> = each.collect();
            let text = format!("several servers could have {uri:?}");
            Err(Failure::usage(text).hint(format!("say which: {}", each.join(", "))))
        }
    }
}

/// A server's name may have a colon in it, so the longest that fits counts.
fn split<'a>(governed: &Governed, address: &'a str) -> Option<(&'a str, &'a str)> {
    let known =
        |name: &str| governed.find(name).is_some() || governed.host().server(name).is_some();
    let at = address.match_indices(':').map(|(at, _)| at);
    let (mut best, mut first) = (None, None);
    for at in at {
        let parts = (&address[..at], &address[at + 1..]);
        first = first.or(Some(parts));
        if known(parts.0) {
            best = Some(parts);
        }
    }
    best.or(first)
}

fn show(options: &ReadOptions, server: &Server, message: &Message) -> Result<Code, Failure> {
    if message.kind() == Kind::Error {
        return Err(answered(server, message));
    }
    let body = message.body_bytes();
    if options.json {
        out::json(&body)?;
        return Ok(Code::Done);
    }
    let result: Value = serde_json::from_slice(&body).unwrap_or_default();
    let contents = result["contents"].as_array().cloned().unwrap_or_default();
    if let Some(file) = &options.output {
        let [only] = contents.as_slice() else {
            let text = format!("the resource has {} parts, not one", contents.len());
            return Err(Failure::new(Code::Answered, text).hint("--json shows them all"));
        };
        let bytes = bytes(only)?;
        #[expect(
            clippy::disallowed_methods,
            reason = "the user named it: it may be a pipe or a device"
        )]
        std::fs::write(file, &bytes)
            .map_err(|error| Failure::new(Code::Usage, format!("{}: {error}", file.display())))?;
        return Ok(Code::Done);
    }
    let terminal = term::stdout().terminal;
    for content in &contents {
        match (content["text"].as_str(), terminal) {
            (Some(text), true) => out::line(&safe::lines(text.trim_end_matches('\n')))?,
            (Some(text), false) => out::bytes(text.as_bytes())?,
            (None, true) => {
                let kind = content["mimeType"].as_str().unwrap_or("unknown type");
                let size = bytes(content)?.len();
                out::line(&format!(
                    "[{}, {size} bytes; -o FILE writes them]",
                    safe::line(kind)
                ))?;
            }
            (None, false) => out::bytes(&bytes(content)?)?,
        }
    }
    Ok(Code::Done)
}

/// The failure that a server's error is.
pub fn answered(server: &Server, message: &Message) -> Failure {
    answered::failure(server.name(), message)
}

fn bytes(content: &Value) -> Result<Vec<u8>, Failure> {
    if let Some(text) = content["text"].as_str() {
        return Ok(text.as_bytes().to_vec());
    }
    let blob = content["blob"].as_str().unwrap_or_default();
    STANDARD.decode(blob).map_err(|error| {
        let text = format!("the server's blob is not base64: {error}");
        Failure::new(Code::Answered, text)
    })
}
