//! Calls and their results.

use super::{
    line::{Line, Lines, Look},
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
use switchboard_api::{
    calls::{Crossed, Made},
    fill,
};

/// A value as lines; what is too long for one goes on below itself.
pub(super) fn tree(lines: &mut Lines, value: &Value, width: usize) {
    grown(lines, &tree::lines(value, limits::TREE_LINE), width);
}

/// The same with nothing left out of any text: what is said yes to.
pub(super) fn whole_tree(lines: &mut Lines, value: &Value, width: usize) {
    grown(lines, &tree::lines(value, usize::MAX), width);
}

fn grown(lines: &mut Lines, branches: &[Branch], width: usize) {
    let from = lines.0.len();
    for it in branches {
        branch(lines, it, width);
        if lines.0.len() - from >= limits::TEXT_LINES {
            break;
        }
    }
    lines.cap(from);
}

fn branch(lines: &mut Lines, branch: &Branch, width: usize) {
    // However deep it is, there is room for what stands there.
    let indent = (1 + 2 * branch.depth).min(width / 3);
    let key = branch.key.as_ref();
    let key = key.map(|key| format!("{key}: ")).unwrap_or_default();
    let key_wide = text::columns(&text::clean(&key));
    let mut before = indent + key_wide;
    // A key that takes all the room stands above its value.
    let is_above = before > width * 2 / 3;
    if is_above {
        for row in text::wrapped(&key, width.saturating_sub(indent).max(8)) {
            lines
                .line()
                .pad("", indent, Look::Plain)
                .and(&row, Look::Dim);
        }
        before = indent + 1;
    }
    let rows = text::wrapped(&branch.text, width.saturating_sub(before).max(4));
    for (at, row) in rows.iter().enumerate() {
        let line = lines.line();
        match at == 0 && !is_above {
            true => line.pad("", indent, Look::Plain).and(&key, Look::Dim),
            false => line.pad("", before, Look::Plain),
        };
        line.and(row, Look::Plain);
    }
}

/// A value as it came, or as a tree.
fn value(lines: &mut Lines, value: &Value, is_raw: bool, width: usize) {
    match is_raw {
        true => lines.wrap(&value.to_string(), width, Look::Plain),
        false => tree(lines, value, width),
    }
}

pub(super) fn run_title(line: &mut Line, run: &RunPage) {
    line.and(&run.title, Look::Bold);
    match &run.outcome {
        None => line.and(" · runs", Look::Warn),
        Some(Outcome::Refused(_)) => line.and(" · refused", Look::Bad),
        Some(Outcome::Abandoned) => line.and(" · abandoned", Look::Dim),
        Some(Outcome::Made(made)) => {
            let (word, look) = match made.error.is_some() || is_error(made) {
                true => (" · error", Look::Bad),
                false => (" · done", Look::Good),
            };
            let took = text::around(" in ", made.call.took.map(text::took), "");
            line.with(look, format_args!("{word}{took}"))
        }
    };
}

fn is_error(made: &Made) -> bool {
    let said = made
        .result
        .as_ref()
        .and_then(|result| result.get("isError"));
    said.and_then(Value::as_bool).unwrap_or_default()
}

/// A call that was made here, and what became of it.
pub(super) fn run(lines: &mut Lines, model: &Model, run: &RunPage, width: usize) {
    lines.wrap(&format!("$ {}", run.command), width, Look::Dim);
    lines.line();
    match &run.outcome {
        None => {
            let text = run
                .progress
                .as_deref()
                .unwrap_or("waiting for the answer …");
            lines.say(Look::Warn, format_args!(" {text}"));
            if let Some(question) = model.asked_by(run) {
                let text = format!("It asks you something, and waits: {}", question.title);
                lines.line();
                lines.wrap(&text, width, Look::Bold);
                let line = lines.line().and(" Enter", Look::Key);
                line.and(" opens it", Look::Plain);
            }
        }
        Some(Outcome::Abandoned) => lines.put(" Nobody waits for it any more.", Look::Dim),
        Some(Outcome::Refused(why)) => lines.wrap(why, width, Look::Bad),
        Some(Outcome::Made(made)) => result(lines, made, run.raw, width),
    }
}

fn result(lines: &mut Lines, made: &Made, is_raw: bool, width: usize) {
    for fault in &made.faults {
        lines.say(Look::Bad, format_args!(" ! {fault}"));
    }
    if let Some(error) = &made.error {
        value(lines, error, is_raw, width);
    }
    let Some(whole) = &made.result else {
        return;
    };
    // Text is what most answers are: it is shown as text, and the rest as a tree.
    let content = whole.get("content").and_then(Value::as_array);
    match content {
        Some(items)
            if !is_raw && !items.is_empty() && items.iter().all(|it| it["text"].is_string()) =>
        {
            let look = if is_error(made) {
                Look::Bad
            } else {
                Look::Plain
            };
            for item in items {
                lines.wrap(item["text"].as_str().unwrap_or_default(), width, look);
            }
            if let Some(structured) = whole.get("structuredContent") {
                lines.line();
                tree(lines, structured, width);
            }
        }
        _ => value(lines, whole, is_raw, width),
    }
}

/// A call with both its sides.
pub(super) fn call(lines: &mut Lines, model: &Model, page: &CallPage, width: usize) {
    let Some(detail) = &page.detail else {
        let text = page.missing.as_deref().unwrap_or("…");
        lines.wrap(text, width, Look::Dim);
        return;
    };
    let call = &detail.call;
    let what = call.name.as_deref().unwrap_or_default();
    let line = lines.line();
    line.with(Look::Bold, format_args!(" {} {what}", call.method));
    line.with(
        tables::outcome_look(&call.outcome),
        format_args!("  {}", call.outcome),
    );
    lines.say(
        Look::Dim,
        format_args!(
            " {} · {} ({}) → {} ({})",
            model.clock(call.at),
            call.client.as_ref().unwrap_or(&call.principal),
            call.client_era,
            call.server.as_deref().unwrap_or("–"),
            call.server_era.as_deref().unwrap_or("–"),
        ),
    );
    if let (Some(took), Some(ours), Some(_)) = (call.took, call.ours(), call.at_server) {
        let waited = call.waited.map(text::took);
        let waited = text::around(", ", waited, " waiting for a person");
        let (took, ours) = (text::took(took), text::took(ours));
        lines.say(
            Look::Dim,
            format_args!(" {took} in all, {ours} of it ours{waited}"),
        );
    }
    if let Some(decision) = &detail.decision {
        let rule = detail.rule.as_deref().unwrap_or("no rule");
        lines.say(Look::Dim, format_args!(" {decision} by {rule}"));
    }
    for waited in &detail.waited {
        lines.say(Look::Dim, format_args!(" {}", waited.words()));
    }
    if let Some(error) = &call.error {
        lines.wrap(error, width, Look::Bad);
    }
    again(lines, page, width);
    for message in &detail.messages {
        lines.line();
        crossed(lines, message, page.raw, width);
    }
    if detail.missing > 0 || detail.messages.is_empty() {
        let text = " messages are not kept unless somebody asks: t in Traffic keeps them";
        lines.line();
        lines.put(text, Look::Dim);
    }
}

/// A message, and what we changed of it.
fn crossed(lines: &mut Lines, message: &Crossed, is_raw: bool, width: usize) {
    let arrow = match message.edge.as_str() {
        "from-client" => "client → us",
        "to-server" => "us → server",
        "from-server" => "server → us",
        "to-client" => "us → client",
        edge => edge,
    };
    lines.say(
        Look::Key,
        format_args!(
            " {arrow}  {}  +{}  {} bytes",
            message.method.as_ref().unwrap_or(&message.kind),
            text::took(message.at),
            message.bytes
        ),
    );
    match &message.text {
        None => lines.put(" (not kept)", Look::Dim),
        Some(text) => match fill::value(text) {
            Ok(value) if !is_raw => tree(lines, &value, width),
            _ => lines.wrap(text, width, Look::Plain),
        },
    }
    for edit in &message.edits {
        let row = edit.row.as_deref().unwrap_or_default();
        lines.say(
            Look::Warn,
            format_args!(" ~ {} {} {row}", edit.what, edit.path),
        );
    }
}

/// Where the answer differed when it was made again. It stands before the messages: whoever
/// has just made it again looks for nothing else.
fn again(lines: &mut Lines, page: &CallPage, width: usize) {
    let Some(replayed) = &page.replayed else {
        return;
    };
    lines.line();
    lines.say(
        Look::Bold,
        format_args!(" made again: {}", replayed.words()),
    );
    for difference in replayed.differences.iter().take(limits::DIFFERENCES) {
        let path = match difference.path.as_str() {
            "" => "/",
            path => path,
        };
        lines.say(Look::Dim, format_args!(" {path}"));
        for (mark, value, look) in [
            (" - ", &difference.before, Look::Removed),
            (" + ", &difference.after, Look::Added),
        ] {
            let Some(value) = value else { continue };
            let room = width.saturating_sub(3).max(8);
            lines.rows(
                mark,
                &value.to_string(),
                room,
                limits::DIFFERENCE_ROWS,
                look,
            );
        }
    }
    let all = replayed.differences.len();
    if let more @ 1.. = all.saturating_sub(limits::DIFFERENCES) {
        lines.say(
            Look::Dim,
            format_args!(
                " and {more} more: switchboard traffic replay {} shows them",
                page.call
            ),
        );
    }
}
