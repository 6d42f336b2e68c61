//! `tools`: what the servers offer, under canonical names.

use crate::{
    context::{Context, warn},
    failure::{Code, Failure},
    life,
    near::{did_you_mean, near},
    show::{
        out, safe,
        sums::{self, counted},
        term::{self, Paint},
    },
};
use clap::Args;
use futures_util::future::join_all;
use serde::Serialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use switchboard::{
    Caller, Governed, Pools, Settings, Status,
    config::Standing,
    host::{
        CallError, Server,
        catalog::{Item, List},
    },
    model::{
        ModelTool,
        limits::{CONTEXT_WINDOW, FOUND_TOOLS},
        model_tools,
        search::{self, Deferral, Index},
    },
    needs_auth, sign_in_hint, was_refused,
    wire::json,
};

/// Options of `tools`.
#[derive(Debug, Args)]
pub struct Options {
    /// Only this server's tools
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Only tools whose name, title or description has all these words; where none has, the nearest
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// A tool as `tools --json` shows it. What the server wrote stays as it wrote it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    server: String,
    tool: String,
    title: Option<Box<RawValue>>,
    description: Option<Box<RawValue>>,
    input_schema: Option<Box<RawValue>>,
    output_schema: Option<Box<RawValue>>,
    annotations: Option<Box<RawValue>>,
    deferred: bool,
    /// An estimate: four bytes of definition are about one token.
    tokens: usize,
}

/// Lists tools.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let governed = context.servers()?;
    let servers = chosen(&governed, options.server.as_deref())?;
    let faulty = governed
        .counting()
        .filter(|member| options.server.is_none() && matches!(member.status, Status::Faulty(_)));
    for member in faulty {
        warn(&format!(
            "server {:?} cannot be used; see switchboard list",
            member.entry.name
        ));
    }
    if !options.json {
        warn_of_nothing(&governed);
    }
    let mut tools = Vec::new();
    let mut failed = 0;
    if !servers.is_empty() {
        let found = life::short(async |stop| {
            let found = tokio::select! {
                found = fetch_all(&governed, governed.settings(), &servers) => Ok(found),
                () = stop.cancelled() => Err(Failure::new(Code::Interrupted, "interrupted")),
            };
            governed.close().await;
            found
        })??;
        for (server, items) in servers.iter().zip(found) {
            match items {
                Ok(items) => tools.extend(
                    items
                        .into_iter()
                        .map(|item| (server.name().to_string(), item)),
                ),
                Err(failure) if options.server.is_some() => return Err(failure),
                Err(failure) => {
                    failure.show(false);
                    failed += 1;
                }
            }
        }
    }
    let (tools, models) = named(&governed, governed.settings(), &tools);
    let tools = chosen_by(tools, &models, options.search.as_deref());
    if options.json {
        out::json_list(&tools)?;
    } else {
        print(&tools)?;
        let mut servers: Vec<&str> = tools.iter().map(|tool| tool.server.as_str()).collect();
        servers.dedup();
        let tokens = tools.iter().map(|tool| tool.tokens).sum();
        sums::say(servers.len(), tools.len(), tokens);
    }
    for server in &servers {
        // What is kept and cannot be read was told when it was first needed.
        let news = governed.host().guard().news(server).unwrap_or_default();
        for sentence in news.sentences() {
            warn(&format!("server {:?}: {sentence}", server.name()));
        }
    }
    Ok(if failed > 0 && failed == servers.len() {
        Code::Unreachable
    } else {
        Code::Done
    })
}

/// The servers that are asked.
fn chosen(governed: &Governed, only: Option<&str>) -> Result<Vec<Arc<Server>>, Failure> {
    let Some(name) = only else {
        return Ok(governed.host().servers().to_vec());
    };
    one(governed, name).map(|server| vec![server])
}

