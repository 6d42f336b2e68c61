//! Outposts: machines that run servers for the replicas of a cluster. Users know them as
//! workers.
//!
//! An outpost dials out to every replica and stays connected, so that it can be behind
//! whatever lets nobody in. On that connection it says what it offers, and hears for which
//! server a link is wanted; it dials once more for each link. A link carries lines, as a
//! server's own streams would, and at the outpost a client's conversation is at its other
//! end: what is started there, and for whom, is decided by the outpost's own settings, and by
//! what those have signed whom it was told to believe.

mod announced;
mod beside;
mod carrying;
mod frames;
mod hiring;
mod known;
mod link;
mod places;
mod serving;

pub use announced::Announced;
pub(crate) use frames::headers;
pub use hiring::{HiredServer, Hires, Hiring, NotRun};
pub(crate) use known::{Comer, Outposts};
pub(crate) use link::claim;
pub(super) use places::placed;
pub use serving::{Outpost, OutpostParts};

/// Where an outpost stays connected, at a replica.
pub(crate) const ATTEND: &str = "/outpost";
/// Where the links of its servers begin.
pub(crate) const LINK: &str = "/outpost/link";
/// What both become.
pub(crate) const PROTOCOL: &str = "switchboard-outpost";
