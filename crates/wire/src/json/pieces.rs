//! The scan of a text that comes in pieces: it stops anywhere, and goes on with the next
//! piece. It judges as [`check`](super::check) does, and UTF-8 with it.

use super::{
    Span,
    scan::{Scanner, SyntaxError, TextError},
};
use crate::limits::{PASSED_KEY_BYTES, SCAN_DEPTH};

/// What is told of a text while it is scanned: keys and values of the outermost value and of
/// those right inside it. Depth 1 is the outermost.
pub(crate) trait Notes {
    /// A key, quotes included; `None` where it was cut and is longer than is kept.
    fn key(&mut self, depth: usize, token: Option<&[u8]>);

    /// A value has begun, with this byte.
    fn begins(&mut self, _depth: usize, _first: u8) {}

    /// It has ended.
    fn value(&mut self, depth: usize, first: u8, span: Span);
}

/// How deep anything is told of.
// tidy: the size of a table of ours
const TOLD: usize = 2;

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expects {
    Value,
    /// A key, or the end of an object that has none.
    FirstKey,
    /// A value, or the end of an array that has none.
    FirstValue,
    Key,
    Colon,
    /// A comma, or the end of what is open.
    More,
    /// The rest of a string, which may be a key.
    String(Text, bool),
    Number(Digits),
    /// The rest of a word.
    Literal(&'static [u8]),
    /// Nothing.
    End,
}

/// Where in a string it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    Plain,
    /// After a backslash.
    Escape,
    /// So many digits of an escape are missing.
    Hex(u8),
}

/// Where in a number it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Digits {
    Sign,
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    Power,
}

impl Digits {
    /// Where it is after this byte, which may not belong to it.
    fn after(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Sign, b'0') => Self::Zero,
            (Self::Sign | Self::Whole, b'0'..=b'9') => Self::Whole,
            (Self::Zero | Self::Whole, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => Self::Exponent,
            (Self::Exponent, b'+' | b'-') => Self::ExponentSign,
            (Self::Exponent | Self::ExponentSign | Self::Power, b'0'..=b'9') => Self::Power,
            _ => return None,
        })
    }

    fn may_end(self) -> bool {
        matches!(
            self,
            Self::Zero | Self::Whole | Self::Fraction | Self::Power
        )
    }
}

/// A scan under way.
#[derive(Debug)]
pub(crate) struct Pieces {
    expects: Expects,
    depth: usize,
    /// One bit per open container: set for an object, clear for an array.
    open: [u64; SCAN_DEPTH / 64],
    /// Bytes of the pieces before this one.
    before: usize,
    /// Where the value of each told depth began, and with which byte.
    began: [(usize, u8); TOLD + 1],
    /// What came of a key that was cut.
    cut: Vec<u8>,
    is_cut_too_long: bool,
    /// What came of a character that was cut.
    character: Utf8,
}

impl Pieces {
    pub(crate) fn new() -> Self {
        Self {
            expects: Expects::Value,
            depth: 0,
            open: [0; SCAN_DEPTH / 64],
            before: 0,
            began: [(0, 0); TOLD + 1],
            cut: Vec::new(),
            is_cut_too_long: false,
            character: Utf8::default(),
        }
    }

    /// How many values are open.
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Goes on with the next piece. After a fault nothing more may be fed.
    pub(crate) fn feed(&mut self, piece: &[u8], notes: &mut impl Notes) -> Result<(), TextError> {
        let mut scanner = Scanner::new(piece);
        let mut key = 0;
        let walked = self.walk(&mut scanner, &mut key, notes);
        if scanner.is_beyond_ascii() || walked.is_err() || self.character.length > 0 {
            let at = self.character.check(piece);
            at.map_err(|at| TextError::NotUtf8(self.before + at))?;
        }
        walked.map_err(|fault| {
            let at = self.before + fault.at;
            TextError::NotJson(SyntaxError { at, ..fault })
        })?;
        if matches!(self.expects, Expects::String(_, true)) && self.depth <= TOLD {
            self.keep_cut(&piece[key..]);
        }
        self.before += piece.len();
        Ok(())
    }

