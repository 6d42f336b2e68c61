//! `import`: other clients' servers, into our own settings. What became of every
//! field of theirs is said, in a table with a sum.

use super::add::{Kept, Scope, failed, permitted, trust, untrusted};
use crate::{
    context::{Context, Say, warn},
    failure::{Advice, Code, Failure},
    show::{out, safe, term},
};
use clap::Args;
use serde_json::{Value, json};
use std::{
    collections::{BTreeSet, HashMap},
    path::PathBuf,
};
use switchboard::config::{
    self, Source,
    clients::{Client, Homes},
    edit::{self, EditError},
    import::{Became, Field, Found, find},
    itself, redacted,
};

/// Options of `import`.
#[derive(Debug, Args)]
pub struct Options {
    /// Whose (all without it): claude-desktop, claude-code, cursor, vscode, vscode-insiders,
    /// vscodium, codex, windsurf, zed, goose, gemini, qwen, opencode, cline, cline-cli, roo,
    /// continue, copilot-cli, copilot-jetbrains, kiro, junie, warp, lm-studio, amp, mcporter
    #[arg(value_name = "CLIENT", value_parser = client)]
    pub clients: Vec<Client>,
    /// Only show what would be imported
    #[arg(long)]
    pub dry_run: bool,
    /// Where to keep them; what a project's file has is never kept for you everywhere
    #[arg(short, long, default_value = "user")]
    pub scope: Scope,
    /// Where a name is taken by another server, call it NAME-CLIENT
    #[arg(long)]
    pub rename: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The client of this name.
pub fn client(text: &str) -> Result<Client, Advice> {
    Client::parse(text).ok_or_else(|| {
        let names: Vec<&str> = Client::all().map(Client::as_str).collect();
        Advice::from(format!("known are {}", names.join(", ")))
    })
}

/// The folders of clients' files.
pub fn homes(context: &Context) -> Result<Homes, Failure> {
    let variables = &context.options.variables;
    Ok(Homes::of(&context.places()?, |name| variables.get(name)))
}

/// Imports.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let places = context.places()?;
    let clients = if options.clients.is_empty() {
        Client::all().collect()
    } else {
        options.clients.clone()
    };
    let homes = homes(context)?;
    let mut faults = Vec::new();
    let found: Vec<Found> = clients
        .into_iter()
        .flat_map(|client| find(client, &homes, &mut faults))
        .collect();
    for fault in &faults {
        warn(&fault.to_string());
    }
    let untrusted = untrusted(options.scope, &places);
    let rename = match options.rename {
        true => Rename::Yes,
        false => Rename::CanBe,
    };
    let mut taking = Taking::new(context);
    let mut done = Vec::new();
    for mut found in found {
        let outcome = if found.client.as_str() == "claude-code" {
            Outcome::LeftOut("Switchboard reads this file itself".to_owned())
        } else {
            taking.take(&mut found, options.scope, options.dry_run, rename)?
        };
        done.push((found, outcome));
    }
    show(options, &done)?;
    let own =
        |(found, outcome): &(Found, Outcome)| !found.workspace && *outcome == Outcome::Imported;
    if let Some(folder) = untrusted.filter(|_| done.iter().any(own)) {
        trust(folder, &places, !options.json)?;
    }
    Ok(Code::Done)
}

/// Whether a server whose name is taken gets another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rename {
    /// It does.
    Yes,
    /// It could.
    CanBe,
    /// It has to be called what it is called.
    No,
}

/// What became of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is ours now.
    Imported,
    /// It would be.
    WouldBe,
    /// The same server is there under its name.
    Same,
    /// It is not taken: why.
    LeftOut(String),
}

impl Outcome {
    /// In the words of a table.
    pub fn text(&self) -> String {
        match self {
            Self::Imported => "imported".to_owned(),
            Self::WouldBe => "would be imported".to_owned(),
            Self::Same => "there already".to_owned(),
            Self::LeftOut(why) => format!("left out: {why}"),
        }
    }
}

/// Takes servers over into our own files, one after the other.
pub struct Taking<'a> {
    context: &'a Context,
    /// What is written where: scope, file and name.
    there: HashMap<(config::Scope, PathBuf, String), Value>,
}

impl<'a> Taking<'a> {
    /// With what is configured by now.
    pub fn new(context: &'a Context) -> Self {
        let look = context.look(Say::Everything);
        let there = look.servers.iter().filter_map(|server| {
            let entry = &server.entry;
            let file = entry.source.file()?.to_owned();
            Some((
                (entry.scope, file, entry.name.clone()),
                entry.written.clone(),
            ))
        });
        Self {
            context,
            there: there.collect(),
        }
    }

