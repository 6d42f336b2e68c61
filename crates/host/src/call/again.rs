//! A request that waits, or is sent a second time: it is decided anew, by what holds
//! when it leaves.

use super::Permitted;
use crate::{
    catalog::List,
    client::Client,
    error::{Again, CallError},
    permission::{Decision, What, held, not_permitted},
    upstream::{Connection, Server},
};
use switchboard_wire::Method;

/// What a request was decided by. Wherever one waits before it leaves, the rules
/// that hold when it does are what counts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// The state of the rules and of what they look at.
    pub(super) version: u64,
    /// Whether it leaves after somebody's yes.
    pub(super) asked: bool,
}

impl Standing {
    /// The state of the rules that it was decided by.
    pub(crate) fn version(self) -> u64 {
        self.version
    }

    /// Whether anything has changed since that a decision may depend on; it is
    /// decided by what holds now then.
    pub(crate) fn is_outdated(&mut self, server: &Server) -> bool {
        let now = server.guard().map(|guard| guard.version());
        let is_outdated = now != Some(self.version);
        self.version = now.unwrap_or(self.version);
        is_outdated
    }

    /// Decides by what holds now.
    pub(crate) fn decide_again(
        self,
        client: &Client,
        server: &Server,
        what: What<'_>,
        arguments: Option<&[u8]>,
    ) -> Result<(), CallError> {
        let Some(guard) = server.guard() else {
            let (server, reason) = (server.name().to_string(), "the gateway is stopping".into());
            return Err(CallError::NotConnected { server, reason });
        };
        match guard.decide(client, server, what, arguments) {
            Decision::Allow => Ok(()),
            Decision::Ask(_) if self.asked => Ok(()),
            Decision::Ask(_) => Err(CallError::NotAllowed {
                what: what.of_server(server.name()),
                reason: "its definition or a rule has just changed, and somebody has to say yes first; call it again".into(),
            }),
            Decision::Deny(reason) => Err(not_permitted(&server.spec, what, reason)),
            Decision::Held(reason) => Err(held(&server.spec, what, reason)),
        }
    }
}

/// What to send once more if the first got lost, and when that is safe.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    pub(crate) permitted: Permitted,
    /// When it is sent again.
    pub(crate) when: When,
}

/// When a request is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// Also after the first may have been carried out, which does no harm.
    Repeatable,
    /// Where the first was turned away because of what lies between us.
    TurnedAway,
    /// When somebody has visited the pages that its server wants visited first.
    Visited,
}

impl Retry {
    /// Whether a request may have to be sent again: those that ask and do not
    /// act, calls of tools that say so of themselves, and all to servers that may
    /// turn a request away because of what lies between us and not because of what
    /// it asks: a session forgotten, a header missed. Then the first was not
    /// carried out. Neither was one whose server wants pages visited first, which somebody
    /// else than its client may do.
    pub(super) fn may_be(permitted: &Permitted, connection: &Connection) -> Option<When> {
        let repeatable = match permitted.message().method() {
            Method::ToolsCall => {
                let tools = connection.catalog().known(List::Tools);
                let name = permitted.named.text().unwrap_or_default();
                tools.is_some_and(|tools| tools.is_repeatable(name))
            }
            Method::ResourcesRead | Method::PromptsGet | Method::Complete => true,
            method => List::of(method).is_some(),
        };
        match () {
            () if repeatable => Some(When::Repeatable),
            () if connection.is_http() => Some(When::TurnedAway),
            () => {
                let may_visit = permitted.client().asked_at().asks_inbox();
                may_visit.then_some(When::Visited)
            }
        }
    }

    pub(super) fn of(permitted: Permitted, when: When) -> Box<Self> {
        Box::new(Self { permitted, when })
    }

    /// Whether a request that ended so may be sent again.
    pub(crate) fn after(&self, fault: &CallError) -> bool {
        let is_safe = match fault.again() {
            Again::Safe => self.when != When::Visited,
            Again::IfRepeatable => self.when == When::Repeatable,
            Again::Useless => false,
        };
        is_safe && fault.was_lost()
    }
}
