//! Groups of the kernel (cgroup v2) for servers with caps, where the system has lent us
//! a place to make them: a service with `Delegate=yes`, a container that has its own.
//! Nothing is taken that others use: only where nobody but we are in the place.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Access, access};
use rustix::process::Pid;

use crate::caps::Caps;
use crate::keeper;
use crate::limits;
use crate::table::Table;

/// Where groups could be made.
#[derive(Debug)]
struct Offer {
    folder: PathBuf,
    /// The controllers that are there of those that we want.
    wanted: Vec<&'static str>,
    /// The processes in it.
    inside: Vec<i32>,
}

/// Where groups can be made.
#[derive(Debug)]
pub(crate) struct Place {
    folder: PathBuf,
    has_cpu: bool,
    has_pids: bool,
}

/// A group for one server.
#[derive(Debug)]
pub(crate) struct Group {
    folder: PathBuf,
    slows_down: bool,
}

/// Why there is no place to make groups.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoPlace {
    #[error("this system has no cgroup v2 at {ROOT}")]
    NoVersion2,
    #[error("this program is in no cgroup v2")]
    InNone,
    #[error("processes cannot be listed: {0}")]
    Processes(io::Error),
    #[error("{}: {error}", folder.display())]
    Unreadable { folder: PathBuf, error: io::Error },
    #[error("{} has no controller of memory", .0.display())]
    NoMemory(PathBuf),
    #[error("{} is not ours alone (a service with Delegate=yes would have its own)", .0.display())]
    Shared(PathBuf),
    #[error("{} was not lent to us", .0.display())]
    NotLent(PathBuf),
    #[error("{} was not lent to us ({error})", folder.display())]
    NotTaken { folder: PathBuf, error: io::Error },
}

/// Where the kernel shows its groups.
const ROOT: &str = "/sys/fs/cgroup";

/// The place that we were lent, or why there is none. Looked for once, before the first
/// server with caps starts.
pub(crate) fn delegated() -> &'static Result<Place, NoPlace> {
    static FOUND: OnceLock<Result<Place, NoPlace>> = OnceLock::new();
    FOUND.get_or_init(|| offered().and_then(Offer::take))
}

/// Why there is no such place, if there is none. Takes nothing.
pub(crate) fn why_not() -> Option<NoPlace> {
    offered().err()
}

fn offered() -> Result<Offer, NoPlace> {
    let folder = own_folder()?;
    let table = Table::read().map_err(NoPlace::Processes)?;
    let first = keeper::first();
    let below = table.descendants_of(first, &HashSet::new());
    let below = below.into_iter().map(|entry| entry.id.pid);
    let ours: Vec<i32> = std::iter::once(first).chain(below).collect();
    Offer::look(folder, &ours)
}

/// The group that we are in.
fn own_folder() -> Result<PathBuf, NoPlace> {
    let root = Path::new(ROOT);
    if !root.join("cgroup.controllers").exists() {
        return Err(NoPlace::NoVersion2);
    }
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"));
    path.map(|path| root.join(path)).ok_or(NoPlace::InNone)
}

impl Offer {
    /// Looks whether the group is ours alone. `ours` are all processes of this program.
    fn look(folder: PathBuf, ours: &[i32]) -> Result<Self, NoPlace> {
        let read = |name: &str| {
            let read = fs::read_to_string(folder.join(name));
            read.map_err(|error| NoPlace::Unreadable {
                folder: folder.clone(),
                error,
            })
        };
        let offered = read("cgroup.controllers")?;
        let wanted = ["memory", "cpu", "pids"].into_iter();
        let wanted: Vec<&'static str> = wanted
            .filter(|name| offered.split_whitespace().any(|other| other == *name))
            .collect();
        if !wanted.contains(&"memory") {
            return Err(NoPlace::NoMemory(folder));
        }
        let inside = read("cgroup.procs")?;
        let inside: Vec<i32> = numbers(&inside).collect();
        if inside.iter().any(|pid| !ours.contains(pid)) {
            return Err(NoPlace::Shared(folder));
        }
        let writable = [&folder, &folder.join("cgroup.subtree_control")]
            .into_iter()
            .all(|path| access(path, Access::WRITE_OK).is_ok());
        if !writable {
            return Err(NoPlace::NotLent(folder));
        }
        Ok(Self {
            folder,
            wanted,
            inside,
        })
    }

    /// Makes a group of groups out of it. One that has groups with controllers has no
    /// processes of its own, so we move into one of them.
    fn take(self) -> Result<Place, NoPlace> {
        let own = self.folder.join("switchboard");
        let moved = make(&own).and_then(|()| {
            let mut inside = self.inside.iter();
            inside.try_for_each(|pid| write(&own, "cgroup.procs", &pid.to_string()))
        });
        let taken = moved.and_then(|()| {
            let all: Vec<String> = self.wanted.iter().map(|name| format!("+{name}")).collect();
            write(&self.folder, "cgroup.subtree_control", &all.join(" "))
        });
        let (has_cpu, has_pids) = (self.wanted.contains(&"cpu"), self.wanted.contains(&"pids"));
        let folder = self.folder;
        match taken {
            Ok(()) => Ok(Place {
                folder,
                has_cpu,
                has_pids,
            }),
            Err(error) => Err(NoPlace::NotTaken { folder, error }),
        }
    }
}

