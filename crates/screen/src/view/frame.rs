//! The bars: where one is at the top; what is said, typed and possible at the bottom.

use super::{
    Cursor, Rest,
    canvas::Canvas,
    help,
    line::{Line, Look},
};
use crate::{
    message::Link,
    model::{Asked, Model, Prompt, View},
    page::Kind,
    text,
};

/// Rows that the bars take: one above, two below.
pub(super) const AROUND: u16 = 3;

/// The bar at the top: the views, and which gateway this is about.
pub(super) fn top(model: &Model, canvas: &mut Canvas<'_>) {
    let wide = canvas.width() >= 72;
    let mut line = Line::default();
    for (index, view) in (1..).zip(View::ALL) {
        let here = view == model.view;
        let (number, name) = match here {
            true => (Look::Bold, Look::Bold),
            false => (Look::Key, Look::Plain),
        };
        line.with(number, format_args!(" {index}"));
        if wide || here {
            line.and(if wide { " " } else { ":" }, name);
            line.and(view.name(), name);
        }
        if view == View::Inbox {
            match (model.is_lost(), model.waiting()) {
                // Of a gateway that is gone nobody knows what it would ask.
                (true, _) => line.and("(?)", Look::Warn),
                (false, 0) => &mut line,
                (false, waiting) => line.with(Look::Warn, format_args!("({waiting})")),
            };
        }
    }
    canvas.line(0, &line);
    let room = usize::from(canvas.width()).saturating_sub(line.columns() + 2);
    if room >= 6 {
        let mut line = Line::default();
        match &model.link {
            Link::Looking => line.and("starting", Look::Dim),
            Link::Attached { address } => line.with(Look::Good, format_args!("at {address}")),
            Link::Inside => line.and("host inside", Look::Good),
            Link::Lost { .. } => line.and("gateway gone", Look::Bad),
        };
        for (text, _) in &mut line.0 {
            *text = text::cut(text, room);
        }
        canvas.at_the_right(0, &line);
    }
}

/// What is said, and below it what can be done; or the line that is typed into.
pub(super) fn bottom(model: &Model, canvas: &mut Canvas<'_>, rest: Rest) -> Cursor {
    let last = canvas.height() - 1;
    if let Some(prompt) = &model.prompt {
        return typed(model, prompt, canvas, last);
    }
    let width = usize::from(canvas.width());
    let (mut told, mut more, mut keys) = (Line::default(), Line::default(), Line::default());
    said(&mut told, model);
    canvas.line(last - 1, &told);
    // That there is more is said also beside what else is said.
    let is_free = told.0.is_empty();
    let room = if is_free { width } else { width / 2 };
    goes_on(&mut more, model, rest, room);
    match is_free {
        true => canvas.line(last - 1, &more),
        false => canvas.at_the_right(last - 1, &more),
    }
    footer(&mut keys, model, rest, width);
    canvas.line(last, &keys);
    None
}

/// That a page goes on below what is seen, in as many words as there is room for.
fn goes_on(line: &mut Line, model: &Model, rest: Rest, room: usize) {
    let Rest { above, below, .. } = rest;
    let yes = model.wants_yes();
    let look = if yes { Look::Warn } else { Look::Key };
    let many = |count| text::many(count, "more line", "more lines");
    // From many words to few.
    for few in 0..3 {
        line.0.clear();
        match (above, below, few) {
            (0, 0, _) if !yes || rest.is_whole => return,
            (0, 0, 0) => line.and(" too long to be shown whole: switchboard inbox", look),
            (0, 0, _) => line.and(" too long", look),
            (_, 0, 0) => line.with(look, format_args!(" ↑ {}, Up", many(above))),
            (_, 0, _) => line.with(look, format_args!(" ↑ {above}")),
            (1.., _, 0) => line.with(look, format_args!(" ↑ {above} ↓ {below} more lines")),
            (1.., _, _) => line.with(look, format_args!(" ↑ {above} ↓ {below}")),
            (0, _, 0) if yes => line.with(
                look,
                format_args!(" ↓ {}, PageDown; y counts at the end", many(below)),
            ),
            (0, _, 1) if yes => line.with(look, format_args!(" ↓ {below} more; y at the end")),
            (0, _, 0) => line.with(look, format_args!(" ↓ {}, PageDown", many(below))),
            (0, _, _) => line.with(look, format_args!(" ↓ {below} more")),
        };
        if line.columns() <= room {
            return;
        }
    }
}

