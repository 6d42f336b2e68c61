//! A question from a server, and the one answer it gets.

use super::Consent;
use crate::{
    desk::Held,
    observe::{Part, PartEnd},
    upstream::mcp_tasks::related,
};
use std::{fmt, sync::Arc};
use switchboard_wire::{Edits, ErrorObject, Id, Message, Method, Payload, code, json};
use tokio_util::sync::CancellationToken;

/// Something a server needs from the client: an elicitation, a sampling, roots.
///
/// Whoever holds it owes the server an answer; dropping it answers that the
/// client has gone.
pub struct Input {
    message: Message,
    edits: Edits,
    server: Arc<str>,
    withdrawn: CancellationToken,
    reply: Option<Reply>,
    consent: Option<Arc<Consent>>,
    held: Option<Arc<Held>>,
    /// What is told how it ended, where anybody follows it.
    parts: Vec<Box<dyn Part>>,
}

/// Passes the answer on; gets the question, too.
type Reply = Box<dyn FnOnce(&Message, Answer) + Send>;

/// What becomes of a question.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// The client responded, with a result or an error.
    Response(Message),
    /// It was not asked: we answer ourselves.
    Refused(ErrorObject),
}

impl Input {
    /// A question that `reply` passes the answer of.
    pub(crate) fn new(
        message: Message,
        server: Arc<str>,
        withdrawn: CancellationToken,
        reply: impl FnOnce(&Message, Answer) + Send + 'static,
    ) -> Self {
        Self {
            message,
            edits: Edits::new(),
            server,
            withdrawn,
            reply: Some(Box::new(reply)),
            consent: None,
            held: None,
            parts: Vec::new(),
        }
    }

    /// A question of our own: whether a call may go ahead.
    pub(super) fn about(mut self, consent: Arc<Consent>) -> Self {
        self.consent = Some(consent);
        self
    }

    /// The same about what is held at a breakpoint.
    pub(super) fn about_held(mut self, held: Arc<Held>) -> Self {
        self.held = Some(held);
        self
    }

    /// What is held, where somebody has set a breakpoint.
    pub fn held(&self) -> Option<&Arc<Held>> {
        self.held.as_ref()
    }

    /// Tells this part of its call how it ended.
    pub(crate) fn followed_by(&mut self, part: Box<dyn Part>) {
        self.parts.push(part);
    }

    /// What is to be allowed, where it is our own question and not a server's.
    pub fn consent(&self) -> Option<&Arc<Consent>> {
        self.consent.as_ref()
    }

    /// What is asked for.
    pub fn method(&self) -> Method {
        self.message.method()
    }

    /// The server's request. Across eras it is one that we made from the server's words.
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// The server that asks.
    pub fn server(&self) -> &Arc<str> {
        &self.server
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

    /// Passes the client's response (a result or an error) to the server. It can
    /// belong to the task that the question is about, and to no other.
    pub fn answer(mut self, response: &Message) {
        let task = related(response);
        if task.is_some() && task != related(&self.message) {
            let text = "the client answered for another task than the one it was asked for";
            return self.settle(Answer::Refused(ErrorObject::new(code::INTERNAL, text)));
        }
        self.settle(Answer::Response(response.clone()));
    }

    /// Answers with an error of ours.
    pub fn refuse(mut self, error: &ErrorObject) {
        self.settle(Answer::Refused(error.clone()));
    }

    /// Whether it wants a page to be opened, and no form filled in.
    pub(crate) fn is_page(&self) -> bool {
        let body = self.message.body();
        let mode = json::field(body, "mode").ok().flatten();
        mode.is_some_and(|span| span.of(body) == b"\"url\"")
    }

    /// The same question for one of several who may answer it.
    pub(crate) fn half(
        &self,
        withdrawn: CancellationToken,
        reply: impl FnOnce(&Message, Answer) + Send + 'static,
    ) -> Self {
        let mut half = Self::new(self.message.clone(), self.server.clone(), withdrawn, reply);
        half.edits = self.edits.clone();
        half.consent = self.consent.clone();
        half
    }

    /// Passes on what became of it.
    pub(crate) fn settled(mut self, answer: Answer) {
        self.settle(answer);
    }

    /// Answers that nobody here can do this.
    pub fn refuse_unsupported(self) {
        let text = format!("the client does not support {}", self.message.method_name());
        self.refuse(&ErrorObject::new(code::METHOD_NOT_FOUND, text));
    }

    fn settle(&mut self, answer: Answer) {
        for part in self.parts.drain(..) {
            part.end(&match &answer {
                Answer::Response(message) => PartEnd::Answered(message),
                Answer::Refused(_) => PartEnd::Refused,
            });
        }
        if let Some(reply) = self.reply.take() {
            reply(&self.message, answer);
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if !self.withdrawn.is_cancelled() {
            let error = ErrorObject::new(code::INTERNAL, "the client went away before it answered");
            self.settle(Answer::Refused(error));
        }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("method", &self.method())
            .field("server", self.server())
            .finish_non_exhaustive()
    }
}
