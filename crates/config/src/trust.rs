//! Whether the folder that we work in is trusted: whether servers that come
//! from outside of it may be started in it. `npx`, `uvx`, `python -m` and the
//! like take programs and settings from where they are started, so that in a
//! repository of a stranger's they would run what the stranger wrote.
//!
//! A folder is trusted by the user's word, which is kept here (`store`), by what
//! the user said to Claude Code, by a server that the user configured for it, or
//! because nobody else could have put anything there. Such a word is good for
//! what lies in the folder, too.

mod names;
mod store;

use crate::{
    entry::{Entry, Scope, Transport},
    expand,
    fault::{Fault, Source},
    limits,
    load::{Loaded, Request, Standing},
    places::Places,
    read, safe_read,
};
use serde_json::Value;
use std::path::{Path, PathBuf};
pub use store::{FoldersError, Said, Store};
use switchboard_local::shell;

/// The folder that we work in.
#[derive(Clone, Debug, Default)]
pub struct Folder {
    /// Where we are: a real path.
    pub directory: PathBuf,
    /// What a repository could have written here; see [`Places::tree`].
    pub tree: Option<PathBuf>,
    /// Whether it is trusted; `None` where no server depends on it.
    pub trust: Option<Trust>,
}

/// Whether a folder is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// It is; why.
    Trusted(String),
    /// The user said no to this folder.
    Refused(PathBuf),
    /// Nobody has said anything.
    Open,
}

impl Folder {
    /// What one would trust here: the repository, or the directory alone.
    pub fn to_trust(&self) -> &Path {
        self.tree.as_deref().unwrap_or(&self.directory)
    }

    /// The command that makes it trusted.
    pub fn command(&self) -> String {
        format!("switchboard trust {}", quoted(self.to_trust()))
    }

    /// In one sentence: what became of servers, and what changes that. `None`
    /// where there are none.
    pub fn sentence(&self, elsewhere: &[&Entry]) -> Option<String> {
        let names = labels(elsewhere);
        let (what, them) = match elsewhere {
            [] => return None,
            [_] => (format!("server {names} is"), "it"),
            _ => (format!("servers {names} are"), "they"),
        };
        Some(format!(
            "{} is not a trusted folder, so {what} started in an empty directory and not in it; if you trust all \
             that is in this folder, {them} can start there: {}",
            self.directory.display(),
            self.command()
        ))
    }
}

/// The names of these servers; of a remote one only its helper is started here.
pub fn labels(entries: &[&Entry]) -> String {
    let label = |entry: &&Entry| match entry.headers_helper {
        Some(_) => format!("{} (its headersHelper)", entry.name),
        None => entry.name.clone(),
    };
    let mut labels: Vec<String> = entries
        .iter()
        .take(limits::NAMED_SERVERS)
        .map(label)
        .collect();
    let more = entries.len() - labels.len();
    labels.extend((more > 0).then(|| format!("{more} more")));
    labels.join(", ")
}

impl Loaded {
    /// The servers in use that start in an empty directory, because the one
    /// that we are in is not trusted.
    pub fn elsewhere(&self) -> Vec<&Entry> {
        self.active()
            .filter(|entry| entry.starts_elsewhere() && entry.faults.is_empty())
            .filter(|entry| entry.scope != Scope::Fleet)
            .collect()
    }

    /// The sentence that a user is told about them.
    pub fn about_folder(&self) -> Option<String> {
        self.folder.sentence(&self.elsewhere())
    }

    /// Whether the user could be asked: something depends on it, and nobody has
    /// said anything yet.
    pub fn folder_is_open(&self) -> bool {
        let depends = |entry: &Entry| entry.wary && entry.scope != Scope::Fleet;
        self.folder.trust == Some(Trust::Open) && self.active().any(depends)
    }
}

/// Decides where the servers that count are started.
pub(crate) fn settle(loaded: &mut Loaded, request: &Request) {
    let Some(places) = &request.places else {
        return;
    };
    loaded.folder.directory.clone_from(&places.directory);
    loaded.folder.tree = places.tree().map(ToOwned::to_owned);
    // What somebody has signed for many machines has nothing to do with a folder of this one,
    // whether or not that is trusted.
    for server in &mut loaded.servers {
        server.entry.wary |= server.entry.scope == Scope::Fleet;
    }
    let starts = |entry: &Entry| {
        entry.transport == Transport::Stdio
            || entry.headers_helper.is_some()
            || entry.builtin_options.folder.is_some()
    };
    let concerned = |entry: &Entry| {
        let reads = entry.credential_files().next().is_some() || fills_from_files(entry);
        (starts(entry) || reads) && is_from_outside(entry, places)
    };
    if !loaded.active().any(concerned) {
        return;
    }
    let (trust, fault) = judge(places);
    loaded
        .faults
        .extend(fault.map(|fault| (Scope::User, fault)));
    let trusted = matches!(trust, Trust::Trusted(_));
    loaded.folder.trust = Some(trust);
    if trusted {
        return;
    }
    let lookup = |name: &str| loaded.environment.get(name);
    for server in &mut loaded.servers {
        let entry = &mut server.entry;
        if server.standing != Standing::Active || !concerned(entry) {
            continue;
        }
        entry.wary = starts(entry);
        // One that cannot be filled in cannot be started either.
        let filled = expand::expand(entry, &lookup).ok();
        if let Some((field, text)) = filled.and_then(|filled| names::in_folder(&filled, places)) {
            let problem = format!(
                "names {text:?} in {}, which is not a trusted folder",
                places.directory.display()
            );
            let mut fault = entry.fault(&field, problem);
            fault.hint = Some(format!(
                "if you trust all that is in this folder: {}",
                loaded.folder.command()
            ));
            entry.faults.push(fault);
        }
    }
}

