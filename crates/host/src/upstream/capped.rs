//! Servers whose entry says how much their processes may use: one that uses more is
//! ended, with all that it started, and whoever waits for an answer is told why.

use super::{connection::Connection, server::Server, signs::process, spec::Target};
use std::sync::Arc;
use switchboard_process::{Passed, ServerProcess, passed_caps};
use switchboard_tasks as tasks;

impl Server {
    /// Whether what its processes may use is limited.
    pub(crate) fn is_capped(&self) -> bool {
        matches!(&self.spec.target, Target::Stdio(command) if command.caps.any())
    }

    /// Its connections whose processes have to be looked at.
    fn capped(&self) -> Vec<Arc<Connection>> {
        let mut all = self.slots().connections();
        // One that is being made may be too large before it has said a word.
        all.extend(self.health().opened_last());
        all.sort_by_key(|connection| Arc::as_ptr(connection) as usize);
        all.dedup_by(|one, other| Arc::ptr_eq(one, other));
        let is_capped = |at: &Arc<Connection>| process(at).is_some_and(ServerProcess::is_capped);
        all.retain(|at| !at.has_ended() && is_capped(at));
        all
    }
}

/// Ends those of these servers' processes that use more than they may.
pub(crate) async fn end_those_over(servers: &[Arc<Server>]) {
    let capped = servers.iter().filter(|server| server.is_capped());
    let connections: Vec<Arc<Connection>> = capped.flat_map(|server| server.capped()).collect();
    if connections.is_empty() {
        return;
    }
    let looking = tasks::blocking(move || {
        let processes: Vec<&ServerProcess> = connections.iter().filter_map(process).collect();
        let passed = passed_caps(&processes);
        let each = connections.iter().cloned().zip(passed);
        each.filter_map(|(at, passed)| Some((at, passed?)))
            .collect::<Vec<_>>()
    });
    for (connection, passed) in looking.await.unwrap_or_default() {
        connection.end_over(passed);
    }
}

impl Connection {
    fn end_over(self: Arc<Self>, passed: Passed) {
        tracing::warn!(server = %self.server_name(), "{passed}");
        // First, so that whoever waits hears this and not how the process ended.
        self.lose(&passed.to_string());
        tasks::spawn(tasks::Kind::Background, async move {
            self.close_link().await;
        });
    }

    /// The cap that its process was ended for, if it was.
    pub(super) fn passed_cap(self: &Arc<Self>) -> Option<Passed> {
        process(self)?.passed()
    }
}
