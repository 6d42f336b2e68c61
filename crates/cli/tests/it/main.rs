//! The running program, tried from outside: one test program, a module for each area.
//!
//! What needs a process of its own (it counts processes or measures memory)
//! stands beside this folder: `orphans.rs`, `memory.rs`.

#![allow(unreachable_pub, reason = "a program has no outside")]
#![allow(
    clippy::unwrap_used,
    clippy::large_futures,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests: a failure is a panic, and what they saw is printed"
)]

mod support;

mod api;
mod builtin;
mod cassettes;
#[cfg(feature = "cluster")]
mod cluster;
mod config;
mod faults;
mod gateway;
mod held;
mod inbox;
mod lives;
mod screens;
mod signing_in;
mod traffic;
mod transports;
mod watching;