/// What was said last, or what is the matter.
fn said(line: &mut Line, model: &Model) {
    if let Some(told) = &model.told {
        let look = if told.bad { Look::Bad } else { Look::Plain };
        line.with(look, format_args!(" {}", told.text));
        return;
    }
    if let Link::Lost { why } = &model.link {
        line.with(
            Look::Bad,
            format_args!(" the gateway is gone; switchboard up starts one ({why})"),
        );
        return;
    }
    let filter = &model.list().filter;
    if model.pages.is_empty() && !filter.is_empty() {
        line.and(" / ", Look::Key).and(filter, Look::Plain);
        line.and("   Esc shows all", Look::Dim);
        return;
    }
    if let (true, Some((_, page))) = (model.pages.is_empty(), model.aside.last())
        && let Kind::Run(run) = &page.kind
    {
        let waits = match (model.asked_by(run), &run.outcome) {
            (Some(_), None) => "waits for your answer",
            (None, None) => "runs",
            (_, Some(_)) => "has ended",
        };
        line.and(" Esc", Look::Key).with(
            Look::Plain,
            format_args!(" goes back to {}, which {waits}", run.title),
        );
    }
}

/// As many keys as fit, the most useful first.
fn footer(line: &mut Line, model: &Model, rest: Rest, width: usize) {
    let mut keys = help::keys(model, rest).0;
    // The key that shows all keys is always there.
    let at = keys.iter().position(|(key, _)| *key == "?");
    let last = at.map(|at| keys.remove(at));
    let wide = |(key, does): (&str, &str)| 2 + text::columns(key) + text::columns(does);
    let mut left = width.saturating_sub(last.map_or(0, wide));
    let fit = keys.into_iter().take_while(|pair| {
        let next = left.checked_sub(wide(*pair));
        left = next.unwrap_or(left);
        next.is_some()
    });
    for (key, does) in fit.chain(last) {
        line.with(Look::Key, format_args!(" {key}"));
        line.with(Look::Plain, format_args!(" {does}"));
    }
}

/// The line that is typed into, with what it could become above it.
fn typed(model: &Model, prompt: &Prompt, canvas: &mut Canvas<'_>, row: u16) -> Cursor {
    let sign = match prompt.what {
        Asked::Command => ":",
        Asked::Filter => "/",
        Asked::Token => "name of the new token: ",
        Asked::File => "save to the file: ",
    };
    let mut above = Line::default();
    match prompt.offered.is_empty() {
        true => hint(&mut above, model, prompt),
        false => {
            let offered = prompt.offered.join("  ");
            above.with(Look::Plain, format_args!(" {offered}"));
        }
    }
    canvas.line(row - 1, &above);
    // The end of a long line is where one types.
    let room = usize::from(canvas.width()).saturating_sub(text::columns(sign) + 1);
    let before = text::columns(&text::clean(&prompt.input.before()));
    let hidden = before.saturating_sub(room);
    let shown = skipped(&text::clean(&prompt.input.text()), hidden);
    let mut line = Line::default();
    line.and(sign, Look::Key).and(&shown, Look::Plain);
    canvas.line(row, &line);
    let column = text::columns(sign) + before - hidden;
    let column = u16::try_from(column).unwrap_or(u16::MAX);
    Some((column.min(canvas.width() - 1), row))
}

/// A text without its first columns.
pub(super) fn skipped(text: &str, columns: usize) -> String {
    let mut left = columns;
    let mut rest = text.chars();
    while left > 0 {
        let Some(c) = rest.next() else { break };
        left = left.saturating_sub(text::columns(c.encode_utf8(&mut [0; 4])));
    }
    rest.collect()
}

/// What the command does that is being typed, or what can be typed.
fn hint(line: &mut Line, model: &Model, prompt: &Prompt) {
    let text = match prompt.what {
        Asked::Command => {
            let text = prompt.input.text();
            let verb = text.split_whitespace().next().unwrap_or_default();
            let known = model.verbs.iter().find(|known| known.name == verb);
            match known {
                _ if verb == "add" => adding(usize::from(model.size.0)),
                Some(verb) => {
                    line.with(Look::Dim, format_args!(" {}", verb.about));
                    return;
                }
                None => " a command of switchboard; Tab completes, ! gives it the terminal",
            }
        }
        Asked::Filter if model.view == View::Traffic => {
            " server:git tool:*delete* >200ms error -client:cursor \"text\"; Enter"
        }
        Asked::Filter => " letters in order; Enter keeps it, Esc shows all",
        Asked::Token => " it lets one client in; Esc leaves",
        Asked::File => " a cassette of the calls shown here, without secrets; Esc leaves",
    };
    line.and(text, Look::Dim);
}

/// How a server is added, with one that works as it stands here.
fn adding(width: usize) -> &'static str {
    let words = [
        " add NAME -- COMMAND, or add NAME URL; add files -- switchboard builtin files",
        " such as files -- switchboard builtin files",
        " files -- switchboard builtin files",
    ];
    let fits = |text: &&&str| text::columns(text) <= width;
    words.iter().find(fits).unwrap_or(&words[2])
}
