//! The bars: where one is at the top; what is said, typed and possible at the bottom.

use super::{
    Cursor, Rest,
    canvas::{Canvas, Line, Look},
    help,
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
    let mut line = Line::empty();
    for (index, view) in View::ALL.into_iter().enumerate() {
        let here = view == model.view;
        let waiting = model.waiting();
        let badge = match view {
            // Of a gateway that is gone nobody knows what it would ask.
            View::Inbox if model.is_lost() => "(?)".to_owned(),
            View::Inbox if waiting > 0 => format!("({waiting})"),
            _ => String::new(),
        };
        let name = if wide || here { view.name() } else { "" };
        let text = format!(" {}", index + 1);
        line = line.and(text, if here { Look::Bold } else { Look::Key });
        if !name.is_empty() {
            let look = if here { Look::Bold } else { Look::Plain };
            line = line.and(if wide { " " } else { ":" }, look).and(name, look);
        }
        line = line.and(badge, Look::Warn);
    }
    let (text, look) = linked(model);
    canvas.line(0, &line);
    let room = usize::from(canvas.width()).saturating_sub(line.columns() + 2);
    if room >= 6 {
        let text = text::cut(&text, room);
        let column = usize::from(canvas.width()) - text::columns(&text);
        let column = u16::try_from(column).unwrap_or(0);
        canvas.line_at(column, 0, &Line::of(text, look));
    }
}

/// Which gateway is looked at, in a word or two.
fn linked(model: &Model) -> (String, Look) {
    match &model.link {
        Link::Looking => ("starting".to_owned(), Look::Dim),
        Link::Attached { address } => (format!("at {address}"), Look::Good),
        Link::Inside => ("host inside".to_owned(), Look::Good),
        Link::Lost { .. } => ("gateway gone".to_owned(), Look::Bad),
    }
}

/// What is said, and below it what can be done; or the line that is typed into.
pub(super) fn bottom(model: &Model, canvas: &mut Canvas<'_>, rest: Rest) -> Cursor {
    let last = canvas.height() - 1;
    if let Some(prompt) = &model.prompt {
        return typed(model, prompt, canvas, last);
    }
    let width = usize::from(canvas.width());
    let said = said(model);
    canvas.line(last - 1, &said);
    // That there is more is said also beside what else is said.
    let is_free = said.0.is_empty();
    let room = if is_free { width } else { width / 2 };
    if let Some(more) = more(model, rest, room) {
        match is_free {
            true => canvas.line(last - 1, &more),
            false => canvas.at_the_right(last - 1, &more),
        }
    }
    canvas.line(last, &footer(model, rest, width));
    None
}

/// That a page goes on below what is seen, in as many words as there is room for.
fn more(model: &Model, rest: Rest, room: usize) -> Option<Line> {
    let lines = text::many(rest.below, "more line", "more lines");
    let yes = model.wants_yes();
    let words = match (rest.above, rest.below) {
        (0, 0) if yes && !rest.is_whole => vec![
            " too long to be shown whole: switchboard inbox".to_owned(),
            " too long".to_owned(),
        ],
        (0, 0) => return None,
        (above, 0) => vec![
            format!(" ↑ {}, Up", text::many(above, "more line", "more lines")),
            format!(" ↑ {above}"),
        ],
        (above, below) if above > 0 => vec![
            format!(" ↑ {above} ↓ {below} more lines"),
            format!(" ↑ {above} ↓ {below}"),
        ],
        (_, below) if yes => vec![
            format!(" ↓ {lines}, PageDown; y counts at the end"),
            format!(" ↓ {below} more; y at the end"),
            format!(" ↓ {below} more"),
        ],
        (_, below) => vec![format!(" ↓ {lines}, PageDown"), format!(" ↓ {below} more")],
    };
    let fits = |text: &&String| text::columns(text) <= room;
    let text = words.iter().find(fits).or(words.last()).cloned();
    text.map(|text| Line::of(text, if yes { Look::Warn } else { Look::Key }))
}

