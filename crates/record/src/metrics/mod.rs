//! Counts and times of calls: for Prometheus ([`Page`]), and for people ([`Stats`]).
//!
//! Names follow OpenTelemetry's conventions for MCP: `mcp.server.operation.duration` is
//! the whole of a call as its client sees it, `mcp.client.operation.duration` its time
//! at the server. What is counted of a call takes no lock, and allocates nothing once
//! its tool is known.

mod cells;
mod histogram;
mod lines;
pub(crate) mod outcome;
mod page;
mod stats;

pub use page::{Format, Kind, Labels, Page};
pub use stats::{Line, Quantiles, Stats};

pub(crate) use cells::Cell;
pub(crate) use outcome::Outcome;

use crate::{
    again::{self, Follows, Spare},
    tap::CallList,
};
use cells::{Cells, Ended, Example};
use histogram::{Counts, SHOWN};
use std::{
    fmt,
    sync::{Arc, atomic::Ordering},
    thread::LocalKey,
    time::Instant,
};
use switchboard_host::{
    Blame, Input,
    observe::{Begin, End, Follow, Happened, Keeping, Observer, Part, PartEnd},
};
use switchboard_wire::{Method, Named, Revision};

/// Counts calls, and lists them. Clones count together.
#[derive(Clone)]
pub struct Metrics {
    shared: Arc<Shared>,
    since: Instant,
}

/// Where calls are counted, and listed.
#[derive(Default)]
struct Shared {
    cells: Cells,
    list: Arc<CallList>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            shared: Arc::default(),
            since: Instant::now(),
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Observer for Metrics {
    fn begin(&self, call: &Begin<'_>) -> Option<Box<dyn Follow>> {
        self.shared.list.begin(call);
        Some(again::follow(Counting {
            shared: self.shared.clone(),
            number: call.number,
            method: call.method,
            server: None,
            cell: None,
            tool: None,
            is_listed: None,
            left: 0,
            revision: None,
            is_decided: false,
            is_over: false,
        }))
    }

    fn wants_details(&self) -> bool {
        false
    }
}

/// One call that will be counted.
struct Counting {
    shared: Arc<Shared>,
    number: u64,
    method: Method,
    /// Its server, where it has no cell yet.
    server: Option<Arc<str>>,
    /// Where it is counted, if that is known already.
    cell: Option<Arc<Cell>>,
    /// Its tool, where it has no cell yet.
    tool: Option<Box<str>>,
    /// Whether its server has that tool, where that is known.
    is_listed: Option<bool>,
    /// How often it was sent, and in which revision.
    left: u32,
    revision: Option<Revision>,
    /// Whether the list says what was decided about it.
    is_decided: bool,
    is_over: bool,
}

impl Counting {
    fn is_at(&mut self, server: &Arc<str>, tool: Option<&str>) {
        let found = self
            .shared
            .cells
            .find(server, self.method, tool.unwrap_or_default());
        self.cell = found.cloned();
        if self.cell.is_none() {
            self.server = Some(server.clone());
            self.tool = tool.map(Into::into);
        }
    }

    /// A cell for it. Names that only its client knows have none of their own: nobody
    /// is to fill the room with them.
    fn new_cell(&self, end: &End<'_>) -> Arc<Cell> {
        let unknown: Arc<str> = "".into();
        let server = self.server.as_ref().unwrap_or(&unknown);
        // Some servers answer what they do not have with a result that says so.
        let is_known =
            self.is_listed.unwrap_or(end.fault.is_none()) && end.fault != Some(Blame::Client);
        let tool = match &self.tool {
            Some(tool) if is_known => tool,
            Some(_) => cells::OTHER,
            None => "",
        };
        let cells = &self.shared.cells;
        cells.get(server, self.method, tool).clone()
    }
}

thread_local! {
    static SPARE: Spare<Counting> = const { Spare::new(Vec::new()) };
}

impl Follows for Counting {
    fn spare() -> &'static LocalKey<Spare<Self>> {
        &SPARE
    }

    fn event(&mut self, event: &Happened<'_>) {
        match event {
            Happened::Routed(to) => {
                let tool = match to.named {
                    Named::Tool(tool) => Some(tool.as_str()),
                    _ => None,
                };
                self.is_at(to.server_name(), tool);
                if self.cell.is_none() {
                    self.is_listed = tool.and_then(|tool| to.is_listed(tool));
                }
                let list = &self.shared.list;
                list.routed(self.number, to, self.cell.as_ref());
            }
            Happened::Passed(passed) => {
                if let (None, None, Some(server)) = (&self.cell, &self.server, &passed.server) {
                    self.is_at(server, None);
                }
                let is_told = self.cell.is_some() || self.server.is_some();
                if passed.decided.is_some() || !is_told || self.is_decided {
                    self.is_decided = passed.decided.is_some();
                    self.shared.list.passed(self.number, passed);
                }
            }
            Happened::Left { server, revision } => {
                self.left += 1;
                self.revision = Some(*revision);
                if self.cell.is_none() && self.server.is_none() {
                    self.is_at(server, None);
                }
            }
            Happened::Asked(_) => self.shared.list.waits(self.number, true),
            Happened::Held => self.shared.list.answer_held(self.number),
            Happened::Edited(_) => self.shared.list.edited(self.number),
            Happened::Notice(_)
            | Happened::Released(_)
            | Happened::Answered(..)
            | Happened::Parked
            | Happened::Resumed(_) => {}
        }
    }

