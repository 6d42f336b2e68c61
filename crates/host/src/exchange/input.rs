//! A question from a server, and the one answer it gets.

use crate::upstream::Connection;
use std::{fmt, sync::Arc};
use switchboard_wire::{Edits, ErrorObject, Id, Message, Method, Payload, code};
use tokio_util::sync::CancellationToken;

/// Something a server needs from the client: an elicitation, a sampling, roots.
///
/// Whoever holds it owes the server an answer; dropping it answers with an error.
pub struct Input {
    message: Message,
    edits: Edits,
    connection: Arc<Connection>,
    withdrawn: CancellationToken,
    answered: bool,
}

impl Input {
    pub(crate) fn new(message: Message, connection: Arc<Connection>, withdrawn: CancellationToken) -> Self {
        Self { message, edits: Edits::new(), connection, withdrawn, answered: false }
    }

    /// What is asked for.
    pub fn method(&self) -> Method {
        self.message.method()
    }

    /// The server's request as it came.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// The server that asks.
    pub fn server(&self) -> &Arc<str> {
        self.connection.server_name()
    }

    /// Changes what the client will see, in addition to the id.
    pub fn edits(&mut self) -> &mut Edits {
        &mut self.edits
    }

    /// The request as the client gets it, under an id of ours.
    pub fn payload(&self, id: &Id) -> Payload {
        let mut edits = self.edits.clone();
        if let Some(span) = self.message.id_span() {
            edits.replace(span, id.token().clone());
        }
        self.message.edited(&edits)
    }

    /// Ends when the server has taken the question back, or its call is over.
    pub fn withdrawn(&self) -> CancellationToken {
        self.withdrawn.clone()
    }

    /// Passes the client's response (a result or an error) to the server.
    pub fn answer(mut self, response: &Message) {
        if let Some(id) = self.message.id() {
            self.reply(response.edited(&response.with_id(&id)));
        }
    }

    /// Answers with an error of ours.
    pub fn refuse(mut self, error: &ErrorObject) {
        self.reply(error.response(self.message.id().as_ref()));
    }

    /// Answers that nobody here can do this.
    pub fn refuse_unsupported(self) {
        let text = format!("the client does not support {}", self.message.method_name());
        self.refuse(&ErrorObject::new(code::METHOD_NOT_FOUND, text));
    }

    fn reply(&mut self, payload: Payload) {
        self.answered = true;
        self.connection.answer_peer(&self.message, payload);
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if !self.answered && !self.withdrawn.is_cancelled() {
            let error = ErrorObject::new(code::INTERNAL, "the client went away before it answered");
            self.reply(error.response(self.message.id().as_ref()));
        }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("method", &self.method()).field("server", self.server()).finish_non_exhaustive()
    }
}
