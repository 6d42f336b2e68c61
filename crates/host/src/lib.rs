//! The upstream side of Switchboard and the life of a call.
//!
//! A [`Host`] holds servers, given as [`ServerSpec`]s. A face hands it an
//! [`Admitted`] request and gets an [`Exchange`]: one request in flight, in
//! any era. `call` reads as the list of what happens on the way.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod announcement;
pub mod bridge;
mod call;
pub mod catalog;
mod client;
pub mod desk;
mod error;
mod exchange;
mod host;
pub mod limits;
mod mirror;
pub mod observe;
pub mod permission;
pub mod pins;
mod quota;
mod states;
mod upstream;

pub use announcement::Announcement;
pub use call::{Admitted, Scope, route_uri, route_uris};
pub use client::{Client, ClientId, ClientSink, LOG_LEVELS, NoSink, StillAdmitted};
pub use error::{Again, Blame, CallError, NOT_ALLOWED};
pub use exchange::{
    Begun, Consent, Event, Exchange, Input, Notice, Outcome, Relayed, Reply, Verdict,
};
pub use host::{Comers, Host, Late, TaskBook};
pub use quota::{Full, Place, Quota};
pub use states::{State, StateEvent, StateEvents};
pub use upstream::{
    AUTHENTICATE, Behalf, BoxError, Callers, Connection, Counts, Ended, Far, FarEnd, FarOwner,
    FarReach, FarWay, Hello, Ide, IdeCarrier, IdeError, Isolation, MayStart, Remarks, Remote,
    Server, ServerSpec, ServerState, SignIn, StandIn, Target, Timeouts, ToolFilter, Topic,
};
