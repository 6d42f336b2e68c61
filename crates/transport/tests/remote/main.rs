//! Links to servers somewhere else, against real sockets: WebSocket, HTTP+SSE,
//! TLS and Unix sockets. Streamable HTTP has a test program of its own.

#![allow(
    clippy::unwrap_used,
    reason = "these are tests, as far as clippy can't tell"
)]

mod ear;
mod sse;
mod tls;
mod ws;
mod ws_frames;