/// The server of this name, or why it cannot be used.
pub fn one(governed: &Governed, name: &str) -> Result<Arc<Server>, Failure> {
    if let Some(server) = governed.host().server(name) {
        return Ok(server);
    }
    let Some(member) = governed.find(name) else {
        let names = governed
            .members()
            .iter()
            .map(|member| member.entry.name.as_str());
        let failure = Failure::usage(format!("there is no server {name:?}"));
        let hint =
            did_you_mean(&near(name, names)).unwrap_or_else(|| "see switchboard list".to_owned());
        return Err(failure.hint(hint));
    };
    Err(match &member.status {
        Status::Server(server) => return Ok(server.clone()),
        Status::Faulty(faults) => {
            let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
            Failure::new(Code::Configuration, texts.join("\n"))
        }
        Status::Unused(standing) => {
            let why = member.why.clone().unwrap_or_default();
            let hint = match standing {
                Standing::PendingApproval => format!("look at it with: switchboard approve {name}"),
                _ => format!("see switchboard explain {name}"),
            };
            let text = match standing {
                Standing::PendingApproval => {
                    format!(
                        "server {name:?} ({}) is not approved: it {why}",
                        member.entry.place()
                    )
                }
                _ => format!(
                    "server {name:?} ({}) is not used: {why}",
                    member.entry.place()
                ),
            };
            Failure::new(Code::NotPermitted, text).hint(hint)
        }
    })
}

async fn fetch_all(
    governed: &Governed,
    settings: &Settings,
    servers: &[Arc<Server>],
) -> Vec<Result<Vec<Arc<Item>>, Failure>> {
    let (caller, pools) = (Caller::new(governed.host().clone()), Pools::new(settings));
    let each = servers.iter().map(async |server| {
        let remote = server.spec.target.is_remote();
        let met = pools
            .run(remote, caller.meet(server))
            .await
            .map_err(|fault| unreachable(server, &fault))?;
        met.items(List::Tools)
            .await
            .map_err(|fault| unreachable(server, &fault))
    });
    join_all(each).await
}

/// The failure that a server is when it cannot be used.
pub fn unreachable(server: &Server, fault: &CallError) -> Failure {
    if needs_auth(server) || was_refused(fault) {
        let scope = match fault {
            CallError::Undelivered { why, .. } => why.missing_scope(),
            _ => None,
        };
        let with = match scope.as_deref() {
            None => String::new(),
            Some("") => " with more rights".to_owned(),
            Some(scope) => format!(" with the scope {scope:?}"),
        };
        let text = format!("server {:?} wants a sign-in{with}", server.name());
        return Failure::new(Code::NeedsAuth, text).hint(sign_in_hint(server));
    }
    let code = match fault {
        CallError::TimedOut { .. } => Code::TimedOut,
        CallError::Refused(_) => Code::Answered,
        CallError::Cancelled => Code::Interrupted,
        CallError::NotPermitted { .. } | CallError::NotAllowed { .. } => Code::NotPermitted,
        _ => Code::Unreachable,
    };
    // A gateway in between says the same of its own connection: once is enough.
    let text = fault.to_string();
    let again = text.rfind(&format!("server {:?} is not connected", server.name()));
    Failure::new(code, &text[again.unwrap_or_default()..])
}

/// Says why a list of whatever servers have is empty, if no server is there at all.
pub fn warn_of_nothing(governed: &Governed) {
    if governed.members().is_empty() {
        warn("no servers are configured; add one: switchboard add NAME -- COMMAND");
    }
}

