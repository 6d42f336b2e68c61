//! What happens to a request on its way, and how it ends.

use super::{Begun, Input};
use crate::error::CallError;
use bytes::Bytes;
use switchboard_wire::{Edits, Id, Message, Method, Payload};

/// A notification on its way to a client, ready to be sent.
#[derive(Clone, Debug)]
pub struct Notice {
    /// Its method, for filters.
    pub method: Method,
    /// The message as the client gets it.
    pub payload: Payload,
    /// The message as the server sent it.
    pub message: Message,
}

/// What happens to a request on its way.
#[derive(Debug)]
pub enum Event {
    /// The server says something about this request.
    Notice(Notice),
    /// The server needs something from the client.
    Input(Input),
    /// It is over. Nothing follows.
    Outcome(Outcome),
}

/// How a request ended.
#[derive(Debug)]
pub enum Outcome {
    /// The server answered.
    Reply(Reply),
    /// Its answer has begun, and is passed on as it comes. Only for a request whose face can
    /// do that ([`Admitted::passes_on`](crate::Admitted::passes_on)).
    Begun(Box<Begun>),
    /// It did not.
    Failed(CallError),
}

/// A server's answer, with what must change in it for the client.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The answer as it came.
    pub message: Message,
    /// Changes within it, apart from the id.
    pub edits: Edits,
}

impl Reply {
    /// The answer under the client's own id.
    pub fn payload(&self, id: &Id) -> Payload {
        let mut edits = self.edits.clone();
        if let Some(span) = self.message.id_span() {
            edits.replace(span, id.token().clone());
        }
        self.message.edited(&edits)
    }

    /// The answer with all that was changed in it: whoever takes it apart, or says it in
    /// other words, begins with this and not with what came.
    pub(crate) fn settled(self) -> Message {
        if self.edits.is_empty() {
            return self.message;
        }
        let changed = Message::parse(self.message.edited(&self.edits).into_bytes());
        // What was taken out of it must not come back.
        changed.unwrap_or_else(|_| Message::response(&Id::number(0), "{}"))
    }
}

/// The end of a request that came to nothing.
pub(super) fn failed(fault: CallError) -> Event {
    Event::Outcome(Outcome::Failed(fault))
}

/// What the client must get back wherever its progress token stood.
pub(crate) fn restore_token(message: &Message, token: &Bytes) -> Payload {
    let mut edits = Edits::new();
    if let Some(body) = message.body_span()
        && let Ok(Some(span)) =
            switchboard_wire::json::field(body.of(message.raw()), "progressToken")
    {
        edits.replace(span.shifted(body.start), token.clone());
    }
    message.edited(&edits)
}
