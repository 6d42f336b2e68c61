//! A running server process and its pipes.

use std::io;
use std::process::Child;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::process::Pid;
use switchboard_tasks as tasks;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{OnceCell, watch};
use tracing::Instrument;

use crate::{descriptors, limits};

use crate::caps::{Held, Passed};
use crate::command::{ServerCommand, SpawnError};
use crate::exit::Exit;
use crate::family::{Family, Presence};
use crate::kept::KeptStderr;
use crate::ladder::{self, Stopped};
use crate::registry;
use crate::room::Room;
use crate::stderr::StderrRing;
use crate::table::Table;
use crate::tag::Tag;

/// A server that was started, with all that it starts.
///
/// Dropped without [`stop`](Self::stop), everything is killed at once; the
/// drop returns when it is dead, or after a tenth of a second.
#[derive(Debug)]
pub struct ServerProcess {
    family: Arc<Family>,
    stdin: Mutex<Option<ChildStdin>>,
    stdout: Option<ChildStdout>,
    stderr: StderrRing,
    exit: watch::Receiver<Option<Exit>>,
    stopped: OnceCell<Stopped>,
    /// What it may use, where that is limited.
    held: Option<Held>,
    /// Last: it goes when the processes in it have gone.
    _room: Option<Room>,
}

impl ServerProcess {
    /// Starts the server in a process group of its own. Must be called on a
    /// tokio runtime.
    pub fn spawn(command: &ServerCommand) -> Result<Self, SpawnError> {
        let other = |source: io::Error| SpawnError::Other {
            program: command.name(),
            source,
        };
        // Checked first: the pipes' tokio halves panic without a runtime.
        let runtime = Handle::try_current().map_err(|error| other(io::Error::other(error)))?;
        let tag = Tag::random().map_err(|error| other(error.into()))?;
        let (mut prepared, room) = command.prepare(&tag)?;

        let permit = registry::permit().ok_or_else(|| SpawnError::ShuttingDown {
            program: command.name(),
        })?;
        let mut child = prepared.spawn().map_err(|error| command.explain(error))?;
        descriptors::restore(Pid::from_child(&child));
        // From here on the family answers for the process; `child` is only its pipes.
        let family = Arc::new(Family::new(Pid::from_child(&child), tag));
        drop(permit);
        let held = Held::new(command.caps, Pid::from_child(&child));
        let (stdin, stdout, stderr) = pipes(&mut child).map_err(|error| {
            ladder::kill_now(&family);
            command.explain(error)
        })?;

        let pid = family.pid().unsigned_abs();
        let kept = command.stderr_file.clone();
        let kept = kept.map(|file| KeptStderr::new(file, pid));
        let (stderr, drain) = StderrRing::drain(stderr, kept);
        let program = command.name();
        let span = tracing::debug_span!("process", pid);
        span.in_scope(|| tracing::debug!(program, "started"));
        let drain = drain.instrument(span.clone());
        tasks::spawn_on(&runtime, tasks::Kind::Process, drain);
        let (exited, exit) = watch::channel(None);
        let watching = watch_leader(Arc::clone(&family), exited).instrument(span);
        tasks::spawn_on(&runtime, tasks::Kind::Process, watching);
        Ok(Self {
            family,
            stdin: Mutex::new(Some(stdin)),
            stdout: Some(stdout),
            stderr,
            exit,
            stopped: OnceCell::new(),
            held,
            _room: room,
        })
    }

    /// The server's stdin. Whoever takes it must close it before
    /// [`stop`](Self::stop), which cannot close it then.
    ///
    /// # Panics
    /// The second time.
    pub fn take_stdin(&mut self) -> ChildStdin {
        self.stdin.get_mut().take().expect("stdin is taken once")
    }

    /// The server's stdout.
    ///
    /// # Panics
    /// The second time.
    pub fn take_stdout(&mut self) -> ChildStdout {
        self.stdout.take().expect("stdout is taken once")
    }

    /// The leader's process number, which is also the group's.
    pub fn pid(&self) -> u32 {
        self.family.pid().unsigned_abs()
    }

