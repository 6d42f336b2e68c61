//! `shell`: running commands. Only there where it was switched on: a command
//! can do whatever its user can, whatever directory it begins in.
//!
//! | module | what |
//! |---|---|
//! | `run` | a command from its beginning to its end |
//! | `background`, `tools` | processes that go on while others are answered |

mod background;
mod run;
mod tools;

use crate::{
    answer::{Failure, Toolset, answers_with},
    files::{
        protected::Protection,
        roots::{Last, Roots},
    },
    limits,
    process::no_nul,
    serve::{BuiltinError, Session},
};
use background::Processes;
use rmcp::{
    ServerHandler,
    model::{Implementation, ServerCapabilities, ServerConfig},
};
use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::PathBuf,
    pin::Pin,
    sync::{Arc, LazyLock},
};
use switchboard_process::{Inherit, ServerCommand};
use tokio_util::sync::CancellationToken;

static TOOLS: LazyLock<Toolset<ShellSession>> =
    LazyLock::new(|| Toolset::new(ShellSession::run_router() + ShellSession::process_router()));

/// The server, before anyone is connected to it. Clones are the same server.
#[derive(Clone, Debug)]
pub struct Shell {
    version: Arc<str>,
    roots: Arc<Roots>,
    shell: Arc<OsString>,
}

impl Shell {
    /// A server whose commands begin in one of these directories, the first
    /// unless told otherwise. To be made only where a person has switched it on.
    /// They begin in no protected one; what they reach is up to them.
    pub fn enabled(
        version: impl Into<Arc<str>>,
        roots: &[PathBuf],
        protection: Protection,
    ) -> Result<Self, BuiltinError> {
        Ok(Self {
            version: version.into(),
            roots: Arc::new(Roots::open(roots, protection)?),
            shell: Arc::new("/bin/sh".into()),
        })
    }

    /// The same server with another shell, which must know `-c`.
    #[must_use]
    pub fn with_shell(mut self, program: impl Into<OsString>) -> Self {
        self.shell = Arc::new(program.into());
        self
    }

    /// One connection's view of it. Its processes end with it.
    pub fn session(&self) -> ShellSession {
        ShellSession {
            shell: self.clone(),
            over: CancellationToken::new(),
            processes: Arc::default(),
        }
    }

    /// The command line that runs this text.
    fn command(
        &self,
        text: &str,
        cwd: Option<&str>,
        env: &BTreeMap<String, String>,
    ) -> Result<ServerCommand, Failure> {
        if text.trim().is_empty() {
            return Err(Failure::new("the command is empty"));
        }
        let cwd = self.roots.locate(cwd.unwrap_or("."), Last::Followed)?;
        cwd.changeable()?;
        drop(cwd.open_directory()?);
        let mut variables = Vec::new();
        for (name, value) in env {
            no_nul("a variable", value)?;
            variables.push((name.into(), value.into()));
        }
        Ok(ServerCommand {
            program: self.shell.as_os_str().to_owned(),
            args: vec!["-c".into(), no_nul("the command", text)?.into()],
            env: variables,
            cwd: Some(cwd.path()),
            inherit: Inherit::whole(),
            ..ServerCommand::default()
        })
    }
}

/// One connection to the server.
#[derive(Debug)]
pub struct ShellSession {
    shell: Shell,
    over: CancellationToken,
    processes: Arc<Processes>,
}

impl Session for ShellSession {
    fn over(&self) -> CancellationToken {
        self.over.clone()
    }

    fn farewell(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let processes = Arc::clone(&self.processes);
        Box::pin(async move { processes.close().await })
    }
}

impl ServerHandler for ShellSession {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("switchboard-shell", self.shell.version.as_ref())
            .with_title("Switchboard shell");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(about)
            .with_instructions(format!(
                "Runs commands with {}, beginning in {}. At most {} background processes; all end with the connection.",
                self.shell.shell.to_string_lossy(),
                self.shell.roots.listed(),
                limits::PROCESSES
            ))
    }

    answers_with!(TOOLS);
}
