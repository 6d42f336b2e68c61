//! One server: what it said, what it lists, why it is there, and what can be done with it.

mod sign_in;
mod verbs;
mod watched;

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::Ask,
    now, state,
};
use crate::{
    limits, logs,
    pipeline::{Config, Look},
    roster::{Member, Status},
};
use serde_json::Value;
pub(super) use verbs::no_home;
pub(super) use watched::Watched;

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
    time::Duration,
};
use switchboard_api::servers::{Detail, Explained, Listed, Process, Stderr};
use switchboard_config::{
    Isolation,
    approval::{Prompt, Store, shown},
    explain, redacted,
};
use switchboard_host::{
    Server,
    catalog::{Item, List},
    permission::What,
};
use switchboard_local::{secret, visible};
use switchboard_process::Usage;
use switchboard_tasks as tasks;
use switchboard_wire::name::normalize;

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    match (ask.route.verb, ask.route.path) {
        ("GET", "servers/{segment}") => detail(api, ask.part()).await,
        ("GET", "servers/{segment}/stderr") => stderr(api, ask.part()).await,
        ("GET", "servers/{segment}/sign-in") => sign_in::answer(&member(api, ask.part())?),
        ("GET", "servers/{segment}/{list}") => list(api, ask).await,
        ("POST", path) => {
            let verb = path.rsplit('/').next().unwrap_or_default();
            verbs::act(api, ask, verb).await
        }
        ("GET", "explain/{name}") => {
            let lines = explained(api, ask.part()).await?;
            Reply::json(&Explained { lines })
        }
        _ => Err(No::unavailable("this gateway does not have this")),
    }
}

/// What is configured, read anew.
pub(super) async fn look(api: &Api) -> Result<Look, No> {
    let options = api.options.clone();
    let looked = tasks::blocking(move || Config::look(&options)).await;
    looked.map_err(|fault| No::broken(&fault))
}

/// The member that a name or a segment of a path means: one that counts if there is one.
pub(super) fn member(api: &Api, name: &str) -> Result<Member, No> {
    let meant = api
        .host
        .server(name)
        .map(|server| server.name().to_string());
    let meant = meant.as_deref().unwrap_or(name);
    let members = api.members.borrow();
    let named = || members.iter().filter(|member| member.entry.name == meant);
    let first = named().find(|member| !matches!(member.status, Status::Unused(_)));
    let found = first.or_else(|| named().next());
    found.cloned().ok_or_else(|| missing(name))
}

/// The server of a member that can be used.
pub(super) fn usable(member: &Member) -> Result<Arc<Server>, No> {
    match &member.status {
        Status::Server(server) => Ok(server.clone()),
        _ => Err(No::conflict(format!(
            "server {:?} is not in use: {}",
            member.entry.name,
            member
                .why
                .as_deref()
                .unwrap_or("it cannot work as it is written")
        ))),
    }
}

pub(super) fn missing(name: &str) -> No {
    No::not_found(format!("there is no server {name:?}"))
}

async fn detail(api: &Arc<Api>, name: &str) -> Answer {
    let member = member(api, name)?;
    let entry = &member.entry;
    let look = look(api).await?;
    let (approval, approval_digest) = approval(api, &look, &entry.name).unzip();
    let mut detail = Detail {
        server: state::server(api, &entry.name).ok_or_else(|| missing(name))?,
        explained: explain_lines(&look, &entry.name),
        entry: Some(redacted(&entry.written)),
        isolation: match entry.isolation {
            Isolation::Session => "session".to_owned(),
            _ => "shared".to_owned(),
        },
        approval: approval.unwrap_or_default(),
        approval_digest,
        ..Detail::default()
    };
    if let Status::Server(server) = &member.status {
        let met = api.caller.to(server);
        if let Some(hello) = met.hello() {
            let said: Option<Value> = serde_json::from_slice(&hello.result).ok();
            detail.capabilities = serde_json::from_slice(&hello.capabilities()).ok();
            let instructions = said.as_ref().and_then(|said| said["instructions"].as_str());
            detail.instructions = instructions.map(str::to_owned);
            detail.hello = said;
        }
        let users = server.users();
        let clients = api.visitors.now();
        let uses = clients.iter().filter(|visitor| {
            let name = visitor.name.as_deref().unwrap_or(&visitor.principal);
            users
                .iter()
                .any(|(principal, called)| **principal == visitor.principal && called == name)
        });
        detail.clients = uses.map(state::client).collect();
        detail.processes = processes(server).await;
    }
    Reply::json(&detail)
}

async fn processes(server: &Arc<Server>) -> Vec<Process> {
    let pids = server.processes();
    let looked = pids.clone();
    let used = tasks::blocking(move || {
        let used = switchboard_process::usage_of(&looked);
        let ages = switchboard_process::age_of(&looked);
        used.into_iter().zip(ages).collect::<Vec<_>>()
    });
    let used = used.await.unwrap_or_default();
    let process = |(pid, (used, age)): (&u32, (Usage, Option<Duration>))| {
        let seconds = age.map(|age| age.as_secs_f64()).filter(|age| *age > 0.0);
        let since = age.and_then(|age| u64::try_from(age.as_millis()).ok());
        Process {
            pid: *pid,
            memory: Some(used.memory),
            cpu: seconds.map(|age| used.processor.as_secs_f64() / age * 100.0),
            since: since.map(|age| now().saturating_sub(age)),
        }
    };
    pids.iter().zip(used).map(process).collect()
}

