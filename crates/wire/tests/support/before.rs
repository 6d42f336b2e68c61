//! The scan as it was before it judged UTF-8 as well, kept to compare with: what it accepts,
//! finds and refuses is what is accepted, found and refused.

use switchboard_wire::{
    Span,
    json::{SyntaxError, ValueKind},
    limits::SCAN_DEPTH,
};

/// A value's span and kind, and the key and the value of each member where it is an object.
pub(crate) type Judged = (Span, ValueKind, Vec<(Span, Span)>);

/// Why a text is not acceptable, in the order in which it was looked at.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    NotUtf8(usize),
    NotJson(SyntaxError),
}

/// UTF-8 first, then JSON.
pub(crate) fn judge(source: &[u8]) -> Result<Judged, Fault> {
    if let Err(fault) = std::str::from_utf8(source) {
        return Err(Fault::NotUtf8(fault.valid_up_to()));
    }
    check(source).map_err(Fault::NotJson)
}

/// JSON alone.
pub(crate) fn check(source: &[u8]) -> Result<Judged, SyntaxError> {
    let mut members = Vec::new();
    let mut scanner = Scanner::new(source);
    scanner.white_space();
    let start = scanner.position();
    let kind = scanner.value_with(|key, value| members.push((key, value)))?;
    let end = scanner.position();
    scanner.end()?;
    Ok((Span::new(start, end), kind, members))
}

fn is_container(kind: ValueKind) -> bool {
    matches!(kind, ValueKind::Object | ValueKind::Array)
}

/// How many bytes of a long string are looked at together.
const BLOCK: usize = 64;

/// Whether a string's byte has a meaning of its own, or must not be there.
fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// A cursor over JSON text.
#[derive(Debug)]
struct Scanner<'a> {
    source: &'a [u8],
    at: usize,
}

impl<'a> Scanner<'a> {
    /// Starts at the first byte of `source`.
    fn new(source: &'a [u8]) -> Self {
        Self { source, at: 0 }
    }

    /// Where the cursor is.
    fn position(&self) -> usize {
        self.at
    }

    /// The byte under the cursor.
    fn peek(&self) -> Option<u8> {
        self.source.get(self.at).copied()
    }

    /// Steps over white space.
    fn white_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Fails unless only white space is left.
    fn end(&mut self) -> Result<(), SyntaxError> {
        self.white_space();
        if self.at == self.source.len() {
            Ok(())
        } else {
            Err(self.fault("unexpected text after the value"))
        }
    }

    /// Steps over `byte`, or fails.
    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), SyntaxError> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            Err(self.fault(what))
        }
    }

    /// Steps over one whole value, and tells of each member where it is an object: its key
    /// and its value.
    fn value_with(&mut self, mut member: impl FnMut(Span, Span)) -> Result<ValueKind, SyntaxError> {
        self.white_space();
        let outer = self.leaf_or_open()?;
        if !is_container(outer) {
            return Ok(outer);
        }
        // One bit per open container: set for an object, clear for an array.
        let mut open = [0u64; SCAN_DEPTH / 64];
        open[0] = u64::from(outer == ValueKind::Object);
        let mut depth = 1usize;
        // The member of the outer object that is being read: its key, and where its value begins.
        let (mut key, mut begins) = (Span::new(0, 0), 0);
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
                            member(key, Span::new(begins, self.at));
                        }
                    }
                    (Some(b','), _) if !first => {
                        self.at += 1;
                        if in_object {
                            self.white_space();
                            let token = self.key()?;
                            if depth == 1 {
                                key = token;
                            }
                        }
                        break;
                    }
                    (Some(_), true) if first => {
                        let token = self.key()?;
                        if depth == 1 {
                            key = token;
                        }
                        break;
                    }
                    (Some(_), false) if first => break,
                    (None, _) => return Err(self.fault("unexpected end")),
                    (_, true) => return Err(self.fault("expected , or }")),
                    (_, false) => return Err(self.fault("expected , or ]")),
                }
            }
            self.white_space();
            if depth == 1 {
                begins = self.at;
            }
            let kind = self.leaf_or_open()?;
            first = is_container(kind);
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
                member(key, Span::new(begins, self.at));
            }
        }
    }

    /// Steps over a string token and returns its span, quotes included.
    fn string(&mut self) -> Result<Span, SyntaxError> {
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
    fn plain_run(&mut self) {
        /// So many, and the string is taken for a long one.
        const LONG: usize = 64;
        const ONES: u64 = 0x0101_0101_0101_0101;
        const HIGH: u64 = 0x8080_8080_8080_8080;
        let long = self.at + LONG;
        while let Some(chunk) = self.source.get(self.at..self.at + 8) {
            let word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
            let quote = word ^ (ONES * u64::from(b'"'));
            let slash = word ^ (ONES * u64::from(b'\\'));
            // High bit set in each byte that is zero, or (last term) below 0x20.
            let hit = (quote.wrapping_sub(ONES) & !quote)
                | (slash.wrapping_sub(ONES) & !slash)
                | (word.wrapping_sub(ONES * 0x20) & !word);
            let hit = hit & HIGH;
            if hit != 0 {
                // The lowest is no false one: those come from borrows, and so lie above a true one.
                self.at += hit.trailing_zeros() as usize / 8;
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
            self.at += 1;
        }
    }

    /// Steps over blocks of bytes of which none needs attention. A block is looked at
    /// whole, without a way out half way: that is what compilers make vectors of.
    fn plain_blocks(&mut self) {
        while let Some(block) = self.source.get(self.at..self.at + BLOCK) {
            if block
                .iter()
                .fold(false, |found, &byte| found | is_special(byte))
            {
                return;
            }
            self.at += BLOCK;
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

    fn fault(&self, what: &'static str) -> SyntaxError {
        SyntaxError { what, at: self.at }
    }
}
