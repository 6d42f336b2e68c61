//! Lines of text in cells.

use super::line::{Line, Lines, Look};
use crate::text;
use ratatui::{
    buffer::{Buffer, Cell, CellWidth},
    style::{Color, Modifier, Style},
};
use std::fmt;
use unicode_segmentation::UnicodeSegmentation;

impl Look {
    fn style(self, colour: bool) -> Style {
        let style = Style::new();
        let paint = |to: Color| if colour { style.fg(to) } else { style };
        match self {
            // Without colours it would not be told apart from what matters.
            Self::Dim if colour => style.add_modifier(Modifier::DIM),
            Self::Plain | Self::Dim => style,
            Self::Bold => style.add_modifier(Modifier::BOLD),
            Self::Good | Self::Added => paint(Color::Green),
            Self::Warn => paint(Color::Yellow),
            Self::Bad => paint(Color::Red).add_modifier(Modifier::BOLD),
            Self::Removed => paint(Color::Red),
            Self::Key => paint(Color::Cyan).add_modifier(Modifier::BOLD),
        }
    }
}

/// Cells to be written.
pub(super) struct Canvas<'a> {
    buffer: &'a mut Buffer,
    colour: bool,
}

impl<'a> Canvas<'a> {
    pub(super) fn new(buffer: &'a mut Buffer, colour: bool) -> Self {
        Self { buffer, colour }
    }

    pub(super) fn width(&self) -> u16 {
        self.buffer.area.width
    }

    pub(super) fn height(&self) -> u16 {
        self.buffer.area.height
    }

    /// How many rows below a list may tell about the chosen one: at most so many, and none
    /// where the list itself would have hardly any.
    pub(super) fn beside(&self, most: u16) -> usize {
        const LIST: u16 = 3;
        let rows = self.height().saturating_sub(super::frame::AROUND + 1);
        usize::from(most.min(rows.saturating_sub(LIST)))
    }

    /// Writes a line from the first column on.
    pub(super) fn line(&mut self, row: u16, line: &Line) {
        self.line_at(0, row, line);
    }

    /// Writes a line from a column on; what does not fit is cut.
    pub(super) fn line_at(&mut self, column: u16, row: u16, line: &Line) {
        let (width, height) = (self.buffer.area.width, self.buffer.area.height);
        if row >= height || column >= width {
            return;
        }
        let mut at = column;
        for (text, look) in &line.0 {
            let text = text::cut(text, usize::from(width - at));
            let style = look.style(self.colour);
            for cluster in text.graphemes(true) {
                let next = at.saturating_add(cluster.cell_width());
                if next == at {
                    continue;
                }
                if next > width {
                    break;
                }
                if let Some(cell) = self.buffer.cell_mut((at, row)) {
                    cell.set_symbol(cluster).set_style(style);
                }
                // It lies over the others that it takes.
                for over in at + 1..next {
                    self.buffer.cell_mut((over, row)).map(Cell::reset);
                }
                at = next;
            }
        }
    }

    /// Writes lines one below the other, as many as there are rows for.
    pub(super) fn lines(&mut self, from: u16, to: u16, lines: &[Line]) {
        for (row, line) in (from..to).zip(lines) {
            self.line(row, line);
        }
    }

    /// Shows that one is on this row.
    pub(super) fn choose(&mut self, row: u16) {
        let width = self.buffer.area.width;
        for column in 0..width {
            if let Some(cell) = self.buffer.cell_mut((column, row)) {
                cell.set_style(Style::new().add_modifier(Modifier::REVERSED));
            }
        }
    }

    /// Writes rows of a list between two rows of the canvas, so that the chosen one is seen.
    pub(super) fn list(&mut self, from: u16, to: u16, rows: &[Line], chosen: Option<usize>) {
        let height = usize::from(to.saturating_sub(from));
        let top = top(rows.len(), height, chosen.unwrap_or(0));
        for (row, (index, line)) in (from..to).zip(rows.iter().enumerate().skip(top)) {
            self.line(row, line);
            if chosen == Some(index) {
                self.choose(row);
            }
        }
        let below = rows.len().saturating_sub(top + height);
        if below > 0 && height > 0 {
            let mut more = Line::default();
            more.with(Look::Key, format_args!(" ↓ {below}"));
            self.at_the_right(to - 1, &more);
        }
    }

    /// Writes a short line so that it ends where the row does.
    pub(super) fn at_the_right(&mut self, row: u16, line: &Line) {
        let wide = u16::try_from(line.columns()).unwrap_or(u16::MAX);
        self.line_at(self.width().saturating_sub(wide), row, line);
    }
}

/// The first row that is shown of a list, with the chosen one in the middle as far as
/// there is anything to go around it.
pub(super) fn top(rows: usize, height: usize, chosen: usize) -> usize {
    chosen
        .saturating_sub(height / 2)
        .min(rows.saturating_sub(height))
}

/// Rows of cells, each with the room of its column. One without room is left out.
pub(super) struct Columns<'a> {
    room: &'a [usize],
    at: usize,
    pub(super) rows: Lines,
}

impl<'a> Columns<'a> {
    pub(super) fn new(room: &'a [usize]) -> Self {
        Self {
            room,
            at: 0,
            rows: Lines::default(),
        }
    }

    /// What stands above them, with a bar between each and the next.
    pub(super) fn head(&mut self, titles: &str) -> Line {
        self.row();
        for title in titles.split('|') {
            self.cell(title, Look::Bold);
        }
        self.rows.0.pop().unwrap_or_default()
    }

    /// Begins a row.
    pub(super) fn row(&mut self) {
        self.at = 0;
        self.rows.line();
    }

    /// The next cell of it.
    #[inline(never)]
    pub(super) fn cell(&mut self, text: &str, look: Look) {
        let room = self.room.get(self.at).copied().unwrap_or(0);
        let gap = if self.at == 0 { "" } else { " " };
        self.at += 1;
        if let (1.., Some(line)) = (room, self.rows.0.last_mut()) {
            line.and(gap, Look::Plain).pad(text, room, look);
        }
    }

    /// The same, of something that is put together.
    #[inline(never)]
    pub(super) fn with(&mut self, look: Look, text: fmt::Arguments<'_>) {
        self.cell(&fmt::format(text), look);
    }
}
