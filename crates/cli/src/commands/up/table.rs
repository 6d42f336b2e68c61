//! How the servers are doing, as they connect. On a terminal each has a line
//! that changes in place; elsewhere a line is written when it is known.

use crate::show::{
    out, safe,
    term::{self, Paint},
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::sync::Arc;
use switchboard::{
    Caller, Pools, Roster, Settings, Status,
    caller::{needs_auth, sign_in_hint},
    config::Standing,
    host::Server,
};

/// How a server is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Connecting,
    Connected,
    Failed,
    NeedsAuth,
    Waiting,
}

impl State {
    const fn word(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Failed => "failed",
            Self::NeedsAuth => "needs a sign-in",
            Self::Waiting => "waits for approval",
        }
    }

    fn paint(self, paint: Paint, text: &str) -> String {
        match self {
            Self::Connecting => paint.dim(text),
            Self::Connected => paint.green(text),
            Self::Failed => paint.red(text),
            Self::NeedsAuth | Self::Waiting => paint.yellow(text),
        }
    }
}

/// A server's line.
struct Row {
    name: String,
    state: State,
    more: String,
}

struct Table {
    rows: Vec<Row>,
    paint: Paint,
    /// Columns of a name.
    width: usize,
    /// Whether lines can be changed after they were written.
    in_place: bool,
}

/// Meets every server and shows how it went. Those who connect stay connected.
pub async fn warm_up(roster: &Roster, settings: &Settings) -> Caller {
    let caller = Caller::shared(roster.host.clone());
    let pools = Pools::new(settings);
    let mut table = Table {
        rows: Vec::new(),
        paint: term::stdout(),
        width: 0,
        in_place: false,
    };
    let mut meetings = FuturesUnordered::new();
    for member in &roster.members {
        let (state, more) = match &member.status {
            Status::Server(server) => {
                let (row, caller, pools) = (table.rows.len(), &caller, &pools);
                meetings.push(async move { (row, meet(caller, pools, server).await) });
                (State::Connecting, String::new())
            }
            Status::Faulty(faults) => {
                let first = faults.first().map(ToString::to_string);
                (State::Failed, first.unwrap_or_default())
            }
            Status::Unused(Standing::PendingApproval) => {
                let command = format!("switchboard approve {}", member.entry.name);
                (State::Waiting, command)
            }
            Status::Unused(_) => continue,
        };
        table.rows.push(Row {
            name: safe::line(&member.entry.name),
            state,
            more: safe::line(&more),
        });
    }
    table.begin();
    while let Some((row, (state, more))) = meetings.next().await {
        table.change(row, state, &more);
    }
    let paint = table.paint;
    let _ = out::line(&format!("\n{}", paint.dim("Ready. Ctrl-C ends it.")));
    drop(meetings);
    caller
}

async fn meet(caller: &Caller, pools: &Pools, server: &Arc<Server>) -> (State, String) {
    let remote = server.spec.target.is_remote();
    let met = pools.run(remote, caller.meet(server)).await;
    // A server that wants a sign-in may be met all the same, and offers one.
    if needs_auth(server) {
        return (State::NeedsAuth, sign_in_hint(server));
    }
    match met {
        Ok(met) => {
            let tools = caller.tools(&met).await.map_or_else(
                |fault| fault.to_string(),
                |tools| match tools.len() {
                    1 => "1 tool".to_owned(),
                    count => format!("{count} tools"),
                },
            );
            (State::Connected, tools)
        }
        Err(fault) => (State::Failed, fault.to_string()),
    }
}

impl Table {
    fn begin(&mut self) {
        let widths = self.rows.iter().map(|row| row.name.chars().count());
        self.width = widths.max().unwrap_or_default().clamp(8, 40);
        // A line that has left the screen cannot be reached.
        self.in_place = self.paint.symbols() && self.rows.len() + 2 < term::height();
        let _ = out::line(&format!("\n{}", self.paint.bold("Servers")));
        for row in &self.rows {
            if self.in_place || row.state != State::Connecting {
                let _ = out::line(&self.line(row));
            }
        }
    }

    fn change(&mut self, at: usize, state: State, more: &str) {
        let row = &mut self.rows[at];
        (row.state, row.more) = (state, safe::line(more));
        let line = self.line(&self.rows[at]);
        let _ = if self.in_place {
            let up = self.rows.len() - at;
            out::bytes(format!("\u{1b}[{up}A\r\u{1b}[2K{line}\u{1b}[{up}B\r").as_bytes())
        } else {
            out::line(&line)
        };
    }

    fn line(&self, row: &Row) -> String {
        let name = safe::cut(&row.name, self.width);
        let word = row.state.word();
        let width = self.width;
        let mut more = row.more.clone();
        if self.in_place {
            // A line that wraps would be two.
            let taken = width + word.len() + 7;
            more = safe::cut(&more, term::width().saturating_sub(taken).max(8));
        }
        let word = row.state.paint(self.paint, word);
        format!("  {name:<width$}  {word}  {more}")
            .trim_end()
            .to_owned()
    }
}
