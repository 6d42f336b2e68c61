//! `disconnect`: everything back as it was, as far as others have left it so.

use super::{Ground, Standing, Which, is_wanted, nobody, plan::difference, which};
use crate::{
    commands::{
        add::{Kept, Scope, failed},
        import::is_ours,
    },
    context::{Context, Say},
    failure::{Code, Failure},
    show::{out, safe, term},
};
use clap::Args;
use serde_json::{Value, json};
use switchboard::config::{
    clients::Client,
    connect::{Change, FileRecord, Imported, Record, Undone},
    edit::{self, EditError},
    import::in_text,
};

/// Options of `disconnect`.
#[derive(Debug, Args)]
pub struct DisconnectOptions {
    /// Which client; all for every one that is connected
    #[arg(value_name = "CLIENT", value_parser = which(), hide_possible_values = true, required = true)]
    pub clients: Vec<Which>,
    /// Write without asking
    #[arg(short, long)]
    pub yes: bool,
    /// Only show what would be written
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What would be undone for one client.
struct Way {
    client: Client,
    /// By the record.
    files: Vec<(FileRecord, Undone)>,
    record: Option<Record>,
    /// Entries of ours of which there is no record.
    strays: Vec<Change>,
}

/// Disconnects.
pub fn run(context: &Context, options: &DisconnectOptions) -> Result<Code, Failure> {
    let ground = Ground::new(context)?;
    let mut clients = ground.meant(&options.clients, |standing| {
        standing.connected == Ok(true) || ground.records.file(standing.client).exists()
    });
    // The last one first: a folder that was made for one may hold another's.
    clients.reverse();
    let asks = !options.yes && !options.dry_run && !options.json && term::can_ask();
    let mut rows = Vec::new();
    let mut unasked = false;
    for client in clients {
        let way = Way::new(&ground, client)?;
        if !options.json {
            way.show(&ground)?;
        }
        let is_wanted = match way.is_none() || options.dry_run {
            true => false,
            false => is_wanted(options.yes, asks, &mut unasked)?,
        };
        let notes = match is_wanted {
            true => way.go(&ground)?,
            false => Vec::new(),
        };
        match options.json {
            true => rows.push(way.as_json(is_wanted, &notes)),
            false => way.tell(&ground, is_wanted, &notes)?,
        }
    }
    if options.json {
        out::json_list(&rows)?;
    }
    if unasked {
        return Err(nobody());
    }
    Ok(Code::Done)
}

impl Way {
    fn new(ground: &Ground<'_>, client: Client) -> Result<Self, Failure> {
        let record = ground
            .records
            .read(client)
            .map_err(|error| failed(&error))?;
        let mut files = Vec::new();
        for file in record.iter().flat_map(|record| &record.files) {
            let undone = file.undone().map_err(|error| failed(&error))?;
            files.push((file.clone(), undone));
        }
        let strays = match record {
            None => strays(ground, client)?,
            Some(_) => Vec::new(),
        };
        Ok(Self {
            client,
            files,
            record,
            strays,
        })
    }

    /// Whether there is nothing to undo.
    fn is_none(&self) -> bool {
        self.record.is_none() && self.strays.is_empty()
    }

    fn show(&self, ground: &Ground<'_>) -> Result<(), Failure> {
        for (file, undone) in &self.files {
            if undone.is_none() {
                continue;
            }
            out::line(&format!("\n{}", ground.shown(file.file())))?;
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            difference(&text(&undone.before), &text(&undone.after))?;
        }
        for change in &self.strays {
            out::line(&format!("\n{}", ground.shown(change.file())))?;
            difference(change.before(), change.after())?;
        }
        Ok(())
    }

    /// The client's files first, then our settings, and the record last: whoever is
    /// killed in between can do it again.
    fn go(&self, ground: &Ground<'_>) -> Result<Vec<String>, Failure> {
        for (file, undone) in &self.files {
            undone.write(file).map_err(|error| failed(&error))?;
        }
        for change in &self.strays {
            change.write().map_err(|error| failed(&error))?;
        }
        let mut notes = Vec::new();
        for imported in self.record.iter().flat_map(|record| &record.imported) {
            if let Some(kept) = give_up(ground, self.client, imported)? {
                notes.push(kept);
            }
        }
        ground
            .records
            .forget(self.client)
            .map_err(|error| failed(&error))?;
        if Standing::of(ground, self.client).connected == Ok(true) {
            let name = self.client.as_str();
            notes.push(format!(
                "an entry that leads to Switchboard was there before: switchboard disconnect {name} once more removes it"
            ));
        }
        Ok(notes)
    }

