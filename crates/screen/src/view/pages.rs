//! Pages, as lines.

use super::{
    Cursor, call_page,
    canvas::{Canvas, Line, Look, top},
    frame::{self, skipped},
    help, server_page, tables,
};
use crate::{
    model::Model,
    page::{ApprovePage, FormPage, Kind, Page},
    text,
};
use switchboard_api::questions::{Change, Kind as Asks, Question};

/// Draws the page in front.
pub(super) fn draw(model: &Model, page: &Page, canvas: &mut Canvas<'_>) -> Cursor {
    let width = usize::from(canvas.width());
    canvas.line(1, &title(model, page));
    if let Kind::Form(form) = &page.kind {
        return draw_form(form, canvas);
    }
    let lines = lines(model, page, width);
    let height = usize::from(canvas.height() - frame::AROUND - 1);
    if let Some(at) = server_page::chosen(page) {
        canvas.list(2, canvas.height() - 2, &lines, Some(at));
        return None;
    }
    let first = page.scroll.min(lines.len().saturating_sub(height));
    for (row, line) in (2..canvas.height() - 2).zip(lines.iter().skip(first)) {
        canvas.line(row, line);
    }
    if let Kind::SignIn(page) = &page.kind
        && let Some(row) = (lines.len() - 1)
            .checked_sub(first)
            .filter(|row| *row < height)
    {
        let before = text::columns(&text::clean(&page.pasted.before()));
        let column = u16::try_from((before + 3).min(width - 1)).unwrap_or(0);
        return Some((column, u16::try_from(row).unwrap_or(0) + 2));
    }
    None
}

/// Where one is.
fn title(model: &Model, page: &Page) -> Line {
    let view = Line::of(format!(" {} › ", model.view.name()), Look::Dim);
    let text = match &page.kind {
        Kind::Server(server) => return server_page::title(view, server, usize::from(model.size.0)),
        Kind::Form(form) => form.title.clone(),
        Kind::Run(run) => return call_page::run_title(view, run),
        Kind::Call(call) => format!("call {}", call.call),
        Kind::Question(_) => "question".to_owned(),
        Kind::Confirm(confirm) => confirm.title.clone(),
        Kind::Output(output) => {
            let state = match output.ended {
                None => "runs".to_owned(),
                Some(Some(0)) => "done".to_owned(),
                Some(Some(code)) => format!("exit code {code}"),
                Some(None) => "ended by a signal".to_owned(),
            };
            let look = match output.ended {
                Some(Some(0)) => Look::Good,
                Some(_) => Look::Bad,
                None => Look::Warn,
            };
            // A long command would push it out of sight.
            let view = view.and(state, look).and(" · ", Look::Dim);
            return view.and(output.command.clone(), Look::Bold);
        }
        Kind::SignIn(page) => format!("sign in to {}", page.name),
        Kind::Approve(page) => format!("approve {}?", page.name),
        Kind::Rule(tool) => format!("rule for {tool}"),
        Kind::Text { title, .. } => title.clone(),
        Kind::Keys => "keys".to_owned(),
    };
    view.and(text, Look::Bold)
}

