//! Lines of text as they are written. Whoever writes one hands over what it says, and holds
//! nothing itself: a text of its own at every place would be code for making it, for putting
//! it into the line, and for giving it up wherever something fails in between.

use crate::{limits, text};
use std::fmt;

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

/// A line: pieces of text.
#[derive(Debug, Default)]
pub(super) struct Line(pub(super) Vec<(String, Look)>);

impl Line {
    /// More behind it.
    #[inline(never)]
    pub(super) fn and(&mut self, text: &str, look: Look) -> &mut Self {
        self.0.push((text.to_owned(), look));
        self
    }

    /// The same, of something that is put together.
    #[inline(never)]
    pub(super) fn with(&mut self, look: Look, text: fmt::Arguments<'_>) -> &mut Self {
        self.0.push((fmt::format(text), look));
        self
    }

    /// More behind it in exactly so many columns.
    #[inline(never)]
    pub(super) fn pad(&mut self, text: &str, room: usize, look: Look) -> &mut Self {
        self.0.push((text::padded(text, room), look));
        self
    }

    pub(super) fn columns(&self) -> usize {
        let wide = |(text, _): &(String, Look)| text::columns(&text::clean(text));
        self.0.iter().map(wide).sum()
    }
}

/// Lines, to which more are added.
#[derive(Debug, Default)]
pub(super) struct Lines(pub(super) Vec<Line>);

impl Lines {
    /// Begins a line.
    #[inline(never)]
    pub(super) fn line(&mut self) -> &mut Line {
        self.0.push_mut(Line::default())
    }

    /// A line that says this.
    #[inline(never)]
    pub(super) fn put(&mut self, text: &str, look: Look) {
        self.line().and(text, look);
    }

    /// The same, of something that is put together.
    #[inline(never)]
    pub(super) fn say(&mut self, look: Look, text: fmt::Arguments<'_>) {
        self.line().with(look, text);
    }

    /// A text on as many lines as it takes, each with a space before it.
    #[inline(never)]
    pub(super) fn wrap(&mut self, text: &str, width: usize, look: Look) {
        self.rows(" ", text, width, usize::MAX, look);
    }

    /// A text on at most so many lines, each with something before it.
    #[inline(never)]
    pub(super) fn rows(&mut self, before: &str, text: &str, room: usize, most: usize, look: Look) {
        for row in text::wrapped(text, room).iter().take(most) {
            self.say(look, format_args!("{before}{row}"));
        }
    }

    /// A label in so many columns, and beside it a text on as many lines as it takes.
    #[inline(never)]
    pub(super) fn labelled(
        &mut self,
        (label, room, look): (&str, usize, Look),
        text: &str,
        width: usize,
    ) {
        let (mut label, mut look) = (label, look);
        for row in text::wrapped(text, width.saturating_sub(room)) {
            self.line().pad(label, room, look).and(&row, Look::Plain);
            (label, look) = ("", Look::Plain);
        }
    }

    /// Takes away what is longer than a page may be, of what was added since it had so many.
    pub(super) fn cap(&mut self, from: usize) {
        self.0.truncate(from.saturating_add(limits::TEXT_LINES));
    }
}
