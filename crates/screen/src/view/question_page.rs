//! Questions: what is asked, by whom, and what a yes would be said to.

use super::{
    call_page, entry,
    help::{self, Keys},
    line::{Lines, Look},
    tables,
};
use crate::{limits::FACT, model::Model};
use switchboard_api::questions::{Change, Kind as Asks, Question};

/// How a line of a difference looks, by the sign that it begins with.
pub(super) fn signed(line: &str) -> Look {
    match line.as_bytes().first() {
        Some(b'-') => Look::Removed,
        Some(b'+') => Look::Added,
        _ => Look::Plain,
    }
}

/// What was, and what is.
fn changes(lines: &mut Lines, changes: &[Change], width: usize) {
    for change in changes {
        let head = format!("{} {}", change.of, change.path);
        lines.wrap(&head, width, Look::Bold);
        for warning in &change.warnings {
            lines.wrap(&format!("! {warning}"), width, Look::Bad);
        }
        let room = width.saturating_sub(2);
        let (before, after) = (change.before.as_deref(), change.after.as_deref());
        match (before, after) {
            // Already a difference, with a sign before each line.
            (None, Some(after)) if after.lines().any(|it| it.starts_with(['-', '+'])) => {
                for line in after.lines() {
                    lines.wrap(line, room, signed(line));
                }
            }
            _ => {
                for (sign, side, look) in
                    [(" - ", before, Look::Removed), (" + ", after, Look::Added)]
                {
                    if let Some(side) = side {
                        lines.rows(sign, side, room, usize::MAX, look);
                    }
                }
            }
        }
    }
}

/// All that there is to a question, with the answers that it takes at its end.
pub(super) fn lines(lines: &mut Lines, model: &Model, question: &Question, width: usize) {
    lines.wrap(&question.title, width, Look::Bold);
    let until = question.until.map(|at| model.clock(at).to_string());
    let whom = question.client.as_deref().or(question.principal.as_deref());
    for (what, fact) in [
        (" kind", Some(tables::kind(question.kind))),
        (" server", question.server.as_deref()),
        (" about", question.name.as_deref()),
        (" for", whom),
        (" until", until.as_deref()),
        (" page", question.url.as_deref()),
    ] {
        if let Some(fact) = fact {
            lines.labelled((what, FACT, Look::Dim), fact, width);
        }
    }
    body(lines, question, width);
    if question.partial {
        lines.put(" … the rest of it is on its way", Look::Warn);
    }
    lines.line();
    let mut keys = Keys::default();
    help::answers(&mut keys, question);
    let line = lines.line();
    for (key, does) in keys.0 {
        line.with(Look::Key, format_args!(" {key}"));
        line.with(Look::Plain, format_args!(" {does} "));
    }
}

/// What it says, what is different, and what it is about.
fn body(lines: &mut Lines, question: &Question, width: usize) {
    // An entry is laid out as `approve` does it, with what warns at its end.
    if let Some(entry) = entry::of_question(question) {
        lines.line();
        entry::lines(lines, &entry, width);
        different(lines, question, width);
        return;
    }
    if let Some(text) = &question.text {
        lines.line();
        lines.put(whose_words(question), Look::Dim);
        lines.wrap(text, width, Look::Plain);
    }
    // What is different is what one has to look at.
    different(lines, question, width);
    if let Some(about) = &question.about {
        lines.line();
        call_page::whole_tree(lines, about, width);
    }
}

fn different(lines: &mut Lines, question: &Question, width: usize) {
    // Of a proposal it is the whole entry, which is there already.
    if question.changes.is_empty() || question.kind == Asks::Proposal {
        return;
    }
    lines.line();
    if question.kind == Asks::Approval {
        lines.put(" changed since you approved it:", Look::Warn);
    }
    changes(lines, &question.changes, width);
}

/// Who says what stands there besides: most of it is the server's.
fn whose_words(question: &Question) -> &'static str {
    match question.kind {
        Asks::Approval | Asks::Changed | Asks::Proposal | Asks::SignIn | Asks::Held => " to know:",
        _ => " its own words:",
    }
}
