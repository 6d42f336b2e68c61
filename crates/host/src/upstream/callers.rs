//! For servers inside this program that call others while they work on a call:
//! what they do is done as whoever called them.

use super::{connection::Connection, server::Server};
use crate::{
    call::{Admitted, Scope},
    client::Client,
    error::CallError,
    exchange::{Event, Inbox, Outcome, Reply},
    host::Host,
};
use std::sync::{Arc, Weak};
use switchboard_wire::{Method, Revision};

/// Whoever has calls in flight at one copy of a server.
#[derive(Clone, Debug)]
pub struct Callers(Weak<Connection>);

/// Somebody whose call is in flight.
#[derive(Debug)]
pub struct Behalf {
    client: Arc<Client>,
    inbox: Arc<Inbox>,
}

impl Callers {
    pub(super) fn new(connection: &Arc<Connection>) -> Self {
        Self(Arc::downgrade(connection))
    }

    /// Who made the request that the server got under this id, while it is in flight.
    pub fn of(&self, request: u64) -> Option<Behalf> {
        let connection = self.0.upgrade()?;
        let (client, inbox) = connection.calls().caller(request)?;
        Some(Behalf { client, inbox })
    }
}

impl Behalf {
    /// The revision that they speak, whatever is spoken on the way to the server.
    pub fn revision(&self) -> Revision {
        self.client.revision
    }

    /// Calls a tool as they would: with their permissions, in their era, on the
    /// copy of the server that is theirs. What is asked meanwhile, they are
    /// asked, within the call that is theirs. `params` is JSON text.
    pub async fn call_tool(
        &self,
        host: &Host,
        server: Arc<Server>,
        params: &str,
    ) -> Result<Reply, CallError> {
        let scope = Scope::One(server);
        let admitted = Admitted::own(&self.client, scope, Method::ToolsCall, params)?;
        let mut exchange = host.call_own(admitted).await?;
        loop {
            match exchange.next().await {
                Event::Notice(_) => {}
                Event::Input(input) => self.inbox.input(input),
                Event::Outcome(Outcome::Reply(reply)) => return Ok(reply),
                Event::Outcome(Outcome::Failed(fault)) => return Err(fault),
                Event::Outcome(Outcome::Begun(_)) => return Err(CallError::broke_off()),
            }
        }
    }
}
