//! The list of calls, without their messages, which is always kept.
//!
//! A call's number is its place, so that it is begun and ended without a search: each
//! place has a lock of its own, which two calls want only where one is as old as the
//! whole list is long. Places are made as they are needed.

use crate::{
    limits,
    metrics::{Cell, Outcome},
};
use parking_lot::Mutex;
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};
use switchboard_host::{
    Blame, CallError,
    observe::{Begin, Decided, Destination, End, Ending, Origin, Passed},
};
use switchboard_local::{secret, visible};
use switchboard_wire::{Era, Kind, Method, Revision, json};

/// Places that are made at once.
// tidy: a step, not a cap
const CHUNK: usize = 250;

/// Chunks that there may be.
// tidy: follows from a cap, which is in limits.rs
const CHUNKS: usize = limits::TAP_CALLS.div_ceil(CHUNK);

/// Some places, each for one call.
type Chunk = Box<[Mutex<Option<Entry>>]>;

/// The calls that are known.
pub struct CallList {
    chunks: [OnceLock<Chunk>; CHUNKS],
    newest: AtomicU64,
    dropped: AtomicU64,
    names: Names,
    /// Grows with every change.
    changes: AtomicU64,
}

/// What is kept of one call.
#[derive(Clone)]
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
    pub(crate) cell: Option<Arc<Cell>>,
    /// The same where it is counted nowhere yet, or has more to say.
    pub(crate) server: Option<Arc<str>>,
    pub(crate) name: Option<Box<str>>,
    pub(crate) state: State,
    pub(crate) sent: u32,
    pub(crate) asked: u32,
    /// Whether a person has changed it, or its answer.
    pub(crate) edited: bool,
    /// Whether its answer was held at a breakpoint.
    pub(crate) held: bool,
    /// The call that it repeats.
    pub(crate) replay_of: Option<u64>,
    pub(crate) decided: Option<Box<(Decided, Arc<str>)>>,
    pub(crate) bytes_in: usize,
}

/// How a call is doing.
#[derive(Clone)]
pub(crate) enum State {
    Running,
    /// Somebody has to answer first.
    Waiting,
    Over(Over),
}

/// How a call ended.
#[derive(Clone)]
pub(crate) struct Over {
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
    pub(crate) at_server: Duration,
    pub(crate) waited: Duration,
    pub(crate) bytes_out: usize,
    /// What went wrong, if anything did.
    pub(crate) wrong: Option<Box<Wrong>>,
    pub(crate) when: Instant,
}

/// What went wrong with a call.
#[derive(Clone)]
pub(crate) struct Wrong {
    pub(crate) fault: Option<Blame>,
    pub(crate) text: String,
    pub(crate) code: Option<i64>,
}

impl Default for CallList {
    fn default() -> Self {
        Self {
            chunks: [const { OnceLock::new() }; CHUNKS],
            newest: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            names: Names::default(),
            changes: AtomicU64::new(0),
        }
    }
}

impl CallList {
    fn place(&self, number: u64) -> &Mutex<Option<Entry>> {
        let at = (number % limits::TAP_CALLS as u64) as usize;
        let chunk = self.chunks[at / CHUNK].get_or_init(|| {
            let places = (0..CHUNK).map(|_| Mutex::new(None));
            places.collect()
        });
        &chunk[at % CHUNK]
    }

    /// A call begins.
    pub(crate) fn begin(&self, call: &Begin<'_>) {
        let mut entry = Entry {
            number: call.number,
            change: 0,
            at: SystemTime::now(),
            principal: call.client.principal.clone(),
            client: self.names.of(call),
            session: call.client.id,
            origin: call.origin,
            client_era: call.client.era(),
            server_era: None,
            method: call.method,
            cell: None,
            server: None,
            name: None,
            state: State::Running,
            sent: 0,
            asked: 0,
            edited: false,
            held: false,
            replay_of: None,
            decided: None,
            bytes_in: call.message.raw().len(),
        };
        // Whoever reads the list after a change was counted waits for it here.
        let mut place = self.place(call.number).lock();
        entry.change = self.next_change();
        let before = place.replace(entry);
        drop(place);
        if before.is_some_and(|before| before.number != call.number) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        self.newest.fetch_max(call.number, Ordering::Relaxed);
    }

