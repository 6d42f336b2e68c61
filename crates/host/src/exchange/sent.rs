//! A request that its server has: the guard that gives it up.

use super::{Event, Inbox};
use crate::{
    observe::{Part, PartEnd},
    upstream::Connection,
};
use bytes::Bytes;
use std::{fmt, sync::Arc};
use switchboard_transport::Driving;
use switchboard_wire::Message;

/// A request of ours that is in flight on a connection. Dropped before its
/// outcome it is given up there, in that server's own way.
pub(crate) struct Sent {
    inbox: Arc<Inbox>,
    /// What has to be polled for it, for as long as somebody has waited without a break.
    driving: Option<Driving>,
    connection: Arc<Connection>,
    /// Its number on the connection.
    number: u64,
    /// Whether nothing of it is left to give up.
    over: bool,
    /// What is told how it ended, where anybody follows it.
    part: Option<Box<dyn Part>>,
}

impl Sent {
    pub(crate) fn new(inbox: Arc<Inbox>, connection: Arc<Connection>, number: u64) -> Self {
        Self {
            inbox,
            driving: None,
            connection,
            number,
            over: false,
            part: None,
        }
    }

    /// Drives this, where it has to be.
    pub(crate) fn driving(mut self, driving: Option<Driving>) -> Self {
        self.driving = driving;
        self
    }

    /// Tells this part of its call how it ended.
    pub(crate) fn followed_by(mut self, part: Option<Box<dyn Part>>) -> Self {
        self.part = part;
        self
    }

    /// Its number on its connection.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The connection that it left by.
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// What comes of it next; the outcome is the last.
    pub(super) async fn next(&mut self) -> Event {
        let event = match self.driving.take() {
            None => self.inbox.next().await,
            // Whoever stops waiting here, for good or since something came, drops it:
            // it goes on in a task.
            Some(mut driving) => self.inbox.next_driven(&mut driving).await,
        };
        if let Event::Outcome(outcome) = &event {
            self.over = true;
            if let Some(part) = self.part.take() {
                part.end(&PartEnd::Outcome(outcome));
            }
        }
        event
    }

    /// From now on its progress is told under another token.
    pub(super) fn set_token(&self, token: Option<Bytes>) {
        self.inbox.keep_newest_progress();
        self.connection.set_token(self.number, token);
    }

    /// Gives it up, once.
    pub(super) fn cancel(&mut self, reason: Option<&str>) {
        if !std::mem::replace(&mut self.over, true) {
            self.connection.cancel(self.number, reason);
        }
    }

    /// Gives it up in the client's own words: its notification, under our number.
    pub(super) fn cancel_as(&mut self, notice: &Message) {
        if !std::mem::replace(&mut self.over, true) {
            self.connection.cancel_as(self.number, notice);
        }
    }

    /// Leaves it to the server: nobody wants to know what comes of it.
    pub(super) fn let_go(mut self) {
        self.over = true;
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.cancel(None);
    }
}

impl fmt::Debug for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sent")
            .field("number", &self.number)
            .field("over", &self.over)
            .finish_non_exhaustive()
    }
}
