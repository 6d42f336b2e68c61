//! The server processes that this program has started itself.
//!
//! Two questions are answered here: may anything still be started (not once
//! the end has begun, or the end would never come), and is a dead child of
//! ours one that its owner will wait for.

use crate::limits;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Whether the end has begun. Read-locked for as long as a start takes.
static ENDING: RwLock<bool> = RwLock::new(false);

static CHILDREN: Mutex<Children> = Mutex::new(Children {
    leaders: None,
    abandoned: Vec::new(),
});

static BURIED: AtomicUsize = AtomicUsize::new(0);

struct Children {
    /// Leaders whose owner waits for them. (`None`: the empty set.)
    leaders: Option<HashSet<i32>>,
    /// Leaders that were killed and whose owner is gone.
    abandoned: Vec<i32>,
}

/// Permission to start one process, held while it starts.
pub(crate) struct Permit(
    #[expect(dead_code, reason = "held, and never looked at")] RwLockReadGuard<'static, bool>,
);

/// Asks for permission to start a process.
pub(crate) fn permit() -> Option<Permit> {
    let ending = ENDING.read();
    (!*ending).then_some(Permit(ending))
}

/// From now on nothing is started. Waits a little for starts under way; one
/// that hangs (a dead file server) must not keep us from ending.
pub(crate) fn begin_end() {
    if let Some(mut ending) = ENDING.try_write_for(limits::STARTS_HELD) {
        *ending = true;
    }
}

/// Notes a leader that its owner will wait for.
pub(crate) fn add(leader: i32) {
    let mut children = CHILDREN.lock();
    children.leaders.get_or_insert_default().insert(leader);
    children.reap_abandoned();
}

/// The leader has been waited for.
pub(crate) fn remove(leader: i32) {
    if let Some(leaders) = &mut CHILDREN.lock().leaders {
        leaders.remove(&leader);
    }
}

/// The leader was killed, but had not died yet when its owner went.
pub(crate) fn abandon(leader: i32) {
    CHILDREN.lock().abandoned.push(leader);
}

/// Whether this is a leader that is, or may be, waited for.
pub(crate) fn is_leader(pid: i32) -> bool {
    CHILDREN
        .lock()
        .leaders
        .as_ref()
        .is_some_and(|leaders| leaders.contains(&pid))
}

/// All leaders that have not been waited for.
pub(crate) fn leaders() -> Vec<i32> {
    CHILDREN.lock().leaders.iter().flatten().copied().collect()
}

/// How many adopted orphans were buried so far. Who counts before and after a look at the
/// processes knows whether somebody may have ended and left the table in between.
pub(crate) fn buried() -> usize {
    BURIED.load(Ordering::SeqCst)
}

/// Notes that one is about to be buried.
pub(crate) fn bury() {
    BURIED.fetch_add(1, Ordering::SeqCst);
}

/// Waits for abandoned leaders that have died by now.
pub(crate) fn reap_abandoned() {
    CHILDREN.lock().reap_abandoned();
}

impl Children {
    fn reap_abandoned(&mut self) {
        let leaders = &mut self.leaders;
        self.abandoned.retain(|pid| {
            let is_running = is_running(*pid);
            if !is_running && let Some(leaders) = leaders {
                leaders.remove(pid);
            }
            is_running
        });
    }
}

/// Whether a child still runs; if it has ended, collects its status.
fn is_running(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| {
        matches!(
            waitid(
                WaitId::Pid(pid),
                WaitIdOptions::EXITED | WaitIdOptions::NOHANG
            ),
            Ok(None)
        )
    })
}
