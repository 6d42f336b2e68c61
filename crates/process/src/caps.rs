//! What a server's processes may use together, and whether they use more. They are
//! looked at from time to time; where the system lends us a group of its own for them
//! (`cgroup.rs`), that holds them to it as well.

use std::collections::VecDeque;
use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::process::Pid;

use crate::cgroup::{self, Group};
use crate::family::Family;
use crate::limits;
use crate::table::{self, Table};
use crate::usage::Usage;

/// What a server's processes may use together. Nothing by default: all there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Thousandths of a processor core.
    pub cpu: Option<u32>,
    /// How many there may be.
    pub processes: Option<u32>,
}

impl Caps {
    /// Whether there is any.
    pub fn any(&self) -> bool {
        *self != Self::default()
    }
}

/// A cap that a server passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passed {
    /// They used more memory.
    Memory {
        /// Bytes that they had.
        used: u64,
        /// Bytes that they may have.
        allowed: u64,
    },
    /// They used more of the processor, for a while.
    Cpu {
        /// Thousandths of a core that they used.
        used: u32,
        /// Thousandths that they may use.
        allowed: u32,
    },
    /// There were more of them.
    Processes {
        /// How many there were.
        used: usize,
        /// How many there may be.
        allowed: u32,
    },
}

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Memory { used, allowed } => write!(
                f,
                "it was ended by limits.memory of its entry: it used {} of memory, and {} is allowed",
                Size(used),
                Size(allowed)
            ),
            Self::Cpu { used, allowed } => write!(
                f,
                "it was ended by limits.cpu of its entry: for {} s it used {} cores, and {} is allowed",
                limits::CPU_WINDOW.as_secs(),
                Cores(used),
                Cores(allowed)
            ),
            Self::Processes { used, allowed } => write!(
                f,
                "it was ended by limits.processes of its entry: there were {used}, and {allowed} are allowed"
            ),
        }
    }
}

/// Bytes for people.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes < 1 << 20 => write!(f, "{} KiB", bytes.div_ceil(1 << 10)),
            bytes => write!(f, "{} MiB", bytes.div_ceil(1 << 20)),
        }
    }
}

/// Thousandths of a core for people.
struct Cores(u32);

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.0) / 1000.0)
    }
}

/// The caps of one running server, and what was seen of it so far.
#[derive(Debug)]
pub(crate) struct Held {
    caps: Caps,
    group: Option<Group>,
    pace: Mutex<Pace>,
    passed: OnceLock<Passed>,
}

impl Held {
    /// Holds a process to its caps that was just started.
    pub(crate) fn new(caps: Caps, process: Pid) -> Option<Self> {
        if !caps.any() {
            return None;
        }
        hold_back(caps, process);
        Some(Self {
            caps,
            group: cgroup::delegated()
                .as_ref()
                .ok()
                .and_then(|place| place.group(caps, process)),
            pace: Mutex::default(),
            passed: OnceLock::new(),
        })
    }

    /// The cap that it passed, as far as that is known: the system may have ended it
    /// before we looked.
    pub(crate) fn passed(&self) -> Option<Passed> {
        let allowed = self.caps.memory;
        let ended = || {
            let used = self.group.as_ref()?.ended_for_memory()?;
            let allowed = allowed?;
            Some(Passed::Memory { used, allowed })
        };
        self.passed.get().copied().or_else(ended)
    }

    /// Looks whether it has passed one.
    pub(crate) fn look(&self, family: &Family, table: &Table) -> Option<Passed> {
        let members = family.living(table);
        let all = members.iter().filter_map(|pid| table::usage(*pid, true));
        let usage = all.fold(Usage::default(), Usage::and);
        let now = self
            .too_many(&usage)
            .or_else(|| self.too_large(&usage, &members))
            .or_else(|| self.too_busy(&usage))
            .or_else(|| self.passed());
        if let Some(passed) = now {
            let _ = self.passed.set(passed);
        }
        now
    }

    fn too_many(&self, usage: &Usage) -> Option<Passed> {
        let (used, allowed) = (usage.processes, self.caps.processes?);
        (used > allowed as usize).then_some(Passed::Processes { used, allowed })
    }

    /// What processes share counts once. That costs more to find out, and is less than
    /// what each has.
    fn too_large(&self, usage: &Usage, members: &[i32]) -> Option<Passed> {
        let allowed = self.caps.memory?;
        if usage.memory <= allowed {
            return None;
        }
        let share = |pid: &i32| {
            let resident = || table::usage(*pid, false).map(|usage| usage.memory);
            table::share_of_memory(*pid).or_else(resident)
        };
        let used: u64 = members.iter().filter_map(share).sum();
        (used > allowed).then_some(Passed::Memory { used, allowed })
    }

