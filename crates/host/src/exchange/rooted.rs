//! A modern client's request at a modern server whose entry has roots: what the
//! server asks about them is answered here, and the client sees no round of it.

use super::{Event, Outcome, Reply, Sent, failed};
use crate::{
    bridge::{
        roots::{self, Asked},
        rounds::ROUNDS,
    },
    call::Permitted,
    error::CallError,
    upstream::{Beside, Connection},
};
use std::sync::Arc;
use switchboard_wire::{Edits, Message};

/// The request, and its latest round.
#[derive(Debug)]
pub(crate) struct Rooted {
    sent: Sent,
    permitted: Permitted,
    /// As it left first.
    message: Message,
    /// What the server is told of roots.
    answer: String,
    round: u32,
}

impl Rooted {
    /// Sends a request that says that there are roots.
    pub(crate) fn start(
        connection: &Arc<Connection>,
        permitted: &Permitted,
    ) -> Result<Self, CallError> {
        let message = match permitted.edits.is_empty() {
            true => permitted.message().clone(),
            false => {
                let bytes = permitted.message().edited(&permitted.edits).into_bytes();
                Message::parse(bytes).map_err(|fault| CallError::Refused(fault.to_error()))?
            }
        };
        let answer = roots::answer(&connection.spec().roots);
        let message = roots::told(&message, &answer)?;
        let sent = dispatch(connection, permitted, &message)?;
        Ok(Self {
            sent,
            permitted: permitted.clone(),
            message,
            answer,
            round: 1,
        })
    }

    /// Whether the server has asked nothing yet.
    pub(super) fn is_new(&self) -> bool {
        self.round == 1
    }

    /// The latest round.
    pub(super) fn sent(&self) -> &Sent {
        &self.sent
    }

    /// The latest round, to be given up.
    pub(super) fn sent_mut(&mut self) -> &mut Sent {
        &mut self.sent
    }

    /// One step of the way; `None` where the server was answered.
    pub(super) async fn step(&mut self) -> Option<Event> {
        let reply = match self.sent.next().await {
            Event::Outcome(Outcome::Reply(reply)) => reply,
            other => return Some(other),
        };
        let message = match Asked::of(&reply.message) {
            None => return Some(Event::Outcome(Outcome::Reply(reply))),
            Some(asked) if asked.alone => return self.again(&asked).err().map(failed),
            Some(asked) => asked.left(&reply.message),
        };
        let edits = Edits::new();
        Some(Event::Outcome(Outcome::Reply(Reply { message, edits })))
    }

    fn again(&mut self, asked: &Asked) -> Result<(), CallError> {
        if self.round >= ROUNDS {
            return Err(CallError::Unreadable {
                server: self.permitted.server.name().to_string(),
                reason: format!("it asked {ROUNDS} times for input"),
            });
        }
        self.round += 1;
        self.permitted.still_allowed()?;
        let message = asked.answered(&self.message, &self.answer);
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
