//! From an entry to what the host needs to know.

#[cfg(feature = "builtin")]
mod builtin;
#[cfg(not(feature = "builtin"))]
#[path = "absent/builtin.rs"]
mod builtin;
mod remote;

use crate::{
    access::{Access, Authority, WayIn},
    apart::Apart,
    identity::{identity, of_runs},
    logs,
    settings::Settings,
};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};
use switchboard_config::{
    Entry, Fault, Isolation, Scope, Transport,
    expand::{self, Expanded, Lookup},
    program,
    trust::Folder,
};
use switchboard_host::{
    self as host, Far, Host, IdeCarrier, MayStart, ServerSpec, Target, Timeouts,
};
use switchboard_local::secret;
use switchboard_process::{Caps, Inherit, ServerCommand, Start, Table};
use switchboard_transport::NotBuilt;

/// The host that built-in servers report on and call through; empty until it exists.
pub(crate) type LateHost = Arc<OnceLock<Weak<Host>>>;

/// What servers are made with, besides their entries.
#[derive(Clone, Copy)]
pub(crate) struct With<'a> {
    /// Where relative paths begin, and processes start.
    pub(crate) directory: &'a Path,
    /// Times and numbers.
    pub(crate) settings: &'a Settings,
    /// How we sign in; without it nobody does anywhere.
    pub(crate) access: Option<&'a Access>,
    /// Gives environment variables.
    pub(crate) lookup: Lookup<'a>,
}

/// What an entry becomes.
pub(crate) struct Made {
    /// What the host needs to know.
    pub(crate) spec: ServerSpec,
    /// How we sign in there, if we would.
    pub(crate) authority: Option<Authority>,
}

/// Fills in the entry's variables and checks what came out.
pub(crate) fn spec(
    entry: &Entry,
    with: &With<'_>,
    folder: &Folder,
    late: &LateHost,
) -> Result<Made, Vec<Fault>> {
    let With {
        directory,
        settings,
        access,
        lookup,
    } = *with;
    if !entry.faults.is_empty() {
        return Err(entry.faults.clone());
    }
    built(entry)?;
    let expanded = expand::expand(entry, lookup)?;
    confide(entry);
    confide(&expanded);
    let way = match access {
        Some(access) if is_remote(entry.transport) => {
            let apart = expanded.wary.then(|| Apart::new(settings, folder, lookup));
            access.way_in(&expanded, apart.as_ref())?
        }
        _ => WayIn::default(),
    };
    let remote =
        |schemes: &[&str]| remote::remote(&expanded, directory, schemes, way.authorize.clone());
    let ide = |carrier| remote::ide(&expanded, carrier, directory, lookup);
    let target = match entry.transport {
        Transport::Stdio => Target::Stdio(command(&expanded, with, folder)?),
        Transport::Http => Target::Http(remote(&["http", "https"])?),
        Transport::Sse => Target::Sse(remote(&["http", "https"])?),
        Transport::Ws => Target::Ws(remote(&["ws", "wss"])?),
        Transport::SseIde => Target::Ide(ide(IdeCarrier::Sse)?),
        Transport::WsIde => Target::Ide(ide(IdeCarrier::Ws)?),
        Transport::Builtin => builtin::target(&expanded, with, late)?,
        Transport::Worker => Target::Far(far(&expanded, settings)),
    };
    let program = match &target {
        Target::Stdio(command) => Some(command.program.to_string_lossy().into_owned()),
        _ => None,
    };
    // Wherever it is started elsewhere, it is the same server.
    let start = match expanded.starts_elsewhere() {
        true => Path::new("(an empty directory)"),
        false => directory,
    };
    let identity = identity(&expanded, program.as_deref(), start);
    let mut spec = ServerSpec::new(entry.name.as_str(), target);
    // A server inside this process is there at once; there is nothing to remember.
    if entry.transport != Transport::Builtin {
        let folder = settings.catalogs.as_ref();
        spec.knowledge_file = folder.map(|folder| folder.join(format!("{identity}.json")));
    }
    spec.identity = identity.into();
    spec.may_start = may_start(&expanded);
    spec.is_vouched_for =
        entry.transport == Transport::Builtin && builtin::is_our_word(&expanded, directory);
    spec.timeouts = timeouts(entry, settings);
    spec.isolation = match entry.isolation {
        Isolation::Shared => host::Isolation::Shared,
        Isolation::Session => host::Isolation::Session,
    };
    spec.roots = roots(&expanded, directory)?;
    spec.always_load = entry.always_load;
    spec.era = entry.era;
    spec.tool_filter.allow.clone_from(&entry.tools.allow);
    spec.tool_filter.deny.clone_from(&entry.tools.deny);
    spec.stand_in = access.and_then(|access| access.stand_in(&expanded, way.authority.as_ref()));
    Ok(Made {
        spec,
        authority: way.authority,
    })
}

