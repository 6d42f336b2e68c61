//! Which servers there are: every source read, and who gives way to whom.

mod gather;
mod settle;

use crate::{
    approval::Binding,
    connectors::Connectors,
    entry::{Entry, Scope, WorkerOptions},
    environment::{Environment, Variables},
    fault::{Fault, Source},
    places::Places,
    policy::Policy,
    read::read,
    safe_read,
    settings::{Inbox, Named, Observe, Permissions},
    sign_in::SignIn,
    trust::{self, Folder},
};
use gather::Gathered;
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashSet},
    fs::File,
    path::PathBuf,
    sync::Arc,
};

/// What to look at.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The values of `--mcp-config`, in order: a file each, or JSON.
    pub mcp_config: Vec<String>,
    /// Looks at nothing else (`--strict-mcp-config`), save what an administrator says.
    pub strict: bool,
    /// Where we are.
    pub directory: PathBuf,
    /// The environment.
    pub variables: Variables,
    /// The file of this very program.
    pub own_program: Option<PathBuf>,
    /// Where the files of the scopes are; without it there are none.
    pub places: Option<Places>,
    /// What holds for this machine as for others beside it.
    pub applied: Applied,
}

/// What holds for this machine as for others beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Settings of the user's, which count before those on this machine.
    pub documents: Arc<[Document]>,
    /// What was approved for all of them, beside what is approved on this machine.
    pub approvals: Arc<[Binding]>,
    /// What this machine runs for others.
    pub hired: Hired,
}

/// Servers that somebody has signed for this machine and others like it. What its own files
/// call by the same names counts instead.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hired {
    /// The servers.
    pub servers: Arc<[HiredServer]>,
    /// The only variables of this machine that they may hold.
    pub variables: Arc<[String]>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiredServer {
    /// What it is called.
    pub name: String,
    /// What is started (`runs`), as it is written.
    pub runs: Value,
}

/// Settings that are in no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// What they are called where something about them is said.
    pub place: String,
    /// What they say.
    pub text: String,
}

/// All that is wrong with settings that are in no file, before anybody goes by them.
pub fn faults_of(documents: &[Document]) -> Vec<Fault> {
    let places = Places {
        directory: "/".into(),
        ..Places::default()
    };
    let (mut gathered, mut loaded) = (Gathered::default(), Loaded::default());
    gather::applied(&places, documents, &mut gathered, &mut loaded);
    gathered.settle_rules(&mut loaded);
    let whole = loaded.faults.into_iter().map(|(_, fault)| fault);
    let entries = gathered.take().into_iter().flat_map(|entry| entry.faults);
    whole.chain(entries).collect()
}

/// What such settings have workers start: those entries of type `worker` that say it and
/// count among them, by their names.
pub fn hires_of(documents: &[Document]) -> BTreeMap<String, WorkerOptions> {
    let places = Places {
        directory: "/".into(),
        ..Places::default()
    };
    let (mut gathered, mut loaded) = (Gathered::default(), Loaded::default());
    gather::applied(&places, documents, &mut gathered, &mut loaded);
    let lists = gathered.everywhere.iter();
    let off = lists.flat_map(|lists| &lists.off);
    let off: HashSet<String> = off.map(|named| named.name.clone()).collect();
    // Of entries with one name the last counts.
    let entries = gathered.take().into_iter();
    let counting: BTreeMap<String, Entry> =
        entries.map(|entry| (entry.name.clone(), entry)).collect();
    let is_hired = |entry: &Entry| {
        let is_on = !entry.disabled && !off.contains(&entry.name);
        is_on && entry.worker.runs.is_some() && entry.faults.is_empty()
    };
    let hired = counting.into_iter().filter(|(_, entry)| is_hired(entry));
    hired.map(|(name, entry)| (name, entry.worker)).collect()
}

/// All that was found.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Every entry: the highest scope first, in it the order of the files.
    pub servers: Vec<Configured>,
    /// Whole files that could not be read, with the scope they would have had.
    pub faults: Vec<(Scope, Fault)>,
    /// What is wrong with the user's own rules. Going on without them would
    /// permit what they forbid.
    pub lawless: Vec<Fault>,
    /// The files that were looked for, and what became of them.
    pub looked: Vec<Looked>,
    /// The managed file that shuts out everything else, even if it cannot be read.
    pub exclusive: Option<PathBuf>,
    /// What may be used at all.
    pub policy: Policy,
    /// Where sign-ins are kept, and who vouches for us.
    pub sign_in: SignIn,
    /// Variables, as they count.
    pub environment: Environment,
    /// Where a list of remote servers is to be had.
    pub connectors: Option<Connectors>,
    /// What may be done with what is used.
    pub permissions: Permissions,
    /// What is kept of calls.
    pub observe: Observe,
    /// Who is asked what a person has to answer.
    pub inbox: Inbox,
    /// Names that are switched off, with or without an entry.
    pub switched_off: Vec<Named>,
    /// Entries that count because a list of the user's names them. Before they
    /// run, this must be kept, so that a change of them asks again.
    pub pins: Vec<Binding>,
    /// Where we are, and whether servers from elsewhere may start there.
    pub folder: Folder,
}

