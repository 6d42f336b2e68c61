//! An agent's own agents: some of its servers, some of their own.

use super::{Agent, BuildFault};
use futures_util::future::join_all;
use std::sync::Arc;
use switchboard_host::{CallError, ServerSpec};

/// What a sub-agent may use.
#[derive(Clone, Debug, Default)]
pub struct SubAgent {
    /// Servers of the parent's, by name: the same copies, which outlive the sub-agent.
    pub shared: Vec<String>,
    /// Servers of its own: they end when it is closed.
    pub inline: Vec<ServerSpec>,
    /// Servers without which it does not start.
    pub required: Vec<String>,
}

/// Why a sub-agent does not start.
#[derive(Debug, thiserror::Error)]
pub enum SubFault {
    /// The parent has no such server.
    #[error("there is no server {0:?} to share")]
    NotThere(String),
    /// A required server that is neither shared nor inline.
    #[error("server {0:?} is required and not among the agent's servers")]
    NotIncluded(String),
    /// A required server that does not work.
    #[error("server {server:?} is required and does not work: {fault}")]
    NotWorking {
        /// Which.
        server: String,
        /// Why.
        fault: CallError,
    },
    /// Its own servers cannot be used together.
    #[error(transparent)]
    Build(#[from] BuildFault),
}

impl Agent {
    /// An agent with some of this one's servers and some of its own, under the
    /// same rules and operator. Required servers are connected first; if one
    /// does not work, what was started for the others is ended.
    pub async fn sub(&self, wanted: SubAgent) -> Result<Self, SubFault> {
        let mut groups = Vec::new();
        for group in &self.inner.groups {
            let mut shared = group.clone();
            shared.own = false;
            shared
                .servers
                .retain(|server| wanted.shared.iter().any(|name| **name == **server.name()));
            if !shared.servers.is_empty() {
                groups.push(shared);
            }
        }
        for name in &wanted.shared {
            if self.place(name).is_none() {
                return Err(SubFault::NotThere(name.clone()));
            }
        }
        if !wanted.inline.is_empty() {
            let twice = wanted
                .inline
                .iter()
                .find(|spec| wanted.shared.iter().any(|name| **name == *spec.name));
            if let Some(spec) = twice {
                return Err(BuildFault::TwoOfOneName(spec.name.to_string()).into());
            }
            let answers = self.inner.groups.first();
            let answers = answers
                .map(|group| group.host.guard().rules().answers().clone())
                .unwrap_or_default();
            let client = self.inner.groups.first().map(|group| group.client.clone());
            if let Some(client) = client {
                groups.push(self.inner.setup.group(wanted.inline, client, answers)?);
            }
        }
        let agent = Self::assemble(
            groups,
            Arc::clone(&self.inner.operator),
            self.inner.setup.clone(),
        );
        match agent.check(&wanted.required).await {
            Ok(()) => Ok(agent),
            Err(fault) => {
                agent.close().await;
                Err(fault)
            }
        }
    }

    async fn check(&self, required: &[String]) -> Result<(), SubFault> {
        let each = required.iter().map(|name| async move {
            let place = self.place(name);
            let (group, server) = place.ok_or_else(|| SubFault::NotIncluded(name.clone()))?;
            let connected = server.connection(&group.client).await;
            connected.map(drop).map_err(|fault| SubFault::NotWorking {
                server: name.clone(),
                fault,
            })
        });
        join_all(each).await.into_iter().collect()
    }
}
