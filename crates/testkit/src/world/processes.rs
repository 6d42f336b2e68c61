//! Processes: who belongs to whom, who lives, what they take.

use crate::DEADLINE;
use rustix::process::{Pid, Signal, kill_process};
use std::{path::Path, time::Duration};
use tokio::time::Instant;

/// The worker of a keeper, once it is there.
pub async fn worker_of(keeper: i32) -> i32 {
    only_child(guard_of(keeper).await).await
}

/// The guard that stands between a keeper and its worker, once it is there.
pub async fn guard_of(keeper: i32) -> i32 {
    only_child(keeper).await
}

async fn only_child(pid: i32) -> i32 {
    let found = until(DEADLINE, || children(pid).first().copied());
    found
        .await
        .unwrap_or_else(|| panic!("process {pid} has no child"))
}

/// The children of a process.
pub fn children(pid: i32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let lists = tasks.into_iter().flatten().flatten();
    lists
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|list| numbers(&list))
        .collect()
}

/// The numbers in a text.
pub fn numbers(text: &str) -> Vec<i32> {
    text.split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect()
}

/// Whether a process lives; one that has ended and was not waited for does not.
pub fn alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.split_whitespace().next());
    !matches!(state, None | Some("Z" | "X"))
}

/// A figure of `/proc/PID/status` or `smaps_rollup`, in KiB. Our programs hide
/// their memory: who is not root gets, for `smaps_rollup`, all that is resident,
/// which is more than any figure there.
pub fn kib(pid: i32, file: &str, field: &str) -> u64 {
    let path = format!("/proc/{pid}/{file}");
    let text = match std::fs::read_to_string(Path::new(&path)) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied && file != "status" => {
            return kib(pid, "status", "VmRSS");
        }
        read => read.unwrap_or_else(|error| panic!("{path}: {error}")),
    };
    text.lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .unwrap_or_else(|| panic!("no {field} in {path}"))
}

/// The most memory that a process has ever had, in MiB.
pub fn peak_mib(pid: i32) -> u64 {
    kib(pid, "status", "VmHWM") / 1024
}

/// Asks again and again until there is something, or the time is over.
pub async fn until<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Kills a process at once.
pub fn kill(pid: &str) {
    let pid = Pid::from_raw(pid.parse().expect("a pid")).expect("a pid");
    kill_process(pid, Signal::KILL).expect("the process was there");
}
