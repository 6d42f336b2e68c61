//! How the servers are doing, for as long as the gateway runs. On a terminal
//! each has a line that changes in place; elsewhere a line is written whenever
//! something is not what it was.

use super::follow::{Follower, How, News, State};
use crate::{
    limits,
    show::{
        live::{Line, Live},
        out, safe,
        term::{self, Paint},
    },
};
use std::{convert::Infallible, sync::Arc};
use switchboard::{
    Member, Settings, Status, Used,
    config::Standing,
    host::{Host, Server},
    local::secret,
    used,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{Notify, mpsc, watch},
    time::interval,
};

/// The key that opens the screen.
pub const SCREEN: char = 's';
/// Said when every server has been met: without keys, and with them.
const READY: &str = "\nReady. Ctrl-C ends it.";
const READY_FOR_KEYS: &str = "\nReady. s opens a screen, Ctrl-C ends it.";
/// Columns of a name: so many at least, and at most.
const NAME: (usize, usize) = (8, 40);

/// Meets every server, keeps those that connect connected, and shows how each
/// is doing, until it is dropped; `again` has all of it drawn once more.
pub async fn show(
    host: &Arc<Host>,
    settings: &Settings,
    mut members: watch::Receiver<Vec<Member>>,
    has_keys: bool,
    again: &Notify,
) -> Infallible {
    let (tell, mut news) = mpsc::channel(limits::NEWS);
    let follower = Follower::new(host, settings, tell);
    let mut resized = signal(SignalKind::window_change()).ok();
    let mut table = Table::new(if has_keys { READY_FOR_KEYS } else { READY });
    let mut look = interval(limits::USED_LOOK);
    loop {
        let now = members.borrow_and_update().clone();
        table.take_over(&now, &follower);
        loop {
            tokio::select! {
                Ok(()) = members.changed() => break,
                Some(told) = news.recv() => table.change(told),
                Some(()) = async { resized.as_mut()?.recv().await } => table.draw(),
                () = again.notified() => table.draw(),
                _ = look.tick(), if table.live.is_some() => table.look().await,
            }
        }
    }
}

/// A server's line.
struct Row {
    name: String,
    /// What it stands for, if that can be used, and who follows it.
    server: Option<(Arc<Server>, Followed)>,
    how: How,
    /// What its processes use, where lines can be changed.
    used: Option<Used>,
}

impl Row {
    fn is_of(&self, server: &Arc<Server>) -> bool {
        let mine = self.server.as_ref();
        mine.is_some_and(|(mine, _)| Arc::ptr_eq(mine, server))
    }
}

type Followed = Arc<tokio_util::task::AbortOnDropHandle<()>>;

/// How a server that is not used is shown, if it is; another of its name may
/// stand for it.
fn unused(standing: &Standing, member: &Member) -> Option<How> {
    let name = &member.entry.name;
    Some(match standing {
        Standing::Disabled => How::new(State::Disabled, format!("switchboard enable {name}")),
        Standing::Rejected => How::new(State::Rejected, format!("switchboard approve {name}")),
        Standing::Denied(why) => How::new(State::Denied, why),
        _ => return None,
    })
}

struct Table {
    rows: Vec<Row>,
    paint: Paint,
    /// Columns of a name.
    width: usize,
    /// Where lines can be changed after they were written.
    live: Option<Live>,
    /// What is said when every server has been met once, and whether that is so.
    last: &'static str,
    ready: bool,
}

impl Table {
    fn new(last: &'static str) -> Self {
        let paint = term::stdout();
        let _ = out::line(&format!("\n{}", paint.bold("Servers")));
        Self {
            rows: Vec::new(),
            paint,
            width: NAME.0,
            live: Live::begin(),
            last,
            ready: false,
        }
    }