/// A file that was looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looked {
    /// What it would be.
    pub scope: Scope,
    /// Where.
    pub file: PathBuf,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// There is none.
    Absent,
    /// It was read.
    Read,
    /// It does not count; why.
    Skipped(String),
}

/// An entry and what it counts for.
#[derive(Clone, Debug)]
pub struct Configured {
    /// As it is written.
    pub entry: Entry,
    /// Whether it may be used.
    pub standing: Standing,
    /// What that rests on, where it is more than the entry itself.
    pub because: Option<String>,
}

/// Whether an entry may be used, and why not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may.
    Active,
    /// It comes from inside a repository and nobody has approved it as it is.
    PendingApproval,
    /// It comes from inside a repository and was refused.
    Rejected,
    /// It is switched off.
    Disabled,
    /// Policy forbids it; which rule.
    Denied(String),
    /// It would start Switchboard itself.
    Itself,
    /// Another entry of its name counts instead; which.
    Shadowed(String),
    /// A plugin's or connector's server that is configured already; as which.
    Duplicate(String),
}

impl Configured {
    /// An entry of which nothing more is known.
    pub fn new(entry: Entry, standing: Standing) -> Self {
        Self {
            entry,
            standing,
            because: None,
        }
    }
}

impl Loaded {
    /// The entries that count, faulty ones included.
    pub fn active(&self) -> impl Iterator<Item = &Entry> {
        self.servers
            .iter()
            .filter(|server| server.standing == Standing::Active)
            .map(|server| &server.entry)
    }

    /// Where a name is switched off, if it is.
    pub fn switched_off(&self, name: &str) -> Option<String> {
        let named = self.switched_off.iter().find(|named| named.name == name)?;
        Some(format!("disabledMcpServers in {}", named.place))
    }

    /// The entry of this name that counts, or would if nothing stood against it.
    pub fn find(&self, name: &str) -> Option<&Configured> {
        let named = || {
            self.servers
                .iter()
                .filter(|server| server.entry.name == name)
        };
        named()
            .find(|server| server.standing == Standing::Active)
            .or_else(|| named().find(|server| !matches!(server.standing, Standing::Shadowed(_))))
    }
}

/// A variable that would have us keep things where a repository could have
/// put its own.
fn ignored(name: &str, places: &Places) -> Fault {
    let tree = places.tree().unwrap_or(&places.directory).display();
    Fault::whole(
        Source::Ours,
        format!(
            "{name} leads into {tree}, so that what is there could be somebody else's: it does not count"
        ),
        "set it to a folder outside of it, or not at all",
    )
}

/// Reads everything.
pub fn load(request: &Request) -> Loaded {
    let mut loaded = Loaded {
        environment: Environment::of(request.variables.clone()),
        ..Loaded::default()
    };
    let mut gathered = Gathered::default();
    for (i, value) in request.mcp_config.iter().enumerate() {
        let (source, text) = if value.trim_start().starts_with('{') {
            (Source::Argument(i + 1), Ok(value.clone()))
        } else {
            let path = request.directory.join(value);
            let text = File::open(&path).and_then(safe_read::bounded);
            (Source::File(path), text)
        };
        let entries = text
            .map_err(|error| Box::new(unreadable(&source, &error)))
            .and_then(|text| read(&text, &source, Scope::Dynamic));
        match entries {
            Ok(entries) => gathered.add(Scope::Dynamic, entries),
            Err(fault) => loaded.faults.push((Scope::Dynamic, *fault)),
        }
    }
    if let Some(places) = &request.places {
        let ignored = places.ignored.iter().map(|name| ignored(name, places));
        loaded
            .faults
            .extend(ignored.map(|fault| (Scope::User, fault)));
        gather::managed(places, &mut gathered, &mut loaded);
        loaded.environment.settle(&places.approvals());
        gather::scopes(places, request.strict, &mut gathered, &mut loaded);
        gather::applied(
            places,
            &request.applied.documents,
            &mut gathered,
            &mut loaded,
        );
        gathered.settle_rules(&mut loaded);
        gather::hired(&request.applied.hired, &mut gathered, &mut loaded);
    }
    // Where nothing else counts there is nothing to fetch either.
    if request.strict || loaded.exclusive.is_some() {
        loaded.connectors = None;
    }
    loaded.policy = gathered.policy();
    if let Some(places) = &request.places {
        loaded.policy.path.clone_from(&places.path);
    }
    loaded
        .sign_in
        .overrule(std::mem::take(&mut gathered.sign_in));
    loaded
        .observe
        .overrule(std::mem::take(&mut gathered.observe));
    loaded.inbox.overrule(std::mem::take(&mut gathered.inbox));
    settle::settle(gathered, request, &mut loaded);
    trust::settle(&mut loaded, request);
    loaded
}

fn unreadable(source: &Source, error: &std::io::Error) -> Fault {
    let hint = match error.kind() {
        std::io::ErrorKind::NotFound => "give the path of a file, or JSON that begins with {",
        std::io::ErrorKind::InvalidData => "write it as UTF-8",
        _ => "see with ls -l who may read it",
    };
    let problem = format!("cannot be read: {error}");
    Fault::whole(source.clone(), problem, hint)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod world;
