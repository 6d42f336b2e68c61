//! What became of one peer, and the table of all.

use super::Expected;
use crate::table::Table;
use std::time::Duration;

/// The longest reason that a table has.
const REASON: usize = 200;

/// What became of one peer, over one way.
pub struct Row {
    /// A `server` or a `client`.
    pub kind: &'static str,
    pub name: String,
    /// Name and version at its registry.
    pub package: String,
    pub way: &'static str,
    pub outcome: Outcome,
    pub expected: Expected,
    pub took: Duration,
}

/// What was seen.
#[derive(Default)]
pub struct Outcome {
    /// How many tools there are without the gateway, or by our own client.
    pub direct: Option<usize>,
    /// How many the peer saw or showed.
    pub seen: Option<usize>,
    /// What became of the call.
    pub call: String,
    /// Why it does not work.
    pub failure: Option<String>,
}

impl Outcome {
    /// The same, but it does not work.
    pub fn failed(mut self, why: impl Into<String>) -> Self {
        self.failure = Some(why.into());
        self
    }
}

impl Row {
    /// It works.
    pub fn works(&self) -> bool {
        self.outcome.failure.is_none()
    }

    /// It works, or was known not to.
    pub fn as_expected(&self) -> bool {
        self.outcome.failure.is_none() || matches!(self.expected, Expected::Fails(_))
    }

    /// It works although it was known not to.
    pub fn better(&self) -> bool {
        self.outcome.failure.is_none() && matches!(self.expected, Expected::Fails(_))
    }

    fn verdict(&self) -> String {
        match (&self.outcome.failure, self.expected) {
            (None, Expected::Works) => "ok".into(),
            (None, Expected::Fails(_)) => "ok, now".into(),
            (Some(_), Expected::Fails(why)) => format!("fails, as known: {why}"),
            (Some(why), Expected::Works) => format!("FAILED: {}", short(why)),
        }
    }

    /// A line at once, because all of them take a while.
    pub fn print(&self) {
        let Self {
            name, way, took, ..
        } = self;
        let seconds = took.as_secs_f64();
        eprintln!("peers: {name} ({way}) {seconds:.1} s: {}", self.verdict());
        if let (Some(why), Expected::Works) = (&self.outcome.failure, self.expected) {
            eprintln!("  {why}");
        }
    }
}

/// The table, with exact times only where nobody compares it with another run.
pub fn table<'a>(rows: impl Iterator<Item = &'a Row>, times: bool) -> String {
    let count = |count: Option<usize>| count.map_or_else(|| "?".into(), |count| count.to_string());
    let mut table = Table::new(["peer", "package", "way", "tools", "call", "s", "result"]);
    for row in rows {
        let tools = format!(
            "{} / {}",
            count(row.outcome.seen),
            count(row.outcome.direct)
        );
        let seconds = match times {
            true => format!("{:.1}", row.took.as_secs_f64()),
            false => format!("{}", row.took.as_secs_f64().ceil()),
        };
        table.row([
            row.name.clone(),
            row.package.clone(),
            row.way.into(),
            tools,
            row.outcome.call.clone(),
            seconds,
            row.verdict().replace(['|', '\n'], " "),
        ]);
    }
    table.render()
}

fn short(text: &str) -> String {
    let line = text.replace('\n', " ");
    match line.char_indices().nth(REASON) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