    /// Nothing more comes.
    pub(crate) fn finish(&mut self, notes: &mut impl Notes) -> Result<(), TextError> {
        if let Expects::Number(digits) = self.expects
            && digits.may_end()
        {
            self.ends(0, notes);
        }
        if self.expects == Expects::End {
            return Ok(());
        }
        let (what, at) = ("unexpected end", self.before);
        Err(TextError::NotJson(SyntaxError { what, at }))
    }

    fn keep_cut(&mut self, part: &[u8]) {
        self.is_cut_too_long |= self.cut.len() + part.len() > PASSED_KEY_BYTES;
        if !self.is_cut_too_long {
            self.cut.extend_from_slice(part);
        }
    }

    /// Walks over a piece. `key` is where the key begins that is being read, or its rest.
    fn walk(
        &mut self,
        piece: &mut Scanner<'_>,
        key: &mut usize,
        notes: &mut impl Notes,
    ) -> Result<(), SyntaxError> {
        while let Some(byte) = piece.peek() {
            match self.expects {
                Expects::String(text, is_key) => {
                    if self.string(piece, byte, text)? {
                        if is_key {
                            self.key_ends(piece.of(*key), notes);
                        } else {
                            self.ends(piece.position(), notes);
                        }
                    }
                    continue;
                }
                Expects::Number(digits) => {
                    match digits.after(byte) {
                        Some(next) => {
                            self.expects = Expects::Number(next);
                            piece.step();
                        }
                        None if digits.may_end() => self.ends(piece.position(), notes),
                        None => return Err(piece.fault("bad number")),
                    }
                    continue;
                }
                Expects::Literal([next, rest @ ..]) => {
                    if byte != *next {
                        return Err(piece.fault("expected a value"));
                    }
                    piece.step();
                    self.expects = Expects::Literal(rest);
                    if rest.is_empty() {
                        self.ends(piece.position(), notes);
                    }
                    continue;
                }
                _ => {}
            }
            match (self.expects, byte) {
                (_, b' ' | b'\t' | b'\n' | b'\r') => piece.step(),
                (Expects::FirstKey, b'}') | (Expects::FirstValue, b']') => {
                    self.closes(piece, notes);
                }
                (Expects::FirstKey | Expects::Key, b'"') => {
                    *key = piece.position();
                    piece.step();
                    self.expects = Expects::String(Text::Plain, true);
                }
                (Expects::FirstKey | Expects::Key, _) => {
                    return Err(piece.fault("expected a string"));
                }
                (Expects::Colon, b':') => {
                    piece.step();
                    self.expects = Expects::Value;
                }
                (Expects::Colon, _) => return Err(piece.fault("expected :")),
                (Expects::Value | Expects::FirstValue, _) => self.value(piece, byte, notes)?,
                (Expects::More, b',') => {
                    piece.step();
                    self.expects = match self.is_in_object() {
                        true => Expects::Key,
                        false => Expects::Value,
                    };
                }
                (Expects::More, b'}' | b']') if self.is_in_object() == (byte == b'}') => {
                    self.closes(piece, notes);
                }
                (Expects::More, _) if self.is_in_object() => {
                    return Err(piece.fault("expected , or }"));
                }
                (Expects::More, _) => return Err(piece.fault("expected , or ]")),
                _ => return Err(piece.fault("unexpected text after the value")),
            }
        }
        Ok(())
    }

    fn is_in_object(&self) -> bool {
        let last = self.depth.saturating_sub(1);
        self.open[last / 64] & (1 << (last % 64)) != 0
    }

