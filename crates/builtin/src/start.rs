//! Starting any of the servers in one way, for whoever assembles the program.

use crate::{
    BuiltinError, Files, InUse, Memory, OwnFolders, Protection, ServerReport, Shell, System,
    Toolbox, in_process, linked, on_stdio_until,
    tools::{Approval, Caller, Trust, Workplace},
};
use bytes::Bytes;
use futures_util::Stream;
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::io::DuplexStream;
use tokio_util::sync::CancellationToken;

/// The servers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// Files in allowed directories.
    Files,
    /// Commands. Not to be started unless a person has switched it on.
    Shell,
    /// How this machine and the gateway are doing.
    System,
    /// A store of knowledge.
    Memory,
    /// A folder of manifests.
    Tools,
}

impl ServerKind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Files,
        Self::Shell,
        Self::System,
        Self::Memory,
        Self::Tools,
    ];

    /// The server of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Shell => "shell",
            Self::System => "system",
            Self::Memory => "memory",
            Self::Tools => "tools",
        }
    }

    /// Whether `up` starts it without being told: the shell must be switched
    /// on, and manifests need a folder.
    pub const fn is_on_by_default(self) -> bool {
        matches!(self, Self::Files | Self::System | Self::Memory)
    }
}

/// What the servers need; each takes what is its own.
#[derive(Clone, Default)]
pub struct Setup {
    /// The version that they report.
    pub version: String,
    /// The allowed directories of `files` and `shell`; what `shell` and `tools`
    /// run begins in the first.
    pub roots: Vec<PathBuf>,
    /// Our own folders, which `files` leaves alone like all that is protected.
    pub own_folders: Option<OwnFolders>,
    /// What this run of the program is told by and runs, which `files` leaves
    /// alone, too.
    pub in_use: InUse,
    /// What `files` may use although it is protected, as a person said.
    pub allow_protected: Vec<PathBuf>,
    /// `files` changes nothing.
    pub read_only: bool,
    /// A person has switched the shell on.
    pub shell_enabled: bool,
    /// Where `memory` keeps its file.
    pub data: Option<PathBuf>,
    /// The folder of `tools`.
    pub manifests: Option<PathBuf>,
    /// Who has to be asked about each of its manifests; nobody where the folder
    /// is the user's own affair.
    pub approval: Option<Arc<dyn Approval>>,
    /// Its manifests get none of our variables: somebody else wrote them.
    pub withholds_variables: bool,
    /// How flows reach other servers.
    pub caller: Option<Arc<dyn Caller>>,
    /// How `system` learns about the others.
    pub reports: Option<Arc<dyn Fn() -> Vec<ServerReport> + Send + Sync>>,
}

impl Setup {
    fn protection(&self) -> Protection {
        Protection::of_this_user(self.own_folders.clone()).allowing(&self.allow_protected)
    }

    /// Where the programs of `tools` begin.
    fn workplace(&self) -> Result<Workplace, BuiltinError> {
        match self.roots.first() {
            Some(first) => Workplace::new(first, self.protection()),
            None => Workplace::new(Path::new("."), self.protection()),
        }
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup")
            .field("roots", &self.roots)
            .field("data", &self.data)
            .field("manifests", &self.manifests)
            .finish_non_exhaustive()
    }
}

/// A server that is ready, for any number of connections.
#[derive(Clone, Debug)]
pub enum Server {
    /// `files`.
    Files(Files),
    /// `shell`.
    Shell(Shell),
    /// `system`.
    System(System),
    /// `memory`.
    Memory(Memory),
    /// `tools`.
    Tools(Toolbox),
}

impl Server {
    /// Prepares a server. The fault says what it lacks.
    pub fn new(kind: ServerKind, setup: &Setup) -> Result<Self, BuiltinError> {
        let version = setup.version.as_str();
        let lacks = |what: &str| BuiltinError(format!("the server {} {what}", kind.name()));
        Ok(match kind {
            ServerKind::Files => {
                let protection = setup.protection().using(setup.in_use.clone());
                let files = Files::new(version, &setup.roots, protection)?;
                let is_read_only = setup.read_only;
                Self::Files(if is_read_only {
                    files.read_only()
                } else {
                    files
                })
            }
            ServerKind::Shell if !setup.shell_enabled => {
                return Err(lacks(
                    "is off; it runs any command, so it must be switched on",
                ));
            }
            ServerKind::Shell => {
                Self::Shell(Shell::enabled(version, &setup.roots, setup.protection())?)
            }
            ServerKind::System => {
                let system = System::new(version);
                Self::System(match setup.reports.clone() {
                    Some(reports) => system.reporting(move || reports()),
                    None => system,
                })
            }
            ServerKind::Memory => {
                let data = setup.data.as_ref();
                let data = data.ok_or_else(|| lacks("needs a directory for its data"))?;
                Self::Memory(Memory::open(version, data)?)
            }
            ServerKind::Tools => {
                let folder = setup.manifests.as_ref();
                let folder = folder.ok_or_else(|| lacks("needs a folder of manifests"))?;
                let trust = Trust {
                    approval: setup.approval.clone(),
                    withholds_variables: setup.withholds_variables,
                };
                let toolbox = Toolbox::open_with(version, folder, setup.workplace()?, trust)?;
                Self::Tools(match setup.caller.clone() {
                    Some(caller) => toolbox.calling(caller),
                    None => toolbox,
                })
            }
        })
    }

    /// The same server, whose flows reach others through `caller`.
    #[must_use]
    pub fn calling(self, caller: Arc<dyn Caller>) -> Self {
        match self {
            Self::Tools(toolbox) => Self::Tools(toolbox.calling(caller)),
            other => other,
        }
    }

    /// Serves one end of a pipe, in a task of its own.
    pub fn in_process(&self, pipe: DuplexStream) {
        match self {
            Self::Files(files) => in_process(files.session(), pipe),
            Self::Shell(shell) => in_process(shell.session(), pipe),
            Self::System(system) => in_process(system.clone(), pipe),
            Self::Memory(memory) => in_process(memory.session(), pipe),
            Self::Tools(toolbox) => in_process(toolbox.session(), pipe),
        }
    }

    /// Serves one end of a pair whose messages are bytes, in a task of its own.
    pub fn linked(
        &self,
        incoming: impl Stream<Item = Bytes> + Send + Unpin + 'static,
        send: impl Fn(Bytes) + Send + Sync + 'static,
    ) {
        match self {
            Self::Files(files) => linked(files.session(), incoming, send),
            Self::Shell(shell) => linked(shell.session(), incoming, send),
            Self::System(system) => linked(system.clone(), incoming, send),
            Self::Memory(memory) => linked(memory.session(), incoming, send),
            Self::Tools(toolbox) => linked(toolbox.session(), incoming, send),
        }
    }

    /// Serves our own stdin and stdout until stdin ends or `stop` is cancelled.
    pub async fn on_stdio_until(&self, stop: CancellationToken) -> Result<(), BuiltinError> {
        match self {
            Self::Files(files) => on_stdio_until(files.session(), stop).await,
            Self::Shell(shell) => on_stdio_until(shell.session(), stop).await,
            Self::System(system) => on_stdio_until(system.clone(), stop).await,
            Self::Memory(memory) => on_stdio_until(memory.session(), stop).await,
            Self::Tools(toolbox) => on_stdio_until(toolbox.session(), stop).await,
        }
    }
}
