//! Whether the terminal is still there. Whoever ignores SIGHUP hears of its end in no other
//! way, and reading keys of one that is gone would go on without end: it is at its end
//! again and again, so that whoever still reads is given something that says nothing.

use super::thread;
use rustix::{
    event::{PollFd, PollFlags, poll},
    fd::OwnedFd,
    io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_setfd},
    pipe::pipe,
    stdio::{dup2_stdin, stdin},
};
use std::{
    io,
    sync::{Arc, OnceLock},
};
use tokio::sync::Notify;

/// Watches the terminal behind stdin, until this is dropped.
pub struct Hangup {
    gone: Arc<Notify>,
    /// Ends the watch with us.
    _alive: OwnedFd,
}

impl Hangup {
    pub fn watch() -> io::Result<Self> {
        let terminal = fcntl_dupfd_cloexec(stdin(), 3)?;
        let (ends, alive) = own_pipe()?;
        let gone = Arc::new(Notify::new());
        let tells = Arc::clone(&gone);
        thread("hangup", move || {
            if hangs_up(&terminal, &ends) {
                let _ = silence();
                tells.notify_one();
            }
        })?;
        Ok(Self {
            gone,
            _alive: alive,
        })
    }

    /// Waits until it is gone.
    pub async fn gone(&self) {
        self.gone.notified().await;
        // Whoever asks again is told again.
        self.gone.notify_one();
    }
}

/// Has whoever reads keys wait for ever. They are read by a thread that cannot be ended and
/// does not notice that nothing will come.
fn silence() -> io::Result<()> {
    /// The other end, to which nobody writes.
    static SILENT: OnceLock<OwnedFd> = OnceLock::new();
    let (reads, writes) = own_pipe()?;
    if SILENT.set(writes).is_ok() {
        dup2_stdin(reads)?;
    }
    Ok(())
}

/// A pipe that no program which we start gets.
fn own_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reads, writes) = pipe()?;
    for end in [&reads, &writes] {
        fcntl_setfd(end, FdFlags::CLOEXEC)?;
    }
    Ok((reads, writes))
}

/// Waits until the terminal hangs up, or the other end is dropped first.
fn hangs_up(terminal: &OwnedFd, ends: &OwnedFd) -> bool {
    loop {
        // Nothing is asked for: that it is gone is said all the same.
        let mut both = [
            PollFd::new(terminal, PollFlags::empty()),
            PollFd::new(ends, PollFlags::empty()),
        ];
        match poll(&mut both, None) {
            Err(Errno::INTR) => continue,
            Err(_) => return false,
            Ok(_) => {}
        }
        let [terminal, ends] = &both;
        if !ends.revents().is_empty() {
            return false;
        }
        if !terminal.revents().is_empty() {
            return true;
        }
    }
}
