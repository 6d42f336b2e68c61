//! One server: its tabs.

use super::{
    call_page,
    canvas::{Line, Look},
    servers,
};
use crate::{
    model::Model,
    page::{Kind, Page, ServerPage, Tab},
    text,
};
use serde_json::Value;
use switchboard_api::servers::Detail;

/// Its name, cut where the tabs would be pushed out of sight, and the tabs. Where there is
/// no room for all of them the open one is there.
pub(super) fn title(before: Line, page: &ServerPage, width: usize) -> Line {
    let all: usize = Tab::ALL.iter().map(|tab| tab.name().len() + 1).sum();
    let room = width.saturating_sub(before.columns() + all + 4);
    let mut line = before
        .and(text::cut(&page.name, room.max(8)), Look::Bold)
        .and(" ", Look::Plain);
    if width < all {
        let (at, of) = (
            Tab::ALL.iter().position(|tab| *tab == page.tab),
            Tab::ALL.len(),
        );
        let text = format!(" [{}] {} of {of}", page.tab.name(), at.unwrap_or(0) + 1);
        return line.and(text, Look::Key);
    }
    for tab in Tab::ALL {
        let look = if tab == page.tab {
            Look::Key
        } else {
            Look::Dim
        };
        let text = if tab == page.tab {
            format!(" [{}]", tab.name())
        } else {
            format!(" {}", tab.name())
        };
        line = line.and(text, look);
    }
    line
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

pub(super) fn lines(model: &Model, page: &ServerPage, width: usize) -> Vec<Line> {
    let waiting = || vec![Line::of(" …", Look::Dim)];
    match page.tab {
        Tab::Overview => overview(model, page, width),
        Tab::Tools | Tab::Resources | Tab::Prompts => match page.rows() {
            None => waiting(),
            // Those that it has may be below what it has none of.
            Some(items) if items.is_empty() && is_half(page) => waiting(),
            Some(items) if items.is_empty() => {
                let what = match page.tab {
                    Tab::Resources => "resources and no templates",
                    tab => tab.name(),
                };
                vec![Line::of(format!(" It lists no {what}."), Look::Dim)]
            }
            Some(items) => items.iter().map(|it| item(it, width)).collect(),
        },
        Tab::Stderr => match &page.stderr {
            None => waiting(),
            Some(lines) if lines.is_empty() => {
                vec![Line::of(" It wrote nothing to its stderr.", Look::Dim)]
            }
            Some(lines) => prose(lines, width),
        },
        Tab::Explain => page
            .explained
            .as_ref()
            .map_or_else(waiting, |it| prose(it, width)),
    }
}

/// Whether one of the two lists is still on its way.
fn is_half(page: &ServerPage) -> bool {
    page.tab == Tab::Resources && page.templates.is_none()
}

fn prose(lines: &[String], width: usize) -> Vec<Line> {
    let wrapped = lines.iter().flat_map(|line| text::wrapped(line, width));
    wrapped
        .map(|line| Line::of(format!(" {line}"), Look::Plain))
        .collect()
}

fn item(item: &Value, width: usize) -> Line {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let name = text("name")
        .or(text("uri"))
        .or(text("uriTemplate"))
        .unwrap_or("?");
    let more = text("description")
        .or(text("title"))
        .or(text("uri"))
        .unwrap_or_default();
    let first = more.lines().next().unwrap_or_default();
    let room = (width / 3).clamp(10, 30);
    if let (None, Some(template)) = (text("uri"), text("uriTemplate")) {
        let first = match first {
            "" => String::new(),
            first => format!("  {first}"),
        };
        return Line::of(format!(" {}", text::padded(name, room)), Look::Plain)
            .and(" template ", Look::Key)
            .and(template, Look::Plain)
            .and(first, Look::Dim);
    }
    Line::of(format!(" {}", text::padded(name, room)), Look::Plain)
        .and(" ", Look::Plain)
        .and(first, Look::Dim)
}

fn overview(model: &Model, page: &ServerPage, width: usize) -> Vec<Line> {
    let Some(server) = model.server(&page.name) else {
        return vec![Line::of(" It is not configured any more.", Look::Dim)];
    };
    let mut lines = servers::about(model, server);
    lines.push(Line::empty());
    let number = |value: Option<usize>| value.map_or("–".to_owned(), |it| it.to_string());
    let file = server.file.clone().map(|file| match server.line {
        Some(line) => format!("{file}:{line}"),
        None => file,
    });
    let counted = |count: Option<usize>, one: &str| match count {
        Some(count) => text::many(count, one, &format!("{one}s")),
        None => format!("– {one}s"),
    };
    let [resources, templates, prompts] = page.counts;
    let mut lists = vec![
        counted(server.tools, "tool"),
        counted(server.resources.or(resources), "resource"),
        counted(server.prompts.or(prompts), "prompt"),
    ];
    if templates.is_some_and(|count| count > 0) {
        lists.insert(2, counted(templates, "template"));
    }
    let lists = format!(
        "{}; about {} tokens",
        lists.join(", "),
        number(server.tokens)
    );
    let use_ = format!(
        "{}, {}, {} in flight, restarts: {}",
        text::many(server.clients, "client", "clients"),
        text::many(server.copies, "copy", "copies"),
        text::many(server.in_flight, "call", "calls"),
        server.restarts
    );
    let facts = [
        ("runs", Some(server.target.clone())),
        ("from", file),
        (
            "scope",
            Some(format!("{} ({})", server.scope, server.transport)),
        ),
        ("speaks", server.version.clone().or(server.era.clone())),
        ("lists", Some(lists)),
        ("use", Some(use_)),
        ("memory", server.memory.map(text::bytes)),
        (
            "held",
            (server.held > 0).then(|| {
                let many = text::many(server.held, "definition waits", "definitions wait");
                format!("{many} for approval: A shows them")
            }),
        ),
    ];
    for (what, fact) in facts {
        lines.extend(
            fact.into_iter()
                .flat_map(|fact| labelled(what, &fact, width)),
        );
    }
    if let Some(detail) = &page.detail {
        lines.extend(told(model, detail, width));
    }
    lines
}

fn labelled(what: &str, fact: &str, width: usize) -> Vec<Line> {
    let mut parts = text::wrapped(fact, width.saturating_sub(9)).into_iter();
    let first = parts.next().unwrap_or_default();
    let label = text::padded(&format!(" {what}"), 9);
    let mut lines = vec![Line::of(label, Look::Dim).and(first, Look::Plain)];
    lines.extend(parts.map(|part| Line::of(format!("{:9}{part}", ""), Look::Plain)));
    lines
}

/// What it said when it was met, and who uses it.
fn told(model: &Model, detail: &Detail, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for process in &detail.processes {
        let memory = process.memory.map_or("–".to_owned(), text::bytes);
        let since = process
            .since
            .map(|at| format!(" since {}", model.clock(at)));
        let text = format!("{} · {memory}{}", process.pid, since.unwrap_or_default());
        lines.extend(labelled("process", &text, width));
    }
    for client in &detail.clients {
        let name = client.name.as_deref().unwrap_or("?");
        lines.extend(labelled(
            "client",
            &format!("{name} as {}", client.principal),
            width,
        ));
    }
    if let Some(instructions) = &detail.instructions {
        lines.push(Line::empty());
        lines.push(Line::of(" its instructions:", Look::Dim));
        lines.extend(prose(std::slice::from_ref(instructions), width));
    }
    for (what, value) in [
        ("it said:", &detail.hello),
        ("its capabilities:", &detail.capabilities),
    ] {
        if let Some(value) = value {
            lines.push(Line::empty());
            lines.push(Line::of(format!(" {what}"), Look::Dim));
            lines.extend(call_page::tree(value, width));
        }
    }
    lines
}
