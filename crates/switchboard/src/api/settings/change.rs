//! Adding and removing entries. What brings a command is not written: it becomes a
//! proposal, which somebody approves who came in by a single-use code.

use super::{
    super::{
        Api,
        answer::{Answer, No, Reply},
        asking::Ask,
        proposals::{self, Proposal},
        servers::{look, no_home},
    },
    confirmed, conflict, imports, write,
};
use crate::{limits, pipeline::Look};
use serde_json::{Value, json};
use std::sync::Arc;
use switchboard_api::settings::{Edit, Written};
use switchboard_config::{
    Entry, Fault, Places, Scope, Source, Transport, Verdict,
    approval::Prompt,
    check,
    edit::{Plan, Target},
    read, redacted,
};
use switchboard_local::diff;
use switchboard_record::audit::Record;

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    let mut edit: Edit = ask.large(&api.readings).await?;
    let places = api.options.places().ok_or_else(no_home)?;
    let path = path(&edit, &places)?;
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let look = look(api, &ask.who).await?;
    let target = Target::private(&places.settings());
    let plan = Plan::of(&target).map_err(|fault| conflict(&fault))?;
    let before = look.servers.iter().find(|known| {
        known.entry.name == edit.name && known.entry.source.file() == Some(target.file())
    });
    let before = before.map(|known| known.entry.written.clone());
    match edit.what.as_str() {
        "remove" => {
            let plan = plan
                .remove(&path, &edit.name)
                .map_err(|fault| conflict(&fault))?;
            let difference = difference(before.as_ref(), None);
            finish(api, ask, &edit, plan, difference)
        }
        "add" => {
            if let Some(from) = edit.from.take() {
                let scope = edit.scope.as_deref();
                edit.entry = Some(imports::entry(api, ask, &places, &from, scope).await?);
            }
            let written = edit.entry.clone();
            let written = written.ok_or_else(|| No::invalid("what is added?").field("/entry"))?;
            let entry = parsed(&edit.name, &written)?;
            reachable(&entry)?;
            permitted(&look, &entry)?;
            let difference = difference(before.as_ref(), Some(&written));
            if runs_something(&entry, &places) {
                return propose(api, ask, edit, entry, &look, &places, difference);
            }
            let plan = plan
                .put(&path, &edit.name, &written, true)
                .map_err(|fault| conflict(&fault))?;
            finish(api, ask, &edit, plan, difference)
        }
        _ => Err(No::invalid("it can be add or remove").field("/what")),
    }
}

/// Where an entry of this scope is kept in our own file.
pub(in super::super) fn path(edit: &Edit, places: &Places) -> Result<Vec<String>, No> {
    if edit.name.len() > limits::API_NAME {
        let text = format!("a name has at most {} letters", limits::API_NAME);
        return Err(No::invalid(text).field("/name"));
    }
    check::name(&edit.name).map_err(|fault| No::invalid(fault.to_string()).field("/name"))?;
    let servers = "mcpServers".to_owned();
    match edit.scope.as_deref() {
        None | Some("user") => Ok(vec![servers]),
        Some("local") => {
            let project = places.project().display().to_string();
            Ok(vec!["projects".to_owned(), project, servers])
        }
        Some(_) => Err(No::invalid("the scope is user or local").field("/scope")),
    }
}

/// Why what was sent is no entry.
#[derive(Debug, thiserror::Error)]
pub(in super::super) enum NoEntry {
    #[error("the entry must be an object")]
    NoObject,
    #[error("the entry is empty")]
    Empty,
    #[error("{}", .0.reason())]
    Faulty(Box<Fault>),
}

impl From<NoEntry> for No {
    fn from(fault: NoEntry) -> Self {
        Self::invalid(fault.to_string()).field("/entry")
    }
}

/// The entry, if nothing is wrong with it.
pub(in super::super) fn parsed(name: &str, written: &Value) -> Result<Entry, NoEntry> {
    if !written.is_object() {
        return Err(NoEntry::NoObject);
    }
    let text = json!({ "mcpServers": { name: written } }).to_string();
    let mut entries = read(&text, &Source::Ours, Scope::User).map_err(NoEntry::Faulty)?;
    let entry = entries.pop().ok_or(NoEntry::Empty)?;
    match entry.faults.first() {
        Some(fault) => Err(NoEntry::Faulty(Box::new(fault.clone()))),
        None => Ok(entry),
    }
}

