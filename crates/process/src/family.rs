//! All processes of one server: its leader, the leader's group, and what left
//! the group (called `setsid`) but was started by it.
//!
//! Nothing here may ever hit a stranger. A number is only trusted while it
//! cannot have been given to someone else: the leader stays unreaped, and so
//! keeps the group's number, as long as anyone else is in the group; everyone
//! else is known by number and start time.

use std::collections::HashSet;
use std::time::Instant;

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, test_kill_process_group, waitid,
};

use crate::exit::Exit;
use crate::kin::Search;
use crate::limits;
use crate::registry;
use crate::table::{self, Entry, ProcessId, Table};
use crate::tag::Tag;

/// One server's processes.
#[derive(Debug)]
pub(crate) struct Family {
    leader: Pid,
    leader_started: u64,
    tag: Tag,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    leader: Leader,
    /// The group's number is still the group's.
    owns_group: bool,
    /// Everyone seen so far who still lives. Kept, because whoever loses both
    /// its parent and its tag could not be found a second time.
    known: HashSet<ProcessId>,
}

#[derive(Clone, Copy, Debug)]
enum Leader {
    Running,
    /// Ended, and left unreaped so that its number stays taken.
    Ended(Exit),
    Reaped(Exit),
}

/// Who of a family is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Someone in the group.
    Group,
    /// Only some that have left the group.
    Outsiders,
    /// No one.
    Gone,
}

impl Family {
    /// The family of a process that was just started as a group leader.
    pub(crate) fn new(leader: Pid, tag: Tag) -> Self {
        let pid = leader.as_raw_nonzero().get();
        registry::add(pid);
        Self {
            leader,
            leader_started: table::started(pid).unwrap_or_default(),
            tag,
            state: Mutex::new(State {
                leader: Leader::Running,
                owns_group: true,
                known: HashSet::new(),
            }),
        }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.leader.as_raw_nonzero().get()
    }

