//! What would be written for a client: shown, then written. The record of it is on
//! disk before anything else is.

use super::{Ground, take_over};
use crate::{
    commands::{
        add::{Scope, failed},
        import::{Outcome, Rename, Taking, as_json, is_ours},
    },
    failure::{Code, Failure},
    show::{diff, out, safe, term},
};
use serde_json::{Value, json};
use switchboard::{
    config::{
        clients::{Client, ClientFile},
        connect::{Change, Imported, NAME, Record},
        import::{Became, Found, in_text},
        redacted,
    },
    local::secret,
};

/// How clients start this program: for what the running gateway has, wherever that is.
pub const ARGUMENTS: [&str; 2] = ["serve", "--gateway"];

/// This program, for clients that start it.
pub fn program() -> String {
    let path = std::env::current_exe().ok();
    path.map_or_else(|| NAME.to_owned(), |path| path.display().to_string())
}

/// What is to be done about the servers that a client has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Only our entry is written.
    Entry,
    /// They are taken over.
    Servers,
}

/// What would be done for one client.
pub struct Plan {
    pub(super) client: Client,
    /// Its files, those with our entry first.
    pub(super) changes: Vec<Change>,
    /// What becomes of the servers that it has.
    pub(super) servers: Vec<Fate>,
    notes: Vec<String>,
}

/// What becomes of a server of a client's.
pub struct Fate {
    pub(super) found: Found,
    pub(super) outcome: Outcome,
    /// Why it stays as it is in the client; nothing if it is taken over.
    pub(super) stays: Option<String>,
}

impl Plan {
    /// What would be done, as things are now.
    pub fn new(ground: &Ground<'_>, client: Client, wanted: Wanted) -> Result<Self, Failure> {
        let mut plan = Self {
            client,
            changes: Vec::new(),
            servers: Vec::new(),
            notes: Vec::new(),
        };
        for file in client.connected_by(&ground.homes) {
            plan.put_ours(ground, &file)?;
        }
        if wanted == Wanted::Servers {
            take_over::plan(&mut plan, ground)?;
        }
        Ok(plan)
    }

    /// Our entry in one file.
    fn put_ours(&mut self, ground: &Ground<'_>, file: &ClientFile) -> Result<(), Failure> {
        let client = self.client;
        let mut change = Change::begin(client, file).map_err(|error| failed(&error))?;
        let there = in_text(client, change.before(), file, &ground.homes);
        for found in &there {
            let is_ours = is_ours(found, ground.context);
            if found.written_name == NAME && !is_ours {
                return Err(another(found));
            }
            if found.written_name != NAME && is_ours {
                let name = &found.written_name;
                self.notes
                    .push(format!("{name:?} in it leads to Switchboard, too"));
            }
        }
        let entry = client.entry(NAME, &program(), &ARGUMENTS);
        change.put(NAME, entry).map_err(|error| failed(&error))?;
        let after = in_text(client, change.after(), file, &ground.homes);
        let ours = after.iter().find(|found| found.written_name == NAME);
        if let Some(ours) = ours.filter(|ours| ours.entry["disabled"] == true) {
            let off = Became::Translated("disabled".to_owned());
            let field = ours.fields.iter().find(|field| field.became == off);
            let field = field.map_or("disabled", |field| &field.name);
            let title = client.title();
            self.notes
                .push(format!("{title} has it switched off all the same: {field}"));
        }
        self.changes.push(change);
        Ok(())
    }

    /// Whether nothing would be done.
    pub fn is_none(&self) -> bool {
        self.changes.iter().all(Change::is_none)
    }

    /// Shows the difference, and what becomes of servers.
    pub fn show(&self, ground: &Ground<'_>) -> Result<(), Failure> {
        for change in self.changes.iter().filter(|change| !change.is_none()) {
            out::line(&format!("\n{}", ground.shown(change.file())))?;
            difference(change.before(), change.after())?;
        }
        let paint = term::stdout();
        for fate in &self.servers {
            let name = safe::line(&fate.found.written_name);
            let line = match &fate.stays {
                None => match fate.outcome {
                    Outcome::Same => format!("{name}: taken over, it is here already"),
                    _ => format!("{name}: taken over"),
                },
                Some(why) => format!("{name}: stays: {}", safe::line(why)),
            };
            out::line(&match fate.stays {
                None => line,
                Some(_) => paint.yellow(&line),
            })?;
        }
        for note in &self.notes {
            out::line(&format!("{} {}", paint.yellow("note:"), safe::line(note)))?;
        }
        Ok(())
    }

