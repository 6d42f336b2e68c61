//! The keeper: a tiny parent that outlives us for a moment.
//!
//! A program that is killed with SIGKILL cannot clean up after itself, and
//! what its servers have started would live on. So the program runs as three
//! processes of the same binary, each the parent of the next: the *keeper*,
//! which the user sees and which does nothing but wait; the *guard*, which
//! does the same once more in a process group of its own, where a
//! `kill -9 -PGID` does not find it; and the *worker*, which does everything.
//! All adopt orphans, and whichever survives another kills every process that
//! is then below it: two of the three may be killed in the same instant.
//!
//! `PR_SET_PDEATHSIG` on the servers would not do: it does not reach
//! grandchildren, and it fires when the *thread* that forked ends.

use std::io;

#[cfg(target_os = "linux")]
mod job;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod parent;
#[cfg(target_os = "linux")]
mod worker;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
use other as system;

mod hide;

pub use hide::hide_memory;

/// Proof that [`enter`] was called; held by the program until it ends.
#[derive(Debug)]
pub struct Kept {
    keeper: Option<u32>,
    ignores_hangup: bool,
}

/// Why the program cannot run under a keeper.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeeperError {
    /// The keeper died while we started: whoever started the program has
    /// killed it, so it must end, quietly.
    #[error("the program was killed while it started")]
    KeeperGone,
    /// The system refused something that keeping needs.
    #[error("cannot {what}: {source}")]
    System {
        /// What was refused.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

/// Puts the program under a keeper. To be called first in `main`, before any
/// thread starts: in the process that was started it never returns, but runs
/// the same program again, as the guard and by that as the worker, and exits as
/// that does; in the worker it returns.
///
/// In the worker SIGHUP no longer ends the program by itself: the program must
/// handle it, as it must SIGINT and SIGTERM if it is to stop its servers
/// gently. A signal to the whole group (`kill -TERM -PGID`, systemd) reaches
/// the worker twice, the second time through the keeper: a second one within
/// half a second is the same one.
///
/// On an error other than [`KeeperError::KeeperGone`] the program can go on
/// without a keeper, and then cannot promise to leave nothing behind.
///
/// All of them hide their memory ([`hide_memory`]). Guard and worker start without
/// the variables in `forget`: secrets that they have no use for.
pub fn enter(forget: &[&str]) -> Result<Kept, KeeperError> {
    system::enter(forget)
}

/// Becomes the guard, if that is what this process was started for, and never returns then.
/// To be called before [`enter`], where even the arguments have not been read: whoever
/// started it has, and what reading them takes would be held for as long as the guard waits.
///
/// Where that fails [`enter`] fails in the same way, and says so.
pub fn stand_guard(forget: &[&str]) {
    system::stand_guard(forget);
}

/// The keeper above this process, once it is known.
static KEEPER: std::sync::OnceLock<i32> = std::sync::OnceLock::new();

/// The first of the processes that this program is: the keeper, or else this one.
pub(crate) fn first() -> i32 {
    let own = || rustix::process::getpid().as_raw_nonzero().get();
    KEEPER.get().copied().unwrap_or_else(own)
}

/// Whether we have the terminal behind stdin: the system stops whoever changes another's.
pub fn is_in_front() -> bool {
    is_in_front_of(rustix::stdio::stdin())
}

fn is_in_front_of(terminal: impl std::os::fd::AsFd) -> bool {
    let front = rustix::termios::tcgetpgrp(terminal);
    let own = crate::table::own();
    own.is_some_and(|own| front.is_ok_and(|front| front.as_raw_nonzero().get() == own.group))
}

/// Whether there is a shell above us that would let us go on if we stopped: somebody in our
/// session and not in our group. The system itself stops nobody else.
pub fn has_shell() -> bool {
    let Ok(table) = crate::table::Table::read() else {
        return true;
    };
    let find = |pid: i32| table.entries().find(|entry| entry.id.pid == pid);
    let Some(first) = find(first()) else {
        return true;
    };
    let mut at = first;
    for _ in 0..crate::limits::ANCESTORS {
        let Some(parent) = find(at.parent) else {
            return false;
        };
        if parent.session != first.session {
            return false;
        }
        if parent.group != first.group {
            return true;
        }
        at = parent;
    }
    false
}

impl Kept {
    /// The keeper's process number; `None` where there is no keeper.
    pub fn keeper_pid(&self) -> Option<u32> {
        self.keeper
    }

    /// The program was told to ignore SIGHUP (`nohup`), and should not catch it
    /// then.
    pub fn ignores_hangup(&self) -> bool {
        self.ignores_hangup
    }

    /// For the end of the program, after its servers were stopped: kills all
    /// that is left below us, and lets no further server start. Returns how
    /// many could not be killed.
    pub fn kill_all(&self) -> usize {
        crate::descendants::kill_all()
    }
}

#[cfg(target_os = "linux")]
fn refused<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> KeeperError {
    move |source| KeeperError::System {
        what,
        source: source.into(),
    }
}

/// Started through `/proc/self/exe`, we would be listed as `exe`.
#[cfg(target_os = "linux")]
fn take_own_name() {
    let own = std::env::args_os().next();
    if let Some(name) = own
        .as_deref()
        .map(std::path::Path::new)
        .and_then(std::path::Path::file_name)
    {
        #[expect(clippy::disallowed_methods, reason = "the kernel's own file")]
        let _ = std::fs::write("/proc/self/comm", name.as_encoded_bytes());
    }
}