    fn asks(&mut self, _input: &Input) -> Option<Box<dyn Part>> {
        Some(Box::new(Asking {
            shared: self.shared.clone(),
            number: self.number,
        }))
    }

    fn end(&mut self, end: &End<'_>) -> Option<Keeping> {
        self.is_over = true;
        let made;
        let cell = match &self.cell {
            Some(known) => known,
            None => {
                made = self.new_cell(end);
                &made
            }
        };
        let outcome = Outcome::of(&end.ending, end.fault);
        let ended = Ended {
            outcome,
            number: self.number,
            trace: None,
            took: end.took,
            at_server: (self.left > 0).then_some(end.at_server),
            waited: end.waited,
            bytes_in: end.bytes_in,
            bytes_out: end.bytes_out,
        };
        self.shared.cells.count(cell, &ended);
        let left = (self.left, self.revision);
        self.shared.list.end(self.number, end, outcome, left);
        None
    }
}

/// A question of a call that waits for its answer.
struct Asking {
    shared: Arc<Shared>,
    number: u64,
}

impl Part for Asking {
    fn end(self: Box<Self>, _ended: &PartEnd<'_>) {}
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.shared.list.waits(self.number, false);
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        // It turned out to be another call, which is followed by itself.
        if !self.is_over {
            self.shared.list.forget(self.number);
        }
    }
}

const WHOLE: &str = "mcp_server_operation_duration_seconds";
const AT_SERVER: &str = "mcp_client_operation_duration_seconds";

impl Metrics {
    /// Writes what was counted of calls.
    pub fn write(&self, page: &mut Page) {
        let cells = self.shared.cells.all();
        let help = "How long requests took, from when a client's request was let in to when its answer was ready, without what people took to answer questions.";
        page.family(WHOLE, Kind::Histogram, help);
        for_each(&cells, |labels, cell_series| {
            let (example, whole) = (cell_series.1, cell_series.0);
            write_times(page, WHOLE, labels, &whole, example);
        });
        let help = "How long requests were at their server, without what people took to answer its questions.";
        page.family(AT_SERVER, Kind::Histogram, help);
        for cell in &cells {
            for (outcome, series) in cell.series() {
                let counts = series.at_server.now();
                if counts.count() > 0 {
                    write_times(page, AT_SERVER, &labels(cell, outcome), &counts, None);
                }
            }
        }
        self.write_bytes(page, &cells);
        self.write_denials(page, &cells);
    }

    fn write_bytes(&self, page: &mut Page, cells: &[Arc<Cell>]) {
        let name = "switchboard_request_bytes_total";
        page.family(name, Kind::Counter, "Bytes of requests.");
        for cell in cells {
            let bytes = cell.bytes_in.load(Ordering::Relaxed);
            page.sample(name, &labels(cell, Outcome::FINE), bytes);
        }
        let name = "switchboard_response_bytes_total";
        let help = "Bytes of answers, notices and questions to clients.";
        page.family(name, Kind::Counter, help);
        for cell in cells {
            let bytes = cell.bytes_out.load(Ordering::Relaxed);
            page.sample(name, &labels(cell, Outcome::FINE), bytes);
        }
    }

    fn write_denials(&self, page: &mut Page, cells: &[Arc<Cell>]) {
        let name = "switchboard_denials_total";
        let help = "Requests that a rule did not permit, or that nobody allowed when asked.";
        page.family(name, Kind::Counter, help);
        for cell in cells {
            for (outcome, series) in cell.series().filter(|(outcome, _)| outcome.is_denial()) {
                let count = series.whole.now().count();
                page.sample(name, &labels(cell, outcome), count);
            }
        }
    }

    /// The calls that were counted last.
    pub fn list(&self) -> &Arc<CallList> {
        &self.shared.list
    }
}

/// What a cell is of, as the conventions call it.
fn labels(cell: &Cell, outcome: Outcome) -> [(&'static str, &str); 4] {
    [
        ("mcp_server_name", &cell.server),
        ("mcp_method_name", method(cell.method)),
        ("gen_ai_tool_name", &cell.tool),
        ("error_type", outcome.word()),
    ]
}

/// A method that we know by name, or that it is another.
fn method(method: Method) -> &'static str {
    match method.as_str() {
        "" => "_OTHER",
        known => known,
    }
}

/// Every series of the whole time, with an example of it.
fn for_each(cells: &[Arc<Cell>], mut write: impl FnMut(Labels<'_>, (Counts, Option<Example>))) {
    for cell in cells {
        for (outcome, series) in cell.series() {
            let example = *series.example.lock();
            write(&labels(cell, outcome), (series.whole.now(), example));
        }
    }
}

fn write_times(
    page: &mut Page,
    name: &str,
    labels: Labels<'_>,
    counts: &Counts,
    example: Option<Example>,
) {
    let bounds = SHOWN.iter().map(|(_, text)| *text);
    let buckets = bounds.zip(counts.shown());
    let example = example.map(|example| {
        let hex = |bytes: [u8; 16]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut whose = vec![("call", example.number.to_string())];
        whose.extend(example.trace.map(|trace| ("trace_id", hex(trace))));
        (whose, example.micros as f64 / 1e6)
    });
    let total = (counts.count(), counts.sum());
    page.histogram(name, labels, buckets, total, example);
}

#[cfg(test)]
mod tests;