    fn next_change(&self) -> u64 {
        self.changes.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How many changes there were so far.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Its server is known.
    pub(crate) fn routed(&self, number: u64, to: &Destination<'_>, cell: Option<&Arc<Cell>>) {
        self.change(number, |entry| match cell {
            Some(cell) if !cell.tool.is_empty() => entry.cell = Some(cell.clone()),
            _ => {
                entry.server = Some(to.server_name().clone());
                entry.name = to.named.text().map(short_name);
            }
        });
    }

    /// It is known whether it may be made.
    pub(crate) fn passed(&self, number: u64, passed: &Passed) {
        self.change(number, |entry| {
            if entry.cell.is_none() && entry.server.is_none() {
                entry.server.clone_from(&passed.server);
            }
            entry.decided = passed.decided.clone().map(Box::new);
        });
    }

    /// Its answer is held.
    pub(crate) fn answer_held(&self, number: u64) {
        self.change(number, |entry| entry.held = true);
    }

    /// A person has changed it, or its answer.
    pub(crate) fn edited(&self, number: u64) {
        self.change(number, |entry| entry.edited = true);
    }

    /// It repeats another.
    pub(crate) fn repeats(&self, number: u64, other: u64) {
        self.change(number, |entry| entry.replay_of = Some(other));
    }

    /// Somebody is asked something, or has answered.
    pub(crate) fn waits(&self, number: u64, waits: bool) {
        self.change(number, |entry| {
            entry.asked += u32::from(waits);
            if entry.is_running() {
                entry.state = match waits {
                    true => State::Waiting,
                    false => State::Running,
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
        let over = Over {
            outcome,
            took: end.took,
            at_server: end.at_server,
            waited: end.waited,
            bytes_out: end.bytes_out,
            // Most are fine, which is known already.
            wrong: match outcome != Outcome::FINE && outcome.is_error() {
                true => wrong(&end.ending).map(Box::new),
                false => None,
            },
            when: Instant::now(),
        };
        self.change(number, |entry| {
            entry.state = State::Over(over);
            (entry.sent, entry.server_era) = (left.0, left.1.map(|revision| revision.era()));
        });
    }

    /// It was no call of its own after all.
    pub(crate) fn forget(&self, number: u64) {
        let mut place = self.place(number).lock();
        let is_it = |entry: &Entry| entry.number == number && entry.is_running();
        if place.as_ref().is_some_and(is_it) {
            *place = None;
        }
    }

    fn change(&self, number: u64, change: impl FnOnce(&mut Entry)) {
        let mut place = self.place(number).lock();
        if let Some(entry) = place.as_mut().filter(|entry| entry.number == number) {
            entry.change = self.next_change();
            change(entry);
        }
    }

    /// One of them.
    pub(crate) fn get(&self, number: u64) -> Option<Entry> {
        let place = self.place(number).lock();
        place.as_ref().filter(|it| it.number == number).cloned()
    }

    /// All of them, the newest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = Entry> {
        let newest = self.newest.load(Ordering::Relaxed);
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
        self.dropped.load(Ordering::Relaxed)
    }
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

/// What clients call themselves, so that it need not be read from each request.
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
    name: Option<Arc<str>>,
}

impl Names {
    fn of(&self, call: &Begin<'_>) -> Option<Arc<str>> {
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
            && *known.info == *info
        {
            return known.name.clone();
        }
        let name = call.client_name();
        let name = name.map(|name| Arc::from(short_name(&name)));
        if info.len() <= limits::TAP_CLIENT_INFO {
            *place = Some(Known {
                session,
                info: info.into(),
                name: name.clone(),
            });
        }
        name
    }
}

#[cfg(test)]
mod tests;
