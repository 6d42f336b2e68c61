//! Lines of text in cells.

use crate::text;
use ratatui::{
    buffer::Buffer,
    style::{Color, Modifier, Style},
};

/// How a piece of text looks. Colours are the terminal's own sixteen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Look {
    /// As it is.
    #[default]
    Plain,
    /// Matters less.
    Dim,
    /// Matters most.
    Bold,
    /// All is well.
    Good,
    /// Wants attention.
    Warn,
    /// Is wrong.
    Bad,
    /// A key to press.
    Key,
    /// Was added.
    Added,
    /// Was taken away.
    Removed,
}

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

/// A line: pieces of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line(pub(super) Vec<(String, Look)>);

impl Line {
    pub(super) fn of(text: impl Into<String>, look: Look) -> Self {
        Self(vec![(text.into(), look)])
    }

    pub(super) fn empty() -> Self {
        Self(Vec::new())
    }

    /// The line with more behind it.
    pub(super) fn and(mut self, text: impl Into<String>, look: Look) -> Self {
        self.0.push((text.into(), look));
        self
    }

    pub(super) fn columns(&self) -> usize {
        let wide = |(text, _): &(String, Look)| text::columns(&text::clean(text));
        self.0.iter().map(wide).sum()
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
            let room = usize::from(width - at);
            if room == 0 {
                return;
            }
            let text = text::cut(text, room);
            let style = look.style(self.colour);
            let (next, _) = self.buffer.set_stringn(at, row, &text, room, style);
            at = next.min(width);
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
            self.at_the_right(to - 1, &Line::of(format!(" ↓ {below}"), Look::Key));
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

/// A row of cells, each with its room.
pub(super) fn cells(cells: &[(&str, usize, Look)]) -> Line {
    let mut line = Line::empty();
    for (index, (text, room, look)) in cells.iter().enumerate() {
        if *room == 0 {
            continue;
        }
        let gap = if index == 0 { "" } else { " " };
        line = line.and(gap, Look::Plain);
        line = line.and(text::padded(text, *room), *look);
    }
    line
}
