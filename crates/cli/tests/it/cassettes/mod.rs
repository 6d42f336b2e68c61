//! Cassettes: recorded of a real server, played to real clients, and held against servers;
//! and servers that start again while somebody writes them.

mod dev;
mod everything;
mod full;
mod hostile;
mod played;
mod recording;
