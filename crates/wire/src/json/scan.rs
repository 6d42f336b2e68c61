//! A strict, iterative scan of JSON text.
//!
//! It accepts what RFC 8259 accepts – any number however large, lone surrogate
//! escapes, duplicate keys – because those are not ours to judge. It never
//! recurses, so that nesting costs no stack.

use super::Span;
use crate::limits::SCAN_DEPTH;

/// What a value is, told by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// `null`
    Null,
}

impl ValueKind {
    fn is_container(self) -> bool {
        matches!(self, Self::Object | Self::Array)
    }

    /// The kind of the value whose text this is, without looking further than its first byte.
    pub fn of(raw: &[u8]) -> Option<Self> {
        Some(match raw.first()? {
            b'{' => Self::Object,
            b'[' => Self::Array,
            b'"' => Self::String,
            b'-' | b'0'..=b'9' => Self::Number,
            b't' | b'f' => Self::Bool,
            b'n' => Self::Null,
            _ => return None,
        })
    }
}

/// Why a text is not acceptable JSON, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct SyntaxError {
    /// What is wrong.
    pub what: &'static str,
    /// The offset of the offending byte.
    pub at: usize,
}

/// Checks that `source` is exactly one JSON value and returns its span without the white space around it.
pub fn check(source: &[u8]) -> Result<(Span, ValueKind), SyntaxError> {
    Scanner::new(source).whole(|_, _| {}, |_, _| {})
}

/// Why a text is not acceptable JSON in UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextError {
    /// Not UTF-8 from this byte on.
    NotUtf8(usize),
    /// UTF-8, but not JSON.
    NotJson(SyntaxError),
}

/// The same as [`check`] for a text that must be UTF-8 as well; tells of each member where
/// the value is an object: its key and its value; and of each inside of one of those: its key
/// and where its value begins. The scan sees every byte anyway, and most
/// texts hold nothing beyond ASCII: those are not looked at twice.
pub(super) fn check_text_with(
    source: &[u8],
    member: impl FnMut(Span, Span),
    inner: impl FnMut(Span, usize),
) -> Result<(Span, ValueKind), TextError> {
    let mut scanner = Scanner::new(source);
    let found = scanner.whole(member, inner);
    // A text that is neither is said not to be UTF-8, wherever the other fault is.
    if (found.is_err() || scanner.beyond_ascii)
        && let Err(fault) = simdutf8::compat::from_utf8(source)
    {
        return Err(TextError::NotUtf8(fault.valid_up_to()));
    }
    found.map_err(TextError::NotJson)
}

/// How many bytes of a long string are looked at together.
// tidy: it bounds nothing
const BLOCK: usize = 64;

/// How far its end is looked for at once: some blocks.
// tidy: it bounds nothing
const STRETCH: usize = 64 * BLOCK;

/// Whether a string's byte has a meaning of its own, or must not be there.
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The same for eight bytes at once: a high bit is set where one is special. Only the lowest
/// of them is sure, since a borrow may set others above it; where none is, none is set.
fn specials(word: u64) -> u64 {
    let quote = word ^ (ONES * u64::from(b'"'));
    let slash = word ^ (ONES * u64::from(b'\\'));
    // Those that are zero, and those below 0x20.
    let hits = (quote.wrapping_sub(ONES) & !quote)
        | (slash.wrapping_sub(ONES) & !slash)
        | (word.wrapping_sub(ONES * 0x20) & !word);
    hits & HIGH
}

/// Whether a control character is among these bytes.
fn has_control(block: &[u8; BLOCK]) -> bool {
    let words = block.as_chunks::<8>().0.iter();
    let words = words.map(|word| u64::from_le_bytes(*word));
    let below = words.fold(0, |all, word| {
        all | (word.wrapping_sub(ONES * 0x20) & !word)
    });
    below & HIGH != 0
}

/// A cursor over JSON text.
#[derive(Debug)]
pub struct Scanner<'a> {
    source: &'a [u8],
    at: usize,
    /// Whether a byte beyond ASCII was met. Outside strings such a byte is a fault, so that
    /// a text without faults is ASCII where this is not set.
    beyond_ascii: bool,
}

impl<'a> Scanner<'a> {
    /// Starts at the first byte of `source`.
    pub fn new(source: &'a [u8]) -> Self {
        Self {
            source,
            at: 0,
            beyond_ascii: false,
        }
    }

