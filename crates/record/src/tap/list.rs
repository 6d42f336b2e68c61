//! The list of calls, without their messages, which is always kept.
//!
//! A call's number is its place, so that it is begun and ended without a search: each
//! place has a lock of its own, which two calls want only where one is as old as the
//! whole list is long. Places are made as they are needed.

mod row;

pub(crate) use row::{Entry, State};

use crate::{
    limits,
    metrics::{Cell, Outcome},
    same,
};
use parking_lot::Mutex;
use row::{Phase, Row, Whose, Wrong, nanos};
use std::{
    hint::black_box,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::UNIX_EPOCH,
};
use switchboard_host::{
    CallError,
    observe::{Begin, Destination, End, Ending, Passed},
};
use switchboard_local::{secret, visible};
use switchboard_wire::{Kind, Revision, json};

/// Places that are made at once.
// tidy: a step, not a cap
const CHUNK: usize = 250;

/// Chunks that there may be.
// tidy: follows from a cap, which is in limits.rs
const CHUNKS: usize = limits::TAP_CALLS.div_ceil(CHUNK);

/// Some places, each for one call.
type Chunk = Box<[Place]>;

/// A place, which begins where a line of the processor's cache does.
#[derive(Default)]
#[repr(align(64))]
struct Place(Mutex<Row>);

/// The calls that are known.
pub struct CallList {
    chunks: [OnceLock<Chunk>; CHUNKS],
    counts: Counts,
    names: Names,
}

/// What every call counts, in one piece of memory: cores that count at the same time wait
/// for each other once.
#[derive(Default)]
#[repr(align(64))]
struct Counts {
    newest: AtomicU64,
    dropped: AtomicU64,
    /// Grows with every change.
    changes: AtomicU64,
}

impl Default for CallList {
    fn default() -> Self {
        Self {
            chunks: [const { OnceLock::new() }; CHUNKS],
            counts: Counts::default(),
            names: Names::default(),
        }
    }
}

impl CallList {
    fn place(&self, number: u64) -> &Mutex<Row> {
        let at = (number % limits::TAP_CALLS as u64) as usize;
        let chunk = self.chunks[at / CHUNK].get_or_init(|| {
            let places = (0..CHUNK).map(|_| Place::default());
            places.collect()
        });
        &chunk[at % CHUNK].0
    }

    /// A call begins.
    pub(crate) fn begin(&self, call: &Begin<'_>) {
        let since = call.at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut row = Row {
            number: call.number,
            at: nanos(since),
            whose: Some(self.names.of(call)),
            session: call.client.id,
            origin: call.origin,
            client_era: Some(call.client.era()),
            method: call.method,
            bytes_in: u32::try_from(call.message.raw().len()).unwrap_or(u32::MAX),
            ..Row::default()
        };
        // Whoever reads the list after a change was counted waits for it here.
        let mut place = self.place(call.number).lock();
        row.change = self.next_change();
        let before = std::mem::replace(&mut *place, row);
        drop(place);
        if before.number != 0 && before.number != call.number {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
        self.counts.newest.fetch_max(call.number, Ordering::Relaxed);
        // The next call's place was last used ten thousand calls ago: fetched now, it is
        // there when that call comes.
        black_box(self.place(call.number + 1).is_locked());
    }

    fn next_change(&self) -> u64 {
        self.counts.changes.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How many changes there were so far.
    pub(crate) fn changes(&self) -> u64 {
        self.counts.changes.load(Ordering::Relaxed)
    }

    /// Its server is known.
    pub(crate) fn routed(&self, number: u64, to: &Destination<'_>, cell: Option<&Arc<Cell>>) {
        self.change(number, |row| match cell {
            Some(cell) if !cell.tool.is_empty() => row.cell = Some(cell.clone()),
            _ => {
                let more = row.more();
                more.server = Some(to.server_name().clone());
                more.name = to.named.text().map(short_name);
            }
        });
    }

    /// It is known whether it may be made.
    pub(crate) fn passed(&self, number: u64, passed: &Passed) {
        self.change(number, |row| {
            let is_known = row.more.as_ref().is_some_and(|more| more.server.is_some());
            if row.cell.is_none() && !is_known && passed.server.is_some() {
                row.more().server.clone_from(&passed.server);
            }
            match &passed.decided {
                Some((decided, rule)) => (row.decided, row.rule) = (*decided, Some(rule.clone())),
                None => row.rule = None,
            }
        });
    }

    /// Its answer is held.
    pub(crate) fn answer_held(&self, number: u64) {
        self.change(number, |row| row.more().held = true);
    }

    /// A person has changed it, or its answer.
    pub(crate) fn edited(&self, number: u64) {
        self.change(number, |row| row.more().edited = true);
    }

    /// It repeats another.
    pub(crate) fn repeats(&self, number: u64, other: u64) {
        self.change(number, |row| row.more().replay_of = Some(other));
    }

    /// Somebody is asked something, or has answered.
    pub(crate) fn waits(&self, number: u64, waits: bool) {
        self.change(number, |row| {
            row.more().asked += u32::from(waits);
            if row.is_running() {
                row.phase = match waits {
                    true => Phase::Waiting,
                    false => Phase::Running,
                };
            }
        });
    }

    /// It is over.
    pub(crate) fn end(
        &self,
        number: u64,
        end: &End<'_>,
        outcome: Outcome,
        left: (u32, Option<Revision>),
    ) {
        // Most are fine, which is known already.
        let wrong = match outcome != Outcome::FINE && outcome.is_error() {
            true => wrong(&end.ending),
            false => None,
        };
        self.change(number, |row| {
            row.phase = Phase::Over(outcome);
            (row.took, row.at_server) = (nanos(end.took), nanos(end.at_server));
            row.bytes_out = end.bytes_out as u64;
            (row.sent, row.server_era) = (left.0, left.1.map(|revision| revision.era()));
            if wrong.is_some() {
                row.more().wrong = wrong;
            }
            if !end.waited.is_zero() {
                row.more().waited = end.waited;
            }
        });
    }

    /// It was no call of its own after all.
    pub(crate) fn forget(&self, number: u64) {
        let mut place = self.place(number).lock();
        if place.number == number && place.is_running() {
            *place = Row::default();
        }
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut Row)) {
        let mut place = self.place(number).lock();
        if place.number == number {
            place.change = self.next_change();
            change(&mut place);
        }
    }

    /// One of them.
    pub(crate) fn get(&self, number: u64) -> Option<Entry> {
        let place = self.place(number).lock();
        (place.number == number).then(|| place.told())?
    }

    /// All of them, the newest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = Entry> {
        let newest = self.counts.newest.load(Ordering::Relaxed);
        let oldest = newest.saturating_sub(limits::TAP_CALLS as u64 - 1);
        let made = |number: &u64| {
            let at = (number % limits::TAP_CALLS as u64) as usize;
            self.chunks[at / CHUNK].get().is_some()
        };
        (oldest..=newest)
            .rev()
            .filter(made)
            .filter_map(|number| self.get(number))
    }

