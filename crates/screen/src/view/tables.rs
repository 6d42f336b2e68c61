//! The views that are one table each.

use super::{
    canvas::{Canvas, Columns},
    line::{Line, Lines, Look},
};
use crate::{
    limits::NARROW,
    model::{ClientRow, Doctor, Model},
    text,
};
use switchboard_api::{questions::Kind, tools::Tool};

/// A table: what stands above it, its rows, and what is said of the chosen one.
fn table(model: &Model, canvas: &mut Canvas<'_>, head: &Line, rows: &Lines, below: &Lines) {
    let (bottom, below) = (canvas.height() - 2, &below.0);
    let most = canvas.beside(canvas.height() / 3).min(below.len());
    let split = bottom - u16::try_from(most).unwrap_or(0);
    canvas.line(1, head);
    canvas.list(2, split, &rows.0, Some(model.list().at));
    canvas.lines(split, bottom, below);
}

/// Nothing to show, and why; of a gateway that is gone nobody knows what there would be.
fn nothing(model: &Model, canvas: &mut Canvas<'_>, what: &str, text: &str) {
    match model.is_lost() {
        true => say(
            canvas,
            &format!("The gateway is gone: nobody knows {what}."),
        ),
        false => say(canvas, text),
    }
}

fn say(canvas: &mut Canvas<'_>, text: &str) {
    let mut lines = Lines::default();
    let width = usize::from(canvas.width()).saturating_sub(2);
    lines.wrap(text, width, Look::Dim);
    canvas.lines(2, canvas.height() - 2, &lines.0);
}

fn paragraph(lines: &mut Lines, text: &str, width: usize, look: Look) {
    lines.rows(" ", text, width.saturating_sub(2), 3, look);
}

pub(super) fn tools(model: &Model, canvas: &mut Canvas<'_>) {
    let tools = model.shown_tools();
    let width = usize::from(canvas.width());
    if tools.is_empty() {
        nothing(
            model,
            canvas,
            "which tools there are",
            if model.tools.is_empty() {
                "No server has told of a tool yet."
            } else {
                "Nothing fits the filter."
            },
        );
        return;
    }
    let wide = width >= 72;
    let (name, server) = match width {
        72.. => ((width - 46).clamp(20, 50), 16),
        NARROW..72 => (width.saturating_sub(19), 10),
        _ => (width.saturating_sub(7), 0),
    };
    let rest = if wide { 6 } else { 0 };
    let room = [name, server, 5, rest, rest];
    let mut columns = Columns::new(&room);
    let head = columns.head(" tool|server|rule|tokens|calls");
    for tool in &tools {
        let look = if tool.hidden { Look::Dim } else { Look::Plain };
        columns.row();
        columns.with(look, format_args!(" {}", tool.name));
        columns.cell(&tool.server, Look::Dim);
        columns.cell(decision(tool), decision_look(tool));
        for count in [tool.tokens as u64, tool.calls] {
            columns.with(Look::Plain, format_args!("{}", text::count(count)));
        }
    }
    let mut below = Lines::default();
    if let Some(tool) = tools.get(model.list().at) {
        about_tool(&mut below, tool, width);
    }
    table(model, canvas, &head, &columns.rows, &below);
}

fn decision(tool: &Tool) -> &str {
    match tool.pin.as_deref() {
        Some("changed") => "held",
        _ if tool.hidden => "hide",
        _ if tool.decision.is_empty() => "–",
        _ => &tool.decision,
    }
}

fn decision_look(tool: &Tool) -> Look {
    match decision(tool) {
        "allow" => Look::Good,
        "deny" => Look::Bad,
        "ask" | "held" => Look::Warn,
        _ => Look::Dim,
    }
}

fn about_tool(lines: &mut Lines, tool: &Tool, width: usize) {
    lines.say(Look::Bold, format_args!(" {}", tool.canonical));
    let text = tool.description.as_deref().or(tool.title.as_deref());
    paragraph(lines, text.unwrap_or_default(), width, Look::Plain);
    if let Some(rule) = &tool.rule {
        lines.say(Look::Dim, format_args!(" {} by {rule}", tool.decision));
    }
}

