//! Questions: what is asked, by whom, and what a yes would be said to.

use super::{
    call_page,
    canvas::{Line, Look},
    entry, help, tables,
};
use crate::{model::Model, text};
use switchboard_api::questions::{Change, Kind as Asks, Question};

/// A text on as many lines as it takes.
fn all(text: &str, width: usize, look: Look) -> Vec<Line> {
    let rows = text::wrapped(text, width).into_iter();
    rows.map(|row| Line::of(format!(" {row}"), look)).collect()
}

/// What was, and what is.
fn changes(changes: &[Change], width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for change in changes {
        let head = format!("{} {}", change.of, change.path);
        lines.extend(all(&head, width, Look::Bold));
        for warning in &change.warnings {
            lines.extend(all(&format!("! {warning}"), width, Look::Bad));
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
pub(super) fn start(question: &Question, width: usize) -> Vec<Line> {
    let text = question.text.as_deref().unwrap_or(&question.title);
    let lines = text::wrapped(text, width.saturating_sub(2))
        .into_iter()
        .take(3);
    lines
        .map(|line| Line::of(format!(" {line}"), Look::Plain))
        .collect()
}

/// All that there is to a question, with the answers that it takes at its end.
pub(super) fn lines(model: &Model, question: &Question, width: usize) -> Vec<Line> {
    let mut lines = all(&question.title, width, Look::Bold);
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
    lines.extend(body(question, width));
    if question.partial {
        lines.push(Line::of(" … the rest of it is on its way", Look::Warn));
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

/// What it says, what is different, and what it is about.
fn body(question: &Question, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    // An entry is laid out as `approve` does it, with what warns at its end.
    if let Some(entry) = entry::of_question(question) {
        lines.push(Line::empty());
        lines.extend(entry::lines(&entry, width));
        lines.extend(different(question, width));
        return lines;
    }
    if let Some(text) = &question.text {
        lines.push(Line::empty());
        lines.push(Line::of(whose_words(question), Look::Dim));
        lines.extend(all(text, width, Look::Plain));
    }
    // What is different is what one has to look at.
    lines.extend(different(question, width));
    if let Some(about) = &question.about {
        lines.push(Line::empty());
        lines.extend(call_page::whole_tree(about, width));
    }
    lines
}

fn different(question: &Question, width: usize) -> Vec<Line> {
    // Of a proposal it is the whole entry, which is there already.
    if question.changes.is_empty() || question.kind == Asks::Proposal {
        return Vec::new();
    }
    let mut lines = vec![Line::empty()];
    if question.kind == Asks::Approval {
        lines.push(Line::of(" changed since you approved it:", Look::Warn));
    }
    lines.extend(changes(&question.changes, width));
    lines
}

/// Who says what stands there besides: most of it is the server's.
fn whose_words(question: &Question) -> &'static str {
    match question.kind {
        Asks::Approval | Asks::Changed | Asks::Proposal | Asks::SignIn | Asks::Held => " to know:",
        _ => " its own words:",
    }
}
