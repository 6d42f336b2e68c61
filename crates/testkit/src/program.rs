//! Starting programs in tests: a home of their own, deadlines, nothing left behind.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::world::environment::{SYSTEM, environment};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a test waits for anything unless it says otherwise.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// How much later than it should be something may come, because the machine has
/// other things to do.
pub const LATE: Duration = Duration::from_secs(10);

/// How long stderr is read after the end, should somebody else hold it open.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Names the folder of the programs that are tested, where it is not the tests' own.
pub const PROGRAMS: &str = "SWITCHBOARD_TEST_PROGRAMS";

/// The path of a program of this workspace, beside the running test.
///
/// # Panics
/// When it has not been built.
pub fn bin(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a running test knows its own path");
    // target/<profile>/deps/<test> for tests, target/<profile>/<program> for programs.
    let mut folder = test.parent().expect("a program lies in a folder");
    if folder.ends_with("deps") {
        folder = folder.parent().expect("deps lies in the profile's folder");
    }
    // Others than those that were built with the tests: optimised ones, say.
    let named = std::env::var_os(PROGRAMS).map(PathBuf::from);
    let folder = named.as_deref().unwrap_or(folder);
    let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        path.exists(),
        "{} is missing: run `cargo build --workspace --bins` or `cargo xtask test`",
        path.display()
    );
    path
}

/// A program to be started; see [`Program::new`].
#[derive(Debug)]
pub struct Launch {
    command: Command,
    home: Home,
}

/// A program's home, and the folder that has to live as long as the program.
type Home = (PathBuf, Arc<tempfile::TempDir>);

