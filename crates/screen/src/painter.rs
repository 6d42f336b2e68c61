//! Which cells changed, and when they may be drawn: never more than ten times in a second,
//! and never where nothing changed.

use crate::{limits, model::Model, view};
use ratatui::{
    buffer::{Buffer, Cell},
    layout::Rect,
    style::{Color, Modifier},
};
use std::time::{Duration, Instant};

/// Keeps what is on the terminal.
#[derive(Debug, Default)]
pub struct Painter {
    shown: Buffer,
    cursor: view::Cursor,
    last: Option<Instant>,
    /// Whether something happened since.
    due: bool,
    frames: u64,
}

/// What is to be written to the terminal.
#[derive(Debug)]
pub struct Frame {
    /// Whether the terminal has to be emptied first.
    pub anew: bool,
    /// Cells that changed: column, row, and what they are now.
    pub cells: Vec<(u16, u16, Cell)>,
    /// Where the cursor is; none where it is hidden.
    pub cursor: view::Cursor,
}

impl Frame {
    /// What the terminal is sent for it, all at once. Colours are the terminal's own; only what
    /// [`view`] uses is known here.
    pub fn text(&self) -> String {
        let mut out = String::from("\x1b[?2026h\x1b[?25l");
        if self.anew {
            out.push_str("\x1b[2J");
        }
        let (mut next, mut look) = (None, None);
        for (column, row, cell) in &self.cells {
            if next != Some((*column, *row)) {
                go_to(&mut out, *column, *row);
            }
            next = Some((column + 1, *row));
            if look.replace((cell.fg, cell.modifier)) != Some((cell.fg, cell.modifier)) {
                style(&mut out, cell.fg, cell.modifier);
            }
            out.push_str(cell.symbol());
        }
        out.push_str("\x1b[0m");
        if let Some((column, row)) = self.cursor {
            go_to(&mut out, column, row);
            out.push_str("\x1b[?25h");
        }
        out.push_str("\x1b[?2026l");
        out
    }
}

/// Moves the cursor.
fn go_to(out: &mut String, column: u16, row: u16) {
    let (column, row) = (u32::from(column) + 1, u32::from(row) + 1);
    out.push_str(&format!("\x1b[{row};{column}H"));
}

/// How what follows looks.
fn style(out: &mut String, colour: Color, modifier: Modifier) {
    out.push_str("\x1b[0");
    for (known, code) in [
        (Modifier::BOLD, ";1"),
        (Modifier::DIM, ";2"),
        (Modifier::REVERSED, ";7"),
    ] {
        if modifier.contains(known) {
            out.push_str(code);
        }
    }
    out.push_str(match colour {
        Color::Red => ";38;5;1",
        Color::Green => ";38;5;2",
        Color::Yellow => ";38;5;3",
        Color::Cyan => ";38;5;6",
        _ => "",
    });
    out.push('m');
}

impl Painter {
    /// Something happened.
    pub fn touch(&mut self) {
        self.due = true;
    }

    /// Nothing that is on the terminal can be relied on: everything is drawn anew.
    pub fn forget(&mut self) {
        self.shown = Buffer::default();
        self.due = true;
    }

    /// How long to wait before the next frame; none where nothing is due.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        let last = self.due.then_some(self.last)?;
        Some(last.map_or(Duration::ZERO, |last| {
            (last + limits::FRAME).saturating_duration_since(now)
        }))
    }

    /// The next frame, if anything is different. To be asked when [`Self::wait`] is over.
    pub fn frame(&mut self, model: &Model, now: Instant) -> Option<Frame> {
        if self.wait(now)? > Duration::ZERO {
            return None;
        }
        self.due = false;
        let area = Rect::new(0, 0, model.size.0, model.size.1);
        let mut next = Buffer::empty(area);
        let cursor = view::draw(model, &mut next);
        let anew = self.shown.area != area;
        if anew {
            self.shown = Buffer::empty(area);
        }
        let changed = self.shown.diff(&next);
        if changed.is_empty() && cursor == self.cursor && !anew {
            return None;
        }
        let cells = changed.into_iter().map(|(x, y, cell)| (x, y, cell.clone()));
        let frame = Frame {
            anew,
            cells: cells.collect(),
            cursor,
        };
        self.shown = next;
        self.cursor = cursor;
        self.last = Some(now);
        self.frames += 1;
        Some(frame)
    }

    /// How many frames there were.
    pub fn frames(&self) -> u64 {
        self.frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(symbol: &str, fg: Color, modifier: Modifier) -> Cell {
        let mut cell = Cell::default();
        cell.set_symbol(symbol);
        (cell.fg, cell.modifier) = (fg, modifier);
        cell
    }

    #[test]
    fn a_frame_is_written_as_a_terminal_reads_it() {
        let plain = Modifier::empty();
        let key = Modifier::BOLD | Modifier::REVERSED;
        let frame = Frame {
            anew: true,
            cells: vec![
                (0, 0, cell("a", Color::Reset, plain)),
                (1, 0, cell("b", Color::Reset, plain)),
                (2, 0, cell("c", Color::Cyan, key)),
                // Not beside it.
                (4, 1, cell("漢", Color::Cyan, key)),
                (6, 1, cell("d", Color::Red, Modifier::DIM)),
            ],
            cursor: Some((3, 1)),
        };
        assert_eq!(
            frame.text(),
            "\x1b[?2026h\x1b[?25l\x1b[2J\x1b[1;1H\x1b[0mab\x1b[0;1;7;38;5;6mc\x1b[2;5H漢\
             \x1b[2;7H\x1b[0;2;38;5;1md\x1b[0m\x1b[2;4H\x1b[?25h\x1b[?2026l"
        );
        let nothing = Frame {
            anew: false,
            cells: Vec::new(),
            cursor: None,
        };
        assert_eq!(nothing.text(), "\x1b[?2026h\x1b[?25l\x1b[0m\x1b[?2026l");
    }
}