/// All lines of a page.
pub(super) fn lines(model: &Model, page: &Page, width: usize) -> Vec<Line> {
    let inner = width.saturating_sub(2);
    let plain = |line: String| Line::of(format!(" {line}"), Look::Plain);
    match &page.kind {
        Kind::Server(server) => server_page::lines(model, server, inner),
        Kind::Run(run) => call_page::run(run, inner),
        Kind::Call(call) => call_page::call(model, call, inner),
        Kind::Question(id) => {
            let question = model.questions.iter().find(|it| it.id == *id);
            question.map_or_else(
                || vec![plain("It has been answered.".to_owned())],
                |question| about_question(model, question, inner),
            )
        }
        Kind::Confirm(confirm) => {
            let mut lines: Vec<Line> = confirm
                .lines
                .iter()
                .flat_map(|it| patch(it, inner))
                .collect();
            lines.push(Line::empty());
            lines.push(
                Line::of(" y", Look::Key)
                    .and(" yes   ", Look::Plain)
                    .and("n", Look::Key)
                    .and(" no", Look::Plain),
            );
            lines
        }
        Kind::Output(output) => {
            let wrap = |line: &String| text::wrapped(line, inner);
            output.lines.iter().flat_map(wrap).map(plain).collect()
        }
        Kind::SignIn(page) => {
            let mut lines = vec![plain("Sign in on this page:".to_owned()), Line::empty()];
            lines.extend(text::wrapped(&page.url, inner).into_iter().map(plain));
            lines.push(Line::empty());
            let told = "Enter opens it in the browser of this machine. Where that cannot come back here, paste the address that the browser ended at:";
            lines.extend(text::wrapped(told, inner).into_iter().map(plain));
            lines.push(Line::of(" > ", Look::Key).and(page.pasted.text(), Look::Plain));
            lines
        }
        Kind::Approve(page) => approve(model, page, inner),
        Kind::Rule(_) => {
            let rules = [
                ("a", "allow: it is called without a question"),
                ("s", "ask: each call waits for a yes"),
                ("d", "deny: it cannot be called, and is not shown"),
                ("h", "hide: it is not shown in lists"),
                ("n", "none: what was written here is taken away"),
            ];
            let line = |(key, does): (&str, &str)| {
                Line::of(format!(" {key}"), Look::Key).and(format!("  {does}"), Look::Plain)
            };
            let mut lines: Vec<Line> = rules.into_iter().map(line).collect();
            lines.push(Line::empty());
            lines.push(plain(
                "The difference is shown before anything is written.".to_owned(),
            ));
            lines
        }
        Kind::Text { lines, .. } => {
            let wrap = |line: &String| text::wrapped(line, inner);
            lines.iter().flat_map(wrap).map(plain).collect()
        }
        Kind::Keys => keys(model, inner),
        Kind::Form(form) => form_lines(form, inner).0,
    }
}

fn keys(model: &Model, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for (key, does) in help::all(model) {
        let mut parts = text::wrapped(does, width.saturating_sub(12)).into_iter();
        let first = parts.next().unwrap_or_default();
        let line = Line::of(text::padded(&format!(" {key}"), 12), Look::Key);
        lines.push(line.and(first, Look::Plain));
        lines.extend(parts.map(|part| Line::of(format!("{:12}{part}", ""), Look::Plain)));
    }
    lines
}

/// A line of a difference.
fn patch(line: &str, width: usize) -> Vec<Line> {
    let look = match line.as_bytes().first() {
        Some(b'+') => Look::Added,
        Some(b'-') => Look::Removed,
        Some(b'@') => Look::Dim,
        _ => Look::Plain,
    };
    let lines = text::wrapped(line, width).into_iter();
    lines
        .map(|line| Line::of(format!(" {line}"), look))
        .collect()
}

/// What would run, from where, and what is different from what was approved before.
fn approve(model: &Model, page: &ApprovePage, width: usize) -> Vec<Line> {
    let Some(detail) = &page.detail else {
        return vec![Line::of(" …", Look::Dim)];
    };
    let server = &detail.server;
    let mut lines = Vec::new();
    if let Some(file) = &server.file {
        let at = server
            .line
            .map_or(file.clone(), |line| format!("{file}:{line}"));
        lines.push(Line::of(" from  ", Look::Dim).and(at, Look::Plain));
    }
    lines.push(Line::of(" runs  ", Look::Dim).and(server.target.clone(), Look::Bold));
    lines.push(Line::empty());
    lines.extend(detail.approval.iter().flat_map(|line| patch(line, width)));
    let asked = |question: &&Question| {
        question.server.as_deref() == Some(page.name.as_str()) && !question.changes.is_empty()
    };
    if let Some(question) = model.questions.iter().find(asked) {
        lines.push(Line::empty());
        lines.extend(changes(&question.changes, width));
    }
    lines.push(Line::empty());
    lines.push(
        Line::of(" y", Look::Key)
            .and(" approve   ", Look::Plain)
            .and("n", Look::Key)
            .and(" reject", Look::Plain),
    );
    lines
}