    /// Takes one; what became of it. One that fails is no reason to leave out the
    /// others. What a repository brings is kept for this project alone, and waits
    /// for the approval that it would need there.
    pub fn take(
        &mut self,
        found: &mut Found,
        scope: Scope,
        dry_run: bool,
        rename: Rename,
    ) -> Result<Outcome, Failure> {
        if let Some(why) = &found.left_out {
            return Ok(Outcome::LeftOut(why.clone()));
        }
        let scope = match scope {
            Scope::User if found.workspace => Scope::Local,
            scope => scope,
        };
        if found.workspace && scope == Scope::Local {
            found.entry["importedFrom"] = found.file.display().to_string().into();
        }
        let reads_variables = |field: &Field| {
            field.name == "envFile" && matches!(field.became, Became::Translated(_))
        };
        if scope == Scope::Project && found.fields.iter().any(reads_variables) {
            let why = "what its envFile holds would be written into a file of the repository";
            return Ok(Outcome::LeftOut(why.to_owned()));
        }
        if let Some(why) = self.unfit(found, scope) {
            return Ok(Outcome::LeftOut(why));
        }
        let kept = Kept::of(scope, &self.context.places()?);
        let file = kept.target.file().to_owned();
        let key = |name: &str| (scope.of_config(), file.clone(), name.to_owned());
        match self.there.get(&key(&found.name)) {
            Some(there) if *there == found.entry => return Ok(Outcome::Same),
            Some(_) => {
                let other = format!("{}-{}", found.name, found.client.as_str());
                match self.there.get(&key(&other)) {
                    Some(there) if *there == found.entry => return Ok(Outcome::Same),
                    None if rename == Rename::Yes => found.name = other,
                    _ => {
                        let (file, name) = (file.display(), &found.name);
                        let mut why = format!("{file} has another server called {name:?}");
                        if rename == Rename::CanBe {
                            why.push_str(&format!(" (--rename takes it as {other:?})"));
                        }
                        return Ok(Outcome::LeftOut(why));
                    }
                }
            }
            None => {}
        }
        if found.workspace {
            let note = format!(
                "it comes from inside the project and waits for your approval: switchboard approve {}",
                found.name
            );
            found.notes.push(note);
        }
        self.there.insert(key(&found.name), found.entry.clone());
        if dry_run {
            return Ok(Outcome::WouldBe);
        }
        let path: Vec<&str> = kept.path.iter().map(String::as_str).collect();
        match edit::put(&kept.target, &path, &found.name, &found.entry, false) {
            Ok(()) => Ok(Outcome::Imported),
            Err(EditError::Exists { .. }) => Ok(Outcome::LeftOut(
                "another program has written a server of this name meanwhile".to_owned(),
            )),
            Err(error) => Err(failed(&error)),
        }
    }

    /// Why an entry cannot be one of ours.
    fn unfit(&self, found: &Found, scope: Scope) -> Option<String> {
        let entry = match read(found, scope) {
            Ok(entry) => entry,
            Err(faults) => {
                let each: Vec<String> = faults.iter().map(config::Fault::reason).collect();
                return Some(each.join("; "));
            }
        };
        if leads_to_us(&entry, self.context) {
            return Some("it is Switchboard itself".to_owned());
        }
        if permitted(self.context, &entry).is_err() {
            return Some("policy does not permit it".to_owned());
        }
        None
    }
}

/// An entry as it would be read, or what is wrong with it.
fn read(found: &Found, scope: Scope) -> Result<config::Entry, Vec<config::Fault>> {
    let text = json!({ "mcpServers": { &found.name: found.entry } }).to_string();
    let mut entries = config::read(&text, &Source::Ours, scope.of_config()).unwrap_or_default();
    let faults = entries
        .iter()
        .flat_map(|entry| entry.faults.iter().cloned());
    let faults: Vec<config::Fault> = faults.collect();
    entries.pop().filter(|_| faults.is_empty()).ok_or(faults)
}

fn leads_to_us(entry: &config::Entry, context: &Context) -> bool {
    let own = context.options.own_program.as_deref();
    itself::starts_switchboard(entry, own) || itself::is_our_address(entry)
}

/// Whether a server of another client is Switchboard itself.
pub fn is_ours(found: &Found, context: &Context) -> bool {
    read(found, Scope::User).is_ok_and(|entry| leads_to_us(&entry, context))
}