    /// Shows what is configured now. What stayed what it was is left alone.
    fn take_over(&mut self, members: &[Member], follower: &Follower) {
        let before = std::mem::take(&mut self.rows);
        for member in members {
            let (server, how) = match &member.status {
                Status::Server(server) => match before.iter().find(|row| row.is_of(server)) {
                    Some(row) => (row.server.clone(), row.how.clone()),
                    None => {
                        let followed = Arc::new(follower.follow(server));
                        (Some((server.clone(), followed)), How::connecting())
                    }
                },
                Status::Faulty(faults) => {
                    let first = faults.first().map(ToString::to_string);
                    (None, How::new(State::Failed, first.unwrap_or_default()))
                }
                Status::Unused(Standing::PendingApproval) => {
                    let command = format!("switchboard approve {}", member.entry.name);
                    (None, How::new(State::Waiting, command))
                }
                Status::Unused(standing) => match unused(standing, member) {
                    Some(how) => (None, how),
                    None => continue,
                },
            };
            let name = safe::line(&member.entry.name);
            let same = |row: &&Row| row.name == name;
            let used = before.iter().find(same).and_then(|row| row.used);
            self.rows.push(Row {
                name,
                server,
                how,
                used,
            });
        }
        let widths = self.rows.iter().map(|row| row.name.chars().count());
        self.width = widths.max().unwrap_or_default().clamp(NAME.0, NAME.1);
        if self.live.is_none() {
            for row in &self.rows {
                let same = |old: &&Row| old.name == row.name && old.how == row.how;
                if row.how.state != State::Connecting && !before.iter().any(|old| same(&old)) {
                    let _ = out::line(&self.line(row).text);
                }
            }
            let gone = |old: &&Row| !self.rows.iter().any(|row| row.name == old.name);
            for row in before.iter().filter(gone) {
                let name = self.name(row);
                let _ = out::line(&format!("  {name}  removed"));
            }
        }
        // The rules may have changed, and with them what can be seen of a server.
        follower.count_again();
        self.settle();
    }

    fn change(&mut self, news: News) {
        let changed = |row: &Row| row.is_of(&news.server) && row.how != news.how;
        let Some(at) = self.rows.iter().position(changed) else {
            return;
        };
        self.rows[at].how = news.how;
        if self.live.is_none() {
            let _ = out::line(&self.line(&self.rows[at]).text);
        }
        self.settle();
    }

    /// Looks what each server's processes use, and shows it.
    async fn look(&mut self) {
        let servers: Vec<Arc<Server>> = self
            .rows
            .iter()
            .filter_map(|row| row.server.as_ref().map(|(server, _)| server.clone()))
            .collect();
        let all = used(&servers).await;
        let mut changed = false;
        for (server, used) in servers.iter().zip(all) {
            for row in self.rows.iter_mut().filter(|row| row.is_of(server)) {
                changed |= std::mem::replace(&mut row.used, used) != used;
            }
        }
        if changed {
            self.draw();
        }
    }

    /// Draws; says once that every server has been met.
    fn settle(&mut self) {
        let connecting = |row: &Row| row.how.state == State::Connecting;
        if !self.ready && !self.rows.iter().any(connecting) {
            self.ready = true;
            if self.live.is_none() {
                let _ = out::line(self.last);
            }
        }
        self.draw();
    }

    /// Draws all lines anew, where that is possible.
    fn draw(&self) {
        let Some(live) = &self.live else {
            return;
        };
        let end = if self.ready { self.last } else { "" };
        let end = end.lines().flat_map(|line| safe::rows(line, term::width()));
        let end: Vec<String> = end.collect();
        // What has left the screen could not be changed any more.
        let room = term::height().saturating_sub(end.len() + 2).max(1);
        let mut lines: Vec<Line> = self.fitting(room);
        lines.extend(end.iter().map(|line| Line {
            text: self.paint.dim(line),
            columns: line.len(),
        }));
        live.draw(lines);
    }

    /// The lines of all servers; where there is no room for them, those that
    /// are well are left out first.
    fn fitting(&self, room: usize) -> Vec<Line> {
        let mut shown: Vec<&Row> = self.rows.iter().collect();
        if shown.len() > room {
            shown.sort_by_key(|row| row.how.state == State::Connected);
            shown.truncate(room.saturating_sub(1));
        }
        let left_out = self.rows.len() - shown.len();
        let mut lines: Vec<Line> = shown.into_iter().map(|row| self.line(row)).collect();
        if left_out > 0 {
            let text = format!("  … and {left_out} more: switchboard list shows them all");
            let text = safe::cut(&text, term::width());
            let columns = safe::columns(&text);
            let text = self.paint.dim(&text);
            lines.push(Line { text, columns });
        }
        lines
    }

    fn name(&self, row: &Row) -> String {
        let width = self.width;
        format!("{:<width$}", safe::cut(&row.name, width))
    }

    fn line(&self, row: &Row) -> Line {
        let (name, word) = (self.name(row), row.how.state.word());
        let mut more = safe::line(&secret::text(&row.how.more));
        if let Some(used) = &row.used {
            more = format!("{more}; {}", used.words());
        }
        let taken = safe::columns(&name) + word.len() + 6;
        if self.live.is_some() {
            // A line that wraps would be two.
            more = safe::cut_words(&more, term::width().saturating_sub(taken).max(8));
        }
        let columns = taken + safe::columns(&more);
        let word = row.how.state.paint(self.paint, word);
        let text = format!("  {name}  {word}  {more}").trim_end().to_owned();
        Line { text, columns }
    }
}
