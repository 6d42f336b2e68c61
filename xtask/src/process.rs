//! Child processes that cannot outlive us unnoticed: each runs in a process
//! group of its own, which ends with a deadline, a drop, or a signal to us.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Groups that are alive now.
static LIVE: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

const POLL: Duration = Duration::from_millis(20);
/// How long a program may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);
/// Long work says this often that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(20);

/// On SIGINT, SIGTERM or SIGHUP: end all that we started, then ourselves.
pub fn end_children_on_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]) else {
        return;
    };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // A gateway needs a moment to end its servers, which are in groups
            // of their own.
            let live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
            for pid in live.iter() {
                let _ = kill_process(*pid, Signal::TERM);
            }
            if !live.is_empty() {
                std::thread::sleep(Duration::from_secs(1));
            }
            for pid in live.iter() {
                let _ = kill_process_group(*pid, Signal::KILL);
            }
            #[expect(clippy::exit, reason = "all that was started has ended")]
            std::process::exit(128 + signal);
        }
    });
}

/// How a program ended.
pub struct Ended {
    /// Its exit code; none where a signal ended it.
    pub code: Option<i32>,
    /// It was ended by us, at its deadline.
    pub timed_out: bool,
}

impl Ended {
    /// It ended by itself with 0.
    pub fn ok(&self) -> bool {
        !self.timed_out && self.code == Some(0)
    }

    /// The end in words.
    pub fn describe(&self) -> String {
        match (self.timed_out, self.code) {
            (true, _) => "timed out".into(),
            (false, Some(code)) => format!("exit code {code}"),
            (false, None) => "ended by a signal".into(),
        }
    }
}

/// A child in its own process group; the whole group is killed on drop.
pub struct Group {
    child: Child,
    pid: Pid,
}

impl Group {
    /// Starts `command` in a new group.
    pub fn spawn(command: &mut Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command
            .process_group(0)
            .spawn()
            .with_context(|| format!("starting {name}"))?;
        let pid = Pid::from_child(&child);
        LIVE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(pid);
        Ok(Self { child, pid })
    }

    /// The process id of the program itself.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The child's pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits until `deadline`, then kills the group.
    pub fn wait(&mut self, deadline: Instant, progress: Option<&str>) -> Result<Ended> {
        let started = Instant::now();
        let mut said = started;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Ended {
                    code: status.code(),
                    timed_out: false,
                });
            }
            if Instant::now() > deadline {
                self.kill();
                return Ok(Ended {
                    code: None,
                    timed_out: true,
                });
            }
            if let Some(what) = progress
                && said.elapsed() > HEARTBEAT
            {
                said = Instant::now();
                eprintln!("{what}: {} s so far", started.elapsed().as_secs());
            }
            std::thread::sleep(POLL);
        }
    }

    /// SIGTERM and a little time, so that programs which clean up after
    /// themselves (a gateway's servers) can; then SIGKILL.
    fn end(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = kill_process(self.pid, Signal::TERM);
            let _ = self.wait(Instant::now() + GRACE, None);
        }
        self.kill();
    }

    fn kill(&mut self) {
        let _ = kill_process_group(self.pid, Signal::KILL);
        let _ = self.child.wait();
        LIVE.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .retain(|pid| *pid != self.pid);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs a program with its output in `log`, for at most `limit`.
pub fn run_logged(
    command: &mut Command,
    log: &Path,
    limit: Duration,
    progress: Option<&str>,
) -> Result<Ended> {
    let out = File::create(log).with_context(|| format!("creating {}", log.display()))?;
    command
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(out);
    Group::spawn(command)?.wait(Instant::now() + limit, progress)
}

/// A server of ours: it says `listening on URL` on stderr when it is ready.
pub struct Server {
    /// The address that it printed.
    pub url: String,
    /// Where its output goes.
    pub log: PathBuf,
    group: Group,
}

impl Server {
    /// Starts `command` and waits until it listens.
    pub fn start(command: &mut Command, log: PathBuf, limit: Duration) -> Result<Self> {
        let out = File::create(&log).with_context(|| format!("creating {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut group = Group::spawn(command.stderr(out))?;
        let deadline = Instant::now() + limit;
        loop {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            if let Some(url) = listening(&text) {
                return Ok(Self { url, log, group });
            }
            if let Some(status) = group.child.try_wait()? {
                bail!(
                    "{:?} ended before it listened ({status}):\n{}",
                    command.get_program(),
                    tail(&text, 20)
                );
            }
            if Instant::now() > deadline {
                bail!(
                    "{:?} did not say 'listening on' within {} s:\n{}",
                    command.get_program(),
                    limit.as_secs(),
                    tail(&text, 20)
                );
            }
            std::thread::sleep(POLL);
        }
    }

    /// The process that was started.
    pub fn id(&self) -> u32 {
        self.group.id()
    }

    /// Asks it to end, and waits so long before it is killed.
    pub fn end_within(mut self, limit: Duration) -> Result<Ended> {
        let _ = kill_process(self.group.pid, Signal::TERM);
        self.group.wait(Instant::now() + limit, None)
    }

    /// Whether it still runs.
    pub fn alive(&mut self) -> bool {
        matches!(self.group.child.try_wait(), Ok(None))
    }
}

fn listening(log: &str) -> Option<String> {
    // Only whole lines: the last one may still be being written.
    let whole = &log[..=log.rfind('\n')?];
    let at = whole.find("listening on http")?;
    let url = whole[at + "listening on ".len()..]
        .split_whitespace()
        .next()?;
    Some(url.trim_end_matches('/').to_owned())
}

/// The last lines of a text.
pub fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_taken_from_a_whole_line() {
        assert_eq!(listening("listening on http://127.0.0.1:80"), None);
        assert_eq!(
            listening("warn: x\nlistening on http://127.0.0.1:8080/mcp\n").as_deref(),
            Some("http://127.0.0.1:8080/mcp")
        );
    }

    #[test]
    fn a_group_ends_at_its_deadline() -> Result<()> {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & sleep 60"]);
        let mut group = Group::spawn(&mut command)?;
        let ended = group.wait(Instant::now() + Duration::from_millis(100), None)?;
        assert!(ended.timed_out && !ended.ok());
        Ok(())
    }
}
