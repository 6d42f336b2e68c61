//! JSON in a string of JSON: results are often a text that is JSON itself. It goes the way
//! of a message, so that what a structure hides a text hides as well.

use super::walk;
use crate::limits;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use switchboard_local::secret;

/// A text as it may be shown, that is `depth` texts within a message.
pub(super) fn shown(said: &str, depth: usize) -> Cow<'_, str> {
    let whole = said.trim();
    let is_string = whole.len() > 1 && whole.starts_with('"') && whole.ends_with('"');
    if is_string && length(whole) == Some(whole.len()) {
        return deeper(said, false, depth);
    }
    let mut out = String::new();
    let (mut from, mut at) = (0, 0);
    let mut tries = limits::TAP_JSON_TRIES;
    while let Some(found) = said[at..].find(['{', '[']) {
        let begin = at + found;
        at = begin + 1;
        if !begins(&said[begin..]) {
            continue;
        }
        match length(&said[begin..]) {
            Some(length) => {
                let before = &said[from..begin];
                out.push_str(&secret::text(before));
                let piece = &said[begin..begin + length];
                out.push_str(&deeper(piece, names(before), depth));
                from = begin + length;
                at = from;
            }
            // All of it was meant to be JSON, and its end is missing, or more.
            None if said[..begin].trim().is_empty() => {
                let walked = deeper(said, false, depth);
                return Cow::Owned(secret::text(&walked).into_owned());
            }
            None => {
                tries -= 1;
                if tries == 0 {
                    break;
                }
            }
        }
    }
    if from == 0 {
        return secret::text(said);
    }
    out.push_str(&secret::text(&said[from..]));
    Cow::Owned(out)
}

/// A piece of JSON without its secrets. Nobody writes texts in texts without end: what is
/// deeper is not shown.
fn deeper(piece: &str, is_secret: bool, depth: usize) -> Cow<'_, str> {
    if depth >= limits::TAP_JSON_WITHIN {
        return Cow::Borrowed(secret::HIDDEN);
    }
    match walk(piece, is_secret, depth + 1) {
        (_, 0) => Cow::Borrowed(piece),
        (shown, _) => Cow::Owned(shown),
    }
}

/// Whether this may be an object or a list: in most texts brackets are signs like others.
fn begins(text: &str) -> bool {
    let inner = text[1..].trim_start();
    match text.as_bytes()[0] {
        b'{' => inner.starts_with('"'),
        _ => inner.starts_with(['"', '{', '[']),
    }
}

/// How long the value is that begins here, if there is one.
fn length(text: &str) -> Option<usize> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

/// Whether what goes before a value says that it is a secret: `token: […]`.
fn names(before: &str) -> bool {
    let named = before.trim_end().strip_suffix([':', '=']);
    let word = named.and_then(|named| named.split_whitespace().next_back());
    word.is_some_and(|word| secret::is_name(word.trim_matches(|c: char| !c.is_alphanumeric())))
}
