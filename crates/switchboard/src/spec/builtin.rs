//! Servers inside this program: what an entry says to them, and how they reach
//! the others.

use super::advice;
use crate::{
    Dirs, VERSION,
    dirs::{memory_folder, own_folders},
    library::made_when_needed,
    spec::{LateHost, With},
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};
use switchboard_builtin::{
    ServerKind, ServerReport, Setup,
    tools::{Approval, Reason},
};
use switchboard_config::{
    Entry, Fault, Scope,
    approval::contents::{ApprovalError, Bound, Ground},
    expand::Expanded,
};
use switchboard_host::{ServerState, Target};

/// The target of an entry.
pub(super) fn target(
    entry: &Expanded,
    with: &With<'_>,
    host: &LateHost,
) -> Result<Target, Vec<Fault>> {
    let kind = kind(entry)?;
    let setup = setup(entry, kind, with, host)?;
    Ok(made_when_needed(kind, setup, Some(host.clone())))
}

fn kind(entry: &Entry) -> Result<ServerKind, Vec<Fault>> {
    ServerKind::parse(entry.builtin_name()).ok_or_else(|| {
        let mut fault = entry.fault(
            "builtin",
            format!("there is no built-in server {:?}", entry.builtin_name()),
        );
        let names = ServerKind::ALL.map(ServerKind::name);
        fault.hint = Some(format!("there are: {}", names.join(", ")));
        vec![fault]
    })
}

fn setup(
    entry: &Expanded,
    kind: ServerKind,
    with: &With<'_>,
    host: &LateHost,
) -> Result<Setup, Vec<Fault>> {
    let lookup = with.lookup;
    let options = &entry.builtin_options;
    let here = here(entry, with.directory);
    let path = |text: &String| match (text.strip_prefix("~/"), lookup("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => here.join(text),
    };
    let mut roots: Vec<PathBuf> = options.roots.iter().map(path).collect();
    if roots.is_empty() {
        roots.push(here.clone());
    }
    if !entry.may_read_files() && !options.allow_protected.is_empty() {
        let mut fault = entry.fault("allowProtected", "counts only in files of your own");
        fault.hint = Some("a repository cannot lift what protects you from it".to_owned());
        return Err(vec![fault]);
    }
    let allow_protected = options.allow_protected.iter().map(path).collect();
    let mut data = options.data.as_ref().map(path);
    match kind {
        ServerKind::Shell if !options.enabled => {
            let mut fault = entry.fault("enabled", "is missing: the shell runs any command");
            fault.hint = Some(r#"if you want that, write "enabled": true"#.to_owned());
            return Err(vec![fault]);
        }
        ServerKind::Tools if options.folder.is_none() => {
            let mut fault = entry.fault("folder", "is missing");
            fault.hint = Some("name the folder that the *.tool.json files are in".to_owned());
            return Err(vec![fault]);
        }
        ServerKind::Memory if data.is_none() => {
            let dirs = Dirs::find_from(with.directory, |name| lookup(name).map(PathBuf::from));
            let dirs = dirs.map_err(|fault| vec![entry.fault("data", fault.to_string())])?;
            data = Some(memory_folder(&dirs));
        }
        _ => {}
    }
    let reported = host.clone();
    let manifests = options.folder.as_ref().map(path);
    let approval = entry.bound.clone().map(|bound| {
        let name = entry.name.clone();
        Arc::new(Approved { bound, name }) as Arc<dyn Approval>
    });
    Ok(Setup {
        version: VERSION.to_owned(),
        roots,
        own_folders: own_folders(with.directory, |name| lookup(name).map(PathBuf::from)),
        in_use: with.settings.in_use.clone(),
        allow_protected,
        read_only: options.read_only,
        shell_enabled: options.enabled,
        data,
        withholds_variables: is_somebody_elses(entry, manifests.as_deref()),
        manifests,
        approval,
        caller: None,
        reports: Some(Arc::new(move || report(&reported))),
    })
}

/// Whether what a built-in server says of its tools is our own word. What runs
/// any program says what whoever wrote its entry or its manifests wants.
pub(super) fn is_our_word(entry: &Expanded, directory: &Path) -> bool {
    match ServerKind::parse(entry.builtin_name()) {
        Some(ServerKind::Shell) => !entry.inside,
        Some(ServerKind::Tools) => {
            let folder = entry.builtin_options.folder.as_deref();
            // Whatever is below the user's home by its name is no project's.
            let folder = folder.filter(|folder| !folder.starts_with("~/"));
            let here = here(entry, directory);
            let folder = folder.map(|folder| here.join(folder));
            !entry.inside && !is_somebody_elses(entry, folder.as_deref())
        }
        Some(_) => true,
        None => false,
    }
}

/// Whether a repository could have written a folder of manifests that nobody
/// has named for this very project.
fn is_somebody_elses(entry: &Entry, folder: Option<&Path>) -> bool {
    let known = |name: &str| {
        let mut given = entry.given.iter();
        let found = given.find(|(given, _)| given == name)?;
        Some(PathBuf::from(&found.1))
    };
    let for_this_project = !entry.inside && matches!(entry.scope, Scope::Local | Scope::Dynamic);
    let ground = match &entry.bound {
        Some(bound) => bound.ground.clone(),
        None => {
            let home = known("userHome");
            let holds_home =
                |tree: &PathBuf| home.as_ref().is_some_and(|home| home.starts_with(tree));
            Ground {
                trees: known("workspaceFolder")
                    .filter(|tree| !holds_home(tree))
                    .into_iter()
                    .collect(),
                home: home.clone(),
                ..Ground::default()
            }
        }
    };
    !for_this_project && folder.is_some_and(|folder| ground.holds(folder))
}

/// An approval, for a server that asks before it runs anything.
struct Approved {
    bound: Arc<Bound>,
    name: String,
}

impl Approval for Approved {
    fn manifest(&self, file: &Path, bytes: &[u8]) -> Result<(), Reason> {
        self.told(self.bound.check_manifest(file, bytes))
    }

    fn run(&self, file: &Path, bytes: &[u8]) -> Result<(), Reason> {
        self.told(self.bound.check_run(file, bytes))
    }
}

impl Approved {
    fn told(&self, verdict: Result<(), ApprovalError>) -> Result<(), Reason> {
        verdict.map_err(|why| format!("{why}; {}", advice(&self.name)).into())
    }
}

/// Where relative paths of an entry begin.
fn here(entry: &Entry, directory: &Path) -> PathBuf {
    match &entry.cwd {
        Some(cwd) => directory.join(cwd),
        None => directory.to_owned(),
    }
}

fn report(host: &LateHost) -> Vec<ServerReport> {
    let Some(host) = host.get().and_then(Weak::upgrade) else {
        return Vec::new();
    };
    let servers = host.servers();
    let each = servers.iter().map(|server| {
        let (state, reason) = match &*server.state().borrow() {
            ServerState::Idle => ("idle", None),
            ServerState::Pending => ("pending", None),
            ServerState::Connected => ("connected", None),
            ServerState::Asleep => ("asleep", None),
            ServerState::Failed(why) => ("failed", Some(why.clone())),
            ServerState::NeedsAuth => ("needs-auth", None),
        };
        ServerReport {
            name: server.name().to_string(),
            state: state.to_owned(),
            reason,
        }
    });
    each.collect()
}
