//! Everything that a yes would be said to, on the screen. Nothing that comes
//! from inside a repository is left out or redacted, and everything is escaped.
//! What deserves a second look stands last, next to the question: an entry can
//! be as long as its author likes.

use crate::{
    failure::Failure,
    show::{out, pages, safe, term},
};
use switchboard::config::{
    Configured, Loaded,
    approval::{
        Prompt, Store,
        shown::{Secrets, WARNING, lines},
    },
};

/// All that is shown of one server: lines, escaped.
pub(super) struct Shown(Vec<String>);

impl Shown {
    /// Writes it all.
    pub(super) fn print(&self) -> Result<(), Failure> {
        let mut lines = self.0.iter().enumerate();
        lines.try_for_each(|(i, line)| out::line(&painted(i, line)))
    }

    /// The same for somebody who is then asked, a page at a time. Whether they
    /// saw it to its end.
    pub(super) fn page(&self) -> bool {
        let width = term::width();
        let mut rows = Vec::new();
        for (i, line) in self.0.iter().enumerate() {
            // What goes on in the next row does not begin where labels do.
            let label = line
                .char_indices()
                .nth(WARNING.len())
                .map_or(line.len(), |(at, _)| at);
            let (label, text) = line.split_at(label);
            let parts = pages::wrapped(text, width.saturating_sub(WARNING.len()));
            rows.extend(parts.iter().enumerate().map(|(part, text)| match part {
                0 => painted(i, &format!("{label}{text}")),
                _ => format!("{:1$}{text}", "", WARNING.len()),
            }));
        }
        let mut input = std::io::stdin().lock();
        pages::show(&rows, "", &mut input, &mut std::io::stdout().lock())
    }
}

/// The first line is a title, and what warns is seen to.
fn painted(i: usize, line: &str) -> String {
    let paint = term::stdout();
    match line.strip_prefix(WARNING) {
        Some(text) => format!("  {} {text}", paint.yellow("warning  ")),
        None if i == 0 => paint.bold(line),
        None => line.to_owned(),
    }
}

/// What there is to be shown of one server.
pub(super) fn prompt(
    loaded: &Loaded,
    server: &Configured,
    prompt: &Prompt,
    store: &Store,
) -> Shown {
    Shown(lines(loaded, &server.entry, prompt, store, Secrets::Shown))
}

/// The digest that approves what was shown where there is no terminal.
pub(super) fn digest(digest: &str) -> Result<(), Failure> {
    out::line(&format!("  {:<9} {}", "digest", safe::line(digest)))
}
