//! Pages, as lines.

use super::{
    Cursor, Rest, call_page,
    canvas::Canvas,
    entry, form_page, frame, help,
    line::{Line, Lines, Look},
    question_page, server_page,
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
    let mut line = Line::default();
    title(&mut line, model, page);
    canvas.line(1, &line);
    if let Kind::Form(form) = &page.kind {
        return form_page::draw(page, form, canvas);
    }
    let lines = lines(model, page, width).0;
    let height = usize::from(canvas.height() - frame::AROUND - 1);
    if let Some(at) = server_page::chosen(page) {
        canvas.list(2, canvas.height() - 2, &lines, Some(at));
        return (None, Rest::default());
    }
    let rest = Rest::of(page, lines.len(), height);
    let first = page.scroll.min(lines.len().saturating_sub(height));
    let seen = lines.get(first..).unwrap_or_default();
    canvas.lines(2, canvas.height() - 2, seen);
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
fn title(line: &mut Line, model: &Model, page: &Page) {
    let view = model.view.name();
    line.with(Look::Dim, format_args!(" {view} › "));
    match &page.kind {
        Kind::Server(server) => {
            server_page::title(line, server, usize::from(model.size.0));
            line
        }
        Kind::Form(form) => line.and(&form.title, Look::Bold),
        Kind::Run(run) => {
            call_page::run_title(line, run);
            line
        }
        Kind::Call(call) => line.with(Look::Bold, format_args!("call {}", call.call)),
        Kind::Question(_) => line.and("question", Look::Bold),
        Kind::Confirm(confirm) => line.and(&confirm.title, Look::Bold),
        Kind::Output(output) => {
            // A long command would push it out of sight.
            match output.ended {
                None => line.and("runs", Look::Warn),
                Some(Some(0)) => line.and("done", Look::Good),
                Some(Some(code)) => line.with(Look::Bad, format_args!("exit code {code}")),
                Some(None) => line.and("ended by a signal", Look::Bad),
            };
            line.and(" · ", Look::Dim).and(&output.command, Look::Bold)
        }
        Kind::SignIn(page) => line.with(Look::Bold, format_args!("sign in to {}", page.name)),
        Kind::Approve(page) => line.with(Look::Bold, format_args!("approve {}?", page.name)),
        Kind::Rule(tool) => line.with(Look::Bold, format_args!("rule for {tool}")),
        Kind::Text { title, .. } => line.and(title, Look::Bold),
        Kind::Keys => line.and("keys", Look::Bold),
    };
}

/// All lines of a page.
pub(super) fn lines(model: &Model, page: &Page, width: usize) -> Lines {
    let inner = width.saturating_sub(2);
    let mut all = Lines::default();
    let lines = &mut all;
    match &page.kind {
        Kind::Server(server) => server_page::lines(lines, model, server, inner),
        Kind::Run(run) => call_page::run(lines, model, run, inner),
        Kind::Call(call) => call_page::call(lines, model, call, inner),
        Kind::Question(id) => match model.question(id) {
            Some(question) => question_page::lines(lines, model, question, inner),
            None => lines.put(" It has been answered.", Look::Plain),
        },
        Kind::Confirm(confirm) => {
            // What is asked is there to its end, also where the bar cuts it.
            if text::columns(&confirm.title) + TITLE > width {
                lines.wrap(&confirm.title, inner, Look::Bold);
            }
            for line in &confirm.lines {
                let look = match line.starts_with('@') {
                    true => Look::Dim,
                    false => question_page::signed(line),
                };
                lines.wrap(line, inner, look);
            }
            answers(lines, " yes   ", " no");
        }
        Kind::Output(output) => server_page::prose(lines, &output.lines, inner),
        Kind::SignIn(page) => {
            lines.put(" Sign in on this page:", Look::Plain);
            lines.line();
            lines.wrap(&page.url, inner, Look::Plain);
            lines.line();
            let told = "Enter opens it in the browser of this machine. Where that cannot come back here, paste the address that the browser ended at:";
            lines.wrap(told, inner, Look::Plain);
            let line = lines.line().and(" > ", Look::Key);
            line.and(&page.pasted.text(), Look::Plain);
        }
        Kind::Approve(page) => match &page.detail {
            None => lines.put(" …", Look::Dim),
            Some(detail) => {
                entry::lines(lines, &detail.approval, inner);
                answers(lines, " approve   ", " reject");
            }
        },
        Kind::Rule(_) => rules(lines),
        Kind::Text { lines: text, .. } => server_page::prose(lines, text, inner),
        Kind::Keys => {
            for (key, does) in help::all(model).0 {
                lines.labelled((&format!(" {key}"), 12, Look::Key), does, inner);
            }
        }
        Kind::Form(form) => {
            form_page::lines(lines, form, inner);
        }
    }
    all
}

/// What can be answered.
fn answers(lines: &mut Lines, yes: &str, no: &str) {
    lines.line();
    let line = lines.line();
    line.and(" y", Look::Key).and(yes, Look::Plain);
    line.and("n", Look::Key).and(no, Look::Plain);
}

/// What can be said of a tool.
fn rules(lines: &mut Lines) {
    for (key, does) in [
        (" a", "  allow: it is called without a question"),
        (" s", "  ask: each call waits for a yes"),
        (" d", "  deny: it cannot be called, and is not shown"),
        (" h", "  hide: it is not shown in lists"),
        (" n", "  none: what was written here is taken away"),
    ] {
        lines.line().and(key, Look::Key).and(does, Look::Plain);
    }
    lines.line();
    lines.put(
        " The difference is shown before anything is written.",
        Look::Plain,
    );
}
