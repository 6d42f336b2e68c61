//! Lines of a file, read one by one with no more than a bounded part of each
//! in memory.

use std::io::{self, BufRead};

/// One line, without its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// Its beginning.
    pub(crate) bytes: Vec<u8>,
    /// How many bytes were left out.
    pub(crate) left_out: u64,
    /// It ended with a line break.
    pub(crate) is_ended: bool,
    /// It goes on for longer than was looked.
    pub(crate) goes_on: bool,
}

impl Line {
    /// How many bytes were read for it.
    pub(crate) fn length(&self) -> u64 {
        self.bytes.len() as u64 + self.left_out + u64::from(self.is_ended)
    }
}

/// Reads the next line, keeps at most `keep` bytes of it and looks at not much
/// more than `most`; `None` at the end.
pub(crate) fn next(from: &mut impl BufRead, keep: usize, most: u64) -> io::Result<Option<Line>> {
    let mut line = Line::default();
    let mut is_empty = true;
    loop {
        let buffer = match from.fill_buf() {
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer?,
        };
        if buffer.is_empty() {
            return Ok((!is_empty).then_some(line));
        }
        is_empty = false;
        let end = memchr::memchr(b'\n', buffer);
        let part = &buffer[..end.unwrap_or(buffer.len())];
        let kept = part.len().min(keep.saturating_sub(line.bytes.len()));
        line.bytes.extend_from_slice(&part[..kept]);
        line.left_out += (part.len() - kept) as u64;
        let used = part.len() + usize::from(end.is_some());
        from.consume(used);
        if end.is_some() {
            line.is_ended = true;
            return Ok(Some(line));
        }
        if line.length() > most {
            line.goes_on = true;
            return Ok(Some(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn lines_are_cut_but_counted() {
        let mut from = BufReader::with_capacity(3, &b"one\n\nlonger line\nend"[..]);
        let mut lines = Vec::new();
        while let Some(line) = next(&mut from, 5, 1000).unwrap() {
            lines.push((
                String::from_utf8(line.bytes).unwrap(),
                line.left_out,
                line.is_ended,
            ));
        }
        assert_eq!(
            lines,
            [
                ("one".to_owned(), 0, true),
                (String::new(), 0, true),
                ("longe".to_owned(), 6, true),
                ("end".to_owned(), 0, false),
            ]
        );
    }

    #[test]
    fn a_line_without_an_end_is_given_up() {
        let mut from = BufReader::new(io::repeat(b'x'));
        let line = next(&mut from, 5, 100_000).unwrap().unwrap();
        assert!(line.goes_on && line.length() < 200_000, "{}", line.length());
    }
}
