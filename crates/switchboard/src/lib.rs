//! Assembles configuration, host and gateway. Thin on purpose: each part knows
//! how to do its own work, this crate only introduces them to each other.
//!
//! [`Config`] is where everybody begins who wants what a user has configured: with
//! sign-ins, approvals and rules, in the order that [`pipeline`] says. Who builds an
//! agent with servers of its own starts with [`Agent`] and [`library`]; who builds a
//! server, with [`server`].

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

#[cfg(all(test, not(feature = "http")))]
#[path = "absent/tests.rs"]
mod absent;
#[cfg(feature = "sign-in")]
pub mod access;
#[cfg(not(feature = "sign-in"))]
#[path = "absent/access.rs"]
pub mod access;
mod apart;
#[cfg(feature = "gateway")]
pub mod attached;
#[cfg(not(feature = "gateway"))]
#[path = "absent/attached.rs"]
pub mod attached;
pub mod connectors;
#[cfg(feature = "gateway")]
pub mod control;
pub mod dirs;
pub mod file_watch;
#[cfg(feature = "builtin")]
mod flows;
mod identity;
pub mod in_use;
pub mod library;
pub mod limits;
#[cfg(feature = "gateway")]
pub mod listen;
pub mod logs;
pub mod permissions;
pub mod pipeline;
pub mod pools;
#[cfg(feature = "gateway")]
pub mod relay;
pub mod report;
pub mod roster;
#[cfg(feature = "gateway")]
pub mod running;
#[cfg(all(feature = "gateway", feature = "builtin"))]
pub mod server;
pub mod settings;
mod spec;
#[cfg(feature = "sign-in")]
mod stand_in;
#[cfg(feature = "gateway")]
pub mod tokens;
pub mod wants_sign_in;

pub use access::{Access, WayIn};
pub use apart::Apart;
pub use dirs::{Dirs, memory_folder};
pub use permissions::Purpose;
pub use pipeline::{Approvals, Approved, Config, Governed, Look, Options, Unusable};
pub use pools::Pools;
pub use roster::{Member, Preview, Status};
pub use settings::Settings;
pub use switchboard_agent::{Agent, AgentBuilder, AgentEvent, Caller, Dialogue};
pub use switchboard_config::environment::Variables;

pub use switchboard_agent as agent;
#[cfg(feature = "sign-in")]
pub use switchboard_auth as auth;
#[cfg(feature = "builtin")]
pub use switchboard_builtin as builtin;
pub use switchboard_config as config;
#[cfg(feature = "gateway")]
pub use switchboard_gateway as gateway;
pub use switchboard_host as host;
pub use switchboard_local as local;
pub use switchboard_model as model;
pub use switchboard_process as process;
pub use switchboard_tasks as tasks;
pub use switchboard_transport as transport;
pub use switchboard_wire as wire;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The version that peers are told.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
