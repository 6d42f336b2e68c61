//! One line of `list`, for people and for scripts.

use crate::{
    failure::Failure,
    show::{
        out, safe,
        term::{self, Paint},
    },
};
use serde::Serialize;
use serde_json::value::RawValue;
use switchboard::{
    Health, Preview, Report, Used, api::types::servers::state_words, config::Entry, local::secret,
    several,
};

/// A server as `list` shows it. The names and their order are what scripts rely on.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    pub name: String,
    pub scope: &'static str,
    pub file: Option<String>,
    pub transport: String,
    pub target: String,
    pub state: State,
    pub reason: Option<String>,
    pub shadowed_by: Option<String>,
    pub version: Option<String>,
    pub era: Option<String>,
    pub server_info: Option<Box<RawValue>>,
    pub tools: Option<usize>,
    pub resources: Option<usize>,
    pub prompts: Option<usize>,
    pub ms: Option<u64>,
    pub copies: Option<usize>,
    pub used: Option<Used>,
    /// What the definitions of its tools cost a model: an estimate, for people.
    #[serde(skip)]
    pub tokens: Option<usize>,
}

/// How a server is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Connected,
    Asleep,
    Failed,
    NeedsAuth,
    PendingApproval,
    Rejected,
    Disabled,
    Denied,
    Shadowed,
    NotConnected,
}

impl State {
    /// Whether `--check` complains.
    pub fn is_trouble(self) -> bool {
        matches!(self, Self::Failed | Self::NeedsAuth | Self::PendingApproval)
    }

    fn words(self) -> &'static str {
        state_words(match self {
            Self::Connected => "connected",
            Self::Asleep => "asleep",
            Self::Failed => "failed",
            Self::NeedsAuth => "needs-auth",
            Self::PendingApproval => "pending-approval",
            Self::Rejected => "rejected",
            Self::Disabled => "disabled",
            Self::Denied => "denied",
            Self::Shadowed => "shadowed",
            Self::NotConnected => "not-connected",
        })
    }

    fn symbol(self, paint: Paint) -> String {
        match self {
            Self::Connected => paint.green("✔"),
            Self::Failed => paint.red("✘"),
            Self::NeedsAuth => paint.yellow("!"),
            Self::PendingApproval => paint.yellow("⏸"),
            Self::Rejected | Self::Denied => paint.red("⊘"),
            Self::Asleep => paint.dim("☾"),
            Self::Disabled | Self::Shadowed | Self::NotConnected => paint.dim("·"),
        }
    }
}

impl Row {
    /// A server that nobody has asked yet.
    pub fn new(entry: &Entry) -> Self {
        Self {
            name: entry.name.clone(),
            scope: entry.scope.as_str(),
            file: entry.source.file().map(|file| file.display().to_string()),
            transport: entry.transport.as_str().to_owned(),
            target: entry.target(),
            state: State::NotConnected,
            reason: None,
            shadowed_by: None,
            version: None,
            era: None,
            server_info: None,
            tools: None,
            resources: None,
            prompts: None,
            ms: None,
            copies: None,
            used: None,
            tokens: None,
        }
    }

    /// The same server as it turned out to be.
    pub fn reported(mut self, report: Report) -> Self {
        self.state = match report.health {
            Health::Connected => State::Connected,
            Health::Asleep => State::Asleep,
            Health::Failed => State::Failed,
            Health::NeedsAuth => State::NeedsAuth,
        };
        self.reason = report.reason;
        self.version = report.version;
        self.era = report.era;
        if let Some(transport) = report.transport {
            self.transport = transport;
        }
        self.server_info = report.server_info;
        (self.tools, self.resources, self.prompts) =
            (report.tools, report.resources, report.prompts);
        self.ms = Some(report.ms);
        self.copies = report.copies;
        self.used = report.used;
        self.tokens = report.tokens;
        self
    }

