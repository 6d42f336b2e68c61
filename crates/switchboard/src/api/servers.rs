//! One server: what it said, what it lists, why it is there, and what can be done with it.

mod explained;
mod served;
mod sign_in;
mod verbs;
mod watched;

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::{Ask, Who},
    calls::shortly,
    now, state, without,
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
use switchboard_api::servers::{Detail, Listed, Process, Stderr};
use switchboard_config::{
    Isolation,
    approval::{Prompt, Store, shown},
    explain, redacted,
};
use switchboard_host::{
    Server,
    catalog::{Item, List},
};
use switchboard_local::{secret, visible};
use switchboard_process::Usage;

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    match (ask.route.verb, ask.route.path) {
        ("GET", "servers") => served::all(api, ask).await,
        ("GET", "servers/{segment}/report") => served::report(api, ask.part()).await,
        ("GET", "servers/{segment}") => detail(api, ask).await,
        ("GET", "servers/{segment}/stderr") => stderr(api, ask).await,
        ("GET", "servers/{segment}/sign-in") => sign_in::answer(&member(api, ask.part())?),
        ("GET", "servers/{segment}/{list}") => list(api, ask).await,
        ("POST", path) => {
            let verb = path.rsplit('/').next().unwrap_or_default();
            verbs::act(api, ask, verb).await
        }
        ("GET", "explain/{name}") => Reply::json(&explained::of(api, ask).await?),
        _ => Err(No::unavailable("this gateway does not have this")),
    }
}

/// What is configured, read anew.
pub(super) async fn look(api: &Api, who: &Who) -> Result<Look, No> {
    let options = api.options.clone();
    shortly(&api.looks, who, move || Config::look(&options)).await
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

async fn detail(api: &Arc<Api>, ask: &Ask) -> Answer {
    let name = ask.part();
    let member = member(api, name)?;
    let entry = &member.entry;
    let look = look(api, &ask.who).await?;
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
            let said: Option<Value> = without::secrets(&hello.result);
            detail.capabilities = without::secrets(&hello.capabilities());
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
        detail.processes = processes(api, &ask.who, server).await?;
    }
    Reply::json(&detail)
}

async fn processes(api: &Api, who: &Who, server: &Arc<Server>) -> Result<Vec<Process>, No> {
    let pids = server.processes();
    let looked = pids.clone();
    let used = shortly(&api.looks, who, move || {
        let used = switchboard_process::usage_of(&looked);
        let ages = switchboard_process::age_of(&looked);
        used.into_iter().zip(ages).collect::<Vec<_>>()
    });
    let used = used.await?;
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
    Ok(pids.iter().zip(used).map(process).collect())
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

async fn stderr(api: &Arc<Api>, ask: &Ask) -> Answer {
    let member = member(api, ask.part())?;
    let dirs = api.options.dirs().map_err(|fault| No::broken(&fault))?;
    let file = logs::file(&logs::folder(&dirs), &member.entry.name);
    let read = shortly(&api.looks, &ask.who, move || tail(&file));
    Reply::json(&read.await?)
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
    let items: Vec<Arc<Item>> = match met.known_listing(list) {
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
    let items = items.filter_map(|item| without::item_of(&server, &item.raw));
    Reply::json(&Listed {
        items: items.collect(),
        cut,
    })
}

fn explain_lines(look: &Look, name: &str) -> Vec<String> {
    let explained = explain::server(look, name);
    let summary = secret::text(&explained.summary);
    let mut lines: Vec<String> = summary.lines().map(str::to_owned).collect();
    for step in &explained.steps {
        let mark = if step.counts { ">" } else { " " };
        lines.push(format!("{mark} {:<10}  {}", step.scope, step.place));
        lines.push(format!("    {}", secret::text(&step.says)));
    }
    lines
}
