//! WebSocket: each message is one text message of the subprotocol `mcp`.
//!
//! [`WsLink`] is the client's side. [`socket`] is what both sides share: a queue
//! that never makes its writer wait, a reader with a cap, and a keep-alive.

mod arriving;
mod handshake;
mod heard;
mod link;
mod socket;

pub use link::WsLink;
pub use socket::{WsEnd, WsReader, WsWriter, serve};

use crate::limits;
use std::time::Duration;

/// The subprotocol.
pub const PROTOCOL: &str = "mcp";

/// The limits of a WebSocket.
#[derive(Clone, Debug)]
pub struct WsOptions {
    /// The largest message that is accepted, in one frame or in many.
    pub message_cap: usize,
    /// How long a connection, with TLS and handshake, may take to be made.
    pub connect_timeout: Duration,
    /// How often the peer is asked whether it is there.
    pub ping_every: Duration,
    /// A peer of which nothing has been heard for this long is gone.
    pub silence: Duration,
}

impl Default for WsOptions {
    fn default() -> Self {
        Self {
            message_cap: switchboard_wire::limits::MESSAGE_BYTES,
            connect_timeout: limits::CONNECT,
            ping_every: limits::PING,
            silence: limits::WS_SILENCE,
        }
    }
}

/// What `Sec-WebSocket-Accept` says to a client that sent this key.
pub fn accept_key(key: &[u8]) -> String {
    tokio_tungstenite::tungstenite::handshake::derive_accept_key(key)
}