    /// The same server in this state.
    pub fn with(mut self, state: State, reason: impl Into<String>) -> Self {
        let reason: String = reason.into();
        self.state = state;
        self.reason = Some(secret::text(&reason).into_owned());
        self
    }
}

/// How wide the columns for name and target get at most, whatever a repository
/// calls its servers.
const WIDEST: (usize, usize) = (256, 4096);

/// Columns that fit all rows, known before any server is.
#[derive(Debug)]
pub struct Layout {
    name: usize,
    target: usize,
    paint: Paint,
}

impl Layout {
    /// Measures.
    pub fn of(members: &[Preview]) -> Self {
        let paint = term::stdout();
        let widest = |texts: &mut dyn Iterator<Item = String>| {
            texts.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let name = widest(&mut members.iter().map(|member| safe::line(&member.entry.name)));
        let target = widest(
            &mut members
                .iter()
                .map(|member| safe::line(&member.entry.target())),
        );
        let room = if paint.terminal {
            term::width().saturating_sub(name + 40).max(20)
        } else {
            usize::MAX
        };
        Self {
            name: name.min(WIDEST.0),
            target: target.min(room).min(WIDEST.1),
            paint,
        }
    }

    /// Prints a row, with its reason below where that is long.
    pub fn print(&self, row: &Row) -> Result<(), Failure> {
        let symbol = if self.paint.symbols() {
            format!("{} ", row.state.symbol(self.paint))
        } else {
            String::new()
        };
        let name = format!(
            "{:<width$}",
            safe::cut(&safe::line(&row.name), self.name),
            width = self.name
        );
        let target = format!(
            "{:<width$}",
            safe::cut(&safe::line(&row.target), self.target),
            width = self.target
        );
        let mut text = format!(
            "{symbol}{}  {}  {}",
            self.paint.bold(&name),
            self.paint.dim(&target),
            row.state.words()
        );
        match row.state {
            State::Connected | State::Asleep => {
                let taken = self.name + self.target + row.state.words().len() + 8;
                let room = term::width().saturating_sub(taken);
                let room = if self.paint.terminal {
                    room
                } else {
                    usize::MAX
                };
                let counts = counts(row, room);
                text.push_str(&self.paint.dim(&format!("  {counts}")));
            }
            State::Shadowed => {
                let by = row.shadowed_by.as_deref().unwrap_or_default();
                text.push_str(&format!(" by {}", safe::line(by)));
            }
            _ => {}
        }
        if let Some(reason) = &row.reason {
            let mut lines = reason.lines();
            text.push_str(&format!(
                ": {}",
                safe::line(lines.next().unwrap_or_default())
            ));
            for line in lines {
                text.push_str(&format!("\n    {}", safe::line(line)));
            }
        }
        out::line(&text)
    }
}

/// What a server has, as much of it as there is room for.
fn counts(row: &Row, room: usize) -> String {
    let count = |n: Option<usize>, one: &str| match n {
        None => Some(format!("? {one}s")),
        Some(0) => None,
        Some(1) => Some(format!("1 {one}")),
        Some(n) => Some(format!("{n} {one}s")),
    };
    let tools = count(row.tools, "tool").map(|tools| match row.tokens {
        Some(tokens) => format!("{tools} (about {tokens} tokens)"),
        None => tools,
    });
    let parts = [
        tools,
        several(row.copies, row.transport == "stdio"),
        count(row.resources, "resource"),
        count(row.prompts, "prompt"),
    ];
    let mut parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.extend(row.version.clone());
    let ms = row.ms.filter(|_| row.state != State::Asleep);
    parts.extend(ms.map(|ms| format!("{ms} ms")));
    parts.extend(row.used.map(|used| used.words()));
    let mut all = parts.join(", ");
    while all.chars().count() > room && parts.len() > 1 {
        // What comes last matters least; what the tools cost goes before the tools.
        parts.pop();
        all = parts.join(", ");
    }
    if all.chars().count() > room
        && let Some((tools, _)) = all.split_once(" (about")
    {
        return tools.to_owned();
    }
    all
}
