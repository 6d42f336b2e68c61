//! The process table of Linux: `/proc`.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::{Entry, Mark, ProcessId};
use crate::{limits, tag::Tag, usage::Usage};

/// The unit of start times; the same on every architecture that we run on.
// tidy: a unit, not a cap
pub(crate) const TICKS_PER_SECOND: u64 = 100;

const MOST_NEW: i32 = 1000;

/// All processes. Reading them takes time, in which one may start another and
/// end; so those who started meanwhile are looked at too, until there is none.
pub(super) fn entries() -> io::Result<Vec<Entry>> {
    let mut last = last_pid();
    let mut found = Vec::new();
    for file in fs::read_dir("/proc")? {
        let name = file?.file_name();
        if let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) {
            found.extend(read_unless_gone(pid)?);
        }
    }
    let mut seen: HashSet<i32> = found.iter().map(|entry| entry.id.pid).collect();
    // On a machine where this many start one after the other, enough is enough.
    for _ in 0..limits::NEWCOMER_ROUNDS {
        let now = last_pid();
        let (Some(from), Some(to)) = (last, now) else {
            break;
        };
        if from == to {
            break;
        }
        last = now;
        for pid in since(from, to) {
            if is_process(pid) && seen.insert(pid) {
                found.extend(read_unless_gone(pid)?);
            }
        }
    }
    Ok(found)
}

/// The number that was given out last.
fn last_pid() -> Option<i32> {
    let mut line = [0; 128];
    let length = File::open("/proc/loadavg").ok()?.read(&mut line).ok()?;
    let text = std::str::from_utf8(&line[..length]).ok()?;
    text.split_ascii_whitespace().last()?.parse().ok()
}

/// The numbers given out after `from`, up to `to`. Numbers begin anew after
/// the highest; of that rare moment only the beginning is looked at.
fn since(from: i32, to: i32) -> std::ops::RangeInclusive<i32> {
    let first = if to > from { from + 1 } else { 1 };
    first.max(to.saturating_sub(MOST_NEW))..=to
}

/// Threads have numbers too, and files under them, but are not listed.
fn is_process(pid: i32) -> bool {
    let own = format!("Tgid:\t{pid}");
    fs::read_to_string(format!("/proc/{pid}/status"))
        .is_ok_and(|status| status.lines().any(|line| line == own))
}

fn read_unless_gone(pid: i32) -> io::Result<Option<Entry>> {
    match read_stat(pid) {
        // Without descriptors the table would look empty: say so instead.
        Err(error) if is_limit(&error) => Err(error),
        read => Ok(read.ok().flatten()),
    }
}

pub(super) fn entry(pid: i32) -> Option<Entry> {
    read_stat(pid).ok().flatten()
}

/// Whether the process carries the tag in its environment.
pub(crate) fn mark(id: ProcessId, tag: &Tag) -> Mark {
    let is_there = || entry(id.pid).is_some_and(|now| now.id == id && !now.is_zombie);
    for _ in 0..3 {
        let mut environ = Vec::new();
        let read = File::open(format!("/proc/{}/environ", id.pid)).and_then(|file| {
            file.take(limits::ENVIRONMENT_BYTES)
                .read_to_end(&mut environ)
        });
        match read {
            _ if tag.is_in(&environ) => return Mark::Ours,
            Ok(length) if length > 0 => return Mark::Other,
            _ if !is_there() => return Mark::Vanished,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Mark::Other,
            // It has none; or it is just becoming another program, or ending.
            #[expect(clippy::disallowed_methods, reason = "nobody else has this thread")]
            _ => std::thread::sleep(limits::BECOMING_PAUSE),
        }
    }
    if is_young(id) {
        Mark::Vanished
    } else {
        Mark::Other
    }
}

/// Whether it started within the last second. One that has shown nothing for
/// longer has nothing to show.
fn is_young(id: ProcessId) -> bool {
    age(id.started).is_none_or(|age| age.as_secs() <= 1)
}

/// How long ago that was, in the unit of start times.
pub(super) fn age(started: u64) -> Option<Duration> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let seconds: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    let started = Duration::from_millis(started * 1000 / TICKS_PER_SECOND);
    let uptime = Duration::try_from_secs_f64(seconds).ok()?;
    Some(uptime.saturating_sub(started))
}

/// Whether orphans below us become our children.
pub(crate) fn adopts_orphans() -> bool {
    matches!(rustix::process::child_subreaper(), Ok(Some(_)))
}

