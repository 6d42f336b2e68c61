//! A session that was opened before this process, or before it went to rest: what makes
//! it the one that it was.

use super::{Session, to_client::ToClient};
use crate::{
    admission::Admission,
    gateway::Gateway,
    kept::Record,
    session::{Outlet, Weight},
};
use std::{collections::BTreeSet, sync::Arc};
use switchboard_host::{CallError, Scope, permission::What};
use switchboard_tasks as tasks;
use switchboard_wire::{Id, Message, Method};

/// What a client wants to hear of.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// The least severe log message, where it said so.
    pub level: Option<u8>,
    /// Servers, and addresses of their own.
    pub subscriptions: BTreeSet<(String, String)>,
}

impl Session {
    /// What its client wants to hear of: a log level, and servers with addresses.
    pub(crate) fn wanted(&self) -> (Option<u8>, Vec<(String, String)>) {
        let wanted = self.wanted.lock();
        (wanted.level, wanted.subscriptions.iter().cloned().collect())
    }

    /// Whether it listens to any resource.
    pub(crate) fn listens(&self) -> bool {
        !self.wanted.lock().subscriptions.is_empty()
    }

    /// Whether a server serves it alone, which would end with it.
    pub(crate) fn has_servers_of_its_own(&self) -> bool {
        let servers = self.gateway.host().servers();
        servers.iter().any(|server| {
            let current = server.current(&self.client);
            current.is_some_and(|connection| connection.is_exclusive())
        })
    }

    /// The session that this was written of. Its servers are met when they are needed;
    /// what it listens to is asked for again at once.
    pub(crate) fn resume(
        gateway: Arc<Gateway>,
        scope: Scope,
        admission: &Admission,
        record: &Record,
        general: Arc<dyn Outlet>,
    ) -> Arc<Self> {
        let initialize = Message::request(&Id::number(0), Method::Initialize, &record.greeting);
        let (client, to_client) = Self::meet(
            &gateway,
            &scope,
            admission,
            &initialize,
            general.clone(),
            false,
        );
        if let Some(level) = record.level {
            client.set_log_level(level);
            to_client.set_level(level);
        }
        let wanted = Wanted {
            level: record.level,
            subscriptions: record.subscriptions.iter().cloned().collect(),
        };
        let session = Self::of(gateway, scope, (client, to_client), &initialize, wanted);
        session.come_back(&*general);
        session
    }

    fn come_back(self: &Arc<Self>, general: &dyn Outlet) {
        if matches!(self.scope, Scope::All) {
            self.gateway.host().attach(&self.client);
            // Nobody told it what has changed meanwhile.
            for method in ToClient::LISTS {
                general.send(
                    Message::notification(method, "{}").payload(),
                    Weight::Notice,
                );
            }
        }
        for (server, uri) in self.wanted().1 {
            let session = self.clone();
            tasks::spawn(tasks::Kind::Background, async move {
                if let Err(fault) = session.listen_again(&server, &uri).await {
                    tracing::warn!(server, %fault, "what a session listened to is not heard any more");
                }
            });
        }
    }

    async fn listen_again(&self, server: &str, uri: &str) -> Result<(), CallError> {
        let host = self.gateway.host();
        let Some(server) = host.server(server) else {
            return Ok(());
        };
        host.guard()
            .check(&self.client, &server, What::Resource(uri))?;
        let connection = server.connection(&self.client).await?;
        connection.subscribe(&self.client, uri).await
    }
}
