//! Links that carry MCP messages: bytes on one side, [`Message`]s on the other.
//!
//! A link knows framing, limits and its own peer, and nothing about eras,
//! sessions of clients or permissions. What arrives is handed to a [`Receive`]
//! at once; what is sent is queued without waiting, up to a cap.
//!
//! [`Message`]: switchboard_wire::Message

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod begun;
mod budget;
pub mod dial;
mod full;
pub mod http;
pub mod in_process;
mod inbox;
pub mod limits;
mod link;
mod numbers;
mod remote;
pub mod stdio;
#[cfg(feature = "http")]
pub mod ws;

pub use begun::{Begun, BrokenOff, Came};
pub use budget::{Budget, GivesWay, InFlight, Pass, Share};
pub use full::{Full, Whose};
pub use link::{About, Closed, Inbound, Link, Outgoing, Receive, SendError, Undelivered, Unsent};
pub use numbers::ByNumber;
pub use remote::{Carrier, Driving, NotBuilt};