    /// How many had to give way to newer ones.
    pub fn dropped(&self) -> u64 {
        self.counts.dropped.load(Ordering::Relaxed)
    }
}

fn short_name(name: &str) -> Box<str> {
    visible::cut(name, limits::TAP_NAME).into()
}

/// What went wrong, on one line.
#[cold]
fn wrong(ending: &Ending<'_>) -> Option<Wrong> {
    let fault = ending.fault();
    let (text, code) = match ending {
        Ending::GivenUp | Ending::Failed(CallError::Cancelled) => return None,
        Ending::Failed(why) => (why.to_string(), Some(why.to_error().code)),
        Ending::Reply(_) if fault.is_none() => return None,
        Ending::Reply(reply) if reply.message.kind() == Kind::Error => {
            let text = reply.message.error_text().unwrap_or_default();
            (text, reply.message.error_code())
        }
        Ending::Reply(reply) => (first_text(reply.message.body()), None),
    };
    let cut = visible::cut(&text, limits::TAP_ERROR);
    let text = visible::line(&secret::text(&cut));
    Some(Wrong { fault, text, code })
}

/// What a tool's result says first.
fn first_text(result: &[u8]) -> String {
    let content = json::field(result, "content").ok().flatten();
    let content = content.map_or(&b"[]"[..], |span| span.of(result));
    let mut texts = json::elements(content).filter_map(|span| {
        let block = span.of(content);
        let text = json::field(block, "text").ok()??;
        json::text(text.of(block)).map(|text| text.into_owned())
    });
    texts.next().unwrap_or_default()
}

/// Who clients are and what they call themselves, so that it need not be read from each
/// request.
struct Names([Mutex<Option<Known>>; limits::TAP_CLIENT_NAMES]);

impl Default for Names {
    fn default() -> Self {
        Self([const { Mutex::new(None) }; limits::TAP_CLIENT_NAMES])
    }
}

/// What was read, and what it says.
struct Known {
    session: Option<u64>,
    info: Box<[u8]>,
    whose: Arc<Whose>,
}

impl Names {
    fn of(&self, call: &Begin<'_>) -> Arc<Whose> {
        let info = call.params.client_info;
        let info = info.map_or(&b""[..], |span| span.of(call.message.raw()));
        // Where a request says nothing of its client its session has.
        let session = info.is_empty().then_some(call.client.id);
        let key = match session {
            Some(session) => session as usize,
            None => info.len() + usize::from(info[info.len() / 2]),
        };
        let mut place = self.0[key % self.0.len()].lock();
        if let Some(known) = &*place
            && known.session == session
            && (session.is_some() || *known.info == *info)
            && same(&known.whose.principal, &call.client.principal)
        {
            return known.whose.clone();
        }
        let name = call.client_name();
        let whose = Arc::new(Whose {
            principal: call.client.principal.clone(),
            client: name.map(|name| Arc::from(short_name(&name))),
        });
        if info.len() <= limits::TAP_CLIENT_INFO {
            *place = Some(Known {
                session,
                info: info.into(),
                whose: whose.clone(),
            });
        }
        whose
    }
}

#[cfg(test)]
mod tests;
