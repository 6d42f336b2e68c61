//! What to start, and why it could not be started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::caps::Caps;
use crate::environment;
use crate::room::Room;
use crate::surroundings::Inherit;
use crate::tag::{self, Tag};

/// A server's command line, as its entry configures it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerCommand {
    /// A name to be found on `PATH`, or a path (relative to `cwd`).
    pub program: OsString,
    /// Its arguments, without the program itself.
    pub args: Vec<OsString>,
    /// The entry's own variables; they win over what is inherited.
    pub env: Vec<(OsString, OsString)>,
    /// What it gets of our environment besides what every program needs.
    pub inherit: Inherit,
    /// Where to run it; ours when absent.
    pub cwd: Option<PathBuf>,
    /// The repository that we work in, a real path: a program in it is not
    /// found by its name alone.
    pub tree: Option<PathBuf>,
    /// How much of our surroundings it gets.
    pub start: Start,
    /// Where what it writes to stderr is kept, besides the last of it in memory.
    pub stderr_file: Option<PathBuf>,
    /// What its processes may use together.
    pub caps: Caps,
}

/// How much of the surroundings that we were started in a server gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// All of them.
    #[default]
    Here,
    /// What leads into [`tree`](ServerCommand::tree), and relative entries of
    /// `PATH`, are left out of its environment.
    Apart,
    /// The same; and in the place of `cwd` it has an empty directory of its own,
    /// which is made in this folder and goes when the server has ended.
    Elsewhere(PathBuf),
}

/// Why a server could not be started. The text names the program and what to
/// do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpawnError {
    /// The program has no path and is in no directory of `PATH`.
    #[error(
        "`{program}` was not found on PATH ({path}): install it, or give its full path as the command"
    )]
    NotOnPath {
        /// As configured.
        program: String,
        /// The `PATH` that was searched.
        path: String,
    },
    /// It is on `PATH` only where a repository could have put it.
    #[error(
        "`{program}` is only in {found} by PATH, and programs in the project or in relative entries of PATH are not \
         found by their name: give its full path as the command"
    )]
    InTree {
        /// As configured.
        program: String,
        /// The file that was passed by.
        found: String,
    },
    /// The path names nothing.
    #[error("`{program}` does not exist: check the command's path")]
    NotFound {
        /// The path that was tried.
        program: String,
    },
    /// The file is there but may not be run, or is not a program.
    #[error("`{program}` cannot be executed ({reason}): {hint}")]
    NotExecutable {
        /// The path that was tried.
        program: String,
        /// What is wrong with the file.
        reason: &'static str,
        /// What to do about it.
        hint: &'static str,
    },
    /// The working directory is missing or no directory.
    #[error("`{program}` cannot start in {cwd} ({reason}): create it, or change `cwd`")]
    WorkingDirectory {
        /// As configured.
        program: String,
        /// The configured directory.
        cwd: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The entry's `env` has a name that no environment can hold.
    #[error("`{program}` cannot start: `{name}` is not a possible name of an environment variable")]
    VariableName {
        /// As configured.
        program: String,
        /// The impossible name.
        name: String,
    },
    /// The machine has no process, file descriptor or memory left for it.
    #[error(
        "`{program}` cannot start, a limit of this machine is reached ({source}): stop other servers, or raise the limit (ulimit)"
    )]
    Limit {
        /// As configured.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// We are ending; nothing new is started.
    #[error("`{program}` is not started: Switchboard is shutting down")]
    ShuttingDown {
        /// As configured.
        program: String,
    },
    /// Anything else that the system said.
    #[error("`{program}` cannot start: {source}")]
    Other {
        /// As configured.
        program: String,
        /// What the system said.
        source: io::Error,
    },
}

