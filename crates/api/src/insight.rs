//! Times and costs: `GET metrics` (as JSON), `GET bill`; the tap: `GET tap`, `POST tap`; how much
//! is logged: `GET log`, `POST log`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether messages are kept, and how many.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TapState {
    /// Whether they are.
    pub armed: bool,
    /// Why: `option` (`--tap`), `watched` (somebody looks), `record` (`--record DIR`).
    pub by: Option<String>,
    /// When it ends unless somebody looks, in milliseconds since 1970.
    pub until: Option<u64>,
    /// Calls that are kept.
    pub calls: usize,
    /// Bytes of messages that are kept.
    pub bytes: u64,
    /// How many bytes may be.
    pub capacity: u64,
    /// Messages that were dropped because there were too many.
    pub dropped: u64,
    /// Where cassettes are written.
    pub record: Option<String>,
}

/// `POST tap`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SetTap {
    /// Whether messages are to be kept: for 10 minutes, or as long as somebody looks.
    pub armed: bool,
    /// Whether what is kept is to be forgotten.
    pub clear: bool,
}

/// `GET metrics`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Metrics {
    /// Seconds since counting began.
    pub seconds: f64,
    /// A line for each server and tool.
    pub lines: Vec<Line>,
    /// Calls in flight.
    pub in_flight: usize,
    /// Calls that wait for their client.
    pub parked: usize,
    /// Bytes in flight, and how many may be.
    pub budget: (u64, u64),
    /// Bytes that our own processes use.
    pub memory: Option<u64>,
}

/// What was counted of one tool, or of one method.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Line {
    /// The server.
    pub server: String,
    /// The method.
    pub method: String,
    /// The tool.
    pub tool: Option<String>,
    /// Ended calls.
    pub calls: u64,
    /// Failed ones.
    pub errors: u64,
    /// Failed ones by what it was: `denied`, `timeout`, `tool`, `-32602`, …
    pub classes: Vec<(String, u64)>,
    /// Microseconds of our own part.
    pub ours: Times,
    /// Microseconds at the server.
    pub theirs: Times,
    /// Microseconds of the whole.
    pub took: Times,
    /// Bytes that were sent for them.
    pub bytes_in: u64,
    /// Bytes that were answered.
    pub bytes_out: u64,
    /// Tokens that the answers would cost: an estimate.
    pub tokens: u64,
}

/// Times in microseconds.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Times {
    /// Half took less.
    pub p50: Option<u64>,
    /// 95 of 100.
    pub p95: Option<u64>,
    /// 99 of 100.
    pub p99: Option<u64>,
    /// Upper bound of each bucket that is not empty, and how many are in it.
    pub buckets: Vec<(u64, u64)>,
}

/// `GET bill`: what each client's list costs a model.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Bill {
    /// For each principal.
    pub lists: Vec<List>,
    /// Over how many days calls were counted: at most 30.
    pub days: u32,
}

/// What one principal's list costs.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct List {
    /// Whose.
    pub principal: String,
    /// How many tools it has.
    pub tools: usize,
    /// What they cost: an estimate.
    pub tokens: usize,
    /// Those that nobody called.
    pub unused: Vec<Unused>,
    /// What those cost.
    pub unused_tokens: usize,
    /// The command that defers them.
    pub defer: Option<String>,
    /// The command that hides them.
    pub hide: Option<String>,
}

/// A tool that nobody called.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Unused {
    /// The server.
    pub server: String,
    /// Its canonical name.
    pub tool: String,
    /// What it costs.
    pub tokens: usize,
}

/// `GET log`, and the answer to [`SetLog`]: how much the gateway logs.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Log {
    /// A level, and levels of modules.
    pub log: String,
    /// The file that it is written to, where it is one.
    pub file: Option<String>,
}

/// `POST log`: how much is logged from now on.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SetLog {
    /// A level (`error`, `warn`, `info`, `debug`, `trace`), `MODULE=LEVEL` for one part, with
    /// commas.
    pub filter: String,
}

crate::fill::fields! {
    TapState { armed, by, until, calls, bytes, capacity, dropped, record }
    Metrics { seconds, lines, in_flight, parked, budget, memory }
    Line {
        server, method, tool, calls, errors, classes, ours, theirs, took, bytes_in, bytes_out,
        tokens,
    }
    Times { p50, p95, p99, buckets }
    Bill { lists, days }
    List { principal, tools, tokens, unused, unused_tokens, defer, hide }
    Unused { server, tool, tokens }
    Log { log, file }
}
