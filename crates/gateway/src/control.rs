//! What the control token opens: how the gateway is doing, and what it can be
//! told to do. The answers come from whoever assembled the gateway.

use crate::gateway::Counts;
use std::{fmt, pin::Pin, sync::Arc};

/// Answers under `/api/`.
pub trait Control: Send + Sync {
    /// Answers a request; `path` is what follows `/api/`.
    fn answer<'a>(&'a self, verb: &'a http::Method, path: &'a str) -> Answering<'a>;

    /// The page that Prometheus reads, in the form that `Accept` asks for; `None` where
    /// nothing is counted. `here` is what the gateway itself counts.
    fn metrics<'a>(&'a self, _accept: Option<&'a str>, _here: Counts) -> Writing<'a> {
        Box::pin(async { None })
    }

    /// How many servers must be there, and how many of them are.
    fn readiness(&self) -> Readiness {
        Readiness::default()
    }
}

/// A page on its way.
pub type Writing<'a> = Pin<Box<dyn Future<Output = Option<Written>> + Send + 'a>>;

/// A page of text.
#[derive(Clone, Debug)]
pub struct Written {
    /// What kind of text it is.
    pub content_type: &'static str,
    /// The text.
    pub text: String,
}

/// How many servers must be there, and how many of them are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// Those that must be.
    pub required: usize,
    /// Those of them that are.
    pub there: usize,
}

/// An answer on its way.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Controlled> + Send + 'a>>;

/// An answer: always JSON.
#[derive(Clone, Debug)]
pub struct Controlled {
    /// The HTTP status.
    pub status: http::StatusCode,
    /// The text of the JSON.
    pub json: String,
}

/// The control token, and what it opens.
#[derive(Clone)]
pub struct ControlAccess {
    /// The secret.
    pub token: String,
    /// Who answers.
    pub control: Arc<dyn Control>,
}

impl fmt::Debug for ControlAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ControlAccess")
    }
}
