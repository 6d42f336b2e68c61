//! What is configured, as plain values.
//!
//! This crate opens files and nothing else: no process, no socket. It reads
//! entries ([`read`]), finds out which of them count ([`load`]), fills in
//! variables ([`expand`]) and says exactly what is wrong where ([`Fault`]).
//! What becomes of an entry is decided by those who use it.

pub mod entry;
pub mod expand;
pub mod fault;
pub mod itself;
pub mod limits;
pub mod load;
mod position;
pub mod read;
pub mod target;

pub use entry::{Entry, Isolation, Scope, ToolLists, Transport};
pub use fault::{Fault, Source};
pub use load::{Configured, Loaded, Request, Standing, load};
