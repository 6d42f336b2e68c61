//! One client request in flight, in any era.
//!
//! An [`Exchange`] yields events – notifications, input needed – and at last
//! one [`Outcome`]. It knows nothing of how either side is connected. Dropping
//! it before its outcome cancels the request upstream, in that server's own way.

mod inbox;
mod input;

pub use inbox::Inbox;
pub use input::Input;

use crate::{error::CallError, upstream::Connection};
use bytes::Bytes;
use std::{sync::Arc, time::Duration};
use switchboard_wire::{Edits, Id, Message, Method, Payload};
use tokio::time::{Instant, timeout_at};

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
}

/// One request in flight.
#[derive(Debug)]
pub struct Exchange {
    inbox: Arc<Inbox>,
    connection: Arc<Connection>,
    request: u64,
    deadline: Instant,
    allowed: Duration,
    over: bool,
}

impl Exchange {
    pub(crate) fn new(inbox: Arc<Inbox>, connection: Arc<Connection>, request: u64, allowed: Duration) -> Self {
        Self { inbox, connection, request, deadline: Instant::now() + allowed, allowed, over: false }
    }

    /// The connection that carries it.
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// The next event. After the outcome there is none.
    pub async fn next(&mut self) -> Event {
        let event = match timeout_at(self.deadline, self.inbox.next()).await {
            Ok(event) => event,
            Err(_) => {
                self.connection.cancel(self.request, Some("timed out"));
                Event::Outcome(Outcome::Failed(CallError::TimedOut(self.allowed)))
            }
        };
        self.over |= matches!(event, Event::Outcome(_));
        event
    }

    /// The outcome; notifications are dropped and questions refused.
    pub async fn outcome(mut self) -> Outcome {
        loop {
            match self.next().await {
                Event::Outcome(outcome) => return outcome,
                Event::Input(input) => input.refuse_unsupported(),
                Event::Notice(_) => {}
            }
        }
    }

    /// Gives the request up in the client's own words: its notification, under our id.
    pub fn cancel_as(mut self, notice: &Message) {
        self.over = true;
        self.connection.cancel_as(self.request, notice);
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !self.over {
            self.connection.cancel(self.request, None);
        }
    }
}

/// What the client must get back wherever its progress token stood.
pub(crate) fn restore_token(message: &Message, token: &Bytes) -> Payload {
    let mut edits = Edits::new();
    if let Some(body) = message.body_span()
        && let Ok(Some(span)) = switchboard_wire::json::field(body.of(message.raw()), "progressToken")
    {
        edits.replace(span.shifted(body.start), token.clone());
    }
    message.edited(&edits)
}
