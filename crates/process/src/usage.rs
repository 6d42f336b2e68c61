//! What processes use of the machine: memory and processor time of a server with all
//! that it started, and of this program.

use std::{collections::HashSet, time::Duration};

use crate::table::{self, Table};

/// What a process uses, or several together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How many processes there are.
    pub processes: usize,
    /// Bytes of memory that are theirs now.
    pub memory: u64,
    /// Processor time that they have used so far, with that of processes below them
    /// that have ended.
    pub processor: Duration,
}

impl Usage {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            processes: self.processes + other.processes,
            memory: self.memory + other.memory,
            processor: self.processor + other.processor,
        }
    }
}

/// What this process itself uses, without its servers.
pub fn own_usage() -> Usage {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    table::usage(me, false).unwrap_or_default()
}

/// What each of these uses with everything below it; nothing where it has ended, or
/// the system does not say. Looks at the machine's processes once: call it where
/// waiting does no harm.
pub fn usage_of(leaders: &[u32]) -> Vec<Usage> {
    let Ok(table) = Table::read() else {
        return vec![Usage::default(); leaders.len()];
    };
    let of = |leader: &u32| {
        let Ok(leader) = i32::try_from(*leader) else {
            return Usage::default();
        };
        let below = table.descendants_of(leader, &HashSet::new());
        let below = below.into_iter().map(|entry| entry.id.pid);
        let all = std::iter::once(leader).chain(below);
        all.filter_map(|pid| table::usage(pid, true))
            .fold(Usage::default(), Usage::and)
    };
    leaders.iter().map(of).collect()
}

/// How long each of these has been there; nothing where it has ended, or the system does
/// not say.
pub fn age_of(leaders: &[u32]) -> Vec<Option<Duration>> {
    let age = |leader: &u32| table::age(i32::try_from(*leader).ok()?);
    leaders.iter().map(age).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_process_counts_with_what_it_started() {
        let own = own_usage();
        assert_eq!(own.processes, 1);
        assert!(own.memory > 100_000, "{own:?}");
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 60 & sleep 60"])
            .spawn()
            .unwrap();
        let age = age_of(&[shell.id(), 0]);
        assert!(age[0].is_some_and(|age| age.as_secs() < 60), "{age:?}");
        assert_eq!(age[1], None);
        let all = loop {
            let found = usage_of(&[shell.id(), 0])[0];
            if found.processes == 3 {
                break found;
            }
            std::thread::yield_now();
        };
        assert!(all.memory > 0);
        let below = Table::read().unwrap();
        let below = below.descendants_of(shell.id().cast_signed(), &HashSet::new());
        for child in below {
            table::signal(child.id, rustix::process::Signal::KILL);
        }
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert_eq!(usage_of(&[shell.id()])[0], Usage::default());
    }
}