/// Sends a signal to exactly this process, never to a later one that got its
/// number. False when it is gone.
pub(crate) fn signal(id: ProcessId, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(id.pid) else {
        return false;
    };
    let is_same = || entry(id.pid).is_some_and(|now| now.id == id);
    match pidfd_open(pid, PidfdFlags::empty()) {
        // The descriptor holds on to whoever has the number now; if that is
        // still the one we mean, it cannot be exchanged under us.
        Ok(process) => is_same() && pidfd_send_signal(process, signal).is_ok(),
        Err(rustix::io::Errno::SRCH) => false,
        Err(_) => is_same() && kill_process(pid, signal).is_ok(),
    }
}

fn is_limit(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM)
    )
}

/// What a process uses; with that of its children that have ended, where that is wanted.
pub(crate) fn usage(pid: i32, with_ended: bool) -> Option<Usage> {
    let mut line = [0; 1024];
    let length = File::open(format!("/proc/{pid}/stat"))
        .ok()?
        .read(&mut line)
        .ok()?;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    // Those that have ended, and threads of the kernel, have none.
    let memory = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = memory.split_ascii_whitespace().next()?.parse().ok()?;
    Some(Usage {
        processes: 1,
        memory: kilobytes * 1024,
        processor: parse_processor(&line[..length], with_ended)?,
    })
}

/// A process's share of memory: what it has alone, and its part of what it has with
/// others. `None` where the system does not say.
pub(crate) fn share_of_memory(pid: i32) -> Option<u64> {
    let all = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let share = all.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kilobytes: u64 = share.split_ascii_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// `utime` and `stime` are fields 14 and 15, the same of children that ended 16 and 17.
fn parse_processor(line: &[u8], with_ended: bool) -> Option<Duration> {
    let name_end = line.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(line.get(name_end + 2..)?).ok()?;
    // The first of these is field 3.
    let times = fields.split_ascii_whitespace().skip(14 - 3);
    let times = times.take(if with_ended { 4 } else { 2 });
    let ticks: u64 = times.filter_map(|time| time.parse::<u64>().ok()).sum();
    Some(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

fn read_stat(pid: i32) -> io::Result<Option<Entry>> {
    let mut line = [0; 1024];
    let length = File::open(format!("/proc/{pid}/stat"))?.read(&mut line)?;
    Ok(parse_stat(pid, &line[..length]))
}

/// The name, in parentheses, may itself hold spaces and parentheses, so the
/// fields are counted from the last one.
fn parse_stat(pid: i32, line: &[u8]) -> Option<Entry> {
    let name_end = line.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(line.get(name_end + 2..)?).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let session = fields.next()?.parse().ok()?;
    // `starttime` is field 22; the one just read was field 6.
    let started = fields.nth(15)?.parse().ok()?;
    Some(Entry {
        id: ProcessId { pid, started },
        parent,
        group,
        session,
        is_zombie: matches!(state, "Z" | "X" | "x"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_does_not_shift_the_fields() {
        let line = b"7 (a) S 1 (b) Z 5 6 6 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0\n";
        let entry = parse_stat(7, line).unwrap();
        assert_eq!((entry.parent, entry.group, entry.id.started), (5, 6, 777));
        assert!(entry.is_zombie);
    }

    #[test]
    fn processor_time_is_read_behind_a_hostile_name() {
        let line = b"7 (a) S 1 (b) S 5 6 6 0 -1 4194560 0 0 0 0 100 50 7 3 20 0 1 0 777 0 0\n";
        let of = |with_ended| parse_processor(line, with_ended).unwrap().as_millis();
        assert_eq!((of(false), of(true)), (1500, 1600));
    }

    #[test]
    fn we_are_in_the_table() {
        let me = rustix::process::getpid().as_raw_nonzero().get();
        let all = entries().unwrap();
        let entry = all.iter().find(|entry| entry.id.pid == me).unwrap();
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        assert_eq!(entry.parent, parent);
        assert!(!entry.is_zombie);
    }

    #[test]
    fn another_start_time_is_another_process() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = child.id().cast_signed();
        let id = entry(pid).unwrap().id;
        let other = ProcessId {
            started: id.started + 1,
            ..id
        };
        assert!(!signal(other, Signal::KILL));
        assert!(child.try_wait().unwrap().is_none());
        assert!(signal(id, Signal::KILL));
        child.wait().unwrap();
        assert!(!signal(id, Signal::KILL));
    }
}