    /// Exactly one value, and its span without the white space around it.
    fn whole(
        &mut self,
        member: impl FnMut(Span, Span),
        inner: impl FnMut(Span, usize),
    ) -> Result<(Span, ValueKind), SyntaxError> {
        self.white_space();
        let start = self.at;
        let kind = self.value_with(member, inner)?;
        let end = self.at;
        self.end()?;
        Ok((Span::new(start, end), kind))
    }

    /// Whether a byte beyond ASCII was met.
    pub(super) fn is_beyond_ascii(&self) -> bool {
        self.beyond_ascii
    }

    /// Steps over a byte that was looked at.
    pub(super) fn step(&mut self) {
        self.at += 1;
    }

    /// What the cursor has passed since this place.
    pub(super) fn of(&self, start: usize) -> &'a [u8] {
        Span::new(start, self.at).of(self.source)
    }

    /// Where the cursor is.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The byte under the cursor.
    pub fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }

    /// Steps over white space.
    pub fn white_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Fails unless only white space is left.
    pub fn end(&mut self) -> Result<(), SyntaxError> {
        self.white_space();
        if self.at == self.source.len() {
            Ok(())
        } else {
            Err(self.fault("unexpected text after the value"))
        }
    }

    /// Steps over `byte`, or fails.
    pub fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), SyntaxError> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.fault(what))
        }
    }

    /// Steps over one whole value.
    pub fn value(&mut self) -> Result<ValueKind, SyntaxError> {
        self.value_with(|_, _| {}, |_, _| {})
    }

    /// The same, and tells of each member where the value is an object: its key
    /// and its value; and of each inside of one of those: its key and where its value begins.
    fn value_with(
        &mut self,
        mut member: impl FnMut(Span, Span),
        mut inner: impl FnMut(Span, usize),
    ) -> Result<ValueKind, SyntaxError> {
        self.white_space();
        let outer = self.leaf_or_open()?;
        if !outer.is_container() {
            return Ok(outer);
        }
        // One bit per open container: set for an object, clear for an array.
        let mut open = [0u64; SCAN_DEPTH / 64];
        open[0] = u64::from(outer == ValueKind::Object);
        let mut depth = 1usize;
        // The member of the outer object that is being read: its key, and where its value
        // begins. Behind the key is the one a level further in.
        let (mut keys, mut begins) = ([Span::new(0, 0); 2], 0);
        let mut first = true;
        loop {
            // Close what ends here; then either all is done or another value follows.
            loop {
                let in_object = open[(depth - 1) / 64] & (1 << ((depth - 1) % 64)) != 0;
                self.white_space();
                match (self.peek(), in_object) {
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        self.at += 1;
                        depth -= 1;
                        first = false;
                        if depth == 0 {
                            return Ok(outer);
                        }
                        if depth == 1 && outer == ValueKind::Object {
                            member(keys[0], Span::new(begins, self.at));
                        }
                    }
                    (Some(b','), _) if !first => {
                        self.at += 1;
                        if in_object {
                            self.white_space();
                            self.key_at(depth, &mut keys)?;
                        }
                        break;
                    }
                    (Some(_), true) if first => {
                        self.key_at(depth, &mut keys)?;
                        break;
                    }
                    (Some(_), false) if first => break,
                    (None, _) => return Err(self.fault("unexpected end")),
                    (_, true) => return Err(self.fault("expected , or }")),
                    (_, false) => return Err(self.fault("expected , or ]")),
                }
            }
            self.white_space();
            match depth {
                1 => begins = self.at,
                2 if open[0] & 2 != 0 => inner(keys[1], self.at),
                _ => {}
            }
            let kind = self.leaf_or_open()?;
            first = kind.is_container();
            if first {
                if depth == SCAN_DEPTH {
                    return Err(self.fault("nested too deeply"));
                }
                let (word, bit) = (depth / 64, 1u64 << (depth % 64));
                if kind == ValueKind::Object {
                    open[word] |= bit;
                } else {
                    open[word] &= !bit;
                }
                depth += 1;
            } else if depth == 1 && outer == ValueKind::Object {
                member(keys[0], Span::new(begins, self.at));
            }
        }
    }

    /// Steps over a string token and returns its span, quotes included.
    pub fn string(&mut self) -> Result<Span, SyntaxError> {
        let start = self.at;
        self.expect(b'"', "expected a string")?;
        loop {
            self.plain_run();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Span::new(start, self.at));
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.fault("control character in a string")),
                None => return Err(self.fault("unterminated string")),
            }
        }
    }

    /// A key and its colon, at this depth; noted where anybody is told of it.
    fn key_at(&mut self, depth: usize, keys: &mut [Span; 2]) -> Result<(), SyntaxError> {
        let token = self.key()?;
        if let Some(key) = keys.get_mut(depth - 1) {
            *key = token;
        }
        Ok(())
    }

    /// A key and its colon; gives the key.
    fn key(&mut self) -> Result<Span, SyntaxError> {
        let token = self.string()?;
        self.white_space();
        self.expect(b':', "expected :")?;
        Ok(token)
    }

    fn leaf_or_open(&mut self) -> Result<ValueKind, SyntaxError> {
        let kind = ValueKind::of(self.source.get(self.at..).unwrap_or_default());
        match kind.ok_or_else(|| self.fault("expected a value"))? {
            kind @ (ValueKind::Object | ValueKind::Array) => {
                self.at += 1;
                Ok(kind)
            }
            ValueKind::String => self.string().map(|_| ValueKind::String),
            ValueKind::Number => self.number().map(|()| ValueKind::Number),
            ValueKind::Null => self.literal(b"null").map(|()| ValueKind::Null),
            ValueKind::Bool if self.peek() == Some(b't') => {
                self.literal(b"true").map(|()| ValueKind::Bool)
            }
            ValueKind::Bool => self.literal(b"false").map(|()| ValueKind::Bool),
        }
    }

    /// Steps over string bytes that need no attention: eight at a time, and more where
    /// there are many of them.
    pub(super) fn plain_run(&mut self) {
        /// So many, and the string is taken for a long one.
        // tidy: it bounds nothing
        const LONG: usize = 64;
        let long = self.at + LONG;
        while let Some(chunk) = self.source.get(self.at..self.at + 8) {
            let word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
            let hits = specials(word);
            self.beyond_ascii |= word & HIGH != 0;
            if hits != 0 {
                self.at += hits.trailing_zeros() as usize / 8;
                return;
            }
            self.at += 8;
            if self.at == long {
                self.plain_blocks();
            }
        }
        while let Some(byte) = self.peek() {
            if is_special(byte) {
                return;
            }
            self.beyond_ascii |= !byte.is_ascii();
            self.at += 1;
        }
    }

    /// Steps over blocks of bytes of which none is special. `memchr` finds what ends them,
    /// with the processor's vectors; the rest is looked at by words, written out: what
    /// optimises the shipped program as one makes no vectors of loops over bytes.
    fn plain_blocks(&mut self) {
        loop {
            let rest = self.source.get(self.at..).unwrap_or_default();
            // So few that they are near the processor when they are looked at again.
            let part = &rest[..rest.len().min(STRETCH)];
            let end = memchr::memchr2(b'"', b'\\', part).unwrap_or(part.len());
            for block in part[..end].as_chunks::<BLOCK>().0 {
                let mut odd = 0;
                for word in block.as_chunks::<8>().0 {
                    let word = u64::from_le_bytes(*word);
                    odd |= word.wrapping_sub(ONES * 0x20) | word;
                }
                // Something below 0x20, or beyond ASCII: which of them is looked at again.
                if odd & HIGH != 0 {
                    if has_control(block) {
                        return;
                    }
                    self.beyond_ascii = true;
                }
                self.at += BLOCK;
            }
            if end < STRETCH {
                return;
            }
        }
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                let digits = self
                    .source
                    .get(self.at + 1..self.at + 5)
                    .unwrap_or_default();
                if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(self.fault("bad \\u escape"));
                }
                self.at += 5;
            }
            _ => return Err(self.fault("bad escape")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits()?,
            _ => return Err(self.fault("bad number")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start {
            Err(self.fault("bad number"))
        } else {
            Ok(())
        }
    }

    fn literal(&mut self, word: &'static [u8]) -> Result<(), SyntaxError> {
        if self.source.get(self.at..self.at + word.len()) == Some(word) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.fault("expected a value"))
        }
    }

    pub(super) fn fault(&self, what: &'static str) -> SyntaxError {
        SyntaxError { what, at: self.at }
    }
}

#[cfg(test)]
mod tests;
