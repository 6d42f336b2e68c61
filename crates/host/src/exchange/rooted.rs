//! A modern client's request at a modern server whose entry has roots: what the
//! server asks about them is answered here, and the client sees no round of it.

use super::{Event, Outcome, Reply, failed, repeated::Repeated};
use crate::{
    bridge::roots::{self, Asked},
    call::Permitted,
    error::CallError,
    upstream::Connection,
};
use std::sync::Arc;
use switchboard_wire::{Edits, Message};

/// The request, and what its server is told of roots.
#[derive(Debug)]
pub(crate) struct Rooted {
    pub(super) request: Repeated,
    answer: String,
}

impl Rooted {
    /// Sends a request that says that there are roots.
    pub(crate) fn start(
        connection: &Arc<Connection>,
        permitted: &Permitted,
    ) -> Result<Self, CallError> {
        let answer = roots::answer(&connection.spec().roots);
        let put = |message: &Message| Ok(roots::told(message, &answer)?);
        let request = Repeated::start(connection, permitted, put)?;
        Ok(Self { request, answer })
    }

    /// One step of the way; `None` where the server was answered.
    pub(super) async fn step(&mut self) -> Option<Event> {
        let reply = match self.request.sent_mut().next().await {
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
        self.request.may_be_asked()?;
        let answer = &self.answer;
        self.request
            .again(|message| asked.answered(message, answer))
    }
}
