//! A text of JSON, piece by piece. Any text is read, so that none is shown because it is
//! not quite JSON.

use std::borrow::Cow;

/// A token, with what stands before it.
pub(super) struct Token<'a> {
    /// Where it begins.
    pub(super) at: usize,
    pub(super) before: &'a str,
    /// A string, a number, or one of the signs; empty at the end of the text.
    pub(super) token: &'a str,
    /// Whether it is a string that names what follows.
    pub(super) is_key: bool,
}

/// The tokens of a text.
pub(super) fn of(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut from = 0;
    let mut is_over = false;
    std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let rest = &text[from..];
        let begins = |c: char| "\"{}[],-".contains(c) || c.is_ascii_digit();
        let Some(found) = rest.find(begins) else {
            is_over = true;
            return Some(Token {
                at: text.len(),
                before: rest,
                token: "",
                is_key: false,
            });
        };
        let (before, rest) = rest.split_at(found);
        let length = match rest.as_bytes()[0] {
            b'"' => string(rest),
            b'-' | b'0'..=b'9' => number(rest),
            _ => 1,
        };
        let (token, after) = rest.split_at(length);
        let at = from + found;
        from = at + length;
        Some(Token {
            at,
            before,
            token,
            is_key: token.starts_with('"') && after.trim_start().starts_with(':'),
        })
    })
}

/// Where a string ends that begins here.
fn string(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Where a number ends that begins here.
fn number(text: &str) -> usize {
    let fits = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

/// What a string says, whatever is wrong with it: half of a pair of surrogates, an escape
/// that there is none of, no end.
pub(super) fn said(token: &str) -> Cow<'_, str> {
    let inner = token.strip_prefix('"').unwrap_or(token);
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let mut after = rest[at + 1..].chars();
        let sign = after.next();
        rest = after.as_str();
        match sign {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('u') => {
                let (c, length) = unit(rest);
                out.push(c);
                rest = &rest[length..];
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The letter whose escape goes on here, and how long that is.
fn unit(text: &str) -> (char, usize) {
    // tidy: what JSON says, not a choice of ours
    const DIGITS: usize = 4;
    let digits = |from: usize| {
        let digits = text.get(from..from + DIGITS)?;
        let is_one = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_one
            .then(|| u32::from_str_radix(digits, 16).ok())
            .flatten()
    };
    let Some(first) = digits(0) else {
        return (char::REPLACEMENT_CHARACTER, 0);
    };
    let second = match text.get(DIGITS..DIGITS + 2) {
        Some("\\u") => digits(DIGITS + 2),
        _ => None,
    };
    if let (0xD800..=0xDBFF, Some(second @ 0xDC00..=0xDFFF)) = (first, second) {
        let both = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        let c = char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER);
        return (c, DIGITS + 2 + DIGITS);
    }
    let c = char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER);
    (c, DIGITS)
}
