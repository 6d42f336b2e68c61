//! The machine's processes at one moment: who is whose child.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::Duration;

#[cfg(target_os = "linux")]
#[path = "table/linux.rs"]
mod system;
#[cfg(not(target_os = "linux"))]
#[path = "table/other.rs"]
mod system;

#[cfg(target_os = "linux")]
pub(crate) use system::TICKS_PER_SECOND;
pub(crate) use system::{adopts_orphans, mark, share_of_memory, signal, usage};

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProcessId {
    /// Its number.
    pub(crate) pid: i32,
    /// When it started, in the kernel's clock ticks.
    pub(crate) started: u64,
}

/// Whose a process is, by the tag in its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It carries the tag.
    Ours,
    /// It carries another, or none.
    Other,
    /// It ended, or became another program, before it could be asked.
    Vanished,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) id: ProcessId,
    pub(crate) parent: i32,
    pub(crate) group: i32,
    /// Its session: the number of the process that leads it.
    pub(crate) session: i32,
    /// It has ended, and waits for its parent to ask how.
    pub(crate) is_zombie: bool,
}

/// All processes that we can see.
#[derive(Debug)]
pub(crate) struct Table {
    entries: Vec<Entry>,
    children: HashMap<i32, Vec<usize>>,
}

impl Table {
    /// Looks now. Where the system does not show its processes, an error.
    pub(crate) fn read() -> io::Result<Self> {
        Ok(Self::of(system::entries()?))
    }

    fn of(entries: Vec<Entry>) -> Self {
        let mut children: HashMap<i32, Vec<usize>> = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            children.entry(entry.parent).or_default().push(index);
        }
        Self { entries, children }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    /// The children of `pid`.
    pub(crate) fn children_of(&self, pid: i32) -> impl Iterator<Item = &Entry> {
        self.children
            .get(&pid)
            .into_iter()
            .flatten()
            .map(|index| &self.entries[*index])
    }

    /// Everything below `root`, parents before their children: killed in this
    /// order, a supervisor cannot start its children anew. Nothing at or below
    /// `except` is listed.
    pub(crate) fn descendants_of(&self, root: i32, except: &HashSet<ProcessId>) -> Vec<&Entry> {
        let mut found: Vec<&Entry> = Vec::new();
        // The table is not read in one instant, so it could hold a loop.
        let mut seen = HashSet::from([root]);
        let mut parents = vec![root];
        while !parents.is_empty() {
            let next: Vec<&Entry> = parents
                .iter()
                .flat_map(|parent| self.children_of(*parent))
                .filter(|child| !except.contains(&child.id) && seen.insert(child.id.pid))
                .collect();
            parents = next.iter().map(|child| child.id.pid).collect();
            found.extend(next);
        }
        found
    }
}

/// Our own row, where the system shows it.
///
/// Asked for our group or session, the kernel answers 0 when the leader is
/// outside of our container (`docker exec`): no process number, which is why
/// they are read here rather than with calls that promise one.
pub(crate) fn own() -> Option<Entry> {
    system::entry(rustix::process::getpid().as_raw_nonzero().get())
}

/// How long the process with this number has been there, if there is one and that is known.
pub(crate) fn age(pid: i32) -> Option<Duration> {
    system::age(started(pid)?)
}

/// When the process with this number started, if there is one.
pub(crate) fn started(pid: i32) -> Option<u64> {
    system::entry(pid).map(|entry| entry.id.started)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(pid: i32, parent: i32) -> Entry {
        Entry {
            id: ProcessId { pid, started: 0 },
            parent,
            group: pid,
            session: pid,
            is_zombie: false,
        }
    }

    #[test]
    fn descendants_come_parents_first_without_the_excepted_branch() {
        let table = Table::of(vec![
            entry(9, 5),
            entry(5, 2),
            entry(2, 1),
            entry(3, 1),
            entry(4, 3),
            entry(7, 6),
            entry(6, 7),
        ]);
        let except = HashSet::from([ProcessId { pid: 3, started: 0 }]);
        let pids: Vec<i32> = table
            .descendants_of(1, &except)
            .iter()
            .map(|entry| entry.id.pid)
            .collect();
        assert_eq!(pids, [2, 5, 9]);
        assert_eq!(
            table.descendants_of(6, &HashSet::new()).len(),
            1,
            "a loop ends"
        );
    }
}
