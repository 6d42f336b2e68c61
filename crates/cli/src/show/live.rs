//! A few lines at the end of a terminal that change in place. What else is
//! said meanwhile comes in above them, so that neither spoils the other.

use super::{out, term};
use parking_lot::Mutex;
use std::io::{IsTerminal, Write};

/// How many columns each line takes that is on the screen now.
static DRAWN: Mutex<Option<Drawn>> = Mutex::new(None);

struct Drawn {
    lines: Vec<Line>,
}

/// One line: what is written, and how wide that is.
#[derive(Clone, Debug)]
pub struct Line {
    /// With its colours.
    pub text: String,
    /// Columns, at least.
    pub columns: usize,
}

/// The lines, for as long as this lives. Then they stay as they are.
pub struct Live(());

impl Live {
    /// Begins below what is on the screen, where one can write in place.
    pub fn begin() -> Option<Self> {
        if !term::stdout().symbols() {
            return None;
        }
        *DRAWN.lock() = Some(Drawn { lines: Vec::new() });
        Some(Self(()))
    }

    /// Draws other lines in the place of those before.
    pub fn draw(&self, lines: Vec<Line>) {
        let mut drawn = DRAWN.lock();
        if let Some(drawn) = drawn.as_mut() {
            let before = std::mem::replace(&mut drawn.lines, lines);
            put(&format!("{}{}", erase(&before), text(&drawn.lines)));
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        *DRAWN.lock() = None;
    }
}

/// Somebody else has written below the lines: they stay, and come once more below that.
pub fn begin_anew() {
    if let Some(drawn) = DRAWN.lock().as_mut() {
        drawn.lines.clear();
    }
}

/// A line on stderr, whatever else is on the screen.
pub fn stderr_line(line: &str) {
    let drawn = DRAWN.lock();
    let shared = drawn.as_ref().filter(|_| std::io::stderr().is_terminal());
    if let Some(drawn) = shared {
        put(&erase(&drawn.lines));
    }
    // If nobody listens there is nobody to tell.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
    if let Some(drawn) = shared {
        put(&text(&drawn.lines));
    }
}

fn put(text: &str) {
    // A terminal that has gone away ends us in another way.
    let _ = out::bytes(text.as_bytes());
}

/// Goes back to where the lines began, and clears everything from there. A
/// terminal that has become narrower shows a line as several.
fn erase(lines: &[Line]) -> String {
    let width = term::width();
    let rows: usize = lines
        .iter()
        .map(|line| line.columns.max(1).div_ceil(width))
        .sum();
    match rows {
        0 => String::new(),
        rows => format!("\u{1b}[{rows}A\r\u{1b}[J"),
    }
}

fn text(lines: &[Line]) -> String {
    lines
        .iter()
        .map(|line| format!("{}\n", line.text))
        .collect()
}
