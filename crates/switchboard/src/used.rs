//! What the processes of servers use of the machine.

use std::sync::Arc;
pub use switchboard_api::servers::Used;
use switchboard_host::{Server, Target};
use switchboard_process::{self as process, Usage};
use switchboard_tasks as tasks;

/// What was measured, as it is told.
fn told(usage: Usage) -> Used {
    Used {
        processes: usage.processes,
        memory: usage.memory,
        cpu_ms: u64::try_from(usage.processor.as_millis()).unwrap_or(u64::MAX),
    }
}

/// What each of these servers uses; nothing where it is no program, or does not run.
/// The machine's processes are looked at once.
pub async fn used(servers: &[Arc<Server>]) -> Vec<Option<Used>> {
    let is_program = |server: &Server| matches!(server.spec.target, Target::Stdio(_));
    let processes = servers.iter().map(|server| match is_program(server) {
        true => server.processes(),
        false => Vec::new(),
    });
    let processes: Vec<Vec<u32>> = processes.collect();
    let none = vec![None; servers.len()];
    if processes.iter().all(Vec::is_empty) {
        return none;
    }
    tasks::blocking(move || all(&processes))
        .await
        .unwrap_or(none)
}

/// What the processes of each together use, with one look.
fn all(leaders: &[Vec<u32>]) -> Vec<Option<Used>> {
    let mut each = process::usage_of(&leaders.concat()).into_iter();
    let sum = |leaders: &Vec<u32>| {
        let own = each.by_ref().take(leaders.len());
        let sum = own.fold(Usage::default(), Usage::and);
        (sum.processes > 0).then(|| told(sum))
    };
    leaders.iter().map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_in_few_words() {
        let used = Used {
            processes: 2,
            memory: (41 << 20) + 1,
            cpu_ms: 12_399,
        };
        assert_eq!(used.words(), "42 MiB, 12.3 s CPU");
        assert_eq!(Used::default().words(), "0 MiB, 0.0 s CPU");
    }
}
