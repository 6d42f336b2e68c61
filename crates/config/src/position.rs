//! From byte offsets to lines and columns.

/// Where the lines of a text begin.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let after_breaks = text
            .bytes()
            .enumerate()
            .filter(|(_, byte)| *byte == b'\n')
            .map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(after_breaks).collect(),
        }
    }

    /// The line of a byte, from 1: does not look at the text, however long its lines are.
    pub(crate) fn line(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).max(1)
    }

    /// Line and column (in characters) of a byte, both from 1.
    pub(crate) fn position(&self, byte: usize) -> (usize, usize) {
        let line = self.line(byte);
        let start = self.starts[line - 1];
        let before = self.text.get(start..byte).unwrap_or_default();
        (line, before.chars().count() + 1)
    }
}
