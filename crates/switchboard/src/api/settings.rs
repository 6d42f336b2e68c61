//! What is configured where; changing it, with the difference first; the record.

pub(super) mod change;
mod imports;
mod record;

use super::{
    Api,
    answer::{Answer, No, Reply},
    asking::Ask,
    servers::look,
    state::scope,
};
use crate::pipeline::Look;
use std::sync::Arc;
use switchboard_api::settings::{
    Entry, File, Proposed, Reloaded, Settings, Snippet, Understood, Written,
};
use switchboard_config::{
    Configured, Outcome, Places, Standing,
    approval::{Prompt, Store, shown},
    clients::Homes,
    edit::{EditError, Plan},
    explain, import, redacted,
};
use switchboard_local::secret;
use switchboard_record::audit::Record;

pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    match (ask.route.verb, ask.route.path) {
        ("GET", "settings") => Reply::json(&all(api, &look(api, &ask.who).await?)),
        ("POST", "settings/read") => understood(api, ask).await,
        ("POST", "settings/change") => change::answer(api, ask).await,
        ("POST", "reload") => reload(api),
        ("GET", "imports") => imports::answer(api, ask).await,
        ("GET", "audit") => record::answer(api, ask).await,
        _ => Err(No::unavailable("this gateway does not have this")),
    }
}

/// Reads the configuration again, as when a file has changed.
fn reload(api: &Api) -> Answer {
    let reloaded = (api.reload)();
    let changed = reloaded.map_err(|why| No::conflict(secret::text(&why.to_string())))?;
    Reply::json(&Reloaded { changed })
}

/// Whether a change was said yes to: by the digest that its difference came with.
pub(super) fn confirmed(confirm: Option<&str>, digest: &str) -> Result<bool, No> {
    match confirm {
        None => Ok(false),
        Some(confirm) if confirm == digest => Ok(true),
        Some(_) => {
            let no = No::conflict("this is not the difference that was shown: look at it again");
            Err(no.field("/confirm"))
        }
    }
}

/// Writes a change of a file, if its difference was said yes to, and puts it on record.
pub(super) fn write(
    api: &Arc<Api>,
    ask: &Ask,
    plan: &Plan,
    confirm: Option<&str>,
    difference: Vec<String>,
    record: Record,
) -> Answer {
    let digest = plan.digest();
    let written = confirmed(confirm, &digest)?;
    if written && !plan.is_empty() {
        plan.write().map_err(|fault| conflict(&fault))?;
        api.record(ask, record);
        api.read_again()?;
    }
    Reply::json(&Written {
        file: plan.target().file().display().to_string(),
        difference,
        digest,
        written,
        question: None,
    })
}

pub(super) fn conflict(fault: &EditError) -> No {
    No::conflict(secret::text(&fault.to_string())).hint(fault.hint())
}

fn all(api: &Api, look: &Look) -> Settings {
    let ours = api.options.places().map(|places| places.settings());
    let file = |looked: &switchboard_config::Looked| File {
        path: looked.file.display().to_string(),
        scope: scope(looked.scope, Default::default()).to_owned(),
        exists: !matches!(looked.outcome, Outcome::Absent),
        writable: api.may.edit && ours.as_ref() == Some(&looked.file),
    };
    Settings {
        files: look.looked.iter().map(file).collect(),
        entries: look.servers.iter().map(entry).collect(),
        faults: look
            .faults
            .iter()
            .map(|(_, fault)| secret::text(&fault.to_string()).into_owned())
            .collect(),
    }
}

fn entry(server: &Configured) -> Entry {
    let entry = &server.entry;
    let status = match &server.standing {
        Standing::Active if !entry.faults.is_empty() => "faulty",
        Standing::Active => "used",
        Standing::PendingApproval => "pending",
        Standing::Rejected => "rejected",
        Standing::Disabled => "disabled",
        Standing::Denied(_) | Standing::Itself => "denied",
        Standing::Shadowed(_) | Standing::Duplicate(_) => "shadowed",
    };
    Entry {
        name: entry.name.clone(),
        file: entry.source.to_string(),
        line: u32::try_from(entry.line).unwrap_or_default(),
        scope: scope(entry.scope, entry.transport).to_owned(),
        entry: redacted(&entry.written),
        status: status.to_owned(),
        why: (status != "used").then(|| secret::text(&explain::reason(server)).into_owned()),
    }
}

/// What an entry would do, line by line, as `approve` shows it, and what else is to be said.
fn explained(
    look: &Look,
    entry: &switchboard_config::Entry,
    places: &Places,
    notes: Vec<String>,
) -> Vec<String> {
    let prompt = Prompt::of(entry, places);
    let (store, secrets) = (Store::default(), shown::Secrets::Hidden);
    let mut lines = shown::lines(look, entry, &prompt, &store, secrets);
    lines.extend(notes);
    lines
}

async fn understood(api: &Arc<Api>, ask: &Ask) -> Answer {
    let places = api.options.places();
    let places = places.ok_or_else(super::servers::no_home)?;
    let look = look(api, &ask.who).await?;
    let made = move |snippet: Snippet| read(&snippet.text, &places, &look);
    Reply::json(&ask.made_of(&api.readings, made).await?)
}

fn read(text: &str, places: &Places, look: &Look) -> Result<Understood, No> {
    if text.len() > crate::limits::API_SNIPPET {
        return Err(No::invalid("it is too long").field("/text"));
    }
    let homes = Homes::at(places.home.as_deref().unwrap_or(std::path::Path::new("/")));
    let read = import::snippet::read(text, &homes);
    let mut faults = read.faults;
    let mut servers = Vec::new();
    for server in read.servers.into_iter().take(crate::limits::API_LIST) {
        let entry = match change::parsed(&server.name, &server.entry) {
            Ok(entry) => entry,
            Err(fault) => {
                faults.push(format!("{}: {fault}", server.name));
                continue;
            }
        };
        let replaces = look.find(&server.name).map(|known| known.entry.place());
        servers.push(Proposed {
            explained: explained(look, &entry, places, server.notes),
            entry: server.entry,
            name: server.name,
            replaces,
        });
    }
    Ok(Understood {
        form: read.form,
        servers,
        faults,
    })
}