    /// Writes it: first what it takes to undo it, then our settings, then the client's
    /// files. Whoever is killed in between has lost nothing, and can do either again.
    pub fn write(&self, ground: &Ground<'_>) -> Result<(), Failure> {
        if self.is_none() {
            return Ok(());
        }
        let records = &ground.records;
        let old = records.read(self.client).map_err(|error| failed(&error))?;
        let mut record = old.clone().unwrap_or_default();
        for change in &self.changes {
            record.add(change).map_err(|error| failed(&error))?;
        }
        self.note_imports(ground, &mut record);
        records
            .write(self.client, &record)
            .map_err(|error| failed(&error))?;
        let written = self.import(ground).and_then(|()| {
            let mut changes = self.changes.iter();
            changes.try_for_each(|change| change.write().map_err(|error| failed(&error)))
        });
        if written.is_err() && self.changes.len() == 1 {
            // The one file is as it was: so is what is known of it. What came into our
            // settings stays in the record, to be taken out again.
            let mut old = old.unwrap_or_default();
            old.imported = record.imported;
            let kept = match old.files.is_empty() && old.imported.is_empty() {
                true => records.forget(self.client),
                false => records.write(self.client, &old),
            };
            kept.map_err(|error| failed(&error))?;
        }
        written
    }

    fn taken(&self) -> impl Iterator<Item = &Fate> {
        self.servers.iter().filter(|fate| fate.stays.is_none())
    }

    /// What our settings get, for the record. One that another take-over brought is
    /// wanted by both.
    fn note_imports(&self, ground: &Ground<'_>, record: &mut Record) {
        for fate in self.taken() {
            let name = &fate.found.name;
            let by_other = || {
                ground
                    .records
                    .is_wanted_by_others(name, self.client)
                    .is_some()
            };
            let is_known = record.imported.iter().any(|one| one.name == *name);
            if !is_known && (fate.outcome == Outcome::WouldBe || by_other()) {
                record.imported.push(Imported {
                    name: name.clone(),
                    entry: fate.found.entry.clone(),
                });
            }
        }
    }

    /// Writes what is taken over into our settings.
    fn import(&self, ground: &Ground<'_>) -> Result<(), Failure> {
        let mut taking = Taking::new(ground.context);
        for fate in self.taken() {
            let mut found = fate.found.clone();
            match taking.take(&mut found, Scope::User, false, Rename::No)? {
                Outcome::Imported | Outcome::Same => {}
                Outcome::WouldBe | Outcome::LeftOut(_) => {
                    let text = format!("server {:?} cannot be taken over any more", found.name);
                    let hint = "the client's file is as it was; try again";
                    return Err(Failure::new(Code::Configuration, text).hint(hint));
                }
            }
        }
        Ok(())
    }

    /// Says what was done.
    pub fn tell(&self, ground: &Ground<'_>, is_written: bool) -> Result<(), Failure> {
        for change in &self.changes {
            let file = ground.shown(change.file());
            let said = match (change.is_none(), is_written) {
                (true, _) => "has it already",
                (false, true) => "written",
                (false, false) => "not written",
            };
            out::line(&format!("{said}: {file}"))?;
        }
        Ok(())
    }

    /// The same for other programs.
    pub fn as_json(&self, is_written: bool) -> Value {
        let outcome = match (self.is_none(), is_written) {
            (true, _) => "unchanged",
            (false, true) => "written",
            (false, false) => "would be written",
        };
        let servers = self.servers.iter().map(|fate| {
            let mut row = as_json(&fate.found, &fate.outcome);
            row["stays"] = json!(fate.stays);
            row
        });
        let changed = self.changes.iter().filter(|change| !change.is_none());
        json!({
            "client": self.client.as_str(),
            "file": self.changes[0].file().display().to_string(),
            "outcome": outcome,
            "changed": changed.map(|change| change.file().display().to_string()).collect::<Vec<_>>(),
            "entry": self.changes[0].entry(NAME),
            "servers": servers.collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }
}

/// Said of a server that has our name, and is not ours.
fn another(found: &Found) -> Failure {
    let text = format!(
        "{} has another server called {NAME:?}: {}",
        found.file.display(),
        safe::line(&redacted(&found.entry).to_string())
    );
    Failure::new(Code::Configuration, text).hint("give it another name there, then connect again")
}

/// What changes in a text. Whoever looks over a shoulder, or reads a log, learns no
/// secret that is in it.
pub fn difference(before: &str, after: &str) -> Result<(), Failure> {
    let (before, after) = (secret::command_text(before), secret::command_text(after));
    let lines = diff::lines(&before, &after);
    lines.iter().try_for_each(|line| out::line(line))
}