/// Whether an entry's address is of a kind that its transport can reach.
fn reachable(entry: &Entry) -> Result<(), No> {
    let schemes: &[&str] = match entry.transport {
        Transport::Http | Transport::Sse => &["http", "https"],
        Transport::Ws => &["ws", "wss"],
        _ => return Ok(()),
    };
    let address = entry.written.get("url").and_then(Value::as_str);
    // A socket of this machine has no host.
    let address = address.filter(|address| !address.starts_with("unix:"));
    let checked = address.map_or(Ok(()), |address| check::address(address, schemes));
    checked.map_err(|fault| No::invalid(fault.to_string()).field("/entry/url"))
}

/// Whether policy lets the server be added.
pub(in super::super) fn permitted(look: &Look, entry: &Entry) -> Result<(), No> {
    if let Some(file) = &look.exclusive {
        let file = file.display();
        return Err(No::not_allowed(format!(
            "servers are managed by {file}: none can be added"
        )));
    }
    match look.policy.decide(entry) {
        Verdict::Allowed(_) => Ok(()),
        Verdict::Denied(rule) => {
            let name = &entry.name;
            Err(No::not_allowed(format!(
                "server {name:?} is blocked by {rule}"
            )))
        }
        Verdict::NotAllowed(rule) => Err(No::not_allowed(format!(
            "server {:?} is not in the list of allowed servers ({rule})",
            entry.name
        ))),
    }
}

/// Whether using it would start anything, or tell anything: all but an address and nothing
/// else does.
fn runs_something(entry: &Entry, places: &Places) -> bool {
    let is_address = matches!(
        entry.transport,
        Transport::Http | Transport::Sse | Transport::Ws
    );
    // An address that is filled in here would be told what our environment holds.
    let is_filled_in = || !Prompt::of(entry, places).reads.is_empty();
    !is_address || entry.headers_helper.is_some() || is_filled_in()
}

/// What goes and what comes, without secrets.
fn difference(before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    let lines = |entry: Option<&Value>| -> Vec<String> {
        let text =
            entry.map(|entry| serde_json::to_string_pretty(&redacted(entry)).unwrap_or_default());
        text.unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    };
    let (before, after) = (lines(before), lines(after));
    let rows = diff::rows(&before, &after);
    rows.iter()
        .map(|(change, line)| format!("{} {line}", change.sign()))
        .collect()
}

fn finish(api: &Arc<Api>, ask: &Ask, edit: &Edit, plan: Plan, difference: Vec<String>) -> Answer {
    let event = if edit.what == "add" { "add" } else { "remove" };
    let record = Record::new(event).with("server", edit.name.as_str());
    write(api, ask, &plan, edit.confirm.as_deref(), difference, record)
}

/// Keeps what would be added until somebody approves it. Without a yes to the difference
/// nothing is kept.
fn propose(
    api: &Arc<Api>,
    ask: &Ask,
    edit: Edit,
    entry: Entry,
    look: &Look,
    places: &Places,
    difference: Vec<String>,
) -> Answer {
    if api.may.open {
        return Err(No::not_allowed(
            "this gateway lets everybody in (--no-auth): what is to be run is not added here",
        )
        .hint("switchboard add"));
    }
    if entry.written.to_string().len() > limits::API_PROPOSAL_BYTES {
        return Err(No::invalid("the entry is too large to wait for approval").field("/entry"));
    }
    let confirm = edit.confirm.clone();
    let proposal = Proposal::new(edit, &entry, look, places, &ask.who.recorded());
    let digest = proposal.digest().to_owned();
    let file = places.settings().display().to_string();
    let question = match confirmed(confirm.as_deref(), &digest)? {
        true => Some(proposals::keep(api, ask, proposal)?),
        false => None,
    };
    Reply::json(&Written {
        file,
        difference,
        digest,
        written: false,
        question,
    })
}
