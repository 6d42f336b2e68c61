//! The HTTP link against a server made of raw sockets, so that every byte of
//! what it meets is chosen here.

#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail like the test"
)]

mod answers;
mod connections;
mod events;
mod lifecycle;
mod listening;
mod peer;
mod refusals;
mod server;
