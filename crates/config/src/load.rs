//! Which servers there are: every source read, and who gives way to whom.

use crate::{
    entry::{Entry, Scope},
    fault::{Fault, Source},
    itself, limits,
    read::read,
};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// What to look at.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The values of `--mcp-config`, in order: a file each, or JSON.
    pub mcp_config: Vec<String>,
    /// Looks at nothing else (`--strict-mcp-config`).
    pub strict: bool,
    /// Where we are.
    pub directory: PathBuf,
    /// The file of this very program.
    pub own_program: Option<PathBuf>,
}

/// All that was found.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Every entry, in the order of the sources.
    pub servers: Vec<Configured>,
    /// Whole files that could not be read, with the scope they would have had.
    pub faults: Vec<(Scope, Fault)>,
}

/// An entry and what it counts for.
#[derive(Clone, Debug)]
pub struct Configured {
    /// As it is written.
    pub entry: Entry,
    /// Whether it may be used.
    pub standing: Standing,
}

/// Whether an entry may be used, and why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may.
    Active,
    /// It comes from inside a repository and nobody has approved it.
    PendingApproval,
    /// It is switched off where it is written.
    Disabled,
    /// It would start Switchboard itself.
    Itself,
    /// Another entry of its name counts instead; which.
    Shadowed(String),
}

impl Loaded {
    /// The entries that count, faulty ones included.
    pub fn active(&self) -> impl Iterator<Item = &Entry> {
        self.servers
            .iter()
            .filter(|server| server.standing == Standing::Active)
            .map(|server| &server.entry)
    }

    /// The entry of this name that counts, or would if nothing stood against it.
    pub fn find(&self, name: &str) -> Option<&Configured> {
        let mut named = self
            .servers
            .iter()
            .filter(|server| server.entry.name == name);
        named.find(|server| !matches!(server.standing, Standing::Shadowed(_)))
    }
}

/// Reads everything.
pub fn load(request: &Request) -> Loaded {
    let mut loaded = Loaded::default();
    for (i, value) in request.mcp_config.iter().enumerate() {
        if value.trim_start().starts_with('{') {
            add(
                &mut loaded,
                Scope::Dynamic,
                &Source::Argument(i + 1),
                Ok(value.clone()),
                request,
            );
        } else {
            let path = request.directory.join(value);
            let text = File::open(&path).and_then(bounded);
            add(
                &mut loaded,
                Scope::Dynamic,
                &Source::File(path),
                text,
                request,
            );
        }
    }
    let project = request.directory.join(".mcp.json");
    // A pipe or a device planted in a repository must not stop us.
    if !request.strict && project.is_file() {
        let text = File::open(&project).and_then(bounded);
        add(
            &mut loaded,
            Scope::Project,
            &Source::File(project),
            text,
            request,
        );
    }
    shadow(&mut loaded.servers);
    loaded
}

fn add(
    loaded: &mut Loaded,
    scope: Scope,
    source: &Source,
    text: std::io::Result<String>,
    request: &Request,
) {
    let entries = text
        .map_err(|error| unreadable(source, &error))
        .and_then(|text| read(&text, source, scope));
    match entries {
        Ok(entries) => loaded.servers.extend(entries.into_iter().map(|entry| {
            let standing = standing(&entry, request.own_program.as_deref());
            Configured { entry, standing }
        })),
        Err(fault) => loaded.faults.push((scope, fault)),
    }
}

fn standing(entry: &Entry, own_program: Option<&Path>) -> Standing {
    if entry.disabled {
        Standing::Disabled
    } else if itself::starts_switchboard(entry, own_program) {
        Standing::Itself
    } else if entry.scope == Scope::Project {
        Standing::PendingApproval
    } else {
        Standing::Active
    }
}

/// Of entries with one name the highest scope counts, and in it the last. One
/// that waits for approval takes nobody's place.
fn shadow(servers: &mut [Configured]) {
    for i in 0..servers.len() {
        let me = &servers[i].entry;
        let stronger = servers.iter().enumerate().find(|(j, other)| {
            other.entry.name == me.name
                && other.standing != Standing::PendingApproval
                && (other.entry.scope, *j) > (me.scope, i)
        });
        if let Some((_, other)) = stronger {
            servers[i].standing =
                Standing::Shadowed(format!("{} ({})", other.entry.scope, other.entry.place()));
        }
    }
}

fn bounded(file: File) -> std::io::Result<String> {
    let mut text = String::new();
    file.take(limits::FILE_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > limits::FILE_BYTES {
        return Err(std::io::Error::other(format!(
            "it has more than {} bytes",
            limits::FILE_BYTES
        )));
    }
    Ok(text)
}

fn unreadable(source: &Source, error: &std::io::Error) -> Fault {
    let hint = (error.kind() == std::io::ErrorKind::NotFound)
        .then(|| "give the path of a file, or JSON that begins with {".to_owned());
    let problem = format!("cannot be read: {error}");
    Fault {
        source: source.clone(),
        line: 0,
        column: None,
        server: None,
        field: None,
        problem,
        hint,
    }
}

#[cfg(test)]
mod tests;
