//! Processes of servers that nobody looks after any more. There should be none:
//! this is for telling a person, not for cleaning up.

use super::{table::Table, tag};
use std::{collections::HashMap, fs, io};

/// A process that was started by a server of ours, and whose Switchboard is gone.
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
    let mut found = Vec::new();
    for entry in table.entries().filter(|entry| !entry.is_zombie) {
        let pid = entry.id.pid;
        let tagged =
            fs::read(format!("/proc/{pid}/environ")).is_ok_and(|environ| carries_tag(&environ));
        if tagged && !is_looked_after(pid, &parents) {
            let name = name(pid);
            found.push(Orphan { pid, name });
        }
    }
    Ok(found)
}

fn carries_tag(environ: &[u8]) -> bool {
    environ
        .split(|byte| *byte == 0)
        .filter_map(|pair| pair.strip_prefix(tag::VARIABLE.as_bytes()))
        .any(|rest| rest.starts_with(b"="))
}

/// Whether a Switchboard is above it, or it is one itself.
fn is_looked_after(pid: i32, parents: &HashMap<i32, i32>) -> bool {
    let mut at = pid;
    // The table is not read in one instant, so it could hold a loop.
    for _ in 0..parents.len() {
        if name(at) == "switchboard" {
            return true;
        }
        match parents.get(&at) {
            Some(parent) => at = *parent,
            None => return false,
        }
    }
    false
}

fn name(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm"));
    name.map(|name| name.trim_end().to_owned())
        .unwrap_or_default()
}
