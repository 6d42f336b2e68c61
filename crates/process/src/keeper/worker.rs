//! The worker's side: one thread that watches the guard and buries orphans.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, kill_process, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal,
};
use signal_hook::consts::{SIGCHLD, SIGHUP};

use super::{KeeperError, Kept, hide_memory, refused};
use crate::{
    descendants::{self, Undertaker},
    limits,
};
use switchboard_local::signals;

/// Takes up the worker's part.
pub(super) fn begin(guard: Pid, keeper: Pid) -> Result<Kept, KeeperError> {
    // Old kernels and some sandboxes have none; then we ask now and again.
    let watched = pidfd_open(guard, PidfdFlags::empty()).ok();
    // If it is still our parent now, it was the one that we opened.
    if getppid() != Some(guard) {
        return Err(KeeperError::KeeperGone);
    }
    let _ = super::KEEPER.set(keeper.as_raw_nonzero().get());
    set_child_subreaper(Some(getpid())).map_err(refused("adopt orphans"))?;
    // Should the guard be killed while we are stopped (Ctrl-Z), this wakes us.
    let _ = set_parent_process_death_signal(Some(Signal::CONT));
    // The name first: of a process with hidden memory it belongs to the system.
    super::take_own_name();
    hide_memory();

    let ignores_hangup = signals::ignored().contains(SIGHUP);
    if !ignores_hangup {
        outlive_hangup()?;
    }

    let (child_ended, notify) = UnixStream::pair().map_err(refused("make a pipe"))?;
    child_ended
        .set_nonblocking(true)
        .map_err(refused("make a pipe"))?;
    signal_hook::low_level::pipe::register(SIGCHLD, notify).map_err(refused("catch signals"))?;
    let watch = Watch {
        guard,
        guard_ended: watched,
        child_ended,
        spare: spare_descriptors(),
    };
    thread::Builder::new()
        .name("keeper-watch".into())
        .stack_size(256 * 1024)
        .spawn(move || watch.run())
        .map_err(refused("start a thread"))?;
    Ok(Kept {
        keeper: Some(keeper.as_raw_nonzero().get().unsigned_abs()),
        ignores_hangup,
    })
}

struct Watch {
    guard: Pid,
    /// Becomes readable when the guard ends.
    guard_ended: Option<OwnedFd>,
    child_ended: UnixStream,
    /// Held so that looking through `/proc` is possible at the end even when
    /// the program has run out of descriptors.
    spare: Vec<File>,
}

impl Watch {
    fn run(self) {
        let mut undertaker = Undertaker::default();
        let mut sweep_at: Option<Instant> = None;
        loop {
            let news = self.wait(sweep_at);
            if getppid() != Some(self.guard) {
                end_with_guard(self.spare);
            }
            match sweep_at {
                Some(due) if Instant::now() >= due => {
                    self.forget_news();
                    sweep_at = undertaker.sweep().map(|pause| Instant::now() + pause);
                }
                // Dead children come in crowds: look once, a little later.
                _ if news => {
                    self.forget_news();
                    let soon = Instant::now() + limits::SWEEP_AFTER;
                    sweep_at = Some(sweep_at.map_or(soon, |due| due.min(soon)));
                }
                _ => {}
            }
        }
    }

    /// Waits for the guard's end, for news of children, or until `due`. True
    /// if there is news of children.
    fn wait(&self, due: Option<Instant>) -> bool {
        let mut most = due.map(|due| due.saturating_duration_since(Instant::now()));
        let mut watched = vec![PollFd::new(&self.child_ended, PollFlags::IN)];
        match &self.guard_ended {
            Some(ended) => watched.push(PollFd::new(ended, PollFlags::IN)),
            None => {
                most = Some(most.map_or(limits::GUARD_ASKED_EVERY, |most| {
                    most.min(limits::GUARD_ASKED_EVERY)
                }));
            }
        }
        let timeout = most.and_then(|most| Timespec::try_from(most).ok());
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) => !watched[0].revents().is_empty(),
            Err(rustix::io::Errno::INTR) => false,
            Err(_) => {
                #[expect(clippy::disallowed_methods, reason = "a thread of its own")]
                thread::sleep(limits::GUARD_ASKED_EVERY);
                false
            }
        }
    }

    fn forget_news(&self) {
        let mut buffer = [0; 64];
        while matches!((&self.child_ended).read(&mut buffer), Ok(n) if n > 0) {}
    }
}

/// The guard is dead: killed, or with the keeper, and so the program is in the
/// eyes of its user.
fn end_with_guard(spare: Vec<File>) -> ! {
    drop(spare);
    descendants::kill_all();
    // Not `exit`, which would wait for locks that other threads may hold.
    let _ = kill_process(getpid(), Signal::KILL);
    std::process::abort()
}

/// When a keeper that leads its session is killed, the kernel sends SIGHUP to
/// the terminal's foreground group: to us. It would end us in the very moment
/// in which we are needed. A handler that does nothing prevents that, is not
/// inherited by servers, and leaves the program free to add its own.
fn outlive_hangup() -> Result<(), KeeperError> {
    let hung_up = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGHUP, hung_up).map_err(refused("catch signals"))?;
    Ok(())
}

fn spare_descriptors() -> Vec<File> {
    (0..3)
        .filter_map(|_| File::open("/dev/null").ok())
        .collect()
}
