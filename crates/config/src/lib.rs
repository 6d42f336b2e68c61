//! What is configured, as plain values.
//!
//! This crate opens files and nothing else: no process, no socket. It reads
//! entries ([`read`]), finds out which of them count ([`load`]), fills in
//! variables ([`expand`]) and says exactly what is wrong where ([`Fault`]).
//! What becomes of an entry is decided by those who use it.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod approval;
pub mod check;
pub mod clients;
pub mod connect;
pub mod connectors;
pub mod edit;
mod entry;
mod env_file;
mod environment;
pub mod expand;
pub mod explain;
mod fault;
pub mod import;
mod inherit;
pub mod itself;
mod launchers;
pub mod limits;
mod links;
mod load;
mod places;
mod plugin;
mod policy;
mod position;
pub mod program;
mod program_variables;
mod read;
pub mod safe_read;
mod settings;
mod sign_in;
mod target;
pub mod trust;
mod usage;

pub use entry::{
    BuiltinOptions, Caps, Entry, Isolation, Oauth, OauthGrant, Pinning, Scope, Tls, ToolLists,
    Transport, WorkerOptions,
};
pub use environment::{Environment, Variables};
pub use fault::{Fault, Source};
pub use load::{
    Applied, Configured, Document, Hired, HiredServer, Loaded, Looked, Outcome, Request, Standing,
    faults_of, hires_of, load,
};
pub use places::{Places, moved_inside};
pub use policy::Verdict;
pub use read::read;
pub use settings::{
    AccessLog, AskAtWord, Audit, AuditSync, Inbox, LineFormat, MetricsSetting, Observe,
    OnAuditFailure, PermissionRule, Permissions, Traces, TracesProtocol, Webhook, WebhookFault,
    Written,
};
pub use sign_in::{Idp, SignIn};
pub use target::redacted;