pub(super) fn traffic(model: &Model, canvas: &mut Canvas<'_>) {
    let calls = &model.calls;
    if calls.is_empty() {
        nothing(
            model,
            canvas,
            "which calls are made",
            "No call was made yet, or none fits the filter. Calls of all clients show up here as they are made.",
        );
        return;
    }
    let width = usize::from(canvas.width());
    let wide = width >= 72;
    // What was called is what there is always room for.
    let narrow = width < NARROW;
    let name = width.saturating_sub(match (wide, narrow) {
        (true, _) => 57,
        (false, false) => 29,
        (false, true) => 9,
    });
    let columns = |only: usize| if wide { only } else { 0 };
    let besides = |only: usize| if narrow { 0 } else { only };
    let outcome = if narrow { 7 } else { 9 };
    let room = [
        besides(9),
        name,
        columns(14),
        columns(12),
        outcome,
        besides(7),
    ];
    let mut columns = Columns::new(&room);
    let head = columns.head(" at|what|server|client|outcome|took");
    for call in calls {
        columns.row();
        columns.with(Look::Dim, format_args!(" {}", model.clock(call.at)));
        columns.cell(call.name.as_ref().unwrap_or(&call.method), Look::Plain);
        columns.cell(call.server.as_deref().unwrap_or("–"), Look::Plain);
        columns.cell(call.client.as_ref().unwrap_or(&call.principal), Look::Dim);
        columns.cell(&call.outcome, outcome_look(&call.outcome));
        let took = text::or(call.took.map(text::took), "…");
        columns.with(Look::Plain, format_args!("{took}"));
    }
    let mut below = Lines::default();
    if let Some(call) = calls.get(model.list().at) {
        below.say(
            Look::Dim,
            format_args!(
                " {} {} → {} bytes, about {} tokens",
                call.method, call.bytes_in, call.bytes_out, call.tokens
            ),
        );
        if let Some(error) = &call.error {
            below.say(Look::Bad, format_args!(" {error}"));
        }
    }
    let tap = if model.state.tap.armed {
        " messages are kept"
    } else {
        " messages are not kept: t keeps them"
    };
    below.put(tap, Look::Dim);
    table(model, canvas, &head, &columns.rows, &below);
}

pub(super) fn outcome_look(outcome: &str) -> Look {
    match outcome {
        "ok" => Look::Good,
        "error" | "denied" => Look::Bad,
        "running" | "waiting" => Look::Warn,
        _ => Look::Dim,
    }
}

pub(super) fn inbox(model: &Model, canvas: &mut Canvas<'_>) {
    let questions = model.shown_questions();
    if questions.is_empty() {
        nothing(
            model,
            canvas,
            "what waits for you",
            "Nothing waits for you. Permissions, forms, pages to visit, sign-ins, servers to approve and definitions that changed are asked about here.",
        );
        return;
    }
    let width = usize::from(canvas.width());
    let server = if width >= 72 { 16 } else { 0 };
    let besides = |only: usize| if width < NARROW { 0 } else { only };
    let title = width.saturating_sub(besides(21) + if server > 0 { server + 1 } else { 0 });
    let room = [besides(9), besides(10), server, title];
    let mut columns = Columns::new(&room);
    let head = columns.head(" at|kind|server|question");
    for question in &questions {
        columns.row();
        columns.with(Look::Dim, format_args!(" {}", model.clock(question.at)));
        columns.cell(kind(question.kind), Look::Warn);
        columns.cell(question.server.as_deref().unwrap_or("–"), Look::Plain);
        columns.cell(&question.title, Look::Plain);
    }
    let mut below = Lines::default();
    if model.is_lost() {
        below.put(" as it was when the gateway went", Look::Warn);
    }
    if let Some(question) = questions.get(model.list().at) {
        let text = question.text.as_ref().unwrap_or(&question.title);
        paragraph(&mut below, text, width, Look::Plain);
    }
    table(model, canvas, &head, &columns.rows, &below);
}

pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Permission => "permission",
        Kind::Form => "form",
        Kind::Page => "page",
        Kind::Sampling => "sampling",
        Kind::SignIn => "sign-in",
        Kind::Approval => "approval",
        Kind::Changed => "changed",
        Kind::Proposal => "proposal",
        Kind::Held => "held",
    }
}

pub(super) fn clients(model: &Model, canvas: &mut Canvas<'_>) {
    let rows = model.shown_clients();
    if rows.is_empty() {
        nothing(
            model,
            canvas,
            "who is connected",
            "Nobody is connected. switchboard connect shows the clients on this machine; n makes a token for one.",
        );
        return;
    }
    let width = usize::from(canvas.width());
    let name = width.saturating_sub(41).max(12);
    let room = [name, 6, 8, 8, 12];
    let mut columns = Columns::new(&room);
    let head = columns.head(" who|what|since|seen|open");
    let time = |at: Option<u64>, none: &'static str| text::or(at.map(|at| model.clock(at)), none);
    for row in rows {
        columns.row();
        let (since, seen) = match row {
            ClientRow::Token(token) => {
                columns.with(Look::Plain, format_args!(" {}", token.name));
                columns.cell("token", Look::Dim);
                (time(token.made, "–"), time(token.used, "never"))
            }
            ClientRow::Client(client) => {
                let called = client.name.as_deref().unwrap_or("?");
                let version = client.version.as_deref().unwrap_or_default();
                columns.with(Look::Plain, format_args!(" {called} {version}"));
                columns.cell("client", Look::Good);
                // One that is connected is there now.
                (time(Some(client.since), ""), time(client.seen, "now"))
            }
        };
        columns.with(Look::Plain, format_args!("{since}"));
        columns.with(Look::Plain, format_args!("{seen}"));
        match row {
            ClientRow::Token(token) => columns.with(
                Look::Plain,
                format_args!("{} + {}", token.sessions, token.in_flight),
            ),
            ClientRow::Client(client) => {
                columns.with(Look::Dim, format_args!("as {}", client.principal));
            }
        }
    }
    let mut below = Lines::default();
    below.put(" open: sessions + calls in flight", Look::Dim);
    table(model, canvas, &head, &columns.rows, &below);
}

pub(super) fn doctor(model: &Model, canvas: &mut Canvas<'_>) {
    let instead = match &model.doctor {
        Doctor::Found(_) => None,
        Doctor::Failed(why) if !model.examining => Some(why.as_str()),
        _ => Some("Looking at everything that can be wrong …"),
    };
    if let Some(instead) = instead {
        say(canvas, instead);
        return;
    }
    let width = usize::from(canvas.width());
    let findings = model.findings();
    let area = if width >= 72 { 13 } else { 0 };
    let rest = width.saturating_sub(11 + if area > 0 { area + 1 } else { 0 });
    let room = [9, area, rest];
    let mut columns = Columns::new(&room);
    let head = columns.head(" level|area|found");
    for finding in &findings {
        let look = match finding.level.as_str() {
            "ok" => Look::Good,
            "warning" => Look::Warn,
            _ => Look::Bad,
        };
        columns.row();
        columns.with(look, format_args!(" {}", finding.level));
        columns.cell(&finding.area, Look::Dim);
        columns.with(
            Look::Plain,
            format_args!("{}: {}", finding.what, finding.found),
        );
    }
    let mut below = Lines::default();
    if let Some(finding) = findings.get(model.list().at) {
        paragraph(&mut below, &finding.found, width, Look::Plain);
        if let Some(advice) = &finding.advice {
            paragraph(&mut below, &format!("do: {advice}"), width, Look::Bold);
        }
    }
    table(model, canvas, &head, &columns.rows, &below);
    let seen = text::or(model.examined.map(|at| model.clock(at)), "");
    let mut line = Line::default();
    match (model.examining, width < NARROW) {
        (true, true) => line.and(" looking", Look::Dim),
        (true, false) => line.with(
            Look::Dim,
            format_args!(" looking again; this was at {seen}"),
        ),
        (false, true) => line.with(Look::Dim, format_args!(" {seen}")),
        (false, false) => line.with(Look::Dim, format_args!(" looked at {seen}")),
    };
    canvas.at_the_right(1, &line);
}
