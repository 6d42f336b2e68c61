//! Reading a stored result back: by pages of lines, or by what matches a pattern.

use super::Store;
use crate::limits;
use regex::{Regex, RegexBuilder};
use std::{borrow::Cow, fmt::Write, fs, io};

/// What to read.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The first line, from 1.
    pub offset: usize,
    /// How many lines; as many as a page holds if there is no number.
    pub lines: Option<usize>,
    /// Only lines that match this regular expression.
    pub pattern: Option<String>,
}

/// What was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The lines, each with its number.
    pub rows: Vec<Row>,
    /// Where the next page starts, if there is more.
    pub next: Option<usize>,
    /// Lines of the whole result.
    pub total: usize,
    /// Whether a pattern chose them.
    pub searched: bool,
}

/// One line, or a part of a long one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its number, from 1.
    pub number: usize,
    /// Its text.
    pub text: String,
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// No result has this id.
    #[error("there is no stored result {0:?}; it may have been removed because of its age")]
    Unknown(String),
    /// The pattern is no regular expression that we run.
    #[error("the pattern cannot be used: {0}")]
    Pattern(String),
    /// It is not text.
    #[error("the result is not text; open {0} with a program for its type")]
    Binary(String),
    /// It could not be opened.
    #[error("the result cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl Store {
    /// One page of a stored result.
    pub fn read(&self, id: &str, query: &Query) -> Result<Page, ReadError> {
        let path = self
            .find(id)
            .ok_or_else(|| ReadError::Unknown(id.chars().take(64).collect()))?;
        let pattern = query.pattern.as_deref().map(compile).transpose()?;
        let bytes = fs::read(&path)?;
        let text =
            String::from_utf8(bytes).map_err(|_| ReadError::Binary(path.display().to_string()))?;
        let mut page = Pager::new(query);
        let mut number = 0;
        for line in text.lines() {
            match &pattern {
                None => pieces(line).for_each(|piece| {
                    number += 1;
                    page.offer(number, || Cow::Borrowed(piece));
                }),
                Some(pattern) => number = page.search(pattern, line, number),
            }
        }
        Ok(Page {
            rows: page.rows,
            next: page.next,
            total: number,
            searched: pattern.is_some(),
        })
    }
}

/// The crate's expressions run in linear time; what they compile to is capped.
fn compile(pattern: &str) -> Result<Regex, ReadError> {
    if pattern.chars().count() > limits::QUERY_CHARS {
        return Err(ReadError::Pattern(format!(
            "it has more than {} characters",
            limits::QUERY_CHARS
        )));
    }
    let built = RegexBuilder::new(pattern)
        .size_limit(limits::PATTERN_BYTES)
        .dfa_size_limit(limits::PATTERN_BYTES)
        .build();
    built.map_err(|fault| ReadError::Pattern(fault.to_string()))
}

struct Pager {
    from: usize,
    lines: usize,
    chars: usize,
    rows: Vec<Row>,
    next: Option<usize>,
}

impl Pager {
    fn new(query: &Query) -> Self {
        let lines = query
            .lines
            .unwrap_or(limits::PAGE_LINES)
            .clamp(1, limits::PAGE_LINES);
        Self {
            from: query.offset.max(1),
            lines,
            chars: 0,
            rows: Vec::new(),
            next: None,
        }
    }

    /// Takes a line if the page starts at or before it and has room.
    fn offer<'t>(&mut self, number: usize, text: impl FnOnce() -> Cow<'t, str>) {
        if number < self.from || self.next.is_some() {
            return;
        }
        let text = text();
        let chars = text.chars().count();
        let full = self.rows.len() == self.lines || self.chars + chars > limits::PAGE_CHARS;
        // A page has at least one line, so that reading always goes on.
        if full && !self.rows.is_empty() {
            self.next = Some(number);
            return;
        }
        self.chars += chars;
        self.rows.push(Row {
            number,
            text: text.into_owned(),
        });
    }

    /// Takes what matches in a line; returns the number of its last piece. A
    /// pattern is run over whole lines, so that it also finds what crosses two pieces.
    fn search(&mut self, pattern: &Regex, line: &str, before: usize) -> usize {
        let mut starts: Vec<usize> = Vec::new();
        let mut at = 0;
        for piece in pieces(line) {
            starts.push(at);
            at += piece.len();
        }
        let last = before + starts.len();
        if last < self.from || self.next.is_some() {
            return last;
        }
        if starts.len() == 1 {
            if pattern.is_match(line) {
                self.offer(last, || Cow::Borrowed(line));
            }
            return last;
        }
        let mut told = None;
        for found in pattern.find_iter(line) {
            let piece = starts.partition_point(|start| *start <= found.start()) - 1;
            // One row a piece is enough to know where to read.
            if told != Some(piece) && self.next.is_none() {
                self.offer(before + piece + 1, || {
                    Cow::Owned(around(line, found.start(), found.end()))
                });
                told = Some(piece);
            }
        }
        last
    }
}

/// A match with some text on either side.
fn around(line: &str, start: usize, end: usize) -> String {
    let before = line[..start]
        .char_indices()
        .rev()
        .nth(limits::MATCH_AROUND - 1)
        .map_or(0, |(at, _)| at);
    let end = line[start..end]
        .char_indices()
        .nth(limits::PAGE_LINE_CHARS)
        .map_or(end, |(at, _)| start + at);
    let after = line[end..]
        .char_indices()
        .nth(limits::MATCH_AROUND)
        .map_or(line.len(), |(at, _)| end + at);
    let mut text = String::new();
    if before > 0 {
        text.push('…');
    }
    text.push_str(&line[before..after]);
    if after < line.len() {
        text.push('…');
    }
    text
}

/// A line, in pieces that fit a page.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest.take()?;
        match line.char_indices().nth(limits::PAGE_LINE_CHARS) {
            None => Some(line),
            Some((at, _)) => {
                rest = Some(&line[at..]);
                Some(&line[..at])
            }
        }
    })
}

/// Lines as [`Store::read`] counts them.
pub(super) fn count_rows(text: &str) -> usize {
    text.lines().map(|line| pieces(line).count()).sum()
}

impl Page {
    /// The page as a model or a person reads it.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for Row { number, text } in &self.rows {
            let _ = writeln!(out, "{number}: {text}");
        }
        let what = if self.searched {
            "matching lines"
        } else {
            "lines"
        };
        let _ = match (self.rows.as_slice(), self.next) {
            ([], _) => write!(
                out,
                "[no {what} from there on; the result has {} lines]",
                self.total
            ),
            (rows, None) => write!(
                out,
                "[{} {what}; the result has {} lines; this is the end]",
                rows.len(),
                self.total
            ),
            (rows, Some(next)) => write!(
                out,
                "[{} {what}; the result has {} lines; continue with offset {next}]",
                rows.len(),
                self.total
            ),
        };
        out
    }
}

#[cfg(test)]
mod tests;
