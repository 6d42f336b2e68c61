//! A call that stands in line: clients of its server take turns, and it is
//! another's.

use super::{Exchange, Stage};
use crate::{
    call::Permitted,
    error::CallError,
    limits,
    upstream::{Connection, Turn},
};
use std::sync::Arc;
use tokio::sync::oneshot;

/// What leaves when it is its client's turn.
#[derive(Debug)]
pub(super) struct Queued {
    permitted: Permitted,
    turn: oneshot::Receiver<Turn>,
}

impl Exchange {
    /// A request that has not left yet. It stands in line for a while, and for no
    /// longer than it may take at all.
    pub(crate) fn queued(
        connection: Arc<Connection>,
        permitted: Permitted,
        turn: oneshot::Receiver<Turn>,
    ) -> Self {
        let timeout = permitted.timeout.min(limits::TURN_WAIT);
        let queued = Box::new(Queued { permitted, turn });
        Self::at(Stage::Queued(queued), connection, timeout)
    }
}

impl Queued {
    /// Waits for the turn; none if the connection has gone.
    pub(super) async fn turn(&mut self) -> Option<Turn> {
        (&mut self.turn).await.ok()
    }

    /// Leaves, if that is allowed still: the rules may have changed while it waited.
    pub(super) fn leave(
        &self,
        connection: &Arc<Connection>,
        turn: Option<Turn>,
    ) -> Result<Exchange, CallError> {
        let turn = turn.ok_or_else(|| connection.not_connected("the connection has ended"))?;
        self.permitted.still_allowed()?;
        connection.start_in_turn(&self.permitted, turn)
    }

    /// What waited.
    pub(super) fn into_permitted(self) -> Permitted {
        self.permitted
    }
}