fn show(options: &Options, done: &[(Found, Outcome)]) -> Result<(), Failure> {
    if options.json {
        let rows: Vec<Value> = done
            .iter()
            .map(|(found, outcome)| as_json(found, outcome))
            .collect();
        return out::json_list(&rows);
    }
    if done.is_empty() {
        warn("no other client has servers configured");
        return Ok(());
    }
    table(done)
}

/// One server for other programs.
pub fn as_json(found: &Found, outcome: &Outcome) -> Value {
    let fields = found.fields.iter().map(|field| match &field.became {
        Became::Taken => json!({"name": field.name, "became": "taken"}),
        Became::Translated(to) => json!({"name": field.name, "became": "translated", "to": to}),
        Became::Lost(why) => json!({"name": field.name, "became": "lost", "why": why}),
    });
    json!({"name": found.name, "client": found.client.as_str(), "file": found.file.display().to_string(),
        "workspace": found.workspace, "entry": redacted(&found.entry), "fields": fields.collect::<Vec<_>>(),
        "notes": found.notes, "outcome": outcome.text()})
}

/// A row for each server with what was lost or changed, and a sum.
pub fn table(done: &[(Found, Outcome)]) -> Result<(), Failure> {
    let paint = term::stdout();
    let short = |outcome: &Outcome| match outcome {
        Outcome::LeftOut(_) => "left out".to_owned(),
        outcome => outcome.text(),
    };
    let rows: Vec<[String; 6]> = done
        .iter()
        .map(|(found, outcome)| {
            let [taken, translated, lost] = found.counts().map(|count| count.to_string());
            let client = found.client.as_str().to_owned();
            [
                safe::line(&found.name),
                client,
                short(outcome),
                taken,
                translated,
                lost,
            ]
        })
        .collect();
    let head = ["server", "client", "outcome", "taken", "translated", "lost"].map(str::to_owned);
    let mut widths = [0; 6];
    for row in rows.iter().chain([&head]) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; 6]| {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    out::line(&paint.dim(&line(&head)))?;
    for (row, (found, outcome)) in rows.iter().zip(done) {
        out::line(&paint.bold(&line(row)))?;
        details(found, outcome)?;
    }
    sum(done)
}

fn details(found: &Found, outcome: &Outcome) -> Result<(), Failure> {
    let paint = term::stdout();
    let file = found.file.display().to_string();
    out::line(&format!("  {}", paint.dim(&safe::line(&file))))?;
    if let Outcome::LeftOut(why) = outcome {
        out::line(&format!(
            "  {} {}",
            paint.yellow("left out:"),
            safe::line(why)
        ))?;
    }
    if found.left_out.is_none() {
        let entry = redacted(&found.entry).to_string();
        out::line(&format!("  {}", safe::line(&entry)))?;
    }
    for field in &found.fields {
        let text = match &field.became {
            Became::Taken => continue,
            Became::Translated(to) => format!("{} → {to}", field.name),
            Became::Lost(why) => {
                let lost = safe::line(&format!("{}: {why}", field.name));
                out::line(&format!("  {} {lost}", paint.yellow("lost:")))?;
                continue;
            }
        };
        out::line(&format!("  translated: {}", safe::line(&text)))?;
    }
    for note in &found.notes {
        out::line(&format!("  {} {}", paint.yellow("note:"), safe::line(note)))?;
    }
    Ok(())
}

fn sum(done: &[(Found, Outcome)]) -> Result<(), Failure> {
    let clients: BTreeSet<&str> = done
        .iter()
        .map(|(found, _)| found.client.as_str())
        .collect();
    let count = |wanted: fn(&Outcome) -> bool| done.iter().filter(|(_, one)| wanted(one)).count();
    let outcomes = [
        (count(|one| *one == Outcome::Imported), "imported"),
        (count(|one| *one == Outcome::WouldBe), "would be imported"),
        (count(|one| *one == Outcome::Same), "there already"),
        (count(|one| matches!(one, Outcome::LeftOut(_))), "left out"),
    ];
    let outcomes: Vec<String> = outcomes
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    let mut fields = [0; 3];
    for (found, _) in done {
        for (sum, count) in fields.iter_mut().zip(found.counts()) {
            *sum += count;
        }
    }
    let plural = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let [taken, translated, lost] = fields;
    out::line(&format!(
        "{} of {}: {}; fields: {taken} taken, {translated} translated, {lost} lost",
        plural(done.len(), "server"),
        plural(clients.len(), "client"),
        outcomes.join(", ")
    ))
}