/// What would be approved, as `approve` shows it, where somebody has yet to.
fn approval(api: &Api, look: &Look, name: &str) -> Option<(Vec<String>, String)> {
    let places = api.options.places()?;
    let mut waiting = look.servers.iter().filter(|server| shown::waits(server));
    let waiting = waiting.find(|server| server.entry.name == name)?;
    let prompt = Prompt::of(&waiting.entry, &places);
    let store = Store::read(&places.approvals()).unwrap_or_default();
    // It is the repository's text, and not the user's.
    let secrets = shown::Secrets::Shown;
    let lines = shown::lines(look, &waiting.entry, &prompt, &store, secrets);
    Some((lines, prompt.binding.hash()))
}

async fn stderr(api: &Arc<Api>, name: &str) -> Answer {
    let member = member(api, name)?;
    let dirs = api.options.dirs().map_err(|fault| No::broken(&fault))?;
    let file = logs::file(&logs::folder(&dirs), &member.entry.name);
    let read = tasks::blocking(move || tail(&file)).await;
    Reply::json(&read.map_err(|fault| No::broken(&fault))?)
}

/// The last lines of a file; none where it is not there.
fn tail(file: &Path) -> Stderr {
    let read = || {
        let mut file = File::open(file).ok()?;
        let length = file.metadata().ok()?.len();
        let from = length.saturating_sub(limits::API_STDERR_BYTES);
        file.seek(SeekFrom::Start(from)).ok()?;
        let mut text = Vec::new();
        file.take(limits::API_STDERR_BYTES)
            .read_to_end(&mut text)
            .ok()?;
        Some((String::from_utf8_lossy(&text).into_owned(), from > 0))
    };
    let Some((text, mut cut)) = read() else {
        return Stderr::default();
    };
    // The first one may have lost its beginning.
    let mut lines: Vec<&str> = text.lines().skip(usize::from(cut)).collect();
    if lines.len() > limits::API_STDERR_LINES {
        cut = true;
        lines.drain(..lines.len() - limits::API_STDERR_LINES);
    }
    let shown = lines.iter().map(|line| visible::line(&secret::text(line)));
    Stderr {
        lines: shown.collect(),
        cut,
    }
}

async fn list(api: &Arc<Api>, ask: &Ask) -> Answer {
    let word = ask.parts.get(1).map(String::as_str).unwrap_or_default();
    let list = match word {
        "tools" => List::Tools,
        "resources" => List::Resources,
        "templates" => List::Templates,
        "prompts" => List::Prompts,
        _ => {
            let no = No::not_found(format!("there is no list {word:?}"));
            return Err(no.hint("tools, resources, templates, prompts"));
        }
    };
    let server = usable(&member(api, ask.part())?)?;
    let met = api.caller.to(&server);
    let items: Vec<Item> = match met.known_listing(list) {
        Some(listing) => listing.items.clone(),
        None => {
            let remote = server.spec.target.is_remote();
            let asked = api.pools.run(remote, met.listing(list)).await;
            let asked = asked.map_err(|fault| No::conflict(secret::text(&fault.to_string())))?;
            asked.items.clone()
        }
    };
    let cut = items.len() > limits::API_LIST;
    let items = items.iter().take(limits::API_LIST);
    let items = items.filter_map(|item| serde_json::from_slice(&item.raw).ok());
    Reply::json(&Listed {
        items: items.collect(),
        cut,
    })
}

/// Why a server or tool is there, line by line.
async fn explained(api: &Arc<Api>, name: &str) -> Result<Vec<String>, No> {
    let look = look(api).await?;
    let (server, tool) = parts(api, name);
    let known = look.find(&server).is_some();
    let member = member(api, &server);
    if !known && member.is_err() {
        return Err(missing(&server));
    }
    let mut lines = Vec::new();
    if let (Some(tool), Ok(Status::Server(server))) =
        (&tool, member.as_ref().map(|member| &member.status))
    {
        let met = api.caller.to(server);
        let own = own_name(api, server, tool).unwrap_or_else(|| tool.clone());
        let ruling = met.explain(What::Tool(&own));
        lines.push(format!("{name}: {}", ruling.decision));
        lines.extend(ruling.reasons.iter().map(ToString::to_string));
    }
    match known {
        true => lines.extend(explain_lines(&look, &server)),
        false => lines.push(format!("{server} comes with this gateway")),
    }
    Ok(lines.iter().map(|line| visible::line(line)).collect())
}

fn explain_lines(look: &Look, name: &str) -> Vec<String> {
    let explained = explain::server(look, name);
    let mut lines: Vec<String> = explained.summary.lines().map(str::to_owned).collect();
    for step in &explained.steps {
        let mark = if step.counts { ">" } else { " " };
        lines.push(format!("{mark} {:<10}  {}", step.scope, step.place));
        lines.push(format!("    {}", step.says));
    }
    lines
}

/// The server that a name means, and the tool, if it is a tool's.
fn parts(api: &Api, name: &str) -> (String, Option<String>) {
    let members = api.members.borrow();
    if members.iter().any(|member| member.entry.name == name) {
        return (name.to_owned(), None);
    }
    let rest = name.strip_prefix("mcp__").unwrap_or(name);
    let tool_of = |server: &str| {
        rest.strip_prefix(server)?
            .strip_prefix("__")
            .map(str::to_owned)
    };
    let found = members.iter().find_map(|member| {
        let server = &member.entry.name;
        Some((server.clone(), Some(tool_of(&normalize(server))?)))
    });
    found.unwrap_or_else(|| match rest.split_once("__") {
        Some((server, tool)) => (server.to_owned(), Some(tool.to_owned())),
        None => (name.to_owned(), None),
    })
}

/// The server's own name for a tool, where it is shown under another.
fn own_name(api: &Api, server: &Arc<Server>, tool: &str) -> Option<String> {
    let listing = api.caller.to(server).known_listing(List::Tools)?;
    let mut items = listing.items.iter();
    let found = items.find(|item| item.key == tool || normalize(&item.key) == tool);
    found.map(|item| item.key.clone())
}
