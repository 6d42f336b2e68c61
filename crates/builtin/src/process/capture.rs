//! What is kept of a program's output: its beginning and its end.

use crate::text;
use std::collections::VecDeque;

/// The beginning and the end of a stream, of which the middle may be missing.
#[derive(Debug)]
pub(crate) struct Capture {
    keep: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    /// Keeps about this many bytes.
    pub(crate) fn new(keep: usize) -> Self {
        Self {
            keep,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
        }
    }

    pub(crate) fn push(&mut self, mut bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.keep / 2).saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        bytes = rest;
        let most = self.keep - self.keep / 2;
        bytes = &bytes[bytes.len().saturating_sub(most)..];
        let excess = (self.tail.len() + bytes.len()).saturating_sub(most);
        self.tail.drain(..excess);
        self.tail.extend(bytes);
    }

    /// This beginning with another record of the end, which is exact.
    pub(crate) fn with_end(&self, end: &[u8], total: u64) -> Self {
        let is_all = end.len() as u64 == total;
        Self {
            keep: self.keep,
            head: if is_all {
                Vec::new()
            } else {
                self.head.clone()
            },
            tail: end.iter().copied().collect(),
            total,
        }
    }

    /// How many bytes there were in all.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// How many bytes of the middle are missing.
    pub(crate) fn left_out(&self) -> u64 {
        self.total
            .saturating_sub(self.head.len() as u64 + self.tail.len() as u64)
    }

    /// The bytes, if none is missing.
    pub(crate) fn whole(&self) -> Option<Vec<u8>> {
        (self.left_out() == 0).then(|| self.head.iter().chain(&self.tail).copied().collect())
    }

    /// The text, with a line in place of what is missing.
    pub(crate) fn text(&self, raw: bool) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        match self.left_out() {
            0 => decode(&[self.head.as_slice(), &tail].concat(), raw),
            missing => format!(
                "{}\n… [{missing} bytes left out] …\n{}",
                decode(&self.head, raw),
                decode(&tail, raw)
            ),
        }
    }
}

/// Bytes as text: control sequences are written out unless `raw`.
pub(crate) fn decode(bytes: &[u8], raw: bool) -> String {
    let decoded = String::from_utf8_lossy(bytes);
    match raw {
        true => decoded.into_owned(),
        false => text::lines(&decoded),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_stay() {
        let mut capture = Capture::new(10);
        capture.push(b"abc");
        assert_eq!(capture.whole().unwrap(), b"abc");
        for _ in 0..1000 {
            capture.push(b"0123456789");
        }
        capture.push(b"xyz");
        assert_eq!(capture.total(), 10_006);
        assert_eq!(
            capture.text(false),
            "abc01\n… [9996 bytes left out] …\n89xyz"
        );
        assert!(capture.whole().is_none());
    }

    #[test]
    fn nothing_is_kept_of_nothing() {
        let mut capture = Capture::new(0);
        capture.push(b"abc");
        assert_eq!(capture.left_out(), 3);
    }

    #[test]
    fn controls_are_written_out_unless_raw() {
        let mut capture = Capture::new(100);
        capture.push(b"\x1b[31mred\xff\n");
        assert_eq!(capture.text(false), "\\u{1b}[31mred\u{fffd}\n");
        assert_eq!(capture.text(true), "\u{1b}[31mred\u{fffd}\n");
    }
}