    fn too_busy(&self, usage: &Usage) -> Option<Passed> {
        let allowed = self.caps.cpu?;
        let slowed_down = self.group.as_ref().is_some_and(Group::slows_down);
        let used = self.pace.lock().note(Instant::now(), usage.processor)?;
        (used > allowed && !slowed_down).then_some(Passed::Cpu { used, allowed })
    }
}

/// How much of the processor was used, over a while.
#[derive(Debug, Default)]
struct Pace(VecDeque<(Instant, Duration)>);

impl Pace {
    /// Notes what was used so far. Thousandths of a core that were used on average,
    /// once it has been looked at for long enough.
    fn note(&mut self, now: Instant, used: Duration) -> Option<u32> {
        self.0.push_back((now, used));
        // The newest that is old enough, or the oldest there is.
        while let Some((next, _)) = self.0.get(1) {
            let is_old = now.duration_since(*next) >= limits::CPU_WINDOW;
            if !is_old && self.0.len() <= limits::CPU_SAMPLES {
                break;
            }
            self.0.pop_front();
        }
        let (since, before) = *self.0.front()?;
        let passed = now.duration_since(since);
        if passed < limits::CPU_WINDOW {
            return None;
        }
        let share = used.saturating_sub(before).as_secs_f64() / passed.as_secs_f64();
        Some((share * 1000.0) as u32)
    }
}

/// One that asks for far more memory than it may have gets none, before anybody could
/// look: no process may have more data than this. It is far more than the cap, since
/// many programs reserve what they never use.
fn hold_back(caps: Caps, process: Pid) {
    #[cfg(target_os = "linux")]
    if let Some(memory) = caps.memory {
        use rustix::process::{Resource, Rlimit, getrlimit, prlimit};
        let most = memory
            .saturating_mul(limits::DATA_TIMES)
            .max(limits::DATA_LEAST);
        let given = getrlimit(Resource::Data);
        let most = given.maximum.map_or(most, |given| given.min(most));
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        // It may have ended already.
        let _ = prlimit(Some(process), Resource::Data, limit);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (caps, process);
}

/// How caps are held to where this program runs: by what, and why not by more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holding {
    /// The kernel holds servers to them, and we look besides.
    Kernel,
    /// We look every second, since the kernel does not; why.
    Looking(String),
    /// Nobody can: processes are not shown here.
    Nobody,
}

/// How caps are held to where this program runs. Changes nothing.
pub fn holding() -> Holding {
    if cfg!(not(target_os = "linux")) {
        return Holding::Nobody;
    }
    match cgroup::why_not() {
        None => Holding::Kernel,
        Some(why) => Holding::Looking(why.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_is_that_of_a_while() {
        let mut pace = Pace::default();
        let begun = Instant::now();
        let window = u32::try_from(limits::CPU_WINDOW.as_secs()).unwrap();
        // Half a core, second by second.
        for second in 0..window {
            let at = begun + Duration::from_secs(u64::from(second));
            assert_eq!(pace.note(at, Duration::from_millis(500) * second), None);
        }
        let at = |second: u32| begun + Duration::from_secs(u64::from(second));
        let half = Duration::from_millis(500) * window;
        assert_eq!(pace.note(at(window), half), Some(500));
        // From then on two cores: what is older is forgotten.
        for second in 1..=window {
            let used = half + Duration::from_secs(2) * second;
            let now = pace.note(at(window + second), used).unwrap();
            assert!(now > 500 && now <= 2000, "{now}");
        }
        assert_eq!(
            pace.note(at(window * 2), half + Duration::from_secs(2) * window),
            Some(2000)
        );
        assert!(pace.0.len() <= limits::CPU_SAMPLES + 1);
    }

    #[test]
    fn it_is_said_which_cap_and_what_there_was() {
        let memory = Passed::Memory {
            used: (80 << 20) + 1,
            allowed: 64 << 20,
        };
        assert_eq!(
            memory.to_string(),
            "it was ended by limits.memory of its entry: it used 81 MiB of memory, and 64 MiB is allowed"
        );
        let cpu = Passed::Cpu {
            used: 1900,
            allowed: 500,
        };
        assert!(
            cpu.to_string()
                .contains("used 1.9 cores, and 0.5 is allowed"),
            "{cpu}"
        );
    }
}
