//! Looking into one level of an object or array.
//!
//! The source must have passed [`check`](super::check) as part of its message;
//! then these functions cannot fail for want of syntax.

use super::{
    Scanner, Span, ValueKind,
    scan::{TextError, check_text_with},
};
use crate::reading::{MOST_KEYS, Places, Recognised, Unclear, recognise};

/// One `"key": value` of an object.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// The key token, quotes included.
    pub key: Span,
    /// The value.
    pub value: Span,
}

/// The members of an object, in order, duplicates included.
#[derive(Debug)]
pub struct Members<'a> {
    source: &'a [u8],
    scanner: Scanner<'a>,
    first: bool,
    done: bool,
    unfinished: Option<Span>,
}

/// A key that we read appears twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("duplicate key {0:?}")]
pub struct Duplicate(pub &'static str);

/// Why fields of a value could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    /// The value is not an object.
    #[error("expected an object")]
    NotAnObject,
    /// A key that we read appears twice.
    #[error(transparent)]
    Duplicate(#[from] Duplicate),
}

/// The members of the object whose text is `source`; nothing if it is no object.
pub fn members(source: &[u8]) -> Members<'_> {
    let mut scanner = Scanner::new(source);
    scanner.white_space();
    let done = scanner.expect(b'{', "").is_err();
    Members {
        source,
        scanner,
        first: true,
        done,
        unfinished: None,
    }
}

impl<'a> Members<'a> {
    fn step(&mut self) -> Option<Member> {
        let scanner = &mut self.scanner;
        scanner.white_space();
        if scanner.peek() == Some(b'}') {
            return None;
        }
        if !std::mem::take(&mut self.first) {
            scanner.expect(b',', "").ok()?;
            scanner.white_space();
        }
        let key = scanner.string().ok()?;
        scanner.white_space();
        scanner.expect(b':', "").ok()?;
        scanner.white_space();
        let start = scanner.position();
        if scanner.value().is_err() {
            self.unfinished = Some(key);
            return None;
        }
        Some(Member {
            key,
            value: Span::new(start, scanner.position()),
        })
    }

    /// The key of the member whose value could not be read to its end, where that is why
    /// there are no more.
    pub fn unfinished(&self) -> Option<Span> {
        self.unfinished
    }

    /// The bytes of a span that this iterator returned.
    pub fn bytes(&self, span: Span) -> &'a [u8] {
        span.of(self.source)
    }
}

impl Iterator for Members<'_> {
    type Item = Member;

    fn next(&mut self) -> Option<Member> {
        if self.done {
            return None;
        }
        let member = self.step();
        self.done = member.is_none();
        member
    }
}

/// Finds the values of `keys` in one pass, in a payload. Escaped spellings of a
/// key count; a key of ours that appears twice is refused, since two readers of
/// such a message could disagree about it. Where others must read what we read,
/// [`reading`](crate::reading) looks at spellings too.
pub fn fields<const N: usize>(
    source: &[u8],
    keys: [&'static str; N],
) -> Result<[Option<Span>; N], FieldError> {
    let members = members(source);
    if members.done {
        return Err(FieldError::NotAnObject);
    }
    let mut spans = [None; N];
    let mut duplicate = None;
    for member in members {
        if let Recognised::As(at) = recognise(member.key.of(source), &keys)
            && spans[at].replace(member.value).is_some()
        {
            duplicate.get_or_insert(Duplicate(keys[at]));
        }
    }
    match duplicate {
        Some(duplicate) => Err(duplicate.into()),
        None => Ok(spans),
    }
}

/// The members `keys` of an object in which others must read what we read;
/// nothing if `source` is no object.
pub(crate) fn places(source: &[u8], keys: &'static [&'static str]) -> Result<Places, Unclear> {
    let mut found = Found::new(keys);
    for member in members(source) {
        found.look_at(member.key.of(source), member.value);
    }
    found.places()
}

/// A value's span and kind, where the members of it are that we read, and where something
/// inside of them says whether it is an error.
pub(crate) type Checked = (Span, ValueKind, Result<Places, Unclear>, Said);

