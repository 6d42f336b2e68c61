//! From an entry to what the host needs to know.

mod builtin;
mod remote;

use crate::{
    access::WayIn, apart::Apart, identity::identity, logs, roster::With, settings::Settings,
};
pub(crate) use builtin::LateHost;
pub use builtin::memory_folder;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use switchboard_auth::Authority;
use switchboard_config::{Entry, Fault, Isolation, Transport, expand, program, trust::Folder};
use switchboard_host::{self as host, IdeCarrier, MayStart, ServerSpec, Target};
use switchboard_local::secret;
use switchboard_process::{Inherit, ServerCommand, Start, Table};

/// What an entry becomes.
pub(crate) struct Prepared {
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
) -> Result<Prepared, Vec<Fault>> {
    let With {
        settings,
        access,
        lookup,
    } = *with;
    if !entry.faults.is_empty() {
        return Err(entry.faults.clone());
    }
    let expanded = expand::expand(entry, lookup)?;
    confide(entry);
    confide(&expanded);
    let way = match access {
        Some(access) if is_remote(entry.transport) => {
            let apart = expanded.wary.then(|| Apart::new(settings, folder));
            access.way_in(&expanded, apart.as_ref())?
        }
        _ => WayIn::default(),
    };
    let remote = |schemes: &[&str]| remote::remote(&expanded, schemes, way.authorize.clone());
    let target = match entry.transport {
        Transport::Stdio => Target::Stdio(command(&expanded, settings, folder, lookup)?),
        Transport::Http => Target::Http(remote(&["http", "https"])?),
        Transport::Sse => Target::Sse(remote(&["http", "https"])?),
        Transport::Ws => Target::Ws(remote(&["ws", "wss"])?),
        Transport::SseIde => Target::Ide(remote::ide(&expanded, IdeCarrier::Sse, lookup)?),
        Transport::WsIde => Target::Ide(remote::ide(&expanded, IdeCarrier::Ws, lookup)?),
        Transport::Builtin => builtin::target(&expanded, with, late)?,
    };
    let program = match &target {
        Target::Stdio(command) => Some(command.program.to_string_lossy().into_owned()),
        _ => None,
    };
    // Wherever it is started elsewhere, it is the same server.
    let directory = match expanded.starts_elsewhere() {
        true => PathBuf::from("(an empty directory)"),
        false => std::env::current_dir().unwrap_or_default(),
    };
    let identity = identity(&expanded, program.as_deref(), &directory);
    let mut spec = ServerSpec::new(entry.name.as_str(), target);
    // A server inside this process is there at once; there is nothing to remember.
    if entry.transport != Transport::Builtin {
        let folder = settings.catalogs.as_ref();
        spec.memory = folder.map(|folder| folder.join(format!("{identity}.json")));
    }
    spec.identity = identity.into();
    spec.may_start = may_start(&expanded);
    spec.is_vouched_for = entry.transport == Transport::Builtin && builtin::is_our_word(&expanded);
    spec.timeouts = settings.timeouts;
    if let Some(timeout) = entry.timeout {
        spec.timeouts.tool_call = Duration::from_millis(timeout);
    }
    spec.isolation = match entry.isolation {
        Isolation::Shared => host::Isolation::Shared,
        Isolation::Session => host::Isolation::Session,
    };
    spec.roots = roots(&expanded)?;
    spec.always_load = entry.always_load;
    spec.era = entry.era;
    spec.rooms.allow.clone_from(&entry.tools.allow);
    spec.rooms.deny.clone_from(&entry.tools.deny);
    spec.stand_in = access.and_then(|access| access.stand_in(&entry.name, way.authority.as_ref()));
    Ok(Prepared {
        spec,
        authority: way.authority,
    })
}

/// Whatever the server says is shown without what it was told in confidence.
fn confide(entry: &Entry) {
    for (name, value) in entry.env.iter().chain(&entry.headers) {
        secret::remember_value(name, value);
    }
    secret::remember_arguments(entry.args.iter().map(String::as_str));
    if let Some(secret) = &entry.oauth.client_secret {
        secret::remember(secret);
    }
}

/// What is asked before each start of a server that had to be approved: whether
/// that is kept, and whether it is still what was approved.
fn may_start(entry: &Entry) -> Option<MayStart> {
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
            .map_err(|why| format!("{why}; {advice}"))
    })))
}

/// What to do about something that is not as it was approved.
fn advice(name: &str) -> String {
    format!("look at it and approve it: switchboard approve {name}")
}

/// The addresses of the directories that an entry names; relative ones are below
/// its working directory.
fn roots(entry: &Entry) -> Result<Vec<String>, Vec<Fault>> {
    let directory = std::env::current_dir().unwrap_or_default();
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

/// Whether one may have to be let in there.
fn is_remote(transport: Transport) -> bool {
    matches!(transport, Transport::Http | Transport::Sse | Transport::Ws)
}

fn command(
    entry: &Entry,
    settings: &Settings,
    folder: &Folder,
    lookup: expand::Lookup<'_>,
) -> Result<ServerCommand, Vec<Fault>> {
    let program = if entry.inside {
        approved_program(entry, lookup)?
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
        cwd: entry.cwd.as_ref().map(Into::into),
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
    };
    if entry.starts_elsewhere() {
        Apart::new(settings, folder).apply(&mut command);
    }
    Ok(command)
}

/// What the server of an entry gets of our environment besides what every
/// program needs. A repository has no say in it.
pub(crate) fn surroundings(entry: &Entry) -> Inherit {
    let (table, also) = match &entry.inherit_env {
        _ if entry.inside => (Table::Network, Vec::new()),
        None => (Table::Whole, Vec::new()),
        Some(names) if names.is_empty() => (Table::Nothing, Vec::new()),
        Some(names) => (Table::Whole, names.clone()),
    };
    Inherit { table, also }
}

/// A project's server runs the program that was approved, and one whose command
/// has variables never a program that the repository puts on the search path.
fn approved_program(entry: &Entry, lookup: expand::Lookup<'_>) -> Result<OsString, Vec<Fault>> {
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
    let directory = Path::new(entry.cwd.as_deref().unwrap_or("."));
    let path = lookup("PATH").unwrap_or_default();
    match program::resolve(command, directory, path.as_ref(), &trees) {
        Some(program) => Ok(program.into()),
        None => {
            let problem = format!("there is no program {command:?} outside of the project");
            Err(vec![entry.fault("command", problem)])
        }
    }
}
