//! What was counted, for people: a line for each server and tool.

use serde::{Deserialize, Serialize};
use switchboard_api::insight;

/// What was counted since a gateway began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Stats {
    /// How long that is, in seconds.
    pub seconds: f64,
    /// A line for each server and tool, those of a server together.
    pub lines: Vec<Line>,
}

/// What was counted of one tool; of what is no call of a tool, of one method.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Line {
    /// The server; empty where a request did not come as far as one.
    pub server: String,
    /// The method.
    pub method: String,
    /// The tool, where it is a call of one.
    pub tool: Option<String>,
    /// How many have ended.
    pub calls: u64,
    /// How many of them failed. What its client gave up is none.
    pub errors: u64,
    /// How many a second, since the gateway began.
    pub per_second: f64,
    /// How long they took.
    pub took: Quantiles,
    /// How long they were at their server.
    pub at_server: Quantiles,
    /// Bytes that were sent for them.
    pub bytes_in: u64,
    /// Bytes that were answered.
    pub bytes_out: u64,
    /// Tokens that the answers would cost a model, roughly: a quarter of their bytes.
    pub tokens: u64,
}

/// Times that a half, most and nearly all stayed below, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Quantiles {
    /// Half of them.
    pub p50: Option<f64>,
    /// 95 of a hundred.
    pub p95: Option<f64>,
    /// 99 of a hundred.
    pub p99: Option<f64>,
}

impl Quantiles {
    fn told(times: &insight::Times) -> Self {
        let seconds = |micros: Option<u64>| Some(micros? as f64 / 1e6);
        Self {
            p50: seconds(times.p50),
            p95: seconds(times.p95),
            p99: seconds(times.p99),
        }
    }
}

/// Bytes of text that are one token, roughly.
// tidy: a unit, not a cap
pub(super) const BYTES_PER_TOKEN: u64 = 4;

impl Stats {
    /// The same as a gateway tells it.
    pub fn told(metrics: insight::Metrics) -> Self {
        let seconds = metrics.seconds;
        let line = |line: insight::Line| Line {
            per_second: line.calls as f64 / seconds.max(f64::MIN_POSITIVE),
            took: Quantiles::told(&line.took),
            at_server: Quantiles::told(&line.theirs),
            server: line.server,
            method: line.method,
            tool: line.tool,
            calls: line.calls,
            errors: line.errors,
            bytes_in: line.bytes_in,
            bytes_out: line.bytes_out,
            tokens: line.tokens,
        };
        Self {
            seconds,
            lines: metrics.lines.into_iter().map(line).collect(),
        }
    }
}
