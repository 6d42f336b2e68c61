//! Pages, as lines.

use super::{
    Cursor, Rest, call_page,
    canvas::{Canvas, Line, Look},
    entry, form_page, frame, help, question_page, server_page,
};
use crate::{
    limits::TITLE,
    model::Model,
    page::{Kind, Page},
    text,
};

/// Draws the page in front, and says what of it is not seen.
pub(super) fn draw(model: &Model, page: &Page, canvas: &mut Canvas<'_>) -> (Cursor, Rest) {
    let width = usize::from(canvas.width());
    canvas.line(1, &title(model, page));
    if let Kind::Form(form) = &page.kind {
        return form_page::draw(page, form, canvas);
    }
    let lines = lines(model, page, width);
    let height = usize::from(canvas.height() - frame::AROUND - 1);
    if let Some(at) = server_page::chosen(page) {
        canvas.list(2, canvas.height() - 2, &lines, Some(at));
        return (None, Rest::default());
    }
    let rest = Rest::of(page, lines.len(), height);
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
        let cursor = Some((column, u16::try_from(row).unwrap_or(0) + 2));
        return (cursor, rest);
    }
    (None, rest)
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
        Kind::Run(run) => call_page::run(model, run, inner),
        Kind::Call(call) => call_page::call(model, call, inner),
        Kind::Question(id) => {
            let question = model.questions.iter().find(|it| it.id == *id);
            question.map_or_else(
                || vec![plain("It has been answered.".to_owned())],
                |question| question_page::lines(model, question, inner),
            )
        }
        Kind::Confirm(confirm) => {
            let mut lines = Vec::new();
            // What is asked is there to its end, also where the bar cuts it.
            if text::columns(&confirm.title) + TITLE > width {
                let rows = text::wrapped(&confirm.title, inner).into_iter();
                lines.extend(rows.map(|row| Line::of(format!(" {row}"), Look::Bold)));
            }
            lines.extend(confirm.lines.iter().flat_map(|it| patch(it, inner)));
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
        Kind::Approve(page) => {
            let Some(detail) = &page.detail else {
                return vec![Line::of(" …", Look::Dim)];
            };
            let mut lines = entry::lines(&detail.approval, inner);
            lines.push(Line::empty());
            lines.push(
                Line::of(" y", Look::Key)
                    .and(" approve   ", Look::Plain)
                    .and("n", Look::Key)
                    .and(" reject", Look::Plain),
            );
            lines
        }
        Kind::Rule(_) => rules(),
        Kind::Text { lines, .. } => {
            let wrap = |line: &String| text::wrapped(line, inner);
            lines.iter().flat_map(wrap).map(plain).collect()
        }
        Kind::Keys => keys(model, inner),
        Kind::Form(form) => form_page::lines(form, inner).0,
    }
}

/// What can be said of a tool.
fn rules() -> Vec<Line> {
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
    lines.push(Line::of(
        " The difference is shown before anything is written.",
        Look::Plain,
    ));
    lines
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
