//! One call as it is kept in the list, and as it is told.

use crate::metrics::{Cell, Outcome};
use std::{
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use switchboard_host::{
    Blame,
    observe::{Decided, Origin},
};
use switchboard_wire::{Era, Method};

/// What is told of one call.
pub(crate) struct Entry {
    pub(crate) number: u64,
    /// Which change was its last.
    pub(crate) change: u64,
    pub(crate) at: SystemTime,
    pub(crate) principal: Arc<str>,
    pub(crate) client: Option<Arc<str>>,
    pub(crate) session: u64,
    pub(crate) origin: Origin,
    pub(crate) client_era: Era,
    pub(crate) server_era: Option<Era>,
    pub(crate) method: Method,
    /// Where it is counted, which says server and tool.
    cell: Option<Arc<Cell>>,
    /// The same where it is counted nowhere yet, or has more to say.
    server: Option<Arc<str>>,
    name: Option<Box<str>>,
    pub(crate) state: State,
    pub(crate) sent: u32,
    pub(crate) asked: u32,
    /// Whether a person has changed it, or its answer.
    pub(crate) edited: bool,
    /// Whether its answer was held at a breakpoint.
    pub(crate) held: bool,
    /// The call that it repeats.
    pub(crate) replay_of: Option<u64>,
    pub(crate) decided: Option<(Decided, Arc<str>)>,
    pub(crate) bytes_in: usize,
}

/// What is kept of one call: two lines of the processor's cache, since a place was last used
/// ten thousand calls ago and has to be fetched.
pub(super) struct Row {
    /// Nobody's where it is none's.
    pub(super) number: u64,
    pub(super) change: u64,
    /// When it began, in nanoseconds since 1970, and how long it took and was at its server.
    pub(super) at: u64,
    pub(super) took: u64,
    pub(super) at_server: u64,
    pub(super) whose: Option<Arc<Whose>>,
    pub(super) session: u64,
    pub(super) cell: Option<Arc<Cell>>,
    /// What only few have.
    pub(super) more: Option<Box<More>>,
    pub(super) rule: Option<Arc<str>>,
    pub(super) bytes_out: u64,
    pub(super) bytes_in: u32,
    pub(super) sent: u32,
    pub(super) phase: Phase,
    pub(super) decided: Decided,
    pub(super) origin: Origin,
    pub(super) client_era: Option<Era>,
    pub(super) server_era: Option<Era>,
    pub(super) method: Method,
}

/// How far a call has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    Waiting,
    Over(Outcome),
}

/// Who calls, which is the same for all calls of a session.
#[derive(Debug)]
pub(super) struct Whose {
    pub(super) principal: Arc<str>,
    pub(super) client: Option<Arc<str>>,
}

/// What is said of few calls.
#[derive(Clone, Default)]
pub(super) struct More {
    pub(super) server: Option<Arc<str>>,
    pub(super) name: Option<Box<str>>,
    pub(super) asked: u32,
    pub(super) edited: bool,
    pub(super) held: bool,
    pub(super) replay_of: Option<u64>,
    pub(super) waited: Duration,
    pub(super) wrong: Option<Wrong>,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            number: 0,
            change: 0,
            at: 0,
            took: 0,
            at_server: 0,
            whose: None,
            session: 0,
            cell: None,
            more: None,
            rule: None,
            bytes_out: 0,
            bytes_in: 0,
            sent: 0,
            phase: Phase::Running,
            decided: Decided::Allowed,
            origin: Origin::Client,
            client_era: None,
            server_era: None,
            method: Method::Other,
        }
    }
}

impl Row {
    pub(super) fn is_running(&self) -> bool {
        !matches!(self.phase, Phase::Over(_))
    }

    pub(super) fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }

    pub(super) fn told(&self) -> Option<Entry> {
        let whose = self.whose.as_ref()?;
        let more = self.more.as_deref().cloned().unwrap_or_default();
        Some(Entry {
            number: self.number,
            change: self.change,
            at: UNIX_EPOCH + Duration::from_nanos(self.at),
            principal: whose.principal.clone(),
            client: whose.client.clone(),
            session: self.session,
            origin: self.origin,
            client_era: self.client_era?,
            server_era: self.server_era,
            method: self.method,
            cell: self.cell.clone(),
            server: more.server,
            name: more.name,
            state: match self.phase {
                Phase::Running => State::Running,
                Phase::Waiting => State::Waiting,
                Phase::Over(outcome) => State::Over(Over {
                    outcome,
                    took: Duration::from_nanos(self.took),
                    at_server: Duration::from_nanos(self.at_server),
                    waited: more.waited,
                    bytes_out: self.bytes_out,
                    wrong: more.wrong,
                }),
            },
            sent: self.sent,
            asked: more.asked,
            edited: more.edited,
            held: more.held,
            replay_of: more.replay_of,
            decided: self.rule.clone().map(|rule| (self.decided, rule)),
            bytes_in: self.bytes_in as usize,
        })
    }
}

/// How a call is doing.
pub(crate) enum State {
    Running,
    /// Somebody has to answer first.
    Waiting,
    Over(Over),
}

/// How a call ended.
pub(crate) struct Over {
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
    pub(crate) at_server: Duration,
    /// How long people were waited for.
    pub(crate) waited: Duration,
    pub(crate) bytes_out: u64,
    /// What went wrong, if anything did.
    pub(crate) wrong: Option<Wrong>,
}

/// What went wrong with a call.
#[derive(Clone)]
pub(crate) struct Wrong {
    pub(crate) fault: Option<Blame>,
    pub(crate) text: String,
    pub(crate) code: Option<i64>,
}

impl Entry {
    pub(crate) fn is_running(&self) -> bool {
        !matches!(self.state, State::Over(_))
    }

    pub(crate) fn server(&self) -> Option<&Arc<str>> {
        let counted = self.cell.as_ref().map(|cell| &cell.server);
        self.server.as_ref().or(counted)
    }

    pub(crate) fn name(&self) -> Option<&str> {
        let counted = self.cell.as_ref().map(|cell| &*cell.tool);
        self.name.as_deref().or(counted)
    }
}

/// A time in nanoseconds.
pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
