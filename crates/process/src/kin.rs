//! Finding a server's processes among all others.

use std::collections::HashSet;

use crate::registry;
use crate::table::{self, Entry, Mark, ProcessId, Table};
use crate::tag::Tag;

/// What is known about a family before the search.
pub(super) struct Search<'a> {
    /// The leader, whose number is the group's while `owns_group`.
    pub(super) leader: i32,
    pub(super) owns_group: bool,
    /// Those found before.
    pub(super) known: &'a HashSet<ProcessId>,
    /// What all of them carry, unless they rid themselves of it.
    pub(super) tag: &'a Tag,
    /// When the leader started; nobody of the family is older.
    pub(super) not_before: u64,
}

/// What was found.
pub(super) struct Kin {
    /// Parents before their children, zombies too.
    pub(super) members: Vec<Entry>,
    /// Someone was gone before it could be asked whose it is. It may have been
    /// one of ours, and may have left a child.
    pub(super) missed_someone: bool,
    /// Those who have ended and were ours to bury, whosever they were: one that ended
    /// while the table was read may have left a child that is not in it.
    pub(super) ended: HashSet<ProcessId>,
}

impl Search<'_> {
    /// Looks through the table.
    pub(super) fn among(&self, table: &Table) -> Kin {
        let me = rustix::process::getpid().as_raw_nonzero().get();
        let mut kin = Gathering {
            table,
            me,
            found: HashSet::new(),
            members: Vec::new(),
        };
        for entry in table.entries() {
            let in_group = self.owns_group && entry.group == self.leader;
            if in_group || self.known.contains(&entry.id) {
                kin.add(entry);
            }
        }
        let adopts = table::adopts_orphans();
        let mut missed_someone = false;
        let mut ended = HashSet::new();
        for entry in self.strangers(table, me, adopts) {
            if adopts && entry.is_zombie && entry.parent == me {
                ended.insert(entry.id);
            }
            // Reading an environment costs something: only of those who can be it.
            let can_be = !entry.is_zombie && entry.id.started >= self.not_before;
            if !can_be || kin.found.contains(&entry.id.pid) {
                continue;
            }
            match table::mark(entry.id, self.tag) {
                Mark::Ours => kin.add(entry),
                Mark::Other => {}
                // Where orphans are not ours, anyone on the machine can vanish.
                Mark::Vanished => missed_someone |= adopts,
            }
        }
        let mut members = kin.members;
        members.sort_by_key(|member| (member.id.started, member.id.pid));
        Kin {
            members,
            missed_someone,
            ended,
        }
    }

    /// Those whose ancestry does not tell whose they are.
    fn strangers<'t>(&self, table: &'t Table, me: i32, adopts: bool) -> Vec<&'t Entry> {
        if !adopts {
            return table.entries().collect();
        }
        // What has a living leader above it is that leader's.
        let led = table
            .children_of(me)
            .filter(|child| registry::is_leader(child.id.pid))
            .map(|child| child.id)
            .collect();
        table.descendants_of(me, &led)
    }
}

struct Gathering<'t> {
    table: &'t Table,
    me: i32,
    found: HashSet<i32>,
    members: Vec<Entry>,
}

impl Gathering<'_> {
    /// Adds one and all below it.
    fn add(&mut self, entry: &Entry) {
        if entry.id.pid == self.me || !self.found.insert(entry.id.pid) {
            return;
        }
        self.members.push(*entry);
        for below in self.table.descendants_of(entry.id.pid, &HashSet::new()) {
            if self.found.insert(below.id.pid) {
                self.members.push(*below);
            }
        }
    }
}
