//! A request at a modern server that leaves anew, round by round, with what its server has
//! asked for.

use super::Sent;
use crate::{
    bridge::rounds::ROUNDS,
    call::Permitted,
    error::CallError,
    upstream::{Beside, Connection},
};
use std::sync::Arc;
use switchboard_wire::{Edits, Message};

/// The request, and its latest round.
#[derive(Debug)]
pub(super) struct Repeated {
    sent: Sent,
    permitted: Permitted,
    /// As it left first.
    message: Message,
    round: u32,
}

impl Repeated {
    /// Sends it, as `put` has it.
    pub(super) fn start(
        connection: &Arc<Connection>,
        permitted: &Permitted,
        put: impl FnOnce(&Message) -> Result<Message, CallError>,
    ) -> Result<Self, CallError> {
        let message = match permitted.edits.is_empty() {
            true => permitted.message().clone(),
            false => {
                let bytes = permitted.message().edited(&permitted.edits).into_bytes();
                Message::parse(bytes).map_err(|fault| CallError::Refused(fault.to_error()))?
            }
        };
        let message = put(&message)?;
        let sent = dispatch(connection, permitted, &message)?;
        Ok(Self {
            sent,
            permitted: permitted.clone(),
            message,
            round: 1,
        })
    }

    /// Whether the server has asked nothing yet.
    pub(super) fn is_new(&self) -> bool {
        self.round == 1
    }

    /// Which round it is.
    pub(super) fn round(&self) -> u32 {
        self.round
    }

    /// The latest round.
    pub(super) fn sent(&self) -> &Sent {
        &self.sent
    }

    /// The latest round, to be given up or waited for.
    pub(super) fn sent_mut(&mut self) -> &mut Sent {
        &mut self.sent
    }

    /// By what it may be sent.
    pub(super) fn permitted(&self) -> &Permitted {
        &self.permitted
    }

    /// Whether its server may ask once more: not for ever.
    pub(super) fn may_be_asked(&self) -> Result<(), CallError> {
        match self.round < ROUNDS {
            true => Ok(()),
            false => Err(CallError::Unreadable {
                server: self.permitted.server.name().to_string(),
                reason: format!("it asked {ROUNDS} times for input"),
            }),
        }
    }

    /// Sends it once more, as `put` has it of how it left first.
    pub(super) fn again(&mut self, put: impl FnOnce(&Message) -> Message) -> Result<(), CallError> {
        self.round += 1;
        self.permitted.still_allowed()?;
        let message = put(&self.message);
        self.sent = dispatch(self.sent.connection(), &self.permitted, &message)?;
        Ok(())
    }
}

fn dispatch(
    connection: &Arc<Connection>,
    permitted: &Permitted,
    message: &Message,
) -> Result<Sent, CallError> {
    let client = permitted.client().clone();
    connection.dispatch(client, message, Edits::new(), Beside::of(permitted))
}
