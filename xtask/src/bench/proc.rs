//! What Linux says about processes.

use anyhow::{Context, Result};
use std::collections::HashMap;
use std::process::Command;
use std::sync::OnceLock;

/// The processes of one subject: `root` and its descendants, without those
/// that run a program called `without` and what they started.
pub fn tree(root: u32, without: &str) -> Result<Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Ok(stat) = Stat::of(pid) {
            children.entry(stat.parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        if program(pid).is_some_and(|name| name == without) {
            continue;
        }
        found.push(pid);
        open.extend(children.get(&pid).into_iter().flatten());
    }
    Ok(found)
}

/// Processor time of these processes so far, in microseconds.
pub fn cpu_micros(pids: &[u32]) -> Result<f64> {
    let mut ticks = 0;
    for &pid in pids {
        ticks += Stat::of(pid)?.ticks;
    }
    Ok(ticks as f64 * 1e6 / ticks_per_second())
}

/// Proportional memory of these processes now, in KiB. Switchboard hides its
/// memory: who is not root sees only how much is resident, which is more, and
/// that counts then.
pub fn pss_kib(pids: &[u32]) -> u64 {
    let each = pids
        .iter()
        .map(|&pid| match sum(&[pid], "smaps_rollup", "Pss:") {
            0 => sum(&[pid], "status", "VmRSS:"),
            pss => pss,
        });
    each.sum()
}

/// The sum of the largest resident memory that each of them ever had, in KiB.
pub fn peak_rss_kib(pids: &[u32]) -> u64 {
    sum(pids, "status", "VmHWM:")
}

fn sum(pids: &[u32], file: &str, field: &str) -> u64 {
    let read = |pid: &u32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).ok()?;
        let line = text.lines().find(|line| line.starts_with(field))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    };
    pids.iter().filter_map(read).sum()
}

/// Names of programs are cut by the kernel, so the link to the file is asked.
fn program(pid: u32) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    Some(path.file_name()?.to_string_lossy().into_owned())
}

struct Stat {
    parent: u32,
    ticks: u64,
}

impl Stat {
    fn of(pid: u32) -> Result<Self> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .with_context(|| format!("process {pid} is gone"))?;
        Self::parse(&text).with_context(|| format!("/proc/{pid}/stat"))
    }

    /// The second field is the program's name, which may hold anything; what
    /// is needed comes after its closing parenthesis.
    fn parse(text: &str) -> Option<Self> {
        let rest = &text[text.rfind(')')? + 1..];
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            parent: u32::try_from(number(1)?).ok()?,
            ticks: number(11)? + number(12)?,
        })
    }
}

fn ticks_per_second() -> f64 {
    static TICKS: OnceLock<f64> = OnceLock::new();
    *TICKS.get_or_init(|| {
        let output = Command::new("getconf").arg("CLK_TCK").output().ok();
        output
            .and_then(|output| String::from_utf8(output.stdout).ok()?.trim().parse().ok())
            .unwrap_or(100.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_after_the_name() {
        let text = "7 (a) b (c) S 3 7 7 0 -1 4194560 1 2 3 4 50 6 0 0 20 0 1 0 9";
        let stat = Stat::parse(text);
        assert!(stat.is_some_and(|stat| stat.parent == 3 && stat.ticks == 56));
        assert!(Stat::parse("7 (a").is_none());
    }

    #[test]
    fn a_tree_leaves_the_upstream_out() -> Result<()> {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 30 & sleep 30 & wait"])
            .spawn()?;
        std::thread::sleep(std::time::Duration::from_millis(200));
        let all = tree(shell.id(), "nothing")?;
        let without = tree(shell.id(), "sleep")?;
        for pid in all.iter().filter(|pid| **pid != shell.id()) {
            if let Some(pid) = rustix::process::Pid::from_raw(*pid as i32) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        shell.kill()?;
        shell.wait()?;
        // `sleep` may be a link to a program of many names.
        assert_eq!(all.len(), 3);
        assert!(without.contains(&shell.id()));
        Ok(())
    }
}