/// Its times: the settings', and its own.
fn timeouts(entry: &Entry, settings: &Settings) -> Timeouts {
    let mut timeouts = settings.timeouts;
    if let Some(timeout) = entry.timeout {
        timeouts.tool_call = Duration::from_millis(timeout);
    }
    timeouts.idle = match entry.idle_timeout {
        // What must be there stays.
        _ if entry.required => None,
        Some(0) => None,
        Some(idle) => Some(Duration::from_millis(idle)),
        None => timeouts.idle,
    };
    timeouts
}

/// Whatever the server says is shown without what it was told in confidence.
fn confide(entry: &Entry) {
    for (name, value) in entry.env.iter().chain(&entry.headers) {
        secret::remember_value(name, value);
    }
    let arguments = entry.args.iter().map(String::as_str);
    secret::remember_arguments(entry.command.as_deref(), arguments);
    if let Some(secret) = &entry.oauth.client_secret {
        secret::remember(secret);
    }
}

/// What is asked before each start of a server that had to be approved: whether
/// that is kept, and whether it is still what was approved.
fn may_start(entry: &Expanded) -> Option<MayStart> {
    let bound = entry.bound.clone()?;
    let entry = entry.clone();
    Some(MayStart(Arc::new(move || {
        if let Some(pin) = &entry.pin {
            let kept = pin.keep();
            kept.map_err(|error| format!("its approval cannot be kept: {error}"))?;
        }
        // A built-in server asks about each of its manifests on its own.
        if entry.transport == Transport::Builtin {
            return Ok(());
        }
        let advice = advice(&entry.name);
        bound
            .check(&entry)
            .map_err(|why| format!("{why}; {advice}").into())
    })))
}

/// What to do about something that is not as it was approved.
fn advice(name: &str) -> String {
    format!("look at it and approve it: switchboard approve {name}")
}

/// The addresses of the directories that an entry names; relative ones are below
/// its working directory.
fn roots(entry: &Expanded, directory: &Path) -> Result<Vec<String>, Vec<Fault>> {
    let directory = directory.join(entry.cwd.as_deref().unwrap_or("."));
    let address = |(i, root): (usize, &String)| {
        if root.contains("://") {
            return Ok(root.clone());
        }
        url::Url::from_directory_path(directory.join(root))
            .map(|url| url.as_str().trim_end_matches('/').to_owned())
            .map_err(|()| {
                vec![entry.fault(&format!("roots[{i}]"), format!("{root:?} is no directory"))]
            })
    };
    entry.roots.iter().enumerate().map(address).collect()
}

/// A server of the cluster's workers.
fn far(entry: &Expanded, settings: &Settings) -> Far {
    Far {
        server: entry.worker_server().into(),
        machines: entry.worker.workers.clone(),
        labels: entry.worker.labels.clone(),
        copies: entry.worker.copies,
        what: entry.worker.runs.as_ref().map(|runs| of_runs(runs).into()),
        way: settings.far_way.clone(),
    }
}

/// Whether this build can reach such a server at all.
fn built(entry: &Entry) -> Result<(), Vec<Fault>> {
    let local = matches!(
        entry.transport,
        Transport::Stdio | Transport::Builtin | Transport::Worker
    );
    if local || cfg!(feature = "http") {
        return Ok(());
    }
    Err(vec![not_built(entry, "type", "http")])
}

/// An entry wants what this build was made without.
pub(crate) fn not_built(entry: &Entry, field: &str, feature: &'static str) -> Fault {
    entry.fault(field, NotBuilt(feature).to_string())
}

/// Whether one may have to be let in there.
fn is_remote(transport: Transport) -> bool {
    matches!(transport, Transport::Http | Transport::Sse | Transport::Ws)
}

