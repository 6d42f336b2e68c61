//! What the control token opens: how the gateway is doing, and what it can be
//! told to do. The answers come from whoever assembled the gateway.

use std::{fmt, pin::Pin, sync::Arc};

/// Answers under `/api/`.
pub trait Control: Send + Sync {
    /// Answers a request; `path` is what follows `/api/`.
    fn answer<'a>(&'a self, verb: &'a http::Method, path: &'a str) -> Answering<'a>;
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
