//! Links that carry MCP messages: bytes on one side, [`Message`]s on the other.
//!
//! A link knows framing, limits and its own peer, and nothing about eras,
//! sessions of clients or permissions. What arrives is handed to a [`Receive`]
//! at once; what is sent is queued without waiting, up to a cap.
//!
//! [`Message`]: switchboard_wire::Message

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod budget;
pub mod dial;
pub mod full;
pub mod http;
pub mod in_process;
mod inbox;
pub mod limits;
pub mod link;
pub mod numbers;
pub mod remote;
pub mod stdio;
#[cfg(feature = "http")]
pub mod ws;

pub use budget::{Budget, Share};
pub use link::{About, Closed, Inbound, Link, Outgoing, Receive, SendError, Undelivered, Unsent};
pub use remote::{Carrier, NotBuilt};
