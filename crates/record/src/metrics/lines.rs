//! What was counted, as the API tells it.

use super::{Metrics, cells::Cell, histogram::Counts, stats::BYTES_PER_TOKEN};
use std::sync::atomic::Ordering;
use switchboard_api::insight::{Line, Times};
use switchboard_wire::Method;

impl Metrics {
    /// How often each tool was called: server, tool, and how often.
    pub fn tools(&self) -> Vec<(String, String, u64)> {
        let cells = self.shared.cells.all();
        let tools = cells.iter().filter(|cell| !cell.tool.is_empty());
        let count = |cell: &Cell| {
            let series = cell.series().filter(|(outcome, _)| !outcome.is_denial());
            series.map(|(_, series)| series.whole.now().count()).sum()
        };
        tools
            .map(|cell| (cell.server.to_string(), cell.tool.to_string(), count(cell)))
            .filter(|(_, _, count)| *count > 0)
            .collect()
    }

    /// Seconds since counting began, and a line for each server and tool, those of a
    /// server together.
    pub fn lines(&self) -> (f64, Vec<Line>) {
        let cells = self.shared.cells.all();
        let mut lines: Vec<Line> = cells.iter().map(|cell| line(cell)).collect();
        // What no server was asked for stands last.
        lines.sort_by(|a, b| {
            let place = |line: &'_ Line| (line.server.is_empty(), line.tool.is_none());
            let (first, second) = (place(a), place(b));
            let server = first.0.cmp(&second.0).then_with(|| a.server.cmp(&b.server));
            let name = || (&a.method, &a.tool).cmp(&(&b.method, &b.tool));
            server.then(first.1.cmp(&second.1)).then_with(name)
        });
        (self.since.elapsed().as_secs_f64(), lines)
    }
}

fn line(cell: &Cell) -> Line {
    let (errors, whole, theirs) = cell.sum();
    let (mut ours, mut classes) = (Counts::default(), Vec::new());
    for (outcome, series) in cell.series() {
        if outcome.is_error() {
            classes.push((outcome.word().to_owned(), series.whole.now().count()));
        }
        ours.add(&series.ours.now());
    }
    let is_tool = cell.method == Method::ToolsCall;
    Line {
        server: cell.server.to_string(),
        method: super::method(cell.method).to_owned(),
        tool: is_tool.then(|| cell.tool.to_string()),
        calls: whole.count(),
        errors,
        classes,
        took: times(&whole),
        bytes_in: cell.bytes_in.load(Ordering::Relaxed),
        bytes_out: cell.bytes_out.load(Ordering::Relaxed),
        ours: times(&ours),
        theirs: times(&theirs),
        tokens: cell.bytes_out.load(Ordering::Relaxed) / BYTES_PER_TOKEN,
    }
}

fn times(counts: &Counts) -> Times {
    let at = |share| {
        let seconds = counts.quantile(share)?;
        Some((seconds * 1e6).round() as u64)
    };
    Times {
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        buckets: counts.filled(),
    }
}
