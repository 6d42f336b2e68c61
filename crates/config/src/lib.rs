//! What is configured, as plain values.
//!
//! This crate opens files and nothing else: no process, no socket. It reads
//! entries ([`read`]), finds out which of them count ([`load`]), fills in
//! variables ([`expand`]) and says exactly what is wrong where ([`Fault`]).
//! What becomes of an entry is decided by those who use it.

pub mod approval;
pub mod check;
pub mod connectors;
pub mod edit;
pub mod entry;
pub mod environment;
pub mod expand;
pub mod explain;
pub mod fault;
pub mod import;
mod inherit;
pub mod itself;
mod launchers;
pub mod limits;
pub mod load;
pub mod places;
pub mod plugin;
pub mod policy;
mod position;
pub mod program;
pub mod program_variables;
pub mod read;
pub mod safe_read;
pub mod settings;
pub mod sign_in;
pub mod target;
pub mod trust;

pub use entry::{
    BuiltinOptions, Entry, Isolation, Oauth, OauthGrant, Pinning, Scope, Tls, ToolLists, Transport,
};
pub use fault::{Fault, Source};
pub use load::{Configured, Loaded, Looked, Outcome, Request, Standing, load};
pub use places::Places;
