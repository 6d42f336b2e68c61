//! How far a call came before it left, when, and what was decided about it.

use super::Decided;
use crate::{
    catalog::List,
    client::Client,
    error::CallError,
    permission::{Guard, What},
    upstream::Server,
};
use std::sync::Arc;
use switchboard_wire::Named;
use tokio::time::Instant;

/// The phases that a call has passed. What is missing it did not come to.
#[derive(Debug, Default)]
pub struct Passed {
    /// Its server.
    pub server: Option<Arc<str>>,
    /// What is asked for, under the server's own name.
    pub named: Option<Named>,
    /// When its server was known.
    pub routed: Option<Instant>,
    /// When it was known that it may be sent, or that somebody is to be asked.
    pub permitted: Option<Instant>,
    /// When its server was there.
    pub connected: Option<Instant>,
    /// What was decided about it, and the rule or what else it was decided by; where
    /// somebody wants to know.
    pub decided: Option<(Decided, String)>,
    /// The server itself, and for whom.
    pub(super) at: Option<(Arc<Server>, Arc<Client>)>,
    /// Whether somebody does.
    pub(super) is_decision_wanted: bool,
    /// Whether somebody wants to know when it passed which phase.
    pub(super) is_timed: bool,
}

impl Passed {
    /// Its server is known.
    pub(crate) fn route(&mut self, server: &Arc<Server>, client: &Arc<Client>, named: &Named) {
        self.server = Some(server.name().clone());
        self.at = Some((server.clone(), client.clone()));
        self.named = Some(named.clone());
        self.routed = self.is_timed.then(Instant::now);
    }

    /// Whether its server has a tool of this name; nothing where no list of it is known.
    pub fn is_listed(&self, tool: &str) -> Option<bool> {
        let (server, client) = self.at.as_ref()?;
        let catalogs = server.catalogs(client);
        let listing = catalogs.of(server.era_for(client)).known(List::Tools)?;
        Some(listing.find(tool).is_some())
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

    /// It may be made: the rule is looked for once more.
    pub(crate) fn allow(
        &mut self,
        guard: &Guard,
        client: &Client,
        server: &Server,
        what: What<'_>,
        arguments: Option<&[u8]>,
    ) {
        let ruling = guard.explain_call(client, server, what, arguments);
        let reason = ruling.reasons.into_iter().find(|reason| reason.decisive);
        let rule = reason.map(|reason| format!("{}: {}", reason.step, reason.found));
        self.decided = Some((Decided::Allowed, rule.unwrap_or_default()));
    }

    /// Somebody is asked about it.
    pub(crate) fn ask(&mut self, reason: &str) {
        self.decided = Some((Decided::Asks, reason.to_owned()));
    }

    /// It may not be made.
    pub(crate) fn deny(&mut self, fault: &CallError) {
        if let CallError::NotPermitted { reason, .. } | CallError::NotAllowed { reason, .. } = fault
        {
            self.decided = Some((Decided::Denied, reason.clone()));
        }
    }
}
