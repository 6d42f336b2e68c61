//! Processes of servers that nobody looks after any more. There should be none:
//! this is for telling a person, not for cleaning up.

use crate::{table::Table, tag};
use std::{
    collections::{HashMap, HashSet},
    fs, io,
};

/// A process of a server of ours whose starter is gone, with all that started it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// Its number.
    pub pid: i32,
    /// What it calls itself.
    pub name: String,
}

/// Looks for them among the processes whose environment we may see: the user's own.
pub fn orphans() -> io::Result<Vec<Orphan>> {
    let table = Table::read()?;
    let parents: HashMap<i32, i32> = table
        .entries()
        .map(|entry| (entry.id.pid, entry.parent))
        .collect();
    let tagged: HashSet<i32> = table
        .entries()
        .filter(|entry| !entry.is_zombie && is_tagged(entry.id.pid))
        .map(|entry| entry.id.pid)
        .collect();
    let orphaned = |pid: &i32| {
        let mut at = *pid;
        // The table is not read in one instant, so it could hold a loop.
        for _ in 0..parents.len() {
            match parents.get(&at) {
                Some(parent) if tagged.contains(parent) => at = *parent,
                Some(parent) => return takes_in_orphans(*parent),
                None => return true,
            }
        }
        false
    };
    let mut found: Vec<i32> = tagged.iter().copied().filter(|pid| orphaned(pid)).collect();
    found.sort_unstable();
    let each = found.into_iter().map(|pid| Orphan {
        pid,
        name: name(pid),
    });
    Ok(each.collect())
}

fn is_tagged(pid: i32) -> bool {
    fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| carries_tag(&environ))
}

/// Whether a process is one that is given the children of those that died.
fn takes_in_orphans(pid: i32) -> bool {
    pid <= 1 || name(pid) == "systemd"
}

fn carries_tag(environ: &[u8]) -> bool {
    environ
        .split(|byte| *byte == 0)
        .filter_map(|pair| pair.strip_prefix(tag::VARIABLE.as_bytes()))
        .any(|rest| rest.starts_with(b"="))
}

fn name(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm"));
    name.map(|name| name.trim_end().to_owned())
        .unwrap_or_default()
}
