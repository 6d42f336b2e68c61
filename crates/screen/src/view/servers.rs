//! The view of servers: state, sign-in and usability are three columns, and below the list
//! stands of the chosen one when and by which request each was seen.

use super::{
    canvas::{Canvas, Columns},
    line::{Line, Lines, Look},
};
use crate::{
    model::{Model, in_a_word, is_void, state_word},
    text,
};
use switchboard_api::state::{Seen, Server};

/// What nobody knows.
const UNKNOWN: &str = "unknown";

/// Columns for what a row shows.
struct Room {
    name: usize,
    three: bool,
    era: usize,
    why: usize,
}

impl Room {
    fn of(width: usize) -> Self {
        Self {
            name: match width {
                0..72 => width.saturating_sub(21).clamp(8, 24),
                72..100 => 18,
                _ => 24,
            },
            three: width >= 72,
            era: if width >= 100 { 6 } else { 0 },
            why: if width >= 100 { width - 95 } else { 0 },
        }
    }

    fn columns(&self) -> [usize; 10] {
        let name = self.name + 1;
        match self.three {
            true => [name, 10, 11, 7, self.era, 5, 6, 4, 6, self.why],
            false => [name, 11, 5, 0, 0, 0, 0, 0, 0, 0],
        }
    }
}

pub(super) fn draw(model: &Model, canvas: &mut Canvas<'_>) {
    let servers = model.servers();
    let bottom = canvas.height() - 2;
    if servers.is_empty() {
        empty(model, canvas);
        return;
    }
    let room = Room::of(usize::from(canvas.width()));
    let wide = room.columns();
    let mut columns = Columns::new(&wide);
    canvas.line(1, &head(&room, &mut columns));
    let mut chosen = None;
    let mut scope = None;
    for (index, server) in servers.iter().enumerate() {
        if scope != Some(&server.scope) {
            scope = Some(&server.scope);
            columns
                .rows
                .say(Look::Dim, format_args!(" {}", server.scope));
        }
        if index == model.list().at {
            chosen = Some(columns.rows.0.len());
        }
        row(server, model.is_lost(), &room, &mut columns);
    }
    // Of the chosen one three lines are shown, and a fourth where it says why.
    let mut below = Lines::default();
    if let Some(server) = servers.get(model.list().at) {
        about(&mut below, model, server);
    }
    let most = canvas.beside(canvas.height() / 2).min(below.0.len());
    let split = bottom - u16::try_from(most).unwrap_or(0);
    canvas.list(2, split, &columns.rows.0, chosen);
    canvas.lines(split, bottom, &below.0);
}

fn head(room: &Room, columns: &mut Columns<'_>) -> Line {
    columns.head(match room.three {
        true => " name|state|sign-in|usable|era|tools|tokens|used|memory|why",
        false => " name|state|tools",
    })
}

/// A server. Of one whose gateway is gone nobody can tell any more how it is.
fn row(server: &Server, is_lost: bool, room: &Room, columns: &mut Columns<'_>) {
    let count = |value: Option<usize>| text::or(value.map(|it| text::count(it as u64)), "–");
    columns.row();
    columns.with(Look::Plain, format_args!(" {}", server.name));
    let (state, look) = match (is_lost, room.three) {
        (true, _) => (UNKNOWN, Look::Dim),
        (false, true) => (state_word(server), state_look(server)),
        (false, false) => (in_a_word(server), worst(server)),
    };
    columns.cell(state, look);
    if room.three {
        let (sign_in, usable) = match is_lost {
            true => ((UNKNOWN, Look::Dim), (UNKNOWN, Look::Dim)),
            false => (
                (word(&server.sign_in), sign_in_look(server)),
                (word(&server.usable), usable_look(server)),
            ),
        };
        columns.cell(sign_in.0, sign_in.1);
        columns.cell(usable.0, usable.1);
        columns.cell(server.era.as_deref().unwrap_or("–"), Look::Plain);
    }
    columns.with(Look::Plain, format_args!("{}", count(server.tools)));
    if room.three {
        columns.with(Look::Plain, format_args!("{}", count(server.tokens)));
        let clients = text::count(server.clients as u64);
        columns.with(Look::Plain, format_args!("{clients}"));
        let memory = server.memory.filter(|_| !is_lost);
        let memory = text::or(memory.map(text::bytes), "–");
        columns.with(Look::Plain, format_args!("{memory}"));
        let why = why(server).filter(|_| !is_lost);
        columns.cell(why.unwrap_or_default(), Look::Dim);
    }
}

