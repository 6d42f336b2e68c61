//! How messages get in and out: standard streams, HTTP with all that it
//! carries, and a pair in the same process.

mod ahead;
pub(crate) mod backlog;
pub(crate) mod conversation;
pub mod http;
pub mod in_process;
pub mod stdio;