    /// How the leader ended, if it has. Does not reap it.
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.state.lock().exit(self.leader)
    }

    /// Who is alive. Reaps the leader once it is the last of its group, and
    /// those of the family that became our children.
    pub(crate) fn presence(&self) -> Presence {
        let mut state = self.state.lock();
        if state.exit(self.leader).is_none() {
            return Presence::Group;
        }
        // A process that starts another and ends while the table is read may be in it as
        // dead, and the other not at all. So nobody counts as gone before a look in which
        // none has ended who had not ended in the look before.
        let mut ended_before = HashSet::new();
        for _ in 0..limits::LOOKS_FOR_THE_LAST {
            let buried = registry::buried();
            let Ok(table) = Table::read() else {
                return state.presence_by_group(self.leader);
            };
            let look = self.members(&mut state, &table);
            let in_group = |member: &Entry| member.group == self.pid();
            if state.owns_group && look.living.iter().any(in_group) {
                return Presence::Group;
            }
            state.reap(self.leader);
            state.owns_group = false;
            if !look.living.is_empty() {
                return Presence::Outsiders;
            }
            let is_still = look.ended.is_subset(&ended_before) && registry::buried() == buried;
            if is_still && !look.missed_someone {
                return Presence::Gone;
            }
            ended_before = look.ended;
        }
        Presence::Outsiders
    }

    /// Looks who belongs to the family, so that they are known later.
    pub(crate) fn remember(&self) {
        if let Ok(table) = Table::read() {
            self.members(&mut self.state.lock(), &table);
        }
    }

    /// Sends a signal to the group.
    pub(crate) fn signal_group(&self, signal: Signal) {
        let state = self.state.lock();
        if state.owns_group {
            // A group of none, or of processes that are not ours to signal.
            let _ = kill_process_group(self.leader, signal);
        }
    }

    /// Kills everyone, and looks again at once until nobody new is found: somebody
    /// who starts another and ends would be gone by the next time.
    pub(crate) fn kill_all(&self) {
        let give_up = Instant::now() + limits::NEW_FACES;
        let mut met = HashSet::new();
        loop {
            let found = self.signal_all(Signal::KILL);
            let news = found.into_iter().filter(|id| met.insert(*id)).count();
            if news == 0 || Instant::now() >= give_up {
                return;
            }
        }
    }

    /// Sends a signal to everyone. Says who that was.
    pub(crate) fn signal_all(&self, signal: Signal) -> Vec<ProcessId> {
        let mut state = self.state.lock();
        let state = &mut *state;
        // First look, then signal: once parents die, the untagged are lost.
        let members = match Table::read() {
            Ok(table) => self.members(state, &table).living,
            Err(_) => Vec::new(),
        };
        if state.owns_group {
            let _ = kill_process_group(self.leader, signal);
        }
        for member in &members {
            if !(state.owns_group && member.group == self.pid()) {
                table::signal(member.id, signal);
            }
        }
        members.iter().map(|member| member.id).collect()
    }

    /// The numbers of all that live.
    pub(crate) fn living(&self, table: &Table) -> Vec<i32> {
        let members = self.members(&mut self.state.lock(), table).living;
        members.iter().map(|member| member.id.pid).collect()
    }

    /// Leaves the leader to be reaped by whoever passes by.
    pub(crate) fn abandon(&self) {
        let mut state = self.state.lock();
        if state.exit(self.leader).is_some() {
            state.reap(self.leader);
        } else {
            registry::abandon(self.pid());
        }
    }

    /// Finds the members.
    fn members(&self, state: &mut State, table: &Table) -> Look {
        let search = Search {
            leader: self.pid(),
            owns_group: state.owns_group,
            known: &state.known,
            tag: &self.tag,
            not_before: self.leader_started,
        };
        let kin = search.among(table);
        let me = rustix::process::getpid().as_raw_nonzero().get();
        let (dead, living): (Vec<_>, Vec<_>) =
            kin.members.into_iter().partition(|member| member.is_zombie);
        for member in dead {
            if member.parent == me && member.id.pid != self.pid() {
                reap_adopted(member.id.pid);
            }
        }
        state.known = living.iter().map(|member| member.id).collect();
        Look {
            living,
            missed_someone: kin.missed_someone,
            ended: kin.ended,
        }
    }
}

/// What one look at the machine's processes shows of a family.
struct Look {
    /// Those of it that live, parents first.
    living: Vec<Entry>,
    /// See [`Kin`](crate::kin::Kin).
    missed_someone: bool,
    /// Likewise.
    ended: HashSet<ProcessId>,
}

impl State {
    fn exit(&mut self, leader: Pid) -> Option<Exit> {
        if let Leader::Running = self.leader {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            match waitid(WaitId::Pid(leader), options) {
                Ok(Some(status)) => self.leader = Leader::Ended(Exit::of(&status)),
                // Someone else has waited for it; its number is no longer safe.
                Err(Errno::CHILD) => {
                    self.leader = Leader::Reaped(Exit::Unknown);
                    self.owns_group = false;
                    registry::remove(leader.as_raw_nonzero().get());
                }
                Ok(None) | Err(_) => {}
            }
        }
        match self.leader {
            Leader::Running => None,
            Leader::Ended(exit) | Leader::Reaped(exit) => Some(exit),
        }
    }

    fn reap(&mut self, leader: Pid) {
        if let Leader::Ended(exit) = self.leader {
            // It has ended, so this does not wait.
            let _ = waitid(
                WaitId::Pid(leader),
                WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
            );
            self.leader = Leader::Reaped(exit);
            registry::remove(leader.as_raw_nonzero().get());
        }
    }

    /// Where processes cannot be listed: the dead leader counts as a member of
    /// its group until reaped, so reap it and ask whether a group is left.
    fn presence_by_group(&mut self, leader: Pid) -> Presence {
        self.reap(leader);
        self.owns_group &= test_kill_process_group(leader) != Err(Errno::SRCH);
        if self.owns_group {
            Presence::Group
        } else {
            Presence::Gone
        }
    }
}

fn reap_adopted(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = waitid(
            WaitId::Pid(pid),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
        );
    }
}