    /// What the server writes to stderr.
    pub fn stderr(&self) -> StderrRing {
        self.stderr.clone()
    }

    /// How the leader ended, if it has.
    pub fn try_exited(&self) -> Option<Exit> {
        self.family.exit()
    }

    /// Waits until the leader has ended. What it started may live on: call
    /// [`stop`](Self::stop) or drop the value to end that too.
    pub fn exited(&self) -> impl Future<Output = Exit> + Send + 'static {
        self.exit_watch().wait()
    }

    /// Tells when the leader has ended, also after this value is gone.
    pub fn exit_watch(&self) -> ExitWatch {
        ExitWatch(self.exit.clone())
    }

    /// Whether there is anything that it may not use more of.
    pub fn is_capped(&self) -> bool {
        self.held.is_some()
    }

    /// The cap that it was ended for, if it was.
    pub fn passed(&self) -> Option<Passed> {
        self.held.as_ref()?.passed()
    }

    /// Ends the server and all that it started: the ladder, 600 ms at most
    /// where the machine is not too busy to kill them by then. A second call waits for, or
    /// returns, the result of the first.
    pub async fn stop(&self) -> Stopped {
        *self
            .stopped
            .get_or_init(|| async {
                let stdin = self.stdin.lock().take();
                ladder::climb(&self.family, stdin).await
            })
            .await
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if !self
            .stopped
            .get()
            .is_some_and(|stopped| stopped.is_complete)
        {
            ladder::kill_now(&self.family);
        }
    }
}

/// Which of these servers use more than they may, each with what it passed. Looks at the
/// machine's processes once: call it where waiting does no harm.
pub fn passed_caps(servers: &[&ServerProcess]) -> Vec<Option<Passed>> {
    let Ok(table) = Table::read() else {
        return vec![None; servers.len()];
    };
    let look = |server: &&ServerProcess| server.held.as_ref()?.look(&server.family, &table);
    servers.iter().map(look).collect()
}

/// Tells when a server's leader has ended, and how.
#[derive(Clone, Debug)]
pub struct ExitWatch(watch::Receiver<Option<Exit>>);

impl ExitWatch {
    /// Waits for the end.
    pub async fn wait(mut self) -> Exit {
        let ended = self
            .0
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|exit| *exit);
        ended.unwrap_or(Exit::Unknown)
    }

    /// The end if it comes within a quarter of a second: for one whose pipes
    /// have just closed, which mostly means that it is ending.
    pub async fn soon(self) -> Option<Exit> {
        tokio::time::timeout(limits::EXIT_SOON, self.wait())
            .await
            .ok()
    }
}

fn pipes(child: &mut Child) -> io::Result<(ChildStdin, ChildStdout, ChildStderr)> {
    let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
    let stdin = child.stdin.take().ok_or_else(missing)?;
    let stdout = child.stdout.take().ok_or_else(missing)?;
    let stderr = child.stderr.take().ok_or_else(missing)?;
    Ok((
        ChildStdin::from_std(stdin)?,
        ChildStdout::from_std(stdout)?,
        ChildStderr::from_std(stderr)?,
    ))
}

/// Tells when the leader has ended, and reaps it once it is the last of its
/// group: until then it stays, dead, so that the group's number stays taken.
async fn watch_leader(family: Arc<Family>, exited: watch::Sender<Option<Exit>>) {
    // Asked for before the first look, so that no end falls in between.
    let mut child_ended = signal(SignalKind::child()).ok();
    loop {
        if let Some(exit) = family.exit() {
            tracing::debug!(%exit, "ended");
            exited.send_replace(Some(exit));
            break;
        }
        match &mut child_ended {
            Some(signal) => drop(signal.recv().await),
            None => tokio::time::sleep(limits::EXIT_LOOK).await,
        }
    }
    let mut pause = limits::GROUP_PAUSE;
    loop {
        let looking = Arc::clone(&family);
        match tasks::blocking(move || looking.presence()).await {
            Ok(Presence::Group) => {}
            _ => return,
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(limits::LONGEST_GROUP_PAUSE);
    }
}
