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
            let key = |line: &Line| (line.server.is_empty(), line.tool.is_none());
            let names = |line: &Line| (line.server.clone(), line.method.clone());
            (key(a).0, names(a).0, key(a).1).cmp(&(key(b).0, names(b).0, key(b).1))
        });
        (self.since.elapsed().as_secs_f64(), lines)
    }
}

fn line(cell: &Cell) -> Line {
    let (mut ours, mut theirs) = (Counts::default(), Counts::default());
    let (mut calls, mut errors, mut classes) = (0, 0, Vec::new());
    for (outcome, series) in cell.series() {
        let count = series.whole.now().count();
        calls += count;
        if outcome.is_error() {
            errors += count;
            classes.push((outcome.word().to_owned(), count));
        }
        ours.add(&series.ours.now());
        theirs.add(&series.at_server.now());
    }
    let is_tool = cell.method == Method::ToolsCall;
    Line {
        server: cell.server.to_string(),
        method: super::method(cell.method).to_owned(),
        tool: is_tool.then(|| cell.tool.to_string()),
        calls,
        errors,
        classes,
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
