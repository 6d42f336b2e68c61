//! How a call ended, for those who watch it.

use super::watched;
use crate::{
    error::{Blame, CallError},
    exchange::{Outcome, Reply},
};
use std::time::{Duration, Instant};
use switchboard_wire::code;

/// How a call ended.
#[derive(Debug)]
pub struct End<'a> {
    /// In which way.
    pub ending: Ending<'a>,
    /// Whose fault that was, where it failed.
    pub fault: Option<Blame>,
    /// From its beginning to its end.
    pub took: Duration,
    /// When that was.
    pub when: Instant,
    /// How long it was at its server, without what it waited for people meanwhile.
    pub at_server: Duration,
    /// How long it waited for people: a yes, a form, a model's words that somebody looks at.
    pub waited: Duration,
    /// Bytes that the client sent for it.
    pub bytes_in: usize,
    /// Bytes that the client was told of it.
    pub bytes_out: usize,
}

/// In which way a call ended.
#[derive(Debug)]
pub enum Ending<'a> {
    /// The server answered.
    Reply(&'a Reply),
    /// It did not.
    Failed(&'a CallError),
    /// Nobody waits for it any more.
    GivenUp,
}

impl<'a> Ending<'a> {
    /// The ending that an outcome is.
    pub fn of(outcome: &'a Outcome) -> Self {
        match outcome {
            Outcome::Reply(reply) => Self::Reply(reply),
            Outcome::Failed(fault) => Self::Failed(fault),
            // What it says is known at its end, which is told apart.
            Outcome::Begun(_) => Self::Reply(&watched::FINE),
        }
    }

    /// Whose fault it was, where it failed.
    pub fn fault(&self) -> Option<Blame> {
        match self {
            Self::Reply(reply) if !reply.message.is_failure() => None,
            Self::Reply(reply) => Some(match reply.message.error_code() {
                Some(code::INVALID_PARAMS | code::METHOD_NOT_FOUND | code::INVALID_REQUEST) => {
                    Blame::Client
                }
                _ => Blame::Server,
            }),
            Self::Failed(fault) => Some(fault.blame()),
            Self::GivenUp => None,
        }
    }
}
