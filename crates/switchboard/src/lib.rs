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
mod access;
#[cfg(not(feature = "sign-in"))]
#[path = "absent/access.rs"]
mod access;
mod apart;
#[cfg(feature = "gateway")]
pub mod api;
#[cfg(feature = "gateway")]
mod applied;
#[cfg(feature = "gateway")]
mod attached;
#[cfg(not(feature = "gateway"))]
#[path = "absent/attached.rs"]
mod attached;
#[cfg(feature = "cluster")]
pub mod cluster;
mod connectors;
#[cfg(feature = "console")]
mod console;
#[cfg(all(feature = "gateway", not(feature = "console")))]
#[path = "absent/console.rs"]
mod console;
#[cfg(feature = "gateway")]
mod control;
pub mod develop;
mod dirs;
mod file_watch;
#[cfg(feature = "builtin")]
mod flows;
#[cfg(feature = "gateway")]
mod handover;
mod identity;
mod in_use;
#[cfg(feature = "gateway")]
mod kept;
pub mod library;
pub mod limits;
#[cfg(feature = "gateway")]
mod listen;
pub mod logs;
mod permissions;
pub mod pipeline;
mod pools;
#[cfg(feature = "gateway")]
mod recorded;
#[cfg(feature = "gateway")]
mod relay;
mod report;
#[cfg(feature = "gateway")]
mod required;
mod roster;
#[cfg(feature = "gateway")]
pub mod running;
#[cfg(all(feature = "gateway", feature = "builtin"))]
pub mod server;
mod settings;
mod spec;
#[cfg(feature = "sign-in")]
mod stand_in;
#[cfg(feature = "gateway")]
pub mod tokens;
mod used;
mod wants_sign_in;
#[cfg(feature = "gateway")]
pub mod watching;

#[cfg(feature = "sign-in")]
pub use access::wants_oauth;
pub use access::{Access, WayIn};
pub use apart::Apart;
#[cfg(feature = "gateway")]
pub use attached::AttachError;
pub use attached::Attached;
pub use connectors::{AskError, Background, FetchError, Fetching};
#[cfg(feature = "builtin")]
pub use dirs::own_folders;
pub use dirs::{Dirs, NoHome, memory_folder};
#[cfg(feature = "gateway")]
pub use handover::TakenOver;
pub use in_use::InUse;
#[cfg(feature = "gateway")]
pub use listen::{Doors, Issuer, Joined, Listen, ListenError, Open, PeopleClient, serve};
pub use permissions::{Purpose, Unfollowable, pin_key};
pub use pipeline::{
    Approvals, Approved, Arrangement, Config, Follower, Governed, Look, Options, ReloadError, Tell,
    Unusable,
};
#[cfg(feature = "gateway")]
pub use pipeline::{Behind, Candidate, Fronted, Listening, Show};
pub use pools::Pools;
pub use report::{Health, Report, copies, report, several};
pub use roster::{Member, Preview, Status, ViaGateway, builtin_entry};
pub use settings::Settings;
pub use switchboard_agent::{Agent, AgentBuilder, AgentEvent, Caller, Dialogue};
pub use switchboard_config::Variables;
pub use used::{Used, used};
pub use wants_sign_in::{can_sign_in, needs_auth, sign_in_hint, was_refused};

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
#[cfg(feature = "gateway")]
pub use switchboard_record as record;
pub use switchboard_tasks as tasks;
pub use switchboard_transport as transport;
pub use switchboard_wire as wire;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The version that peers are told.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
