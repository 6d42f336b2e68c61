//! What a call asks of the system, counted by `perf stat` while a subject is under load.

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// What is counted: all, and those that calls make.
const EVENTS: [&str; 11] = [
    "raw_syscalls:sys_enter",
    "context-switches",
    "page-faults",
    "syscalls:sys_enter_epoll_wait",
    "syscalls:sys_enter_recvfrom",
    "syscalls:sys_enter_read",
    "syscalls:sys_enter_sendto",
    "syscalls:sys_enter_write",
    "syscalls:sys_enter_writev",
    "syscalls:sys_enter_futex",
    "syscalls:sys_enter_getsockopt",
];

/// How long it takes until everything is counted.
const BEGINNING: Duration = Duration::from_millis(500);

/// A count under way.
pub struct Counting {
    perf: Child,
    file: PathBuf,
}

impl Counting {
    /// Counts what these processes do from now on.
    pub fn start(pids: &[u32], scratch: &Path) -> Result<Self> {
        let file = scratch.join("perf-stat");
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        let mut command = Command::new("perf");
        command.args(["stat", "-x", ",", "-p", &pids.join(","), "-o"]);
        command.arg(&file);
        for event in EVENTS {
            command.args(["-e", event]);
        }
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let perf = command.spawn().context("perf, which counts system calls")?;
        std::thread::sleep(BEGINNING);
        Ok(Self { perf, file })
    }

    /// What was counted, for each of so many calls.
    pub fn end(mut self, calls: f64) -> Result<String> {
        let pid = Pid::from_child(&self.perf);
        kill_process(pid, Signal::INT)?;
        self.perf.wait()?;
        let text = std::fs::read_to_string(&self.file)?;
        let counted: Vec<String> = text.lines().filter_map(|line| each(line, calls)).collect();
        ensure!(
            !counted.is_empty(),
            "perf counted nothing: it needs root, and tracefs mounted at /sys/kernel/tracing"
        );
        Ok(counted.join(", "))
    }
}

/// A line of perf's (`COUNT,,EVENT,…`) for each of so many calls, where that is worth a word.
fn each(line: &str, calls: f64) -> Option<String> {
    let mut fields = line.split(',');
    let count: f64 = fields.next()?.parse().ok()?;
    let event = fields.nth(1)?;
    let name = event.rsplit(':').next()?;
    let name = match event {
        "raw_syscalls:sys_enter" => "system calls",
        _ => name.strip_prefix("sys_enter_").unwrap_or(name),
    };
    let each = count / calls;
    (each >= 0.01).then(|| format!("{name} {each:.2}"))
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn lines_are_read_as_perf_writes_them() {
        let line = "600,,raw_syscalls:sys_enter,1000,100.00,,";
        assert_eq!(each(line, 100.0).as_deref(), Some("system calls 6.00"));
        let line = "150,,syscalls:sys_enter_read,1000,100.00,,";
        assert_eq!(each(line, 100.0).as_deref(), Some("read 1.50"));
        assert_eq!(each("0,,page-faults,1000,100.00,,", 100.0), None);
        assert_eq!(each("<not supported>,,cycles,0,0.00,,", 100.0), None);
        assert_eq!(each("# started on", 100.0), None);
    }
}
