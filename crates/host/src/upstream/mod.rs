//! The upstream side: one connection to one server in one era, and the
//! supervisor that makes and remakes them.
//!
//! Era differences end here: [`legacy`] and [`modern`] shake hands and keep
//! watch in their own ways, everything else is one [`Connection`].

mod arriving;
mod attempt;
mod audience;
mod callers;
mod calls;
mod capped;
mod connecting;
mod connection;
mod declared;
mod discover;
mod dual_era;
mod far;
mod health;
mod hello;
mod ide;
mod idle;
mod initialize;
mod judged;
mod keyed;
mod knowledge;
mod knowledge_file;
mod knowledge_room;
mod levels;
mod link;
mod listen;
pub(crate) mod mcp_tasks;
mod notices;
mod owners;
mod passed_on;
mod peer;
mod questions;
mod remarks;
mod retirement;
mod sending;
mod server;
mod shape;
mod signs;
mod slot;
mod slots;
mod spec;
mod stand_ins;
mod starting;
mod subscriptions;
mod supervise;
mod turns;
mod uses;

pub use callers::{Behalf, Callers};
pub(crate) use capped::end_those_over;
pub use connection::{Connection, Ended};
pub use far::{Far, FarEnd, FarOwner, FarReach, FarWay};
pub use health::{Counts, ServerState};
pub use hello::Hello;
pub use ide::{Ide, IdeCarrier, IdeError};
pub(crate) use passed_on::PassedOn;
pub use remarks::Remarks;
pub(crate) use sending::Beside;
pub use server::Server;
pub(crate) use signs::are_silent;
pub use spec::{
    AUTHENTICATE, BoxError, Isolation, MayStart, Remote, ServerSpec, SignIn, StandIn, Target,
    Timeouts, ToolFilter,
};
pub use subscriptions::Topic;
pub(crate) use turns::Turn;