fn command(
    entry: &Expanded,
    with: &With<'_>,
    folder: &Folder,
) -> Result<ServerCommand, Vec<Fault>> {
    let With {
        directory,
        settings,
        lookup,
        ..
    } = *with;
    let program = if entry.inside {
        approved_program(entry, directory, lookup)?
    } else if entry.scope == Scope::Fleet {
        hired_program(entry, folder, lookup)?
    } else {
        entry.command.clone().unwrap_or_default().into()
    };
    let mut command = ServerCommand {
        program,
        args: entry.args.iter().map(OsString::from).collect(),
        env: entry
            .env
            .iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
        inherit: surroundings(entry),
        cwd: Some(match &entry.cwd {
            Some(cwd) => directory.join(cwd),
            None => directory.to_owned(),
        }),
        tree: folder.tree.clone(),
        start: if entry.wary {
            Start::Apart
        } else {
            Start::Here
        },
        stderr_file: settings
            .logs
            .as_ref()
            .map(|folder| logs::file(folder, &entry.name)),
        caps: Caps {
            memory: entry.limits.memory,
            cpu: entry.limits.cpu,
            processes: entry.limits.processes,
        },
    };
    if entry.starts_elsewhere() {
        Apart::new(settings, folder, lookup).apply(&mut command);
    }
    Ok(command)
}

/// What the server of an entry gets of our environment besides what every
/// program needs. A repository has no say in it, nor has whoever signs for many machines.
pub(crate) fn surroundings(entry: &Entry) -> Inherit {
    let (table, also) = match &entry.inherit_env {
        _ if entry.inside || entry.scope == Scope::Fleet => (Table::Network, Vec::new()),
        None => (Table::Whole, Vec::new()),
        Some(names) if names.is_empty() => (Table::Nothing, Vec::new()),
        Some(names) => (Table::Whole, names.clone()),
    };
    Inherit { table, also }
}

/// A project's server runs the program that was approved, and one whose command
/// has variables never a program that the repository puts on the search path.
fn approved_program(
    entry: &Expanded,
    directory: &Path,
    lookup: Lookup<'_>,
) -> Result<OsString, Vec<Fault>> {
    if let Some(program) = &entry.program {
        return Ok(program.into());
    }
    let command = entry.command.as_deref().unwrap_or_default();
    let tree = entry
        .given
        .iter()
        .find(|(name, _)| name == "workspaceFolder");
    let tree = tree.map(|(_, folder)| PathBuf::from(folder));
    let ground = entry.bound.iter().flat_map(|bound| &bound.ground.trees);
    let trees: Vec<PathBuf> = tree.into_iter().chain(ground.cloned()).collect();
    let directory = directory.join(entry.cwd.as_deref().unwrap_or("."));
    let path = lookup("PATH").unwrap_or_default();
    match program::resolve(command, &directory, path.as_ref(), &trees) {
        Some(program) => Ok(program.into()),
        None => {
            let problem = format!("there is no program {command:?} outside of the project");
            Err(vec![entry.fault("command", problem)])
        }
    }
}

/// The program of a server that somebody has signed for many machines, if this one has it:
/// one that does not leaves it to the others. It is found by the search path or by its whole
/// path, since where this worker was started means nothing to whoever signed.
fn hired_program(
    entry: &Expanded,
    folder: &Folder,
    lookup: Lookup<'_>,
) -> Result<OsString, Vec<Fault>> {
    let command = entry.command.as_deref().unwrap_or_default();
    let relative = |path: &&str| !Path::new(path).is_absolute();
    let command_path = Some(command).filter(|command| command.contains('/'));
    for (field, path) in [("command", command_path), ("cwd", entry.cwd.as_deref())] {
        if let Some(path) = path.filter(relative) {
            let problem = format!("{path:?} is no whole path, and it starts in an empty directory");
            return Err(vec![entry.fault(field, problem)]);
        }
    }
    let own = entry.env.iter().find(|(name, _)| name == "PATH");
    let path = own.map(|(_, path)| path.clone()).or_else(|| lookup("PATH"));
    let trees: Vec<PathBuf> = folder.tree.iter().cloned().collect();
    let path = path.unwrap_or_default();
    match program::resolve(command, Path::new("/"), path.as_ref(), &trees) {
        Some(program) => Ok(program.into()),
        None => {
            let problem = format!("there is no program {command:?} on this machine");
            Err(vec![entry.fault("command", problem)])
        }
    }
}
