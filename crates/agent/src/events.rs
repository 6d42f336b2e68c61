//! What an agent tells about itself.

use super::Group;
use std::{sync::Arc, time::Duration};
use switchboard_host::ServerState;
use switchboard_tasks as tasks;
use tokio::{
    sync::broadcast,
    task::{AbortHandle, JoinHandle},
};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEvent {
    /// A server is doing otherwise than before.
    Server {
        /// Its name.
        server: Arc<str>,
        /// How it is doing now.
        state: ServerState,
    },
    /// A call leaves.
    Started {
        /// The tool's canonical name.
        tool: String,
    },
    /// A call has been running for a while; told every 30 s.
    Running {
        /// The tool's canonical name.
        tool: String,
        /// For how long.
        elapsed: Duration,
    },
    /// A call is over.
    Ended {
        /// The tool's canonical name.
        tool: String,
        /// How long it took.
        elapsed: Duration,
        /// Whether it failed.
        failed: bool,
    },
}

/// Tasks that follow servers; they end with the agent.
#[derive(Debug, Default)]
pub(super) struct Watchers(Vec<AbortHandle>);

impl Drop for Watchers {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

/// Follows all servers. Outside a runtime nobody does: there nothing can be connected either.
pub(super) fn watch(groups: &[Group], events: &broadcast::Sender<AgentEvent>) -> Watchers {
    if tokio::runtime::Handle::try_current().is_err() {
        return Watchers::default();
    }
    let servers = groups.iter().flat_map(|group| &group.servers);
    let tasks = servers.map(|server| {
        let (mut state, name, events) = (server.state(), server.name().clone(), events.clone());
        let task: JoinHandle<()> = tasks::spawn(tasks::Kind::Upkeep, async move {
            while state.changed().await.is_ok() {
                let state = state.borrow_and_update().clone();
                let server = name.clone();
                let _ = events.send(AgentEvent::Server { server, state });
            }
        });
        task.abort_handle()
    });
    Watchers(tasks.collect())
}
