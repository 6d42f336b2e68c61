//! What a client expects, by era: [`legacy`] sessions with their handshake and
//! questions, [`modern`] requests that stand alone. Neither knows what carries
//! its messages; they speak through an [`Outlet`].

pub mod hello;
pub mod legacy;
pub mod lists;
pub mod modern;
pub(crate) mod parked;
mod rewrite;
mod seal;
mod tasks;
pub mod watch;

use switchboard_wire::Payload;

/// Where the messages for one client, or for one of its requests, go.
pub trait Outlet: Send + Sync {
    /// Sends a message. Must not block; what cannot be kept is dropped by weight.
    fn send(&self, payload: Payload, weight: Weight);
}

/// What must not be lost, and what may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A notification: the first to give way.
    Notice,
    /// A question that somebody waits for.
    Question,
    /// The answer to a request.
    Reply,
}
