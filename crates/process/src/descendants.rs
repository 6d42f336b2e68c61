//! Everything below us: killed when we end, and buried when it has died.
//!
//! Only for a process that owns all its descendants: the keeper and the
//! worker, which adopt orphans (they are child subreapers).

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process_group, waitid};

use crate::table::{self, Entry, ProcessId, Table};
use crate::{limits, registry};

/// Kills every descendant of this process with SIGKILL, again and again until
/// none is left, and lets no further server start. Returns how many are left
/// in the end: none, unless some cannot be killed.
///
/// For the end of the program: statuses of all children are collected, so
/// nobody else can wait for them any more.
pub(crate) fn kill_all() -> usize {
    registry::begin_end();
    kill_all_except(&HashSet::new())
}

/// Like [`kill_all`], but spares these and all below them.
pub(crate) fn kill_all_except(spared: &HashSet<ProcessId>) -> usize {
    let me = getpid().as_raw_nonzero().get();
    let mut known = HashSet::new();
    let mut patience = Patience::new();
    let mut pause = limits::DEATH_LOOK;
    loop {
        if bury_all().0 == Family::Childless {
            return 0;
        }
        let left = match Table::read() {
            Ok(table) => {
                let living: Vec<Entry> = table
                    .descendants_of(me, spared)
                    .into_iter()
                    .filter(|entry| !entry.is_zombie)
                    .copied()
                    .collect();
                kill(&living);
                // New faces: someone forks while being killed. Be quicker.
                if living.iter().any(|entry| known.insert(entry.id)) {
                    pause = limits::DEATH_LOOK;
                    patience.renew();
                }
                patience.looked();
                living.len()
            }
            // No descriptors to look with: the groups we know ourselves.
            Err(_) => kill_groups(),
        };
        // Whoever ended while the table was read may have left a child that is not in it.
        let nobody = left == 0 && !spared.is_empty() && bury_all().1 == 0;
        if nobody || patience.is_over() {
            return left;
        }
        #[expect(clippy::disallowed_methods, reason = "the process is ending")]
        std::thread::sleep(pause);
        pause = (pause * 2).min(limits::LONGEST_DEATH_LOOK);
    }
}

/// When those who are still there count as unkillable. Not by the clock alone: on a machine
/// that is busy enough one look may take as long as that, and whoever changed parents while
/// it was taken is in none but the next.
struct Patience {
    since: Instant,
    looks: u32,
    end: Instant,
}

impl Patience {
    fn new() -> Self {
        let now = Instant::now();
        Self {
            since: now,
            looks: 0,
            end: now + limits::KILLING,
        }
    }

    /// Somebody was found who had not been killed before.
    fn renew(&mut self) {
        self.since = Instant::now();
        self.looks = 0;
    }

    fn looked(&mut self) {
        self.looks += 1;
    }

    fn is_over(&self) -> bool {
        let now = Instant::now();
        let in_vain = self.looks >= limits::UNKILLABLE_LOOKS
            && now.duration_since(self.since) >= limits::UNKILLABLE_AFTER;
        in_vain || now >= self.end
    }
}

/// Whether any child is left, dead or alive. A process that adopts orphans and
/// has no child has no descendant.
#[derive(PartialEq, Eq)]
enum Family {
    Childless,
    Some,
}

/// Collects the status of every dead child, and says how many there were.
fn bury_all() -> (Family, usize) {
    let mut buried = 0;
    loop {
        match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) => buried += 1,
            Err(Errno::INTR) => {}
            Ok(None) => return (Family::Some, buried),
            Err(_) => return (Family::Childless, buried),
        }
    }
}

/// Kills these, given parents first. Whole groups come before single ones: a
/// group is killed in one step that no fork can slip through.
fn kill(living: &[Entry]) {
    let pids: HashSet<i32> = living.iter().map(|entry| entry.id.pid).collect();
    let ours = table::own().map(|own| own.group);
    let mut groups = HashSet::new();
    for entry in living {
        // Led by one of them, so made by them, so with none but them in it.
        let is_theirs = pids.contains(&entry.group) && Some(entry.group) != ours;
        if is_theirs
            && groups.insert(entry.group)
            && let Some(group) = Pid::from_raw(entry.group)
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
    for entry in living {
        table::signal(entry.id, Signal::KILL);
    }
}

fn kill_groups() -> usize {
    let leaders = registry::leaders();
    for leader in leaders.iter().copied().filter_map(Pid::from_raw) {
        let _ = kill_process_group(leader, Signal::KILL);
    }
    leaders.len()
}

/// Collects the statuses of dead children that were never ours to begin with:
/// orphans that we adopted. Those that someone here waits for are left alone.
#[derive(Default)]
pub(crate) struct Undertaker {
    seen: HashMap<ProcessId, Instant>,
}

impl Undertaker {
    /// Looks once. Says when to look again, if some are left that will be due.
    pub(crate) fn sweep(&mut self) -> Option<Duration> {
        registry::reap_abandoned();
        let Ok(table) = Table::read() else {
            return Some(limits::ORPHANED_AFTER);
        };
        let now = Instant::now();
        let me = getpid().as_raw_nonzero().get();
        let our_group = table::own().map(|own| own.group);
        let mut waiting = HashMap::new();
        for dead in table.children_of(me).filter(|child| child.is_zombie) {
            if registry::is_leader(dead.id.pid) {
                continue;
            }
            let since = self.seen.get(&dead.id).copied().unwrap_or(now);
            // What this program starts by other means than as a server is
            // mostly in our group, and someone may be about to wait for it.
            let is_orphan = if Some(dead.group) == our_group {
                now.duration_since(since) >= limits::FORGOTTEN_AFTER
            } else {
                registry::is_leader(dead.group)
                    || now.duration_since(since) >= limits::ORPHANED_AFTER
            };
            if is_orphan && let Some(pid) = Pid::from_raw(dead.id.pid) {
                registry::bury();
                let _ = waitid(
                    WaitId::Pid(pid),
                    WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
                );
            } else {
                waiting.insert(dead.id, since);
            }
        }
        self.seen = waiting;
        (!self.seen.is_empty()).then_some(limits::ORPHANED_AFTER)
    }
}
