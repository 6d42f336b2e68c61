//! Peers that misbehave, and what becomes of it.

mod bad_headers;
mod bad_input;
mod catalog;
mod crowds;
mod dialogue;
mod healing;
mod http;
mod panics;
mod policy;
mod servers;
