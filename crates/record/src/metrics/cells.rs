//! Where calls are counted: one cell for each server, method and tool.
//!
//! A call finds its cell without a lock: the table only grows, its places are filled
//! once, and it never holds more than it may. What is too many is counted under
//! `other`.

use super::{
    histogram::{Counts, Histogram, micros},
    outcome::{OUTCOMES, Outcome},
};
use crate::{limits, same};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};
use switchboard_local::mixed;
use switchboard_wire::Method;

/// Stands for all that is too many.
pub(super) const OTHER: &str = "other";

/// More places than cells there may be, so that one is found soon.
// tidy: follows from a cap, which is in limits.rs
const PLACES: usize = (limits::METRIC_CELLS * 4).next_power_of_two();

/// All cells.
pub(super) struct Cells {
    places: Box<[OnceLock<Arc<Cell>>]>,
    room: Mutex<Room>,
    /// Outcomes that were seen of any cell.
    outcomes: AtomicUsize,
}

/// How many there are; looked at only where a new one is made.
#[derive(Default)]
struct Room {
    cells: usize,
    /// The tools of each server that have cells of their own.
    tools: HashMap<Arc<str>, usize>,
}

/// What is counted of one server, method and tool.
pub(crate) struct Cell {
    pub(crate) server: Arc<str>,
    pub(super) method: Method,
    /// Empty where it is no call of a tool.
    pub(crate) tool: Box<str>,
    pub(super) bytes_in: AtomicU64,
    pub(super) bytes_out: AtomicU64,
    outcomes: [OnceLock<Box<Series>>; OUTCOMES],
}

/// The calls that ended in one way.
#[derive(Default)]
pub(super) struct Series {
    /// From their beginning to their end, without what people took to answer.
    pub(super) whole: Histogram,
    /// Their time at the server, of those that left for it.
    pub(super) at_server: Histogram,
    /// The rest of it, which is our own part.
    pub(super) ours: Histogram,
    /// The last of them.
    pub(super) example: Mutex<Option<Example>>,
}

/// One call, by which what is counted can be looked into.
#[derive(Clone, Copy, Debug)]
pub(super) struct Example {
    /// Its number.
    pub(super) number: u64,
    /// How long it took, in microseconds.
    pub(super) micros: u64,
    /// Its trace, where there is one.
    pub(super) trace: Option<[u8; 16]>,
}

/// A call that has ended.
pub(super) struct Ended {
    pub(super) outcome: Outcome,
    pub(super) number: u64,
    pub(super) trace: Option<[u8; 16]>,
    pub(super) took: Duration,
    /// None where it did not leave.
    pub(super) at_server: Option<Duration>,
    /// How long people were waited for.
    pub(super) waited: Duration,
    pub(super) bytes_in: usize,
    pub(super) bytes_out: usize,
}

impl Default for Cells {
    fn default() -> Self {
        Self {
            places: (0..PLACES).map(|_| OnceLock::new()).collect(),
            room: Mutex::default(),
            outcomes: AtomicUsize::new(0),
        }
    }
}

impl Cells {
    /// The cell of these, where there is one.
    pub(super) fn find(&self, server: &str, method: Method, tool: &str) -> Option<&Arc<Cell>> {
        for place in self.places_of(server, method, tool) {
            match self.places[place].get() {
                Some(cell) if cell.is(server, method, tool) => return Some(cell),
                Some(_) => {}
                None => return None,
            }
        }
        None
    }

    /// The cell of these, made where it is not there and may be; else that of others.
    pub(super) fn get(&self, server: &Arc<str>, method: Method, tool: &str) -> &Arc<Cell> {
        if let Some(known) = self.find(server, method, tool) {
            return known;
        }
        let mut room = self.room.lock();
        // Another thread may have been quicker.
        if let Some(known) = self.find(server, method, tool) {
            return known;
        }
        if room.admits(server, tool) {
            return self.put(server.clone(), method, tool);
        }
        let other = if_tool(tool);
        if !other.is_empty() {
            if let Some(known) = self.find(server, method, other) {
                return known;
            }
            if room.admits(server, other) {
                return self.put(server.clone(), method, other);
            }
        }
        self.find(OTHER, method, other)
            .unwrap_or_else(|| self.put(OTHER.into(), method, other))
    }

    fn put(&self, server: Arc<str>, method: Method, tool: &str) -> &Arc<Cell> {
        let mut places = self.places_of(&server, method, tool);
        let new = Arc::new(Cell {
            server: server.clone(),
            method,
            tool: tool.into(),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            outcomes: [const { OnceLock::new() }; OUTCOMES],
        });
        loop {
            // There are more places than cells, so that a free one is met.
            let place = &self.places[places.next().unwrap_or_default()];
            let there = place.get_or_init(|| new.clone());
            if there.is(&server, method, tool) {
                return there;
            }
        }
    }