fn word(seen: &Seen) -> &str {
    match seen.word.as_str() {
        "" => UNKNOWN,
        "none-needed" => "none",
        word => word,
    }
}

/// Why it is not as it should be.
fn why(server: &Server) -> Option<&str> {
    let all = [&server.state, &server.sign_in, &server.usable];
    all.into_iter().find_map(|seen| seen.reason.as_deref())
}

pub(super) fn state_look(server: &Server) -> Look {
    match state_word(server) {
        "connected" => Look::Good,
        "failed" | "denied" => Look::Bad,
        "needs-auth" | "to approve" | "reached" => Look::Warn,
        _ => Look::Dim,
    }
}

fn sign_in_look(server: &Server) -> Look {
    match server.sign_in.word.as_str() {
        "signed-in" | "header" => Look::Good,
        _ if is_void(server) => Look::Warn,
        _ => Look::Dim,
    }
}

fn usable_look(server: &Server) -> Look {
    match server.usable.word.as_str() {
        "yes" => Look::Good,
        "no" => Look::Bad,
        _ => Look::Dim,
    }
}

fn worst(server: &Server) -> Look {
    if in_a_word(server) == "unusable" {
        return Look::Bad;
    }
    state_look(server)
}

/// State, sign-in and usability, each with when and by what it was seen.
pub(super) fn about(lines: &mut Lines, model: &Model, server: &Server) {
    if model.is_lost() {
        lines.put(" as it was when the gateway went:", Look::Warn);
    }
    let (state, sign_in, usable) = (&server.state, &server.sign_in, &server.usable);
    let all = [
        (" state", state_word(server), state, state_look(server)),
        (" sign-in", word(sign_in), sign_in, sign_in_look(server)),
        (" usable", word(usable), usable, usable_look(server)),
    ];
    for (what, word, seen, look) in all {
        let line = lines.line().pad(what, 9, Look::Dim).pad(word, 12, look);
        if let Some(at) = seen.at {
            line.with(Look::Plain, format_args!("{}", model.clock(at)));
        }
        if let Some(by) = &seen.by {
            line.and(" by ", Look::Dim).and(by, Look::Plain);
        }
        if let Some(reason) = &seen.reason {
            line.and("  ", Look::Plain).and(reason, Look::Plain);
        }
    }
    let all = [state, sign_in, usable];
    if let Some(hint) = all.into_iter().find_map(|seen| seen.hint.as_deref()) {
        lines.line().and(" do: ", Look::Key).and(hint, Look::Plain);
    }
}

/// What a key or a command does, on as many lines as it takes.
fn step(lines: &mut Lines, key: &str, does: &str, width: usize) {
    let mut left = key.chars().count();
    let mut indent = "  ";
    for row in text::wrapped(&format!("{key} {does}"), width.saturating_sub(4)) {
        let at = row.char_indices().nth(left).map_or(row.len(), |(at, _)| at);
        let (typed, rest) = row.split_at(at);
        // The space at which it was broken is gone.
        left = left.saturating_sub(row.chars().count() + 1);
        let line = lines.line();
        line.with(Look::Key, format_args!("{indent}{typed}"));
        line.and(rest, Look::Plain);
        indent = "    ";
    }
}

/// Nothing is there: what to do about that.
fn empty(model: &Model, canvas: &mut Canvas<'_>) {
    let mut lines = Lines::default();
    if !model.known {
        lines.put(" …", Look::Dim);
    } else if !model.list().filter.is_empty() {
        lines.put(" nothing fits the filter", Look::Dim);
    } else {
        lines.put(" No server is configured here yet.", Look::Bold);
        lines.line();
        let width = usize::from(canvas.width());
        for (key, does) in [
            ("n", "adds one: its name, -- and a command, or an address"),
            (":import", "takes over what other clients have"),
            (
                ":add files -- switchboard builtin files",
                "adds one that comes along",
            ),
        ] {
            step(&mut lines, key, does, width);
        }
    }
    canvas.lines(2, canvas.height() - 2, &lines.0);
}