/// Gives the tools their canonical names, and says which a model would have to search for.
fn named(
    governed: &Governed,
    settings: &Settings,
    tools: &[(String, Arc<Item>)],
) -> (Vec<Tool>, Vec<ModelTool>) {
    let items: Vec<_> = tools
        .iter()
        .map(|(server, item)| (server.as_str(), item.raw.clone()))
        .collect();
    let servers = governed.host().servers();
    let names = servers.iter().map(|server| server.name().as_ref());
    let (mut models, left_out) = model_tools(names, &items);
    for server in servers.iter().filter(|server| server.spec.always_load) {
        let theirs = models
            .iter_mut()
            .filter(|tool| tool.server == **server.name());
        theirs.for_each(|tool| tool.always_load = true);
    }
    for fault in left_out {
        warn(&fault.to_string());
    }
    let deferrals: Vec<Deferral> = models.iter().map(Deferral::from).collect();
    let plan = search::plan(search_mode(settings), CONTEXT_WINDOW, &deferrals);
    let raw = |item: &Item, key: &'static str| {
        let span = json::field(&item.raw, key).ok().flatten()?;
        RawValue::from_string(String::from_utf8(span.of(&item.raw).to_vec()).ok()?).ok()
    };
    // In the same order; those that could not be read are in neither.
    let mut rest = tools.iter();
    let mut rows = Vec::with_capacity(models.len());
    for (model, deferred) in models.iter().zip(plan.deferred) {
        let Some((server, item)) =
            rest.find(|(server, item)| *server == model.server && item.key == model.tool)
        else {
            continue;
        };
        rows.push(Tool {
            name: model.name.clone(),
            server: server.clone(),
            tool: item.key.clone(),
            title: raw(item, "title"),
            description: raw(item, "description"),
            input_schema: raw(item, "inputSchema"),
            output_schema: raw(item, "outputSchema"),
            annotations: raw(item, "annotations"),
            deferred,
            tokens: model.tokens,
        });
    }
    (rows, models)
}

/// What `ENABLE_TOOL_SEARCH` says.
fn search_mode(settings: &Settings) -> search::Mode {
    let said = settings.tool_search.as_deref().unwrap_or_default();
    said.parse().unwrap_or_else(|fault: search::UnknownMode| {
        warn(&fault.to_string());
        search::Mode::default()
    })
}

/// The tools that have all the words; where none has, those that fit best, best first.
fn chosen_by(tools: Vec<Tool>, models: &[ModelTool], search: Option<&str>) -> Vec<Tool> {
    let Some(search) = search else { return tools };
    if tools.iter().any(|tool| matches(tool, search)) {
        return tools
            .into_iter()
            .filter(|tool| matches(tool, search))
            .collect();
    }
    let found = Index::new(models).search(search, FOUND_TOOLS.1);
    let mut tools: Vec<Option<Tool>> = tools.into_iter().map(Some).collect();
    let found = found.tools.into_iter();
    found.filter_map(|at| tools.get_mut(at)?.take()).collect()
}

fn matches(tool: &Tool, search: &str) -> bool {
    let text = |raw: &Option<Box<RawValue>>| raw.as_ref().map(|raw| plain(raw)).unwrap_or_default();
    let all = format!(
        "{} {} {} {}",
        tool.name,
        tool.tool,
        text(&tool.title),
        text(&tool.description)
    )
    .to_lowercase();
    search
        .to_lowercase()
        .split_whitespace()
        .all(|word| all.contains(word))
}

fn plain(raw: &RawValue) -> String {
    json::text(raw.get().as_bytes())
        .map(String::from)
        .unwrap_or_default()
}

/// One line a tool, with a heading for each server.
fn print(tools: &[Tool]) -> Result<(), Failure> {
    let paint = term::stdout();
    let widest = tools.iter().map(|tool| tool.name.len()).max().unwrap_or(0);
    let widest = widest.min(256);
    let room = if paint.terminal {
        term::width().saturating_sub(widest + 4).max(20)
    } else {
        usize::MAX
    };
    let mut last = None;
    for tool in tools {
        if last != Some(&tool.server) {
            heading(tools, &tool.server, paint)?;
            last = Some(&tool.server);
        }
        let text = tool
            .description
            .as_ref()
            .or(tool.title.as_ref())
            .map(|raw| plain(raw))
            .unwrap_or_default();
        let text = safe::cut(
            &safe::line(text.trim().lines().next().unwrap_or_default()),
            room,
        );
        out::line(format!("  {:<widest$}  {}", tool.name, paint.dim(&text)).trim_end())?;
    }
    Ok(())
}

fn heading(tools: &[Tool], server: &str, paint: Paint) -> Result<(), Failure> {
    let of_server = || tools.iter().filter(|tool| tool.server == server);
    let tokens: usize = of_server().map(|tool| tool.tokens).sum();
    let tools = counted(of_server().count(), "tool");
    let about = format!("{tools}, about {tokens} tokens");
    out::line(&format!(
        "{}  {}",
        paint.bold(&safe::line(server)),
        paint.dim(&about)
    ))
}