    /// Where a cell is looked for, one place after the other.
    fn places_of(
        &self,
        server: &str,
        method: Method,
        tool: &str,
    ) -> impl Iterator<Item = usize> + use<> {
        let hash = hash(server, method, tool);
        (0..PLACES).map(move |step| hash.wrapping_add(step) & (PLACES - 1))
    }

    /// Counts a call that has ended.
    pub(super) fn count(&self, cell: &Cell, ended: &Ended) {
        let add = |to: &AtomicU64, bytes: usize| to.fetch_add(bytes as u64, Ordering::Relaxed);
        add(&cell.bytes_in, ended.bytes_in);
        add(&cell.bytes_out, ended.bytes_out);
        let series = match cell.outcomes[ended.outcome.index()].get() {
            Some(series) => series,
            None => self.series(cell, ended.outcome),
        };
        // How long a person thinks says nothing of us, nor of the server.
        let took = ended.took.saturating_sub(ended.waited);
        series.whole.add(took);
        if let Some(at_server) = ended.at_server {
            series.at_server.add(at_server);
        }
        let at_server = ended.at_server.unwrap_or_default();
        series.ours.add(took.saturating_sub(at_server));
        // Nobody waits for it: another is as good an example.
        if let Some(mut example) = series.example.try_lock() {
            *example = Some(Example {
                number: ended.number,
                micros: micros(ended.took),
                trace: ended.trace,
            });
        }
    }

    /// An outcome that is new to a cell, if there may be one more.
    #[cold]
    fn series<'a>(&'a self, cell: &'a Cell, outcome: Outcome) -> &'a Series {
        let seen = self.outcomes.fetch_add(1, Ordering::Relaxed);
        let is_other = *cell.server == *OTHER;
        let cell = match seen < limits::METRIC_OUTCOMES || is_other {
            true => cell,
            false => self.get(&OTHER.into(), cell.method, if_tool(&cell.tool)),
        };
        cell.outcomes[outcome.index()].get_or_init(Box::default)
    }

    /// All that there are.
    pub(super) fn all(&self) -> Vec<Arc<Cell>> {
        let mut all: Vec<Arc<Cell>> = self
            .places
            .iter()
            .filter_map(|place| place.get().cloned())
            .collect();
        all.sort_by(|a, b| a.key().cmp(&b.key()));
        all
    }
}

/// Whoever chooses names that fall together makes a search longer by the few cells that
/// one server may have, and no more.
fn hash(server: &str, method: Method, tool: &str) -> usize {
    let hash = mixed(mixed(method as u64, server.as_bytes()), tool.as_bytes());
    // Its upper bits are the better ones.
    (hash >> 32) as usize
}

fn if_tool(tool: &str) -> &'static str {
    if tool.is_empty() { "" } else { OTHER }
}

impl Room {
    /// Whether a cell more may be made of this server and tool, which is noted.
    fn admits(&mut self, server: &Arc<str>, tool: &str) -> bool {
        if self.cells >= limits::METRIC_CELLS {
            return false;
        }
        let is_new = !self.tools.contains_key(server);
        if is_new && self.tools.len() >= limits::METRIC_SERVERS {
            return false;
        }
        let tools = self.tools.entry(server.clone()).or_default();
        if !tool.is_empty() && tool != OTHER {
            if *tools >= limits::METRIC_TOOLS || tool.len() > limits::METRIC_LABEL {
                return false;
            }
            *tools += 1;
        }
        self.cells += 1;
        true
    }
}

impl Cell {
    fn is(&self, server: &str, method: Method, tool: &str) -> bool {
        self.method == method && same(&self.server, server) && *self.tool == *tool
    }

    fn key(&self) -> (&str, &str, &str) {
        (&self.server, self.method.as_str(), &self.tool)
    }

    /// What was counted, by outcome.
    pub(super) fn series(&self) -> impl Iterator<Item = (Outcome, &Series)> {
        Outcome::all().filter_map(|outcome| {
            let series = self.outcomes[outcome.index()].get()?;
            Some((outcome, &**series))
        })
    }

    /// All its calls together: how many failed, and how long they took, as a whole and
    /// at the server.
    pub(super) fn sum(&self) -> (u64, Counts, Counts) {
        let (mut errors, mut whole, mut at_server) = (0, Counts::default(), Counts::default());
        for (outcome, series) in self.series() {
            let counts = series.whole.now();
            if outcome.is_error() {
                errors += counts.count();
            }
            whole.add(&counts);
            at_server.add(&series.at_server.now());
        }
        (errors, whole, at_server)
    }
}

#[cfg(test)]
mod tests;
