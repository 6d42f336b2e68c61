//! What is said of one route.

use crate::sessions::Role;

/// A route.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// `GET`, `POST`, `DELETE`.
    pub verb: &'static str,
    /// Below `/api/v1/`; `{…}` is one segment.
    pub path: &'static str,
    /// The least role.
    pub role: Role,
    /// The least role that sees or does it for another principal.
    pub others: Role,
    /// Whether it changes what is configured, trusted or let in.
    pub edits: Edits,
    /// What it does, in a sentence.
    pub does: &'static str,
    /// The type of the body, if it takes one.
    pub takes: Option<&'static str>,
    /// The most bytes of that body.
    pub body: usize,
    /// The type of the answer.
    pub gives: &'static str,
}

/// Whether a route changes what lasts longer than the gateway: what is configured, what is
/// trusted, who is let in. `--no-api-edit` forbids that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edits {
    /// It does not.
    Never,
    /// It does.
    Always,
    /// It does with an answer that lasts ([`Answer::lasts`](crate::questions::Answer::lasts)).
    WithALastingAnswer,
}

impl Route {
    /// Changes what is configured, trusted or let in.
    pub(super) const fn editing(mut self) -> Self {
        self.edits = Edits::Always;
        self
    }

    /// Takes a body of this many bytes.
    pub(super) const fn taking(mut self, bytes: usize) -> Self {
        self.body = bytes;
        self
    }
}
