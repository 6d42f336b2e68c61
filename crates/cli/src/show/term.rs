//! Colours and symbols: only on a terminal, and only if wanted.

use std::{
    io::{IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
};

static PLAIN: AtomicBool = AtomicBool::new(false);

/// Takes `--no-color`, `NO_COLOR` and dumb terminals into account.
pub fn decide(no_color: bool) {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    PLAIN.store(no_color || set("NO_COLOR") || dumb, Ordering::Relaxed);
}

/// How text looks on one stream.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    /// Whether the stream is a terminal.
    pub terminal: bool,
    colour: bool,
}

/// For results.
pub fn stdout() -> Paint {
    Paint::of(std::io::stdout().is_terminal())
}

/// For everything else.
pub fn stderr() -> Paint {
    Paint::of(std::io::stderr().is_terminal())
}

/// Whether a person can be asked something.
pub fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// What `COLUMNS` says.
fn columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok()
}

/// Whether somebody says how wide what is no terminal is.
pub fn says_columns() -> bool {
    columns().is_some()
}

/// Ends the line that a terminal has shown Ctrl-C on.
pub fn end_line() {
    if can_ask() {
        let _ = writeln!(std::io::stderr());
    }
}

/// Columns of the terminal behind stdout; where there is none, as many as `COLUMNS` says.
pub fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    let size = size.ok().map(|size| usize::from(size.ws_col));
    size.or_else(columns)
        .filter(|columns| *columns > 20)
        .unwrap_or(100)
}

/// Lines of the terminal behind stdout. One that does not say (recorders and
/// containers often say 0) is taken for a common one.
pub fn height() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    size.ok()
        .map(|size| usize::from(size.ws_row))
        .filter(|rows| *rows > 0)
        .unwrap_or(24)
}

impl Paint {
    fn of(terminal: bool) -> Self {
        Self {
            terminal,
            colour: terminal && !PLAIN.load(Ordering::Relaxed),
        }
    }

    /// Whether symbols may be used.
    pub fn symbols(self) -> bool {
        self.colour
    }

    /// Something is wrong.
    pub fn red(self, text: &str) -> String {
        self.wrap("31;1", text)
    }

    /// Something is well.
    pub fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// Something wants attention.
    pub fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    /// What matters most.
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// What matters less.
    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}
