//! The HTTP link against a server made of raw sockets, so that every byte of
//! what it meets is chosen here.

mod answers;
mod connections;
mod driving;
mod events;
mod lifecycle;
mod listening;
mod peer;
mod refusals;
mod server;