    fn tell(&self, ground: &Ground<'_>, is_done: bool, notes: &[String]) -> Result<(), Failure> {
        if self.is_none() {
            return out::line(&format!("{} is not connected.", self.client.title()));
        }
        let said = |is_done| if is_done { "written" } else { "not written" };
        for (file, undone) in &self.files {
            let how = match undone.exact {
                true => "as it was before",
                false => {
                    "others have changed it meanwhile, so that only our own changes are undone"
                }
            };
            let file = ground.shown(file.file());
            out::line(&format!("{}: {file} ({how})", said(is_done)))?;
        }
        for change in &self.strays {
            let file = ground.shown(change.file());
            out::line(&format!("{}: {file}", said(is_done)))?;
        }
        let left = self.files.iter().flat_map(|(_, undone)| &undone.left);
        let paint = term::stdout();
        for note in left.chain(notes) {
            out::line(&format!("{} {}", paint.yellow("note:"), safe::line(note)))?;
        }
        Ok(())
    }

    fn as_json(&self, is_done: bool, notes: &[String]) -> Value {
        let outcome = match (self.is_none(), is_done) {
            (true, _) => "not connected",
            (false, true) => "disconnected",
            (false, false) => "would be disconnected",
        };
        let files = self.files.iter().map(|(file, undone)| {
            json!({"file": file.file().display().to_string(), "exact": undone.exact})
        });
        let stray = self
            .strays
            .iter()
            .map(|change| json!({"file": change.file().display().to_string(), "exact": false}));
        let left = self.files.iter().flat_map(|(_, undone)| &undone.left);
        json!({
            "client": self.client.as_str(),
            "outcome": outcome,
            "files": files.chain(stray).collect::<Vec<_>>(),
            "notes": left.chain(notes).collect::<Vec<_>>(),
        })
    }
}

/// Our entries, written by hand or before there were records.
fn strays(ground: &Ground<'_>, client: Client) -> Result<Vec<Change>, Failure> {
    let mut strays = Vec::new();
    for file in client.connected_by(&ground.homes) {
        let mut change = Change::begin(client, &file).map_err(|error| failed(&error))?;
        let found = in_text(client, change.before(), &file, &ground.homes);
        for found in found.iter().filter(|found| is_ours(found, ground.context)) {
            change
                .remove(&found.written_name)
                .map_err(|error| failed(&error))?;
        }
        if !change.is_none() {
            strays.push(change);
        }
    }
    Ok(strays)
}

/// Takes a server that a take-over brought out of our settings again; why it stays.
fn give_up(
    ground: &Ground<'_>,
    client: Client,
    imported: &Imported,
) -> Result<Option<String>, Failure> {
    let name = &imported.name;
    if let Some(other) = ground.records.is_wanted_by_others(name, client) {
        return Ok(Some(format!(
            "{name:?} stays here: it was taken over from {} too",
            other.title()
        )));
    }
    let kept = Kept::of(Scope::User, &ground.places);
    let look = ground.context.look(Say::Nothing);
    let here = look.servers.iter().find(|server| {
        let entry = &server.entry;
        entry.name == *name
            && entry.source.file() == Some(kept.target.file())
            && entry.scope == Scope::User.of_config()
    });
    match here {
        None => return Ok(None),
        Some(here) if here.entry.written != imported.entry => {
            return Ok(Some(format!(
                "{name:?} was changed here since it was taken over, and stays: switchboard remove {name} removes it"
            )));
        }
        Some(_) => {}
    }
    let path: Vec<&str> = kept.path.iter().map(String::as_str).collect();
    match edit::remove(&kept.target, &path, name) {
        Ok(()) | Err(EditError::Missing { .. }) => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}
