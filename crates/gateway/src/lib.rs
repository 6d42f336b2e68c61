//! The downstream side of Switchboard: how clients reach it.
//!
//! [`faces`] turn bytes into messages and know transports, addresses and
//! credentials. `session` knows what a client of each era expects. Behind
//! both there is one [`Host`](switchboard_host::Host).

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod admission;
mod announcement;
mod cluster;
mod control;
mod door;
pub mod faces;
mod forms;
mod gateway;
mod kept;
pub mod limits;
mod pages;
mod session;
pub mod visitors;
mod wrong_tokens;

pub use admission::Admission;
pub use announcement::Announcement;
pub use cluster::{
    Announced, Applied, AppliedBook, AppliedPage, ApplyError, ApplyKey, ApplyKeys, Approval,
    BadApplyKey, BadKeys, Cluster, ClusterKeys, ClusterParts, Document, Hire, HiredServer, Hires,
    Hiring, Lease, LeaseOf, Looked, Node, NotApplied, NotRun, Outpost, OutpostParts, Part,
    RecordChain, RecordHead, RecordPiece, RecordPlace, Records, Runs, Shortened, SignIns, Signed,
    Statement, TokenDigest,
};
pub use control::{
    Answering, Asked, Asker, Control, ControlAccess, ControlSession, Controlled, EventBytes,
    Pieces, Readiness, Said, Writing, Written,
};
pub use door::{ClientToken, Door, LiveTokens, WrongTokens};
pub use gateway::{Counts, Gateway, GatewayOptions};
pub use kept::Keeping;
pub use pages::{Page, Pages, SharedPages};
pub use session::finder::{ToolList, ToolLists};
pub use visitors::{Visitor, Visitors};
