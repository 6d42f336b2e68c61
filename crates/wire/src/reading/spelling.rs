//! Which keys a reader could take for which.

use crate::json::{loose_text, text};
use std::borrow::Cow;

/// What a key is to whoever looks for certain keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// The one at this place, written as we write it, or so after unescaping.
    As(usize),
    /// Not that one, but some readers would take it for it.
    Like(usize),
    /// None of them.
    Other,
}

/// What the key with this token (quotes included) is among `keys`, all of which
/// are ASCII. Nearly every key is settled by its length and first letter.
pub fn recognise(token: &[u8], keys: &[&'static str]) -> Recognised {
    let inner = token.get(1..token.len().saturating_sub(1));
    let inner = inner.unwrap_or_default();
    for (at, key) in keys.iter().enumerate() {
        let key = key.as_bytes();
        if key.len() == inner.len() && (key[0] ^ inner[0]) & !0x20 == 0 {
            if key == inner {
                return Recognised::As(at);
            }
            if folds() && key.eq_ignore_ascii_case(inner) {
                return Recognised::Like(at);
            }
        }
    }
    if inner
        .iter()
        .all(|byte| byte.is_ascii_graphic() && *byte != b'\\')
    {
        return Recognised::Other;
    }
    unusual(token, keys)
}

/// The same for a key with escapes, white space, or letters beyond ASCII.
#[cold]
fn unusual(token: &[u8], keys: &[&'static str]) -> Recognised {
    if let Some(name) = text(token)
        && let Some(at) = keys.iter().position(|key| *key == name)
    {
        return Recognised::As(at);
    }
    if !folds() {
        return Recognised::Other;
    }
    let name = loose_text(token);
    let like = |key: &&str| taken_for(&name, key);
    keys.iter()
        .position(like)
        .map_or(Recognised::Other, Recognised::Like)
}

/// Whether some reader takes `text` for `ours`, which is ASCII.
pub(crate) fn taken_for(text: &str, ours: &str) -> bool {
    let equals = |text: &str| {
        let text = same_key(text);
        text.len() == ours.len() && text.eq_ignore_ascii_case(ours)
    };
    equals(text) || up_to_nul(text).is_some_and(equals)
}

/// What a reader sees of a text with U+0000 in it whose texts end there; `None` where
/// there is none in it.
pub fn up_to_nul(text: &str) -> Option<&str> {
    text.split_once('\0').map(|(before, _)| before)
}

/// A text that is the same for all keys that some reader takes for one another:
/// those that are equal after simple case folding, or after each character is put
/// into upper or lower case, or without what is not seen of them. `ſ` is an s to
/// some, the Kelvin sign a k, `ı` and `İ` an i, `ẞ` an `ß`.
pub fn same_key(key: &str) -> Cow<'_, str> {
    if key
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase())
    {
        return Cow::Borrowed(key);
    }
    let seen = key.chars().filter(|c| !is_unseen(*c));
    // `ẞ` has no upper case, and `ß` becomes two letters there.
    let lower = seen.flat_map(char::to_lowercase);
    let upper = lower.flat_map(char::to_uppercase);
    let all = upper.flat_map(char::to_lowercase);
    // The dot that is left of `İ`.
    let all: String = all.filter(|c| *c != '\u{307}').collect();
    match all.trim() {
        trimmed if trimmed.len() == all.len() => Cow::Owned(all),
        trimmed => Cow::Owned(trimmed.to_owned()),
    }
}

/// The same of names that a server looks something up by, which some clean more:
/// no white space is left at all. What forbids a name forbids each of these.
pub fn same_name(name: &str) -> Cow<'_, str> {
    match same_key(name) {
        seen if !seen.contains(char::is_whitespace) => seen,
        seen => Cow::Owned(seen.split_whitespace().collect()),
    }
}

/// Characters that readers leave out, or do not compare: control characters, marks
/// without width, and what is put in the place of text that is not sound.
fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}'
            | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
            | '\u{FFF0}'..='\u{FFFD}' | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Whether spellings count. Tests can switch it off, to see that they notice.
#[cfg(not(test))]
const fn folds() -> bool {
    true
}

#[cfg(test)]
fn folds() -> bool {
    super::tests::folds()
}