/// What was, and what is.
fn changes(changes: &[Change], width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for change in changes {
        lines.push(Line::of(
            format!(" {} {}", change.of, change.path),
            Look::Bold,
        ));
        for warning in &change.warnings {
            lines.push(Line::of(format!(" ! {warning}"), Look::Bad));
        }
        let room = width.saturating_sub(2);
        let side = |sign: &str, text: &str, look: Look| {
            let rows = text::wrapped(text, room).into_iter();
            rows.map(move |row| Line::of(format!(" {sign} {row}"), look))
                .collect::<Vec<_>>()
        };
        match (&change.before, &change.after) {
            // Already a difference, with a sign before each line.
            (None, Some(after)) if after.lines().any(|line| line.starts_with(['-', '+'])) => {
                lines.extend(after.lines().flat_map(|line| {
                    let look = match line.as_bytes().first() {
                        Some(b'-') => Look::Removed,
                        Some(b'+') => Look::Added,
                        _ => Look::Plain,
                    };
                    let rows = text::wrapped(line, room).into_iter();
                    rows.map(move |row| Line::of(format!(" {row}"), look))
                }));
            }
            (before, after) => {
                let before = before.iter().flat_map(|it| side("-", it, Look::Removed));
                lines.extend(before);
                lines.extend(after.iter().flat_map(|it| side("+", it, Look::Added)));
            }
        }
    }
    lines
}

/// The first lines of a question, for below the list.
pub(super) fn question_start(question: &Question, width: usize) -> Vec<Line> {
    let text = question.text.as_deref().unwrap_or(&question.title);
    let lines = text::wrapped(text, width.saturating_sub(2))
        .into_iter()
        .take(3);
    lines
        .map(|line| Line::of(format!(" {line}"), Look::Plain))
        .collect()
}

fn about_question(model: &Model, question: &Question, width: usize) -> Vec<Line> {
    let plain = |line: String| Line::of(format!(" {line}"), Look::Plain);
    let mut lines = Vec::new();
    lines.extend(
        text::wrapped(&question.title, width)
            .into_iter()
            .map(|line| Line::of(format!(" {line}"), Look::Bold)),
    );
    let facts = [
        ("kind", Some(tables::kind(question.kind).to_owned())),
        ("server", question.server.clone()),
        ("about", question.name.clone()),
        (
            "for",
            question.client.clone().or(question.principal.clone()),
        ),
        ("until", question.until.map(|at| model.clock(at))),
        ("page", question.url.clone()),
    ];
    for (what, fact) in facts {
        if let Some(fact) = fact {
            let mut parts = text::wrapped(&fact, width.saturating_sub(9)).into_iter();
            let first = parts.next().unwrap_or_default();
            lines.push(
                Line::of(text::padded(&format!(" {what}"), 9), Look::Dim).and(first, Look::Plain),
            );
            lines.extend(parts.map(|part| Line::of(format!("{:9}{part}", ""), Look::Plain)));
        }
    }
    if let Some(text) = &question.text {
        lines.push(Line::empty());
        lines.push(Line::of(whose_words(question), Look::Dim));
        lines.extend(text::wrapped(text, width).into_iter().map(plain));
    }
    // What is different is what one has to look at.
    if !question.changes.is_empty() {
        lines.push(Line::empty());
        if question.kind == Asks::Approval {
            lines.push(Line::of(" changed since you approved it:", Look::Warn));
        }
        lines.extend(changes(&question.changes, width));
    }
    if let Some(about) = &question.about {
        lines.push(Line::empty());
        lines.extend(call_page::tree(about, width));
    }
    lines.push(Line::empty());
    let mut answers = Line::empty();
    for (key, does) in help::answers(question) {
        answers = answers
            .and(format!(" {key}"), Look::Key)
            .and(format!(" {does} "), Look::Plain);
    }
    lines.push(answers);
    lines
}

