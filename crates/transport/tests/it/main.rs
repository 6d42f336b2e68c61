//! Links to servers somewhere else, against real sockets: one test program, a
//! module for each kind.

#![allow(unreachable_pub, reason = "a program has no outside")]
#![allow(
    clippy::unwrap_used,
    reason = "the helpers of a test fail like the test"
)]

mod http_client;
mod remote;
