//! The views that are one table each.

use super::{
    canvas::{Canvas, Line, Look, cells},
    question_page,
};
use crate::{
    limits::NARROW,
    model::{ClientRow, Doctor, Model},
    text,
};
use switchboard_api::{
    calls::Call,
    questions::{Kind, Question},
    tools::Tool,
};

/// A table: what stands above it, its rows, and what is said of the chosen one.
fn table(canvas: &mut Canvas<'_>, head: &Line, rows: &[Line], at: usize, below: &[Line]) {
    let bottom = canvas.height() - 2;
    let most = canvas.beside(canvas.height() / 3).min(below.len());
    let split = bottom - u16::try_from(most).unwrap_or(0);
    canvas.line(1, head);
    canvas.list(2, split, rows, Some(at));
    for (row, line) in (split..bottom).zip(below) {
        canvas.line(row, line);
    }
}

/// Nothing to show, and why; of a gateway that is gone nobody knows what there would be.
fn nothing(model: &Model, canvas: &mut Canvas<'_>, what: &str, text: &str) {
    let gone = format!("The gateway is gone: nobody knows {what}.");
    say(canvas, if model.is_lost() { &gone } else { text });
}

fn say(canvas: &mut Canvas<'_>, text: &str) {
    let width = usize::from(canvas.width()).saturating_sub(2);
    let lines = text::wrapped(text, width);
    for (row, line) in (2..canvas.height() - 2).zip(lines) {
        canvas.line(row, &Line::of(format!(" {line}"), Look::Dim));
    }
}

fn paragraph(text: &str, width: usize, most: usize, look: Look) -> Vec<Line> {
    let lines = text::wrapped(text, width.saturating_sub(2)).into_iter();
    let lines = lines.take(most);
    lines
        .map(|line| Line::of(format!(" {line}"), look))
        .collect()
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
    let head = cells(&[
        (" tool", name, Look::Bold),
        ("server", server, Look::Bold),
        ("rule", 5, Look::Bold),
        ("tokens", rest, Look::Bold),
        ("calls", rest, Look::Bold),
    ]);
    let row = |tool: &&Tool| {
        let title = format!(" {}", tool.name);
        let look = if tool.hidden { Look::Dim } else { Look::Plain };
        cells(&[
            (&title, name, look),
            (&tool.server, server, Look::Dim),
            (decision(tool), 5, decision_look(tool)),
            (&text::count(tool.tokens as u64), rest, Look::Plain),
            (&text::count(tool.calls), rest, Look::Plain),
        ])
    };
    let rows: Vec<Line> = tools.iter().map(row).collect();
    let at = model.list().at;
    let below = tools
        .get(at)
        .map(|tool| about_tool(tool, width))
        .unwrap_or_default();
    table(canvas, &head, &rows, at, &below);
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

fn about_tool(tool: &Tool, width: usize) -> Vec<Line> {
    let mut lines = vec![Line::of(format!(" {}", tool.canonical), Look::Bold)];
    let text = tool.description.as_deref().or(tool.title.as_deref());
    lines.extend(paragraph(text.unwrap_or_default(), width, 3, Look::Plain));
    if let Some(rule) = &tool.rule {
        lines.push(Line::of(format!(" {} by {rule}", tool.decision), Look::Dim));
    }
    lines
}

pub(super) fn traffic(model: &Model, canvas: &mut Canvas<'_>) {
    let calls = model.shown_calls();
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
    let head = cells(&[
        (" at", besides(9), Look::Bold),
        ("what", name, Look::Bold),
        ("server", columns(14), Look::Bold),
        ("client", columns(12), Look::Bold),
        ("outcome", outcome, Look::Bold),
        ("took", besides(7), Look::Bold),
    ]);
    let row = |call: &&Call| {
        let at = format!(" {}", model.clock(call.at));
        let what = call.name.as_deref().unwrap_or(&call.method);
        let client = call.client.as_deref().unwrap_or(&call.principal);
        let took = call.took.map_or("…".to_owned(), text::took);
        cells(&[
            (&at, besides(9), Look::Dim),
            (what, name, Look::Plain),
            (
                call.server.as_deref().unwrap_or("–"),
                columns(14),
                Look::Plain,
            ),
            (client, columns(12), Look::Dim),
            (&call.outcome, outcome, outcome_look(&call.outcome)),
            (&took, besides(7), Look::Plain),
        ])
    };
    let rows: Vec<Line> = calls.iter().map(row).collect();
    let at = model.list().at;
    let mut below = Vec::new();
    if let Some(call) = calls.get(at) {
        let text = format!(
            " {} {} → {} bytes, about {} tokens",
            call.method, call.bytes_in, call.bytes_out, call.tokens
        );
        below.push(Line::of(text, Look::Dim));
        if let Some(error) = &call.error {
            below.push(Line::of(format!(" {error}"), Look::Bad));
        }
    }
    let tap = if model.state.tap.armed {
        " messages are kept"
    } else {
        " messages are not kept: t keeps them"
    };
    below.push(Line::of(tap, Look::Dim));
    table(canvas, &head, &rows, at, &below);
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
    let head = cells(&[
        (" at", besides(9), Look::Bold),
        ("kind", besides(10), Look::Bold),
        ("server", server, Look::Bold),
        ("question", title, Look::Bold),
    ]);
    let row = |question: &&Question| {
        let at = format!(" {}", model.clock(question.at));
        cells(&[
            (&at, besides(9), Look::Dim),
            (kind(question.kind), besides(10), Look::Warn),
            (
                question.server.as_deref().unwrap_or("–"),
                server,
                Look::Plain,
            ),
            (&question.title, title, Look::Plain),
        ])
    };
    let rows: Vec<Line> = questions.iter().map(row).collect();
    let at = model.list().at;
    let mut below = Vec::new();
    if model.is_lost() {
        below.push(Line::of(" as it was when the gateway went", Look::Warn));
    }
    let chosen = questions.get(at).into_iter();
    below.extend(chosen.flat_map(|it| question_page::start(it, width)));
    table(canvas, &head, &rows, at, &below);
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
    let time = |at: Option<u64>| at.map_or("–".to_owned(), |at| model.clock(at));
    let head = cells(&[
        (" who", name, Look::Bold),
        ("what", 6, Look::Bold),
        ("since", 8, Look::Bold),
        ("seen", 8, Look::Bold),
        ("open", 12, Look::Bold),
    ]);
    let row = |row: &ClientRow<'_>| match row {
        ClientRow::Token(token) => cells(&[
            (&format!(" {}", token.name), name, Look::Plain),
            ("token", 6, Look::Dim),
            (&time(token.made), 8, Look::Plain),
            (
                &token.used.map_or("never".to_owned(), |at| model.clock(at)),
                8,
                Look::Plain,
            ),
            (
                &format!("{} + {}", token.sessions, token.in_flight),
                12,
                Look::Plain,
            ),
        ]),
        ClientRow::Client(client) => {
            let called = client.name.as_deref().unwrap_or("?");
            let version = client.version.as_deref().unwrap_or_default();
            cells(&[
                (&format!(" {called} {version}"), name, Look::Plain),
                ("client", 6, Look::Good),
                (&time(Some(client.since)), 8, Look::Plain),
                // One that is connected is there now.
                (
                    &client.seen.map_or("now".to_owned(), |at| model.clock(at)),
                    8,
                    Look::Plain,
                ),
                (&format!("as {}", client.principal), 12, Look::Dim),
            ])
        }
    };
    let lines: Vec<Line> = rows.iter().map(row).collect();
    let below = [Line::of(" open: sessions + calls in flight", Look::Dim)];
    table(canvas, &head, &lines, model.list().at, &below);
}