/// What was said last, or what is the matter.
fn said(model: &Model) -> Line {
    if let Some(told) = &model.told {
        let look = if told.bad { Look::Bad } else { Look::Plain };
        return Line::of(format!(" {}", told.text), look);
    }
    if let Link::Lost { why } = &model.link {
        let text = format!(" the gateway is gone; switchboard up starts one ({why})");
        return Line::of(text, Look::Bad);
    }
    let filter = &model.list().filter;
    if model.pages.is_empty() && !filter.is_empty() {
        return Line::of(" / ", Look::Key)
            .and(filter.clone(), Look::Plain)
            .and("   Esc shows all", Look::Dim);
    }
    if let (true, Some((_, page))) = (model.pages.is_empty(), model.aside.last())
        && let Kind::Run(run) = &page.kind
    {
        let waits = match (model.asked_by(run), &run.outcome) {
            (Some(_), None) => "waits for your answer",
            (None, None) => "runs",
            (_, Some(_)) => "has ended",
        };
        let text = format!(" goes back to {}, which {waits}", run.title);
        return Line::of(" Esc", Look::Key).and(text, Look::Plain);
    }
    Line::empty()
}

/// As many keys as fit, the most useful first.
fn footer(model: &Model, rest: Rest, width: usize) -> Line {
    let piece = |line: Line, (key, does): (&str, &str)| {
        line.and(format!(" {key}"), Look::Key)
            .and(format!(" {does}"), Look::Plain)
    };
    let keys = help::keys(model, rest);
    // The key that shows all keys is always there.
    let last = keys.iter().find(|(key, _)| *key == "?").copied();
    let end = last.map_or_else(Line::empty, |last| piece(Line::empty(), last));
    let room = width.saturating_sub(end.columns());
    let mut line = Line::empty();
    for key in keys.into_iter().filter(|key| Some(*key) != last) {
        let next = piece(line.clone(), key);
        if next.columns() > room {
            break;
        }
        line = next;
    }
    line.0.extend(end.0);
    line
}

/// The line that is typed into, with what it could become above it.
fn typed(model: &Model, prompt: &Prompt, canvas: &mut Canvas<'_>, row: u16) -> Cursor {
    let sign = match prompt.what {
        Asked::Command => ":",
        Asked::Filter => "/",
        Asked::Token => "name of the new token: ",
        Asked::File => "save to the file: ",
    };
    let offered = if prompt.offered.is_empty() {
        Line::of(hint(model, prompt), Look::Dim)
    } else {
        Line::of(format!(" {}", prompt.offered.join("  ")), Look::Plain)
    };
    canvas.line(row - 1, &offered);
    // The end of a long line is where one types.
    let room = usize::from(canvas.width()).saturating_sub(text::columns(sign) + 1);
    let before = text::clean(&prompt.input.before()).into_owned();
    let all = text::clean(&prompt.input.text()).into_owned();
    let hidden = text::columns(&before).saturating_sub(room);
    let shown = skipped(&all, hidden);
    canvas.line(row, &Line::of(sign, Look::Key).and(shown, Look::Plain));
    let column = text::columns(sign) + text::columns(&before) - hidden;
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
fn hint(model: &Model, prompt: &Prompt) -> String {
    match prompt.what {
        Asked::Command => {
            let text = prompt.input.text();
            let verb = text.split_whitespace().next().unwrap_or_default();
            let known = model.verbs.iter().find(|known| known.name == verb);
            match known {
                _ if verb == "add" => adding(usize::from(model.size.0)),
                Some(verb) => format!(" {}", verb.about),
                None => " a command of switchboard; Tab completes, ! gives it the terminal".into(),
            }
        }
        Asked::Filter if model.view == View::Traffic => {
            " server:git tool:*delete* >200ms error -client:cursor \"text\"; Enter".to_owned()
        }
        Asked::Filter => " letters in order; Enter keeps it, Esc shows all".to_owned(),
        Asked::Token => " it lets one client in; Esc leaves".to_owned(),
        Asked::File => {
            " a cassette of the calls shown here, without secrets; Esc leaves".to_owned()
        }
    }
}

/// How a server is added, with one that works as it stands here.
fn adding(width: usize) -> String {
    let words = [
        " add NAME -- COMMAND, or add NAME URL; add files -- switchboard builtin files",
        " such as files -- switchboard builtin files",
        " files -- switchboard builtin files",
    ];
    let fits = |text: &&&str| text::columns(text) <= width;
    (*words.iter().find(fits).unwrap_or(&words[2])).to_owned()
}
