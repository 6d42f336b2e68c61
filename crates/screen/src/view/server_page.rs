//! One server: its tabs.

use super::{
    call_page,
    line::{Line, Lines, Look},
    servers,
};
use crate::{
    limits::FACT,
    model::Model,
    page::{Kind, Page, ServerPage, Tab},
    text,
};
use serde_json::Value;
use std::fmt;
use switchboard_api::{servers::Detail, state::Server};

/// Its name, cut where the tabs would be pushed out of sight, and the tabs. Where there is
/// no room for all of them the open one is there.
pub(super) fn title(line: &mut Line, page: &ServerPage, width: usize) {
    let all: usize = Tab::ALL.iter().map(|tab| tab.name().len() + 1).sum();
    let room = width.saturating_sub(line.columns() + all + 4);
    line.and(&text::cut(&page.name, room.max(8)), Look::Bold);
    line.and(" ", Look::Plain);
    for (at, tab) in (1..).zip(Tab::ALL) {
        let (name, of) = (tab.name(), Tab::ALL.len());
        match (tab == page.tab, width < all) {
            (true, true) => line.with(Look::Key, format_args!(" [{name}] {at} of {of}")),
            (true, false) => line.with(Look::Key, format_args!(" [{name}]")),
            (false, true) => line,
            (false, false) => line.with(Look::Dim, format_args!(" {name}")),
        };
    }
}

/// Which line one is on, where the page is a list.
pub(super) fn chosen(page: &Page) -> Option<usize> {
    match &page.kind {
        Kind::Server(server) => {
            let some = server.rows().is_some_and(|rows| !rows.is_empty());
            some.then_some(server.at)
        }
        _ => None,
    }
}

pub(super) fn lines(lines: &mut Lines, model: &Model, page: &ServerPage, width: usize) {
    const WAITING: &str = " …";
    let told = match page.tab {
        Tab::Overview => {
            overview(lines, model, page, width);
            return;
        }
        Tab::Tools | Tab::Resources | Tab::Prompts => {
            match page.rows() {
                None => lines.put(WAITING, Look::Dim),
                // Those that it has may be below what it has none of.
                Some(items) if items.is_empty() && is_half(page) => {
                    lines.put(WAITING, Look::Dim);
                }
                Some(items) if items.is_empty() => {
                    let what = match page.tab {
                        Tab::Resources => "resources and no templates",
                        tab => tab.name(),
                    };
                    lines.say(Look::Dim, format_args!(" It lists no {what}."));
                }
                Some(items) => {
                    for it in items {
                        item(lines.line(), it, width);
                    }
                }
            }
            return;
        }
        Tab::Stderr => &page.stderr,
        Tab::Explain => &page.explained,
    };
    match told {
        None => lines.put(WAITING, Look::Dim),
        Some(told) if told.is_empty() && page.tab == Tab::Stderr => {
            lines.put(" It wrote nothing to its stderr.", Look::Dim);
        }
        Some(told) => prose(lines, told, width),
    }
}

/// Whether one of the two lists is still on its way.
fn is_half(page: &ServerPage) -> bool {
    page.tab == Tab::Resources && page.templates.is_none()
}

/// Lines as they are, each on as many as it takes.
pub(super) fn prose(lines: &mut Lines, told: &[String], width: usize) {
    for line in told {
        lines.wrap(line, width, Look::Plain);
    }
}

fn item(line: &mut Line, item: &Value, width: usize) {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let (uri, template) = (text("uri"), text("uriTemplate"));
    let name = text("name").or(uri).or(template).unwrap_or("?");
    let more = text("description").or(text("title")).or(uri);
    let first = more.unwrap_or_default().lines().next().unwrap_or_default();
    let room = (width / 3).clamp(10, 30);
    line.and(" ", Look::Plain).pad(name, room, Look::Plain);
    if let (None, Some(template)) = (uri, template) {
        let gap = if first.is_empty() { "" } else { "  " };
        line.and(" template ", Look::Key)
            .and(template, Look::Plain)
            .with(Look::Dim, format_args!("{gap}{first}"));
        return;
    }
    line.and(" ", Look::Plain).and(first, Look::Dim);
}

fn overview(lines: &mut Lines, model: &Model, page: &ServerPage, width: usize) {
    let Some(server) = model.server(&page.name) else {
        lines.put(" It is not configured any more.", Look::Dim);
        return;
    };
    servers::about(lines, model, server);
    lines.line();
    let mut fact = |what: &str, fact: fmt::Arguments<'_>| {
        lines.labelled((what, FACT, Look::Dim), &fmt::format(fact), width);
    };
    fact(" runs", format_args!("{}", server.target));
    if let Some(file) = &server.file {
        let line = text::around(":", server.line, "");
        fact(" from", format_args!("{file}{line}"));
    }
    fact(
        " scope",
        format_args!("{} ({})", server.scope, server.transport),
    );
    if let Some(speaks) = server.version.as_ref().or(server.era.as_ref()) {
        fact(" speaks", format_args!("{speaks}"));
    }
    let lists = fmt::from_fn(|f| lists(server, page, f));
    let tokens = text::or(server.tokens, "–");
    fact(" lists", format_args!("{lists}; about {tokens} tokens"));
    fact(
        " use",
        format_args!(
            "{}, {}, {} in flight, restarts: {}",
            text::many(server.clients, "client", "clients"),
            text::many(server.copies, "copy", "copies"),
            text::many(server.in_flight, "call", "calls"),
            server.restarts
        ),
    );
    if let Some(memory) = server.memory {
        fact(" memory", format_args!("{}", text::bytes(memory)));
    }
    if server.held > 0 {
        let many = text::many(server.held, "definition waits", "definitions wait");
        fact(" held", format_args!("{many} for approval: A shows them"));
    }
    if let Some(detail) = &page.detail {
        told(lines, model, detail, width);
    }
}

/// How many of each it lists.
fn lists(server: &Server, page: &ServerPage, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let [resources, templates, prompts] = page.counts;
    let mut gap = "";
    for (count, one) in [
        (server.tools, "tool"),
        (server.resources.or(resources), "resource"),
        (templates, "template"),
        (server.prompts.or(prompts), "prompt"),
    ] {
        // Few have any, and most do not say so.
        if one == "template" && count.unwrap_or(0) == 0 {
            continue;
        }
        let s = if count == Some(1) { "" } else { "s" };
        write!(f, "{gap}{} {one}{s}", text::or(count, "–"))?;
        gap = ", ";
    }
    Ok(())
}

/// What it said when it was met, and who uses it.
fn told(lines: &mut Lines, model: &Model, detail: &Detail, width: usize) {
    for process in &detail.processes {
        let memory = text::or(process.memory.map(text::bytes), "–");
        let since = process.since.map(|at| model.clock(at));
        let since = text::around(" since ", since, "");
        let text = format!("{} · {memory}{since}", process.pid);
        lines.labelled((" process", FACT, Look::Dim), &text, width);
    }
    for client in &detail.clients {
        let name = client.name.as_deref().unwrap_or("?");
        let text = format!("{name} as {}", client.principal);
        lines.labelled((" client", FACT, Look::Dim), &text, width);
    }
    if let Some(instructions) = &detail.instructions {
        lines.line();
        lines.put(" its instructions:", Look::Dim);
        lines.wrap(instructions, width, Look::Plain);
    }
    for (what, value) in [
        (" it said:", &detail.hello),
        (" its capabilities:", &detail.capabilities),
    ] {
        if let Some(value) = value {
            lines.line();
            lines.put(what, Look::Dim);
            call_page::tree(lines, value, width);
        }
    }
}