/// Who says what stands there besides: most of it is the server's.
fn whose_words(question: &Question) -> &'static str {
    match question.kind {
        Asks::Approval | Asks::Changed | Asks::Proposal | Asks::SignIn | Asks::Held => " to know:",
        _ => " its own words:",
    }
}

/// The lines of a form, with the first line of each field.
fn form_lines(page: &FormPage, width: usize) -> (Vec<Line>, Vec<usize>) {
    let mut lines = Vec::new();
    let text = text::wrapped(&page.text, width).into_iter().take(4);
    lines.extend(text.map(|line| Line::of(format!(" {line}"), Look::Dim)));
    let Some(form) = &page.form else {
        lines.push(Line::of(" …", Look::Dim));
        return (lines, Vec::new());
    };
    let rows = form.rows();
    let mut starts = Vec::new();
    if rows.is_empty() {
        lines.push(Line::of(
            " It takes no arguments: Enter runs it.",
            Look::Plain,
        ));
    }
    for (index, row) in rows.iter().enumerate() {
        starts.push(lines.len());
        let label = format!(
            "{}{}{}",
            "  ".repeat(row.depth),
            row.label,
            if row.required { "*" } else { "" }
        );
        let look = if row.required {
            Look::Bold
        } else {
            Look::Plain
        };
        let line = Line::of(if index == form.at { "›" } else { " " }, Look::Key);
        let line = line
            .and(text::padded(&label, label_room(width)), look)
            .and(" ", Look::Plain);
        let line = match (&row.shown, &row.default) {
            (Some(shown), _) => line.and(shown.clone(), Look::Plain),
            (None, Some(default)) => line.and(format!("({default})"), Look::Dim),
            (None, None) => line.and(row.kind.clone(), Look::Dim),
        };
        lines.push(line);
        if let Some(fault) = &row.fault {
            lines.push(Line::of(format!("   {fault}"), Look::Bad));
        }
        if index == form.at {
            let text = row.description.as_deref().unwrap_or_default();
            let text = text::wrapped(text, width.saturating_sub(3))
                .into_iter()
                .take(3);
            let text = text.filter(|line| !line.is_empty());
            lines.extend(text.map(|line| Line::of(format!("   {line}"), Look::Dim)));
        }
    }
    (lines, starts)
}

fn label_room(width: usize) -> usize {
    (width / 3).clamp(8, 28)
}

fn draw_form(page: &FormPage, canvas: &mut Canvas<'_>) -> Cursor {
    let width = usize::from(canvas.width());
    let inner = width.saturating_sub(2);
    let (mut lines, starts) = form_lines(page, inner);
    let Some(form) = &page.form else {
        for (row, line) in (2..canvas.height() - 2).zip(&lines) {
            canvas.line(row, line);
        }
        return None;
    };
    let height = usize::from(canvas.height() - frame::AROUND - 1);
    let at = starts.get(form.at).copied().unwrap_or(0);
    let first = top(lines.len(), height, at);
    let before = label_room(inner) + 2;
    let mut cursor = None;
    if let Some(typed) = form.rows().get(form.at).and_then(|row| row.cursor.clone()) {
        // The end of a long text is where one types.
        let room = width.saturating_sub(before + 1);
        let wide = text::columns(&text::clean(&typed));
        let hidden = wide.saturating_sub(room);
        if hidden > 0
            && let Some((shown, _)) = lines.get_mut(at).and_then(|line| line.0.last_mut())
        {
            *shown = skipped(&text::clean(shown), hidden);
        }
        let column = u16::try_from((before + wide - hidden).min(width - 1)).unwrap_or(0);
        let row = u16::try_from(at.saturating_sub(first)).unwrap_or(0) + 2;
        cursor = Some((column, row.min(canvas.height() - 3)));
    }
    for (row, line) in (2..canvas.height() - 2).zip(lines.iter().skip(first)) {
        canvas.line(row, line);
    }
    cursor
}
