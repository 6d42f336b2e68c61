//! The view of servers: state, sign-in and usability are three columns, and below the list
//! stands of the chosen one when and by which request each was seen.

use super::canvas::{Canvas, Line, Look, cells};
use crate::{
    model::{Model, in_a_word, is_void, state_word},
    text,
};
use switchboard_api::state::{Seen, Server};

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
}

pub(super) fn draw(model: &Model, canvas: &mut Canvas<'_>) {
    let servers = model.servers();
    let bottom = canvas.height() - 2;
    if servers.is_empty() {
        empty(model, canvas);
        return;
    }
    let room = Room::of(usize::from(canvas.width()));
    canvas.line(1, &head(&room));
    let mut rows = Vec::new();
    let mut chosen = None;
    let mut scope = None;
    for (index, server) in servers.iter().enumerate() {
        if scope != Some(&server.scope) {
            scope = Some(&server.scope);
            rows.push(Line::of(format!(" {}", server.scope), Look::Dim));
        }
        if index == model.list().at {
            chosen = Some(rows.len());
        }
        rows.push(match model.is_lost() {
            true => row(&unseen(server), &room),
            false => row(server, &room),
        });
    }
    // Of the chosen one three lines are shown, and a fourth where it says why.
    let server = servers.get(model.list().at).copied();
    let below = server
        .map(|server| about(model, server))
        .unwrap_or_default();
    let most = canvas.beside(canvas.height() / 2).min(below.len());
    let split = bottom - u16::try_from(most).unwrap_or(0);
    canvas.list(2, split, &rows, chosen);
    for (row, line) in (split..bottom).zip(&below) {
        canvas.line(row, line);
    }
}

fn head(room: &Room) -> Line {
    if !room.three {
        let name = text::padded(" name", room.name + 1);
        return cells(&[
            (&name, room.name + 1, Look::Bold),
            ("state", 11, Look::Bold),
            ("tools", 5, Look::Bold),
        ]);
    }
    cells(&[
        (" name", room.name + 1, Look::Bold),
        ("state", 10, Look::Bold),
        ("sign-in", 11, Look::Bold),
        ("usable", 7, Look::Bold),
        ("era", room.era, Look::Bold),
        ("tools", 5, Look::Bold),
        ("tokens", 6, Look::Bold),
        ("used", 4, Look::Bold),
        ("memory", 6, Look::Bold),
        ("why", room.why, Look::Bold),
    ])
}

fn row(server: &Server, room: &Room) -> Line {
    let number =
        |value: Option<usize>| value.map_or("–".to_owned(), |value| text::count(value as u64));
    let name = format!(" {}", server.name);
    let tools = number(server.tools);
    if !room.three {
        let word = in_a_word(server);
        return cells(&[
            (&name, room.name + 1, Look::Plain),
            (word, 11, worst(server)),
            (&tools, 5, Look::Plain),
        ]);
    }
    let era = server.era.as_deref().unwrap_or("–");
    let tokens = number(server.tokens);
    let clients = text::count(server.clients as u64);
    let memory = server.memory.map_or("–".to_owned(), text::bytes);
    let why = why(server).unwrap_or_default();
    cells(&[
        (&name, room.name + 1, Look::Plain),
        (state_word(server), 10, state_look(server)),
        (word(&server.sign_in), 11, sign_in_look(server)),
        (word(&server.usable), 7, usable_look(server)),
        (era, room.era, Look::Plain),
        (&tools, 5, Look::Plain),
        (&tokens, 6, Look::Plain),
        (&clients, 4, Look::Plain),
        (&memory, 6, Look::Plain),
        (why, room.why, Look::Dim),
    ])
}

fn word(seen: &Seen) -> &str {
    match seen.word.as_str() {
        "" => "unknown",
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
pub(super) fn about(model: &Model, server: &Server) -> Vec<Line> {
    let before = match model.is_lost() {
        true => vec![Line::of(" as it was when the gateway went:", Look::Warn)],
        false => Vec::new(),
    };
    let mut lines = vec![
        seen(
            model,
            "state",
            state_word(server),
            &server.state,
            state_look(server),
        ),
        seen(
            model,
            "sign-in",
            word(&server.sign_in),
            &server.sign_in,
            sign_in_look(server),
        ),
        seen(
            model,
            "usable",
            word(&server.usable),
            &server.usable,
            usable_look(server),
        ),
    ];
    let all = [&server.state, &server.sign_in, &server.usable];
    if let Some(hint) = all.into_iter().find_map(|seen| seen.hint.as_deref()) {
        lines.push(Line::of(" do: ", Look::Key).and(hint, Look::Plain));
    }
    before.into_iter().chain(lines).collect()
}

/// A server of which nobody can tell any more how it is.
fn unseen(server: &Server) -> Server {
    Server {
        state: Seen::default(),
        sign_in: Seen::default(),
        usable: Seen::default(),
        memory: None,
        ..server.clone()
    }
}

fn seen(model: &Model, what: &str, word: &str, seen: &Seen, look: Look) -> Line {
    let mut line =
        Line::of(text::padded(&format!(" {what}"), 9), Look::Dim).and(text::padded(word, 12), look);
    if let Some(at) = seen.at {
        line = line.and(model.clock(at), Look::Plain);
    }
    if let Some(by) = &seen.by {
        line = line.and(" by ", Look::Dim).and(by.clone(), Look::Plain);
    }
    if let Some(reason) = &seen.reason {
        line = line.and("  ", Look::Plain).and(reason.clone(), Look::Plain);
    }
    line
}

/// What a key or a command does, on as many lines as it takes.
fn step(key: &str, does: &str, width: usize) -> Vec<Line> {
    let mut left = key.chars().count();
    let rows = text::wrapped(&format!("{key} {does}"), width.saturating_sub(4));
    let mut lines = Vec::new();
    for row in rows {
        let indent = if lines.is_empty() { "  " } else { "    " };
        let typed: String = row.chars().take(left).collect();
        let rest: String = row.chars().skip(left).collect();
        // The space at which it was broken is gone.
        left = left.saturating_sub(row.chars().count() + 1);
        lines.push(Line::of(format!("{indent}{typed}"), Look::Key).and(rest, Look::Plain));
    }
    lines
}

/// Nothing is there: what to do about that.
fn empty(model: &Model, canvas: &mut Canvas<'_>) {
    let lines = if !model.known {
        vec![Line::of(" …", Look::Dim)]
    } else if !model.list().filter.is_empty() {
        vec![Line::of(" nothing fits the filter", Look::Dim)]
    } else {
        let mut lines = vec![
            Line::of(" No server is configured here yet.", Look::Bold),
            Line::empty(),
        ];
        let width = usize::from(canvas.width());
        for (key, does) in [
            ("n", "adds one: its name, -- and a command, or an address"),
            (":import", "takes over what other clients have"),
            (
                ":add files -- switchboard builtin files",
                "adds one that comes along",
            ),
        ] {
            lines.extend(step(key, does, width));
        }
        lines
    };
    for (row, line) in (2..canvas.height() - 2).zip(&lines) {
        canvas.line(row, line);
    }
}
