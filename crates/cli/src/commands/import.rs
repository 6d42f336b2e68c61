//! `import`: other clients' servers, into our own settings.

use super::add::{Kept, Scope, failed, permitted, trust, untrusted};
use crate::{
    context::{Context, Say, warn},
    failure::{Advice, Code, Failure},
    show::{out, safe, term},
};
use clap::Args;
use serde_json::json;
use switchboard::config::{
    self, Source,
    edit::{self, EditError},
    import::{Client, Found, find},
    itself, redacted,
};

const IMPORTED: &str = "imported";

/// Options of `import`.
#[derive(Debug, Args)]
pub struct Options {
    /// Whose: claude-desktop, claude-code, cursor, vscode, codex, windsurf, zed, goose, gemini, opencode (all without it)
    #[arg(value_name = "CLIENT", value_parser = client)]
    pub clients: Vec<Client>,
    /// Only show what would be imported
    #[arg(long)]
    pub dry_run: bool,
    /// Where to keep them
    #[arg(short, long, default_value = "user")]
    pub scope: Scope,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

fn client(text: &str) -> Result<Client, Advice> {
    Client::parse(text).ok_or_else(|| {
        let names: Vec<&str> = Client::ALL.iter().map(|client| client.as_str()).collect();
        Advice::from(format!("known are {}", names.join(", ")))
    })
}

/// Imports.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let places = context.places()?;
    let clients = if options.clients.is_empty() {
        Client::ALL.to_vec()
    } else {
        options.clients.clone()
    };
    let home = places.home.clone().unwrap_or_default();
    let mut faults = Vec::new();
    let found: Vec<Found> = clients
        .into_iter()
        .flat_map(|client| find(client, &home, &mut faults))
        .collect();
    for fault in &faults {
        warn(&fault.to_string());
    }
    let untrusted = untrusted(options.scope, &places);
    let mut done = Vec::new();
    for found in found {
        let outcome = import(context, options, &found)?;
        done.push((found, outcome));
    }
    show(options, &done)?;
    let imported = done.iter().any(|(_, outcome)| outcome == IMPORTED);
    if let Some(folder) = untrusted.filter(|_| imported) {
        trust(folder, &places, !options.json)?;
    }
    Ok(Code::Done)
}

/// Imports one; what became of it. One that fails is no reason to leave out the others.
fn import(context: &Context, options: &Options, found: &Found) -> Result<String, Failure> {
    let text = json!({ "mcpServers": { &found.name: found.entry } }).to_string();
    let entries = config::read(&text, &Source::Ours, options.scope.of_config()).unwrap_or_default();
    let Some(entry) = entries.first().filter(|entry| entry.faults.is_empty()) else {
        let faults: Vec<String> = entries
            .iter()
            .flat_map(|entry| &entry.faults)
            .map(config::Fault::reason)
            .collect();
        return Ok(format!("left out: {}", faults.join("; ")));
    };
    if itself::starts_switchboard(entry, None) {
        return Ok("left out: it is Switchboard itself".to_owned());
    }
    if permitted(context, entry).is_err() {
        return Ok("left out: policy does not permit it".to_owned());
    }
    let kept = Kept::of(options.scope, &context.places()?);
    let there = context.look(Say::Everything).servers.iter().any(|server| {
        server.entry.name == found.name && server.entry.source.file() == Some(kept.target.file())
    });
    if there {
        return Ok("there already".to_owned());
    }
    if options.dry_run {
        return Ok("would be imported".to_owned());
    }
    let path: Vec<&str> = kept.path.iter().map(String::as_str).collect();
    match edit::put(&kept.target, &path, &found.name, &found.entry, false) {
        Ok(()) => Ok(IMPORTED.to_owned()),
        Err(EditError::Exists { .. }) => Ok("there already".to_owned()),
        Err(error) => Err(failed(&error)),
    }
}

fn show(options: &Options, done: &[(Found, String)]) -> Result<(), Failure> {
    if options.json {
        let rows: Vec<_> = done
            .iter()
            .map(|(found, outcome)| {
                json!({"name": found.name, "client": found.client.as_str(), "file": found.file.display().to_string(),
                    "entry": redacted(&found.entry), "notes": found.notes, "outcome": outcome})
            })
            .collect();
        return out::json_list(&rows);
    }
    if done.is_empty() {
        warn("no other client has servers configured");
    }
    let paint = term::stdout();
    for (found, outcome) in done {
        let (name, client) = (safe::line(&found.name), found.client.as_str());
        out::line(&format!(
            "{} {}  {}",
            paint.bold(&name),
            paint.dim(client),
            safe::line(outcome)
        ))?;
        out::line(&format!(
            "  {}",
            safe::line(&redacted(&found.entry).to_string())
        ))?;
        for note in &found.notes {
            out::line(&format!("  {} {}", paint.yellow("note:"), safe::line(note)))?;
        }
    }
    Ok(())
}