impl Place {
    /// Puts a process that was just started into a group with these caps.
    pub(crate) fn group(&self, caps: Caps, process: Pid) -> Option<Group> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let pid = process.as_raw_nonzero();
        let group = Group {
            folder: self.folder.join(format!("server-{pid}-{number}")),
            slows_down: self.has_cpu && caps.cpu.is_some(),
        };
        let caps = Caps {
            processes: caps.processes.filter(|_| self.has_pids),
            ..caps
        };
        match group.begin(caps, pid.get()) {
            Ok(()) => Some(group),
            Err(error) => {
                tracing::warn!(group = %group.folder.display(), %error, "a server's limits are only looked at");
                None
            }
        }
    }
}

impl Group {
    fn begin(&self, caps: Caps, pid: i32) -> io::Result<()> {
        make(&self.folder)?;
        if let Some(memory) = caps.memory {
            write(&self.folder, "memory.max", &memory.to_string())?;
            // All of them at once, or what is left would be half a server.
            write(&self.folder, "memory.oom.group", "1")?;
        }
        if let Some(cpu) = caps.cpu.filter(|_| self.slows_down) {
            let quota = u64::from(cpu) * limits::CPU_PERIOD / 1000;
            write(
                &self.folder,
                "cpu.max",
                &format!("{quota} {}", limits::CPU_PERIOD),
            )?;
        }
        if let Some(processes) = caps.processes {
            // Threads count here too: this only stops one that starts others without end.
            let most = u64::from(processes).saturating_mul(limits::THREADS_EACH);
            write(&self.folder, "pids.max", &most.to_string())?;
        }
        write(&self.folder, "cgroup.procs", &pid.to_string())
    }

    /// Whether it is slowed down when it uses too much of the processor.
    pub(crate) fn slows_down(&self) -> bool {
        self.slows_down
    }

    /// How much memory it had at most, if the kernel ended it for that.
    pub(crate) fn ended_for_memory(&self) -> Option<u64> {
        let events = fs::read_to_string(self.folder.join("memory.events")).ok()?;
        let ended = events
            .lines()
            .find_map(|line| line.strip_prefix("oom_kill "));
        if ended.and_then(|count| count.trim().parse::<u64>().ok()) == Some(0) || ended.is_none() {
            return None;
        }
        let peak = fs::read_to_string(self.folder.join("memory.peak")).ok();
        peak.and_then(|peak| peak.trim().parse().ok()).or(Some(0))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // All that is left in it; nothing where there is nobody.
        let _ = write(&self.folder, "cgroup.kill", "1");
        let _ = fs::remove_dir(&self.folder);
    }
}

fn make(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Files of the kernel are there, and take one write.
fn write(folder: &Path, name: &str, text: &str) -> io::Result<()> {
    use std::io::Write;
    let mut file = fs::OpenOptions::new().write(true).open(folder.join(name))?;
    file.write_all(text.as_bytes())
}

fn numbers(text: &str) -> impl Iterator<Item = i32> + '_ {
    text.split_whitespace().filter_map(|word| word.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::getpid;

    /// The files of a group, as the kernel would have made them.
    fn kernel(folder: &Path, controllers: &str, processes: &str) {
        fs::create_dir_all(folder).unwrap();
        for (name, text) in [
            ("cgroup.controllers", controllers),
            ("cgroup.procs", processes),
            ("cgroup.subtree_control", ""),
            ("cgroup.kill", ""),
            ("memory.max", "max"),
            ("memory.oom.group", "0"),
            ("memory.events", "low 0\noom 0\noom_kill 0\n"),
            ("memory.peak", "12345"),
            ("cpu.max", "max 100000"),
            ("pids.max", "max"),
        ] {
            fs::write(folder.join(name), text).unwrap();
        }
    }

    /// What the kernel does with its files cannot be had here; what we write there can.
    #[test]
    fn a_server_has_a_group_with_its_caps() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("ours");
        kernel(&folder, "cpuset cpu memory pids", "7 8");
        kernel(&folder.join("switchboard"), "", "");
        let read = |path: &str| fs::read_to_string(folder.join(path)).unwrap();
        let offer = Offer::look(folder.clone(), &[7, 8, 9]).unwrap();
        assert_eq!(read("cgroup.subtree_control"), "", "looking takes nothing");
        let place = offer.take().unwrap();
        assert_eq!(read("cgroup.subtree_control"), "+memory +cpu +pids");
        assert_eq!(
            read("switchboard/cgroup.procs"),
            "8",
            "each in a write of its own"
        );
        let group = Group {
            folder: folder.join("server"),
            slows_down: place.has_cpu,
        };
        kernel(&group.folder, "", "");
        let caps = Caps {
            memory: Some(1 << 26),
            cpu: Some(500),
            processes: Some(3),
        };
        group.begin(caps, getpid().as_raw_nonzero().get()).unwrap();
        assert!(read("server/memory.max").starts_with("67108864"));
        assert!(read("server/memory.oom.group").starts_with('1'));
        assert!(read("server/cpu.max").starts_with("50000 100000"));
        assert!(read("server/pids.max").starts_with("192"));
        assert_eq!(group.ended_for_memory(), None);
        let events = group.folder.join("memory.events");
        fs::write(events, "oom 1\noom_kill 2\n").unwrap();
        assert_eq!(group.ended_for_memory(), Some(12345));
    }

    #[test]
    fn what_is_not_ours_alone_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("shared");
        kernel(&folder, "memory cpu pids", "7 8 100");
        let why = Offer::look(folder.clone(), &[7, 8]).unwrap_err();
        assert!(matches!(why, NoPlace::Shared(_)), "{why}");
        kernel(&folder, "hugetlb", "7");
        let why = Offer::look(folder, &[7]).unwrap_err();
        assert!(matches!(why, NoPlace::NoMemory(_)), "{why}");
        let why = Offer::look(root.path().join("nowhere"), &[7]).unwrap_err();
        assert!(why.to_string().contains("nowhere"), "{why}");
    }
}
