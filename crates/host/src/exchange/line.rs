//! A call that stands in line: clients of its server take turns, and it is
//! another's.

use super::{Exchange, Inbox, consent::NOT_SENT};
use crate::{
    call::Permitted,
    error::CallError,
    limits,
    upstream::{Connection, Turn},
};
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::oneshot;

/// What leaves when it is its client's turn.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) permitted: Permitted,
    turn: oneshot::Receiver<Turn>,
    /// Where progress goes, if the call was taken up under another token.
    pub(super) token: Option<Option<Bytes>>,
}

impl Exchange {
    /// A request in flight that has not left yet. It stands in line for a while,
    /// and for no longer than it may take at all.
    pub(crate) fn in_line(
        connection: Arc<Connection>,
        permitted: Permitted,
        turn: oneshot::Receiver<Turn>,
    ) -> Self {
        let timeout = permitted.timeout.min(limits::TURN_WAIT);
        let mut exchange = Self::new(Arc::new(Inbox::new()), connection, NOT_SENT, timeout);
        exchange.line = Some(Box::new(Line {
            permitted,
            turn,
            token: None,
        }));
        exchange
    }
}

impl Line {
    /// Waits for the turn; none if the connection has gone.
    pub(super) async fn turn(&mut self) -> Option<Turn> {
        (&mut self.turn).await.ok()
    }

    /// Leaves.
    pub(super) fn leave(
        &self,
        connection: &Arc<Connection>,
        turn: Option<Turn>,
    ) -> Result<Exchange, CallError> {
        let turn = turn.ok_or_else(|| connection.not_connected("the connection has ended"))?;
        let mut exchange = connection.start_in_turn(&self.permitted, turn)?;
        if let Some(token) = &self.token {
            exchange.set_progress_token(token.clone());
        }
        Ok(exchange)
    }
}