/// Where a member called `isError` has its value, one level in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Said {
    /// The first of them.
    at: usize,
    times: usize,
}

impl Said {
    fn look_at(&mut self, token: &[u8], at: usize) {
        // Most keys are told by their length, and hardly one is escaped.
        let may_be = token.len() == KEY.len() || token.len() > KEY.len() && token.contains(&b'\\');
        if may_be && recognise(token, &["isError"]) == Recognised::As(0) {
            self.at = at;
            self.times += 1;
        }
    }

    /// The same, seen from a source that begins here.
    pub(crate) fn from(self, start: usize) -> Self {
        let at = self.at.saturating_sub(start);
        Self { at, ..self }
    }

    /// Whether this value of the source says that it is an error, and says so once.
    pub(crate) fn is_error(&self, source: &[u8], value: Span) -> bool {
        match self.times {
            0 => false,
            1 => (value.start..value.end).contains(&self.at) && source.get(self.at) == Some(&b't'),
            // Others may have said it as well.
            _ => {
                let value = value.of(source);
                let said = field(value, "isError").ok().flatten();
                said.is_some_and(|said| said.of(value) == b"true")
            }
        }
    }
}

/// The key, as it is mostly written.
const KEY: &[u8] = b"\"isError\"";

/// Checks that `source` is exactly one JSON value, as [`check`](super::check)
/// does, and UTF-8, and finds `keys` in it, as [`places`] does, in one pass.
pub(crate) fn check_places(
    source: &[u8],
    keys: &'static [&'static str],
) -> Result<Checked, TextError> {
    let (mut found, mut said) = (Found::new(keys), Said::default());
    let (span, kind) = check_text_with(
        source,
        |key, value| found.look_at(key.of(source), value),
        |key, at| said.look_at(key.of(source), at),
    )?;
    Ok((span, kind, found.places(), said))
}

/// The members that were looked for, as far as they have been met.
struct Found {
    keys: &'static [&'static str],
    places: Places,
    unclear: Option<Unclear>,
}

impl Found {
    fn new(keys: &'static [&'static str]) -> Self {
        debug_assert!(keys.len() <= MOST_KEYS);
        Self {
            keys,
            places: Places::default(),
            unclear: None,
        }
    }

    fn look_at(&mut self, token: &[u8], value: Span) {
        let fault = match recognise(token, self.keys) {
            Recognised::Like(at) => Unclear::Misspelt(self.keys[at]),
            Recognised::As(at) if self.places[at].replace(value).is_some() => {
                Unclear::Twice(self.keys[at])
            }
            Recognised::As(_) | Recognised::Other => return,
        };
        self.unclear.get_or_insert(fault);
    }

    fn places(self) -> Result<Places, Unclear> {
        match self.unclear {
            Some(unclear) => Err(unclear),
            None => Ok(self.places),
        }
    }
}

/// The value of one key, or `None` when it is absent or `source` is no object.
pub fn field(source: &[u8], key: &'static str) -> Result<Option<Span>, Duplicate> {
    match fields(source, [key]) {
        Ok([span]) => Ok(span),
        Err(FieldError::NotAnObject) => Ok(None),
        Err(FieldError::Duplicate(duplicate)) => Err(duplicate),
    }
}

/// The elements of the array whose text is `source`; nothing if it is no array.
pub fn elements(source: &[u8]) -> impl Iterator<Item = Span> {
    let mut scanner = Scanner::new(source);
    scanner.white_space();
    let mut done = scanner.expect(b'[', "").is_err();
    let mut first = true;
    std::iter::from_fn(move || {
        if done {
            return None;
        }
        let mut step = || {
            scanner.white_space();
            if scanner.peek() == Some(b']') {
                return None;
            }
            if !std::mem::take(&mut first) {
                scanner.expect(b',', "").ok()?;
                scanner.white_space();
            }
            let start = scanner.position();
            scanner.value().ok()?;
            Some(Span::new(start, scanner.position()))
        };
        let element = step();
        done = element.is_none();
        element
    })
}

#[cfg(test)]
mod tests;
