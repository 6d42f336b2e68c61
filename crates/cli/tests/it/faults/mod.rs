//! Peers that misbehave, and what becomes of it.

mod answers;
mod bad_headers;
mod bad_input;
mod catalog;
mod crash_loops;
mod crowds;
mod damaged;
mod dialogue;
mod edges;
mod healing;
mod http;
mod limits;
mod panics;
mod passing;
mod policy;
mod queues;
mod servers;
mod shares;
mod soak;
mod turns;
