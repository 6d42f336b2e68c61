//! How far a call came before it left, when, and what was decided about it.

use super::Decided;
use crate::{catalog::List, client::Client, error::CallError, upstream::Server};
use std::sync::Arc;
use switchboard_wire::Named;
use tokio::time::Instant;

/// Where a call goes.
#[derive(Debug)]
pub struct Destination<'a> {
    server: &'a Arc<Server>,
    client: &'a Arc<Client>,
    /// What is asked for, under the server's own name.
    pub named: &'a Named,
}

impl<'a> Destination<'a> {
    pub(crate) fn new(server: &'a Arc<Server>, client: &'a Arc<Client>, named: &'a Named) -> Self {
        Self {
            server,
            client,
            named,
        }
    }

    /// Its server.
    pub fn server_name(&self) -> &'a Arc<str> {
        self.server.name()
    }

    /// Whether its server has a tool of this name; nothing where no list of it is known.
    pub fn is_listed(&self, tool: &str) -> Option<bool> {
        let catalogs = self.server.catalogs(self.client);
        let era = self.server.era_for(self.client);
        let listing = catalogs.of(era).known(List::Tools)?;
        Some(listing.find(tool).is_some())
    }
}

/// The phases that a call has passed. What is missing it did not come to.
#[derive(Debug, Default)]
pub struct Passed {
    /// Its server.
    pub server: Option<Arc<str>>,
    /// When its server was known.
    pub routed: Option<Instant>,
    /// When it was known that it may be sent, or that somebody is to be asked.
    pub permitted: Option<Instant>,
    /// When its server was there.
    pub connected: Option<Instant>,
    /// What was decided about it, and the rule or what else it was decided by; where
    /// somebody wants to know.
    pub decided: Option<(Decided, Arc<str>)>,
    /// Whether somebody does.
    pub(super) is_decision_wanted: bool,
    /// Whether somebody wants to know when it passed which phase.
    pub(super) is_timed: bool,
}

impl Passed {
    /// For what is decided once more, of which nobody wants to know how long it took.
    pub(crate) fn untimed() -> Self {
        Self {
            is_decision_wanted: true,
            ..Self::default()
        }
    }

    /// Its server is known.
    pub(super) fn route(&mut self, server: &Arc<str>) {
        if !matches!(&self.server, Some(known) if Arc::ptr_eq(known, server)) {
            self.server = Some(server.clone());
        }
        self.routed = self.is_timed.then(Instant::now);
    }

    /// It is decided whether it may be sent.
    pub(crate) fn permit(&mut self) {
        self.permitted = self.is_timed.then(Instant::now);
    }

    /// Its server is there.
    pub(crate) fn connect(&mut self) {
        self.connected = self.is_timed.then(Instant::now);
    }

    /// Whether anybody wants to know what was decided, and by what.
    pub(crate) fn wants_decision(&self) -> bool {
        self.is_decision_wanted
    }

    /// It may be made, by this.
    pub(crate) fn allow(&mut self, by: Arc<str>) {
        self.decided = Some((Decided::Allowed, by));
    }

    /// Somebody is asked about it.
    pub(crate) fn ask(&mut self, reason: &str) {
        self.decided = Some((Decided::Asks, reason.into()));
    }

    /// It may not be made.
    pub(crate) fn deny(&mut self, fault: &CallError) {
        if let CallError::NotPermitted { reason, .. } | CallError::NotAllowed { reason, .. } = fault
        {
            self.decided = Some((Decided::Denied, reason.as_str().into()));
        }
    }
}
