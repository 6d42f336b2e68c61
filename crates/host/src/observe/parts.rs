//! The parts of a call that are followed on their own: each request that is at its
//! server, and each question to somebody. And what a call says about the trace that it
//! is a part of.

use super::Shown;
use crate::exchange::Outcome;
use std::{fmt, sync::Arc};
use switchboard_wire::{Message, Method, Revision, trace::Carried};

/// A part of a call. Dropped before it was told its end it was given up.
pub trait Part: Send {
    /// It is over.
    fn end(self: Box<Self>, ended: &PartEnd<'_>);
}

/// How a part of a call ended.
#[derive(Debug)]
pub enum PartEnd<'a> {
    /// What was at a server has this outcome.
    Outcome(&'a Outcome),
    /// Who was asked has answered, with a result or an error.
    Answered(&'a Message),
    /// Nobody was asked, or could answer.
    Refused,
}

/// Follows what a call sends to its server, however often.
pub trait Leaving: Send + Sync {
    /// A request is about to leave.
    fn leaves(&self, request: &Departing<'_>) -> Option<Departure>;

    /// What the process of this server is told that is started for the call.
    fn starting(&self, server: &Arc<str>) -> Carried;
}

/// A request that is about to leave.
#[derive(Debug)]
pub struct Departing<'a> {
    /// For which server.
    pub server: &'a Arc<str>,
    /// What it asks for. Across eras it is not always what the client asked for.
    pub method: Method,
    /// Our number for it.
    pub number: u64,
    /// The revision that the server speaks.
    pub revision: Revision,
    /// What carries it, in the words of the conventions.
    pub carrier: &'static str,
}

/// A request that leaves, and is followed.
pub struct Departure {
    /// What its server is told of the trace.
    pub carried: Carried,
    /// What is told how it ended.
    pub part: Box<dyn Part>,
}

/// What a request has to do with traces. Of most nothing is known, and nobody asks.
#[derive(Clone, Default)]
pub struct Trace {
    /// What came beside it, where its face has headers and somebody wants to know.
    pub carried: Option<Box<Carried>>,
    /// Who follows what it leads to.
    pub(crate) leaving: Option<Arc<dyn Leaving>>,
    /// Where its messages are shown, if anybody wants to see them.
    pub shown: Option<Arc<Shown>>,
}

impl Trace {
    /// What came beside a request.
    pub fn beside(carried: Carried) -> Self {
        Self {
            carried: (!carried.is_empty()).then(|| Box::new(carried)),
            leaving: None,
            shown: None,
        }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace")
            .field("is_followed", &self.leaving.is_some())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Departure").finish_non_exhaustive()
    }
}

/// A request of a client's that goes on with a call which was parked.
#[derive(Debug)]
pub struct Resumed<'a> {
    /// The request.
    pub message: &'a Message,
    /// Where its parameters stand in it.
    pub params: &'a switchboard_wire::Params,
    /// What came beside it.
    pub carried: Option<&'a Carried>,
}