impl ServerCommand {
    /// The program's name for messages.
    pub(crate) fn name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    /// The command ready to run: environment, directory, pipes, own group.
    pub(crate) fn prepare(&self, tag: &Tag) -> Result<(Command, Option<Room>), SpawnError> {
        use std::os::unix::process::CommandExt;
        self.check_cwd()?;
        let environment = self.environment(tag)?;
        let path = environment
            .iter()
            .rev()
            .find(|(name, _)| name == "PATH")
            .map(|(_, value)| value.as_os_str());
        // Found by us, not by the system: the errors can then say what is
        // wrong, and std takes its quick way of starting a process.
        let program = self.locate(path)?;

        #[expect(
            clippy::disallowed_methods,
            reason = "this is where servers are started"
        )]
        let mut command = Command::new(program);
        command
            .args(&self.args)
            .env_clear()
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let room = match &self.start {
            Start::Elsewhere(folder) => Room::make(folder),
            Start::Here | Start::Apart => None,
        };
        match (&self.start, &room, &self.cwd) {
            (_, Some(room), _) => drop(command.current_dir(room.path())),
            // Nobody but root can put anything there.
            (Start::Elsewhere(_), None, _) => drop(command.current_dir("/")),
            (_, None, Some(cwd)) => drop(command.current_dir(cwd)),
            (_, None, None) => {}
        }
        // Launchers look at the name they were called by.
        command.arg0(&self.program).process_group(0);
        Ok((command, room))
    }

    /// What the system said, in words that help.
    pub(crate) fn explain(&self, error: io::Error) -> SpawnError {
        let program = self.name();
        match error.kind() {
            io::ErrorKind::NotFound => SpawnError::NotExecutable {
                program,
                reason: "the interpreter it names is missing",
                hint: "check the first line of the script (#!), or install the interpreter",
            },
            io::ErrorKind::PermissionDenied => SpawnError::NotExecutable {
                program,
                reason: "permission denied",
                hint: "check its permissions (chmod +x) and those of its directories",
            },
            io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => SpawnError::Limit {
                program,
                source: error,
            },
            _ => match error.raw_os_error().map(rustix_errno) {
                Some(Errno::Limit) => SpawnError::Limit {
                    program,
                    source: error,
                },
                Some(Errno::NoExec) => SpawnError::NotExecutable {
                    program,
                    reason: "it is not a program for this machine",
                    hint: "a script needs a first line such as #!/bin/sh",
                },
                _ => SpawnError::Other {
                    program,
                    source: error,
                },
            },
        }
    }

    fn check_cwd(&self) -> Result<(), SpawnError> {
        let Some(cwd) = &self.cwd else {
            return Ok(());
        };
        let reason = match std::fs::metadata(cwd) {
            Ok(found) if found.is_dir() => return Ok(()),
            Ok(_) => "it is not a directory".to_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => "it does not exist".to_owned(),
            Err(error) => error.to_string(),
        };
        Err(SpawnError::WorkingDirectory {
            program: self.name(),
            cwd: cwd.clone(),
            reason,
        })
    }

    fn environment(&self, tag: &Tag) -> Result<Vec<(OsString, OsString)>, SpawnError> {
        let impossible = |name: &OsStr| {
            name.is_empty()
                || name
                    .as_encoded_bytes()
                    .iter()
                    .any(|byte| matches!(byte, b'=' | 0))
        };
        if let Some((name, _)) = self.env.iter().find(|(name, _)| impossible(name)) {
            return Err(SpawnError::VariableName {
                program: self.name(),
                name: name.to_string_lossy().escape_debug().to_string(),
            });
        }
        let tree = self.tree.as_deref();
        let mut all: Vec<_> = environment::inherited(std::env::vars_os(), &self.inherit).collect();
        if self.start != Start::Here {
            all.retain(|(name, value)| name == "PATH" || !environment::leads_into(value, tree));
        }
        all.extend(self.env.iter().cloned());
        if self.start != Start::Here {
            for (_, path) in all.iter_mut().filter(|(name, _)| name == "PATH") {
                *path = environment::path_outside(path, tree);
            }
        }
        all.push((tag::VARIABLE.into(), tag.value()));
        Ok(all)
    }

    /// The file to run. A path is taken as it is; a name is looked for on the
    /// server's own `PATH`.
    fn locate(&self, path: Option<&OsStr>) -> Result<PathBuf, SpawnError> {
        let base = self.cwd.clone().unwrap_or_default();
        if Path::new(&self.program).components().count() != 1
            || self.program.as_encoded_bytes().contains(&b'/')
        {
            let file = base.join(&self.program);
            return match look(&file) {
                Found::Program => Ok(file),
                Found::Nothing => Err(SpawnError::NotFound {
                    program: display(&file),
                }),
                found => Err(not_executable(&file, &found)),
            };
        }
        let path = path.unwrap_or_default();
        let (mut nearly, mut passed_by) = (None, None);
        for directory in std::env::split_paths(path) {
            let file = directory.join(&self.program);
            // An empty or relative entry means the working directory: a trap,
            // as is one in a repository, which could bring its own `npx`.
            if !environment::is_outside(&directory, self.tree.as_deref()) {
                let there = || matches!(look(&base.join(&file)), Found::Program);
                if passed_by.is_none() && there() {
                    passed_by = Some(file);
                }
                continue;
            }
            match look(&file) {
                Found::Program => return Ok(file),
                Found::Nothing => {}
                found => nearly = nearly.or(Some((file, found))),
            }
        }
        match (nearly, passed_by) {
            (Some((file, found @ Found::NotExecutable)), _) => Err(not_executable(&file, &found)),
            (_, Some(file)) => Err(SpawnError::InTree {
                program: self.name(),
                found: display(&file),
            }),
            _ => Err(SpawnError::NotOnPath {
                program: self.name(),
                path: path.to_string_lossy().into_owned(),
            }),
        }
    }
}

/// What is at a path that should be a program.
enum Found {
    Program,
    Nothing,
    Directory,
    NotExecutable,
}

fn look(file: &Path) -> Found {
    use rustix::fs::{Access, access};
    match std::fs::metadata(file) {
        Err(_) => Found::Nothing,
        Ok(found) if found.is_dir() => Found::Directory,
        Ok(_) if access(file, Access::EXEC_OK).is_ok() => Found::Program,
        Ok(_) => Found::NotExecutable,
    }
}

fn not_executable(file: &Path, found: &Found) -> SpawnError {
    let (reason, hint) = match found {
        Found::Directory => ("it is a directory", "name the program inside it"),
        _ => (
            "no permission to execute it",
            "chmod +x it, or run it through its interpreter",
        ),
    };
    SpawnError::NotExecutable {
        program: display(file),
        reason,
        hint,
    }
}

fn display(file: &Path) -> String {
    file.display().to_string()
}

/// The system errors that deserve words of their own.
enum Errno {
    Limit,
    NoExec,
    Else,
}

fn rustix_errno(raw: i32) -> Errno {
    use rustix::io::Errno as System;
    match System::from_raw_os_error(raw) {
        System::MFILE | System::NFILE | System::AGAIN | System::NOMEM => Errno::Limit,
        System::NOEXEC => Errno::NoExec,
        _ => Errno::Else,
    }
}