/// Whether a text of it takes in what a file holds.
fn fills_from_files(entry: &Entry) -> bool {
    let texts = entry.headers.iter().map(|(_, text)| text);
    let texts = texts.chain(&entry.url).chain(&entry.oauth.client_secret);
    texts.into_iter().any(|text| text.contains("${file:"))
}

/// What the user typed counts as the tree's where it names a file of the tree.
fn is_from_outside(entry: &Entry, places: &Places) -> bool {
    let file = entry.source.file();
    !entry.inside && !file.is_some_and(|file| places.is_inside(file))
}

/// Whether the folder that we are in is trusted. A record that cannot be read
/// may have held a no: then nothing that was said counts.
pub fn judge(places: &Places) -> (Trust, Option<Fault>) {
    let directory = &places.directory;
    let (store, fault) = match Store::of(places) {
        Ok(store) => (Some(store), None),
        Err(error) => {
            let source = Source::File(places.folders());
            let fault = Fault::whole(source, error.problem(), error.hint());
            (None, Some(fault))
        }
    };
    let by_itself = by_itself(places);
    let Some(store) = store else {
        let trust = by_itself.map_or(Trust::Open, Trust::Trusted);
        return (trust, fault);
    };
    let others = Others::read(places);
    for folder in directory.ancestors() {
        match store.get(folder) {
            Some(true) => return (Trust::Trusted(words(places, folder, "you said so")), None),
            Some(false) => return (Trust::Refused(folder.to_owned()), None),
            None => {}
        }
        if folder == directory
            && let Some(why) = &by_itself
        {
            return (Trust::Trusted(why.clone()), None);
        }
        // What was said to others about home was not said about all that is in it.
        let counts = folder == directory || !is_wide(places, folder);
        if let Some(why) = others.get(folder).filter(|_| counts) {
            return (Trust::Trusted(words(places, folder, &why)), None);
        }
    }
    (Trust::Open, None)
}

fn words(places: &Places, folder: &Path, why: &str) -> String {
    if folder == places.directory {
        why.to_owned()
    } else {
        format!("it lies in {}, and {why}", folder.display())
    }
}

/// Whether all that a user has lies in it.
fn is_wide(places: &Places, folder: &Path) -> bool {
    let home = places.home.as_deref();
    folder.parent().is_none() || home.is_some_and(|home| home.starts_with(folder))
}

/// Why a folder counts without anybody's word, alone and not with what lies in it.
fn by_itself(places: &Places) -> Option<String> {
    let directory = places.directory.as_path();
    if directory.parent().is_none() {
        return Some("it is the root directory".to_owned());
    }
    if places.home.as_deref() == Some(directory) {
        return Some("it is your home directory".to_owned());
    }
    only_root_writes(directory, safe_read::me()).then(|| "only root can write to it".to_owned())
}

/// Whether only root can put anything into a folder, or another in its place.
/// To root itself that says nothing: whatever root unpacks belongs to root.
fn only_root_writes(folder: &Path, me: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    let roots = |folder: &Path| {
        folder
            .metadata()
            .is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0)
    };
    me != 0 && folder.ancestors().all(roots)
}

/// What the user's own files say about folders, besides our record.
struct Others(Vec<(PathBuf, String)>);

impl Others {
    fn read(places: &Places) -> Self {
        let mut found = Vec::new();
        for file in [places.claude_json.clone(), places.settings()] {
            // What a repository wrote about itself says nothing.
            if places.is_inside(&file) {
                continue;
            }
            // A file that cannot be read has been told of when it was read for servers.
            let Ok(text) = safe_read::read(&file, None) else {
                continue;
            };
            let theirs = file == places.claude_json;
            let source = Source::File(file.clone());
            let _ = read::with(&text, &source, |doc| {
                for folder in places.directory.ancestors() {
                    let Some(key) = folder.to_str() else { continue };
                    let value = |name: &str| doc.value(&["projects", key, name]);
                    if theirs
                        && value("hasTrustDialogAccepted").is_some_and(|(said, _)| said == true)
                    {
                        let why = format!("you trust it in Claude Code ({})", file.display());
                        found.push((folder.to_owned(), why));
                    }
                    let servers = value("mcpServers").and_then(|(servers, line)| {
                        // One that was taken over from a file of the folder says no
                        // more than that file: it waits for approval itself.
                        let own = |entry: &Value| entry.get("importedFrom").is_none();
                        let some = servers.as_object()?.values().any(own);
                        some.then_some(line)
                    });
                    if let Some(line) = servers {
                        let why = format!("you have servers for it in {}:{line}", file.display());
                        found.push((folder.to_owned(), why));
                    }
                }
            });
        }
        Self(found)
    }

    fn get(&self, folder: &Path) -> Option<String> {
        let found = self.0.iter().find(|(about, _)| about == folder)?;
        Some(found.1.clone())
    }
}

/// A path as one types it into a shell.
pub fn quoted(path: &Path) -> String {
    shell::quoted(&path.display().to_string(), "/._-+@:,")
}

#[cfg(test)]
mod tests;