impl Launch {
    /// A program with just this environment, started in `folder`.
    pub(crate) fn within(
        path: impl AsRef<OsStr>,
        environment: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>,
        folder: &Path,
        home: Home,
    ) -> Self {
        let mut command = Command::new(path);
        command.env_clear().envs(environment).current_dir(folder);
        Self { command, home }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Sets the working directory (the program's own home otherwise).
    #[must_use]
    pub fn cwd(mut self, path: impl AsRef<Path>) -> Self {
        self.command.current_dir(path);
        self
    }

    /// The same once more, in the same home.
    #[must_use]
    pub fn again(&self) -> Self {
        let was = self.command.as_std();
        let mut command = Command::new(was.get_program());
        command.env_clear().args(was.get_args());
        for (key, value) in was.get_envs() {
            if let Some(value) = value {
                command.env(key, value);
            }
        }
        if let Some(folder) = was.get_current_dir() {
            command.current_dir(folder);
        }
        let home = self.home.clone();
        Self { command, home }
    }

    /// The home that the program will have, to put files there first.
    pub fn home(&self) -> &Path {
        &self.home.0
    }

    /// Starts the program in a process group of its own.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn spawn(mut self) -> Program {
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = self
            .command
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {:?}: {error}", self.command.as_std()));
        let stderr = child.stderr.take().expect("stderr was piped");
        let log = Arc::new(Log::default());
        let lines = Arc::clone(&log);
        tokio::spawn(async move {
            let mut reader = BufReader::new(stderr);
            let mut line = Vec::new();
            while matches!(reader.read_until(b'\n', &mut line).await, Ok(n) if n > 0) {
                lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
                line.clear();
            }
            lines.end();
        });
        Program {
            pid: child
                .id()
                .and_then(|id| i32::try_from(id).ok())
                .and_then(Pid::from_raw),
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            child,
            log,
            home: self.home,
        }
    }
}

/// A running program. Dropping it kills its process group.
#[derive(Debug)]
pub struct Program {
    /// Taken by [`StdioClient`](crate::StdioClient), or by the test.
    pub stdin: Option<ChildStdin>,
    /// Taken by [`StdioClient`](crate::StdioClient), or by the test.
    pub stdout: Option<ChildStdout>,
    child: Child,
    pid: Option<Pid>,
    log: Arc<Log>,
    home: Home,
}

impl Program {
    /// Prepares a program with an empty home and the environment that every
    /// program of the tests has, with our own `PATH`.
    ///
    /// # Panics
    /// When no temporary folder can be made.
    #[expect(
        clippy::new_ret_no_self,
        reason = "the program does not run before spawn"
    )]
    pub fn new(path: impl AsRef<OsStr>) -> Launch {
        let folder = tempfile::tempdir().expect("a temporary folder for the program's home");
        let home = folder.path().to_owned();
        let programs = std::env::var_os("PATH").unwrap_or_else(|| SYSTEM.into());
        let all = environment(&home, &home.join("etc"), &home, programs);
        Launch::within(path, all, &home.clone(), (home, Arc::new(folder)))
    }

    /// The folder that is the program's `HOME`.
    pub fn home(&self) -> &Path {
        &self.home.0
    }

    /// The process id.
    ///
    /// # Panics
    /// Never while the program was started by us.
    pub fn pid(&self) -> i32 {
        self.pid
            .expect("a started program has a pid")
            .as_raw_nonzero()
            .get()
    }

    /// Waits for a line on stderr that contains `text`, also one already written.
    ///
    /// # Panics
    /// At the deadline, or when stderr ends, with all of stderr.
    pub async fn wait_for_line(&self, text: &str) -> String {
        self.wait_for_line_within(text, DEADLINE).await
    }

    /// [`wait_for_line`](Self::wait_for_line) with a deadline of your own.
    ///
    /// # Panics
    /// At the deadline, or when stderr ends, with all of stderr.
    pub async fn wait_for_line_within(&self, text: &str, limit: Duration) -> String {
        let found = self.log.find(text, Instant::now() + limit).await;
        found.unwrap_or_else(|| panic!("no line with {text:?} on stderr:\n{}", self.stderr()))
    }

    /// The address in the line `listening on http://…`.
    ///
    /// # Panics
    /// When no such line comes.
    pub async fn url(&self) -> String {
        let line = self.wait_for_line("listening on http://").await;
        let (_, url) = line
            .split_once("listening on ")
            .expect("the line has these words");
        url.split_whitespace().next().unwrap_or(url).to_owned()
    }

    /// All that the program has written on stderr.
    pub fn stderr(&self) -> String {
        self.log.text()
    }

    /// Sends a signal to the program alone.
    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid {
            let _ = kill_process(pid, signal);
        }
    }

    /// Whether the program has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Waits for the end of the program.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn wait(&mut self, limit: Duration) -> ExitStatus {
        match tokio::time::timeout(limit, self.child.wait()).await {
            Ok(status) => {
                // Its last words are in the pipe, but perhaps not read yet.
                self.log.ended(Instant::now() + LAST_WORDS).await;
                status.expect("a child can be waited for")
            }
            Err(_) => panic!("still running after {limit:?}; stderr:\n{}", self.stderr()),
        }
    }

    /// Closes stdin and waits for the end: all of stdout, and the status.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn output(mut self, limit: Duration) -> (ExitStatus, Vec<u8>, String) {
        drop(self.stdin.take());
        let mut bytes = Vec::new();
        if let Some(mut stdout) = self.stdout.take() {
            let read = tokio::io::AsyncReadExt::read_to_end(&mut stdout, &mut bytes);
            let done = tokio::time::timeout(limit, read).await;
            assert!(
                done.is_ok(),
                "stdout still open after {limit:?}; stderr:\n{}",
                self.stderr()
            );
        }
        let status = self.wait(limit).await;
        self.log
            .ended(Instant::now() + Duration::from_secs(1))
            .await;
        (status, bytes, self.stderr())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A program that was waited for is gone, and its id may be another's.
        if let (Some(pid), Ok(None)) = (self.pid, self.child.try_wait()) {
            let name = std::fs::read_to_string(format!("/proc/{}/comm", pid.as_raw_nonzero()));
            // Ours takes along all that it started when the process that the
            // user sees is killed, and cannot when all of it is killed at once.
            let _ = match name.is_ok_and(|name| name.trim() == "switchboard") {
                true => kill_process(pid, Signal::KILL),
                false => kill_process_group(pid, Signal::KILL),
            };
        }
    }
}

/// The lines of stderr.
#[derive(Debug, Default)]
struct Log {
    state: Mutex<(Vec<String>, bool)>,
    news: Notify,
}

impl Log {
    fn push(&self, line: String) {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .push(line);
        self.news.notify_waiters();
    }

    fn end(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        self.news.notify_waiters();
    }

    fn text(&self) -> String {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .join("\n")
    }

    async fn find(&self, text: &str, deadline: Instant) -> Option<String> {
        loop {
            let news = self.news.notified();
            tokio::pin!(news);
            news.as_mut().enable();
            {
                let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(line) = state.0.iter().find(|line| line.contains(text)) {
                    return Some(line.clone());
                }
                if state.1 {
                    return None;
                }
            }
            tokio::time::timeout_at(deadline, news).await.ok()?;
        }
    }

    async fn ended(&self, deadline: Instant) {
        // No line contains this: it returns at the end of stderr.
        self.find("\u{0}\u{0}", deadline).await;
    }
}
