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

// What is tested is the whole program: `cargo xtask test` builds it so.
#[cfg(not(all(feature = "cluster", feature = "otlp", feature = "screen")))]
compile_error!("these tests need the whole program: --features switchboard-cli/full");

mod support;

mod api;
mod builtin;
mod cassettes;
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
