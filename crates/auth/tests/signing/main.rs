//! Signing in against a strict authorization server, over real sockets.

#![allow(clippy::large_futures, reason = "one test has its program for itself")]
#![allow(unreachable_pub, reason = "a program has no outside")]
#![allow(clippy::unwrap_used, reason = "what tests share is test code too")]

mod door;
mod fleet;
mod flow;
mod grants;
mod guards;
mod helper;
mod keychain;
mod peer;
mod renewal;
mod secrets;
mod site;
mod traps;
mod xaa;