pub(super) fn doctor(model: &Model, canvas: &mut Canvas<'_>) {
    match &model.doctor {
        Doctor::Unasked => {
            say(canvas, "Looking at everything that can be wrong …");
            return;
        }
        Doctor::Failed(_) if model.examining => {
            say(canvas, "Looking at everything that can be wrong …");
            return;
        }
        Doctor::Failed(why) => {
            say(canvas, why);
            return;
        }
        Doctor::Found(_) => {}
    }
    let width = usize::from(canvas.width());
    let findings = model.findings();
    let area = if width >= 72 { 13 } else { 0 };
    let rest = width.saturating_sub(11 + if area > 0 { area + 1 } else { 0 });
    let head = cells(&[
        (" level", 9, Look::Bold),
        ("area", area, Look::Bold),
        ("found", rest, Look::Bold),
    ]);
    let rows: Vec<Line> = findings
        .iter()
        .map(|finding| {
            let look = match finding.level.as_str() {
                "ok" => Look::Good,
                "warning" => Look::Warn,
                _ => Look::Bad,
            };
            cells(&[
                (&format!(" {}", finding.level), 9, look),
                (&finding.area, area, Look::Dim),
                (
                    &format!("{}: {}", finding.what, finding.found),
                    rest,
                    Look::Plain,
                ),
            ])
        })
        .collect();
    let at = model.list().at;
    let mut below = Vec::new();
    if let Some(finding) = findings.get(at) {
        below.extend(paragraph(&finding.found, width, 3, Look::Plain));
        if let Some(advice) = &finding.advice {
            below.extend(paragraph(&format!("do: {advice}"), width, 3, Look::Bold));
        }
    }
    table(canvas, &head, &rows, at, &below);
    let seen = model.examined.map(|at| model.clock(at)).unwrap_or_default();
    let seen = match (model.examining, width < NARROW) {
        (true, true) => " looking".to_owned(),
        (true, false) => format!(" looking again; this was at {seen}"),
        (false, true) => format!(" {seen}"),
        (false, false) => format!(" looked at {seen}"),
    };
    canvas.at_the_right(1, &Line::of(seen, Look::Dim));
}