    fn value(
        &mut self,
        piece: &mut Scanner<'_>,
        byte: u8,
        notes: &mut impl Notes,
    ) -> Result<(), SyntaxError> {
        let expects = match byte {
            b'{' => Expects::FirstKey,
            b'[' => Expects::FirstValue,
            b'"' => Expects::String(Text::Plain, false),
            b'-' => Expects::Number(Digits::Sign),
            b'0' => Expects::Number(Digits::Zero),
            b'1'..=b'9' => Expects::Number(Digits::Whole),
            b't' => Expects::Literal(b"rue"),
            b'f' => Expects::Literal(b"alse"),
            b'n' => Expects::Literal(b"ull"),
            _ => return Err(piece.fault("expected a value")),
        };
        if let Some(began) = self.began.get_mut(self.depth) {
            *began = (self.before + piece.position(), byte);
            notes.begins(self.depth, byte);
        }
        if let Expects::FirstKey | Expects::FirstValue = expects {
            if self.depth == SCAN_DEPTH {
                return Err(piece.fault("nested too deeply"));
            }
            let (word, bit) = (self.depth / 64, 1u64 << (self.depth % 64));
            match expects {
                Expects::FirstKey => self.open[word] |= bit,
                _ => self.open[word] &= !bit,
            }
            self.depth += 1;
        }
        piece.step();
        self.expects = expects;
        Ok(())
    }

    /// Goes on in a string; whether it has ended.
    fn string(
        &mut self,
        piece: &mut Scanner<'_>,
        byte: u8,
        text: Text,
    ) -> Result<bool, SyntaxError> {
        let Expects::String(at, _) = &mut self.expects else {
            return Ok(false);
        };
        match (text, byte) {
            (Text::Plain, _) => {
                piece.plain_run();
                match piece.peek() {
                    None => return Ok(false),
                    Some(b'"') => {
                        piece.step();
                        return Ok(true);
                    }
                    Some(b'\\') => *at = Text::Escape,
                    Some(_) => return Err(piece.fault("control character in a string")),
                }
            }
            (Text::Escape, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                *at = Text::Plain;
            }
            (Text::Escape, b'u') => *at = Text::Hex(4),
            (Text::Escape, _) => return Err(piece.fault("bad escape")),
            (Text::Hex(left), b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                *at = match left {
                    2.. => Text::Hex(left - 1),
                    _ => Text::Plain,
                };
            }
            (Text::Hex(_), _) => return Err(piece.fault("bad \\u escape")),
        }
        piece.step();
        Ok(false)
    }

    /// A key has ended; `here` is what of it is in this piece.
    fn key_ends(&mut self, here: &[u8], notes: &mut impl Notes) {
        self.expects = Expects::Colon;
        if self.depth > TOLD {
            return;
        }
        if self.cut.is_empty() && !self.is_cut_too_long {
            return notes.key(self.depth, Some(here));
        }
        self.keep_cut(here);
        let cut = std::mem::take(&mut self.cut);
        let is_whole = !std::mem::take(&mut self.is_cut_too_long);
        notes.key(self.depth, is_whole.then_some(&*cut));
    }

    fn closes(&mut self, piece: &mut Scanner<'_>, notes: &mut impl Notes) {
        piece.step();
        self.depth -= 1;
        self.ends(piece.position(), notes);
    }

    /// A value has ended before this place of the piece.
    fn ends(&mut self, at: usize, notes: &mut impl Notes) {
        self.expects = match self.depth {
            0 => Expects::End,
            _ => Expects::More,
        };
        if let Some((start, first)) = self.began.get(self.depth) {
            notes.value(self.depth, *first, Span::new(*start, self.before + at));
        }
    }
}

/// Checks UTF-8 in pieces.
#[derive(Debug, Default)]
struct Utf8 {
    /// The beginning of a character whose rest has not come.
    begun: [u8; 4],
    length: usize,
}

impl Utf8 {
    /// Goes on with a piece. Where it is none, if so.
    fn check(&mut self, piece: &[u8]) -> Result<(), usize> {
        let mut rest = piece;
        while let (1.., [next, after @ ..]) = (self.length, rest) {
            self.begun[self.length] = *next;
            self.length += 1;
            match std::str::from_utf8(&self.begun[..self.length]) {
                Ok(_) => self.length = 0,
                Err(fault) if fault.error_len().is_none() => {}
                Err(_) => return Err(piece.len() - rest.len()),
            }
            rest = after;
        }
        let Err(fault) = simdutf8::compat::from_utf8(rest) else {
            return Ok(());
        };
        let valid = fault.valid_up_to();
        if fault.error_len().is_some() {
            return Err(piece.len() - rest.len() + valid);
        }
        let cut = &rest[valid..];
        self.begun[..cut.len()].copy_from_slice(cut);
        self.length = cut.len();
        Ok(())
    }
}
