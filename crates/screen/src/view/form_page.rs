//! Forms, as lines.

use super::{
    Cursor, Rest,
    canvas::{Canvas, top},
    frame::{self, skipped},
    line::{Lines, Look},
};
use crate::{
    page::{FormPage, Page, Purpose},
    text,
};

/// The lines of a form, and where the first line of each field is.
pub(super) fn lines(lines: &mut Lines, page: &FormPage, width: usize) -> Vec<usize> {
    let mut starts = Vec::new();
    // What somebody is asked is there to its end; what a tool says of itself was read before.
    let answers = matches!(page.purpose, Purpose::Answer(_));
    let most = if answers { usize::MAX } else { 4 };
    lines.rows(" ", &page.text, width, most, Look::Dim);
    let Some(form) = &page.form else {
        lines.put(" …", Look::Dim);
        return starts;
    };
    let rows = form.rows();
    if rows.is_empty() {
        starts.push(lines.0.len());
        let text = match answers {
            true => " It asks for a yes: Ctrl-S says it, Ctrl-N declines.",
            false => " It takes no arguments: Enter runs it.",
        };
        lines.put(text, Look::Plain);
    }
    for (index, row) in rows.iter().enumerate() {
        starts.push(lines.0.len());
        let (star, look) = match row.required {
            true => ("*", Look::Bold),
            false => ("", Look::Plain),
        };
        let (indent, here) = (2 * row.depth, index == form.at);
        let label = format!("{:indent$}{}{star}", "", row.label);
        let line = lines.line().and(if here { "›" } else { " " }, Look::Key);
        line.pad(&label, label_room(width), look)
            .and(" ", Look::Plain);
        match (&row.shown, &row.default) {
            (Some(shown), _) => line.and(shown, Look::Plain),
            (None, Some(default)) => line.with(Look::Dim, format_args!("({default})")),
            (None, None) => line.and(&row.kind, Look::Dim),
        };
        if let Some(fault) = &row.fault {
            lines.say(Look::Bad, format_args!("   {fault}"));
        }
        if here {
            let text = row.description.as_deref().unwrap_or_default();
            let text = text::wrapped(text, width.saturating_sub(3));
            for text in text.iter().take(3).filter(|text| !text.is_empty()) {
                lines.say(Look::Dim, format_args!("   {text}"));
            }
        }
    }
    starts
}

fn label_room(width: usize) -> usize {
    (width / 3).clamp(8, 28)
}

/// The first line that is seen: the field that one is on is, and as many above it as were gone
/// up to.
fn first(page: &Page, form: &FormPage, lines: usize, starts: &[usize], height: usize) -> usize {
    above(form, lines, starts, height).saturating_sub(page.scroll)
}

fn above(form: &FormPage, lines: usize, starts: &[usize], height: usize) -> usize {
    let at = form.form.as_ref().map_or(0, |form| form.at);
    top(lines, height, starts.get(at).copied().unwrap_or(0))
}

/// How many lines lie above what is seen when one is on a field.
pub(super) fn hidden(form: &FormPage, width: usize, height: usize) -> usize {
    let mut all = Lines::default();
    let starts = lines(&mut all, form, width);
    above(form, all.0.len(), &starts, height)
}

pub(super) fn draw(page: &Page, form_page: &FormPage, canvas: &mut Canvas<'_>) -> (Cursor, Rest) {
    let width = usize::from(canvas.width());
    let inner = width.saturating_sub(2);
    let mut all = Lines::default();
    let starts = lines(&mut all, form_page, inner);
    let mut lines = all.0;
    let height = usize::from(canvas.height() - frame::AROUND - 1);
    let first = first(page, form_page, lines.len(), &starts, height);
    let rest = Rest {
        above: first,
        below: lines.len().saturating_sub(first + height),
        is_whole: false,
    };
    let mut cursor = None;
    if let Some(form) = &form_page.form
        && let Some(typed) = form.rows().get(form.at).and_then(|row| row.cursor.clone())
    {
        let at = starts.get(form.at).copied().unwrap_or(0);
        let before = label_room(inner) + 2;
        // The end of a long text is where one types.
        let room = width.saturating_sub(before + 1);
        let wide = text::columns(&text::clean(&typed));
        let hidden = wide.saturating_sub(room);
        if hidden > 0
            && let Some((shown, _)) = lines.get_mut(at).and_then(|line| line.0.last_mut())
        {
            *shown = skipped(&text::clean(shown), hidden);
        }
        let column = u16::try_from((before + wide - hidden).min(width - 1)).unwrap_or(0);
        let row = u16::try_from(at.saturating_sub(first)).unwrap_or(u16::MAX);
        // Where one has gone up to read, the field may be out of sight.
        let row = row.saturating_add(2);
        cursor = (row < canvas.height() - 2).then_some((column, row));
    }
    let seen = lines.get(first..).unwrap_or_default();
    canvas.lines(2, canvas.height() - 2, seen);
    (cursor, rest)
}
