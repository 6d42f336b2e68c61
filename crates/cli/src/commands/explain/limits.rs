//! The part of `explain` and `doctor` that is about what a server may use, and who sees
//! to that where this program runs.

use switchboard::{
    config::{Caps, Entry, Transport},
    process::{Holding, holding},
};

/// What there is to know about the limits of an entry; nothing where it has none.
pub fn note(entry: &Entry) -> Option<String> {
    let caps = entry.limits;
    if caps == Caps::default() {
        return None;
    }
    if entry.transport != Transport::Stdio {
        return Some("limits count for programs only: it is none that we start".to_owned());
    }
    let memory = caps
        .memory
        .map(|bytes| format!("{} MiB of memory", bytes.div_ceil(1 << 20)));
    let cpu = caps
        .cpu
        .map(|cpu| format!("{} of a processor core", f64::from(cpu) / 1000.0));
    let processes = caps
        .processes
        .map(|processes| format!("{processes} processes"));
    let all: Vec<String> = [memory, cpu, processes].into_iter().flatten().collect();
    let may = format!("limits: it may use {}", all.join(", "));
    Some(match holding() {
        Holding::Kernel => format!(
            "{may}; the kernel holds it to them (cgroup v2), and it is ended when it uses more"
        ),
        Holding::Looking(why) => format!(
            "{may}; it is looked at every second, and ended when it uses more{}. The kernel does \
             not hold it to them here: {why}",
            match caps.cpu {
                Some(_) => " (of the processor: for 10 s), not slowed down",
                None => "",
            }
        ),
        Holding::Nobody => {
            format!("{may}; nothing on this system holds it to them, so they do not count")
        }
    })
}

/// Whether all of it counts as it is meant.
pub fn counts(entry: &Entry) -> bool {
    match holding() {
        Holding::Kernel => true,
        Holding::Looking(_) => entry.limits.cpu.is_none(),
        Holding::Nobody => false,
    }
}
