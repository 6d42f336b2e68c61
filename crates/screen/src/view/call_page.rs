//! Calls and their results.

use super::{
    canvas::{Line, Look},
    tables,
};
use crate::{
    limits,
    model::Model,
    page::{CallPage, Outcome, RunPage},
    text,
    tree::{self, Branch},
};
use serde_json::Value;
use switchboard_api::calls::{Crossed, Made};

/// A value as lines; what is too long for one goes on below itself.
pub(super) fn tree(value: &Value, width: usize) -> Vec<Line> {
    grown(tree::lines(value, limits::TREE_LINE), width)
}

/// The same with nothing left out of any text: what is said yes to.
pub(super) fn whole_tree(value: &Value, width: usize) -> Vec<Line> {
    grown(tree::lines(value, usize::MAX), width)
}

fn grown(branches: Vec<Branch>, width: usize) -> Vec<Line> {
    let branches = branches.into_iter();
    let lines = branches.flat_map(|it| branch(it, width));
    lines.take(limits::TEXT_LINES).collect()
}

fn branch(branch: Branch, width: usize) -> Vec<Line> {
    // However deep it is, there is room for what stands there.
    let indent = (1 + 2 * branch.depth).min(width / 3);
    let key = branch.key.map(|key| format!("{key}: ")).unwrap_or_default();
    let key_wide = text::columns(&text::clean(&key));
    let row = |before: usize, text: String, look: Look| {
        Line::of(format!("{:before$}", ""), Look::Plain).and(text, look)
    };
    let mut lines = Vec::new();
    // A key that takes all the room stands above its value.
    let before = if indent + key_wide > width * 2 / 3 {
        let keys = text::wrapped(&key, width.saturating_sub(indent).max(8)).into_iter();
        lines.extend(keys.map(|text| row(indent, text, Look::Dim)));
        indent + 1
    } else {
        indent + key_wide
    };
    let mut rows = text::wrapped(&branch.text, width.saturating_sub(before).max(4)).into_iter();
    if lines.is_empty() {
        let first = rows.next().unwrap_or_default();
        lines.push(row(indent, key, Look::Dim).and(first, Look::Plain));
    }
    lines.extend(rows.map(|text| row(before, text, Look::Plain)));
    lines
}

fn raw(value: &Value, width: usize) -> Vec<Line> {
    let text = value.to_string();
    let lines = text::wrapped(&text, width).into_iter();
    lines
        .map(|line| Line::of(format!(" {line}"), Look::Plain))
        .collect()
}

pub(super) fn run_title(before: Line, run: &RunPage) -> Line {
    let (state, look) = match &run.outcome {
        None => (" · runs".to_owned(), Look::Warn),
        Some(Outcome::Refused(_)) => (" · refused".to_owned(), Look::Bad),
        Some(Outcome::Abandoned) => (" · abandoned".to_owned(), Look::Dim),
        Some(Outcome::Made(made)) => {
            let took = made
                .call
                .took
                .map(|took| format!(" in {}", text::took(took)));
            let failed = made.error.is_some() || is_error(made);
            let word = if failed { "error" } else { "done" };
            let look = if failed { Look::Bad } else { Look::Good };
            (format!(" · {word}{}", took.unwrap_or_default()), look)
        }
    };
    before.and(run.title.clone(), Look::Bold).and(state, look)
}

fn is_error(made: &Made) -> bool {
    let said = made
        .result
        .as_ref()
        .and_then(|result| result.get("isError"));
    said.and_then(Value::as_bool).unwrap_or_default()
}

/// A call that was made here, and what became of it.
pub(super) fn run(model: &Model, run: &RunPage, width: usize) -> Vec<Line> {
    let command = text::wrapped(&format!("$ {}", run.command), width).into_iter();
    let mut lines: Vec<Line> = command
        .map(|line| Line::of(format!(" {line}"), Look::Dim))
        .collect();
    lines.push(Line::empty());
    match &run.outcome {
        None => {
            let text = run
                .progress
                .clone()
                .unwrap_or_else(|| "waiting for the answer …".to_owned());
            lines.push(Line::of(format!(" {text}"), Look::Warn));
            if let Some(question) = model.asked_by(run) {
                let text = format!("It asks you something, and waits: {}", question.title);
                let rows = text::wrapped(&text, width).into_iter();
                lines.push(Line::empty());
                lines.extend(rows.map(|row| Line::of(format!(" {row}"), Look::Bold)));
                lines.push(Line::of(" Enter", Look::Key).and(" opens it", Look::Plain));
            }
        }
        Some(Outcome::Abandoned) => {
            lines.push(Line::of(" Nobody waits for it any more.", Look::Dim));
        }
        Some(Outcome::Refused(why)) => {
            let why = text::wrapped(why, width).into_iter();
            lines.extend(why.map(|line| Line::of(format!(" {line}"), Look::Bad)));
        }
        Some(Outcome::Made(made)) => lines.extend(result(made, run.raw, width)),
    }
    lines
}

fn result(made: &Made, is_raw: bool, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for fault in &made.faults {
        lines.push(Line::of(format!(" ! {fault}"), Look::Bad));
    }
    if let Some(error) = &made.error {
        lines.extend(if is_raw {
            raw(error, width)
        } else {
            tree(error, width)
        });
    }
    let Some(value) = &made.result else {
        return lines;
    };
    if is_raw {
        lines.extend(raw(value, width));
        return lines;
    }
    // Text is what most answers are: it is shown as text, and the rest as a tree.
    let content = value.get("content").and_then(Value::as_array);
    let texts: Option<Vec<&str>> = content.map(|items| {
        items
            .iter()
            .filter_map(|item| item["text"].as_str())
            .collect()
    });
    match (texts, content) {
        (Some(texts), Some(content)) if texts.len() == content.len() && !texts.is_empty() => {
            let look = if is_error(made) {
                Look::Bad
            } else {
                Look::Plain
            };
            for text in texts {
                let wrapped = text::wrapped(text, width).into_iter();
                lines.extend(wrapped.map(|line| Line::of(format!(" {line}"), look)));
            }
            if let Some(structured) = value.get("structuredContent") {
                lines.push(Line::empty());
                lines.extend(tree(structured, width));
            }
        }
        _ => lines.extend(tree(value, width)),
    }
    lines
}

