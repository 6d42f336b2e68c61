//! Log levels on a connection that several clients share: the server is asked
//! for the most verbose that anybody wants, and each client hears its own level
//! and above.

use super::connection::Connection;
use crate::{
    client::{Client, ClientId, LOG_LEVELS},
    error::CallError,
    exchange::{Exchange, Outcome},
};
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc};
use switchboard_tasks as tasks;
use switchboard_wire::{Era, Kind, Method, code, json};

/// Who wants which level, as an index into [`LOG_LEVELS`].
#[derive(Debug, Default)]
pub(super) struct Levels(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    wanted: HashMap<ClientId, u8>,
    /// What the server was last asked for.
    asked: Option<u8>,
}

impl Levels {
    /// Changes what a client wants, and asks for another level where that is
    /// needed. Under the lock, so that the last level asked for is the last one
    /// wanted.
    fn change<T>(
        &self,
        client: ClientId,
        rank: Option<u8>,
        takes_levels: bool,
        ask: impl FnOnce(u8) -> Result<T, CallError>,
    ) -> Result<Option<T>, CallError> {
        let mut state = self.0.lock();
        match rank {
            Some(rank) => state.wanted.insert(client, rank),
            None => state.wanted.remove(&client),
        };
        // Where nobody wants anything any more there is no way to say so: it
        // keeps the last, and nobody hears of it.
        let most_verbose = state.wanted.values().min().copied();
        let Some(rank) = most_verbose.filter(|rank| takes_levels && state.asked != Some(*rank))
        else {
            return Ok(None);
        };
        let asked = ask(rank)?;
        state.asked = Some(rank);
        Ok(Some(asked))
    }

    /// The server did not do as it was asked: whoever asks next tries again.
    fn not_set(&self) {
        self.0.lock().asked = None;
    }
}

impl Connection {
    /// Notes the log level that a client wants, an index into [`LOG_LEVELS`],
    /// and asks the server for the most verbose that anybody wants.
    pub async fn set_level(self: &Arc<Self>, client: ClientId, rank: u8) -> Result<(), CallError> {
        match self.change_levels(client, Some(rank))? {
            Some(asked) => self.levels_answered(asked).await,
            None => Ok(()),
        }
    }

    /// The same for a client that is new here and said what it wants before.
    pub(super) fn adopt_level(self: &Arc<Self>, client: &Client) {
        if let Some(rank) = client.log_rank().filter(|_| client.era() == Era::Legacy) {
            self.change_levels_later(client.id, Some(rank));
        }
    }

    /// Forgets what a client wants; the server may have less to say then.
    pub(super) fn forget_level(self: &Arc<Self>, client: ClientId) {
        self.change_levels_later(client, None);
    }

    /// A modern request that asks for logs raises the level of a legacy server
    /// for as long as it runs.
    pub(super) fn raise_level(self: &Arc<Self>, client: &Client) {
        if let Some(rank) = client.log_rank() {
            self.change_levels_later(client.id, Some(rank));
        }
    }

    fn change_levels_later(self: &Arc<Self>, client: ClientId, rank: Option<u8>) {
        let Ok(Some(asked)) = self.change_levels(client, rank) else {
            return;
        };
        let connection = self.clone();
        tasks::spawn(tasks::Kind::Background, async move {
            if let Err(fault) = connection.levels_answered(asked).await {
                tracing::debug!(server = %connection.server_name(), %fault, "the log level could not be set");
            }
        });
    }

    /// Changes who wants what, and asks the server if that is another level than
    /// it has.
    fn change_levels(
        self: &Arc<Self>,
        client: ClientId,
        rank: Option<u8>,
    ) -> Result<Option<Exchange>, CallError> {
        // A modern server is told with each request.
        let takes_levels = self.revision().era() == Era::Legacy
            && !self.has_ended()
            && self.hello().is_some_and(|hello| hello.declares("logging"));
        let levels = self.audience().levels();
        levels.change(client, rank, takes_levels, |rank| {
            let name = LOG_LEVELS.get(usize::from(rank)).unwrap_or(&"info");
            let params = format!("{{\"level\":{}}}", json::quote(name));
            self.ask(Method::SetLevel, &params, self.spec().timeouts.request)
        })
    }

    async fn levels_answered(&self, asked: Exchange) -> Result<(), CallError> {
        let fault = match asked.outcome().await {
            Outcome::Reply(reply) if reply.message.kind() == Kind::Error => {
                let code = reply.message.error_code().unwrap_or(code::INTERNAL);
                CallError::refused(code, reply.message.error_text().unwrap_or_default())
            }
            Outcome::Reply(_) => return Ok(()),
            Outcome::Failed(fault) => fault,
            Outcome::Begun(_) => CallError::broke_off(),
        };
        self.audience().levels().not_set();
        Err(fault)
    }
}