/// A call with both its sides.
pub(super) fn call(model: &Model, page: &CallPage, width: usize) -> Vec<Line> {
    let Some(detail) = &page.detail else {
        let text = page.missing.clone().unwrap_or_else(|| "…".to_owned());
        let lines = text::wrapped(&text, width).into_iter();
        return lines
            .map(|line| Line::of(format!(" {line}"), Look::Dim))
            .collect();
    };
    let call = &detail.call;
    let what = call.name.as_deref().unwrap_or_default();
    let mut lines = vec![
        Line::of(format!(" {} {what}", call.method), Look::Bold).and(
            format!("  {}", call.outcome),
            tables::outcome_look(&call.outcome),
        ),
        Line::of(
            format!(
                " {} · {} ({}) → {} ({})",
                model.clock(call.at),
                call.client.as_deref().unwrap_or(&call.principal),
                call.client_era,
                call.server.as_deref().unwrap_or("–"),
                call.server_era.as_deref().unwrap_or("–"),
            ),
            Look::Dim,
        ),
    ];
    if let (Some(took), Some(ours), Some(_)) = (call.took, call.ours(), call.at_server) {
        let waited = call.waited.map(text::took);
        let waited = waited.map(|waited| format!(", {waited} waiting for a person"));
        let text = format!(
            " {} in all, {} of it ours{}",
            text::took(took),
            text::took(ours),
            waited.unwrap_or_default()
        );
        lines.push(Line::of(text, Look::Dim));
    }
    if let Some(decision) = &detail.decision {
        let rule = detail.rule.as_deref().unwrap_or("no rule");
        lines.push(Line::of(format!(" {decision} by {rule}"), Look::Dim));
    }
    for waited in &detail.waited {
        lines.push(Line::of(format!(" {}", waited.words()), Look::Dim));
    }
    if let Some(error) = &call.error {
        let error = text::wrapped(error, width).into_iter();
        lines.extend(error.map(|line| Line::of(format!(" {line}"), Look::Bad)));
    }
    lines.extend(again(page, width));
    for message in &detail.messages {
        lines.push(Line::empty());
        lines.extend(crossed(message, page.raw, width));
    }
    if detail.missing > 0 || detail.messages.is_empty() {
        let text = " messages are not kept unless somebody asks: t in Traffic keeps them";
        lines.push(Line::empty());
        lines.push(Line::of(text, Look::Dim));
    }
    lines
}

/// A message, and what we changed of it.
fn crossed(message: &Crossed, is_raw: bool, width: usize) -> Vec<Line> {
    let arrow = match message.edge.as_str() {
        "from-client" => "client → us",
        "to-server" => "us → server",
        "from-server" => "server → us",
        "to-client" => "us → client",
        edge => edge,
    };
    let what = message.method.as_deref().unwrap_or(&message.kind);
    let text = format!(
        " {arrow}  {what}  +{}  {} bytes",
        text::took(message.at),
        message.bytes
    );
    let mut lines = vec![Line::of(text, Look::Key)];
    match &message.text {
        None => lines.push(Line::of(" (not kept)", Look::Dim)),
        Some(text) => match serde_json::from_str(text) {
            Ok(value) if !is_raw => lines.extend(tree(&value, width)),
            _ => {
                let text = text::wrapped(text, width).into_iter();
                lines.extend(text.map(|line| Line::of(format!(" {line}"), Look::Plain)));
            }
        },
    }
    for edit in &message.edits {
        let row = edit.row.as_deref().unwrap_or_default();
        lines.push(Line::of(
            format!(" ~ {} {} {row}", edit.what, edit.path),
            Look::Warn,
        ));
    }
    lines
}

/// Where the answer differed when it was made again. It stands before the messages: whoever
/// has just made it again looks for nothing else.
fn again(page: &CallPage, width: usize) -> Vec<Line> {
    let Some(replayed) = &page.replayed else {
        return Vec::new();
    };
    let title = format!(" made again: {}", replayed.words());
    let mut lines = vec![Line::empty(), Line::of(title, Look::Bold)];
    for difference in replayed.differences.iter().take(limits::DIFFERENCES) {
        let path = match difference.path.as_str() {
            "" => "/",
            path => path,
        };
        lines.push(Line::of(format!(" {path}"), Look::Dim));
        for (mark, value, look) in [
            ('-', &difference.before, Look::Removed),
            ('+', &difference.after, Look::Added),
        ] {
            let Some(value) = value else { continue };
            let rows = text::wrapped(&value.to_string(), width.saturating_sub(3).max(8));
            let rows = rows.into_iter().take(limits::DIFFERENCE_ROWS);
            lines.extend(rows.map(|row| Line::of(format!(" {mark} {row}"), look)));
        }
    }
    let more = replayed
        .differences
        .len()
        .saturating_sub(limits::DIFFERENCES);
    if more > 0 {
        let text = format!(
            " and {more} more: switchboard traffic replay {} shows them",
            page.call
        );
        lines.push(Line::of(text, Look::Dim));
    }
    lines
}
