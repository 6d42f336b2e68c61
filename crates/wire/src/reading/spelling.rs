//! Which keys a reader could take for which.

use crate::json::text;
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
    if inner.iter().all(|byte| byte.is_ascii() && *byte != b'\\') {
        return Recognised::Other;
    }
    unusual(token, keys)
}

/// The same for a key with escapes, or letters beyond ASCII.
#[cold]
fn unusual(token: &[u8], keys: &[&'static str]) -> Recognised {
    // One that stands for no text (a lone surrogate) is none of ours to any reader.
    let Some(name) = text(token) else {
        return Recognised::Other;
    };
    if let Some(at) = keys.iter().position(|key| *key == name) {
        return Recognised::As(at);
    }
    if !folds() {
        return Recognised::Other;
    }
    let name = same_key(&name);
    let like = |key: &&str| key.len() == name.len() && key.eq_ignore_ascii_case(&name);
    keys.iter()
        .position(like)
        .map_or(Recognised::Other, Recognised::Like)
}

/// A text that is the same for all keys that some reader takes for one another:
/// those that are equal after simple case folding, or after each character is put
/// into upper or lower case. `ſ` is an s to some, the Kelvin sign a k, `ı` and
/// `İ` an i.
pub fn same_key(key: &str) -> Cow<'_, str> {
    if key
        .bytes()
        .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase())
    {
        return Cow::Borrowed(key);
    }
    let upper = key.chars().flat_map(char::to_uppercase);
    let both = upper.flat_map(char::to_lowercase);
    // The dot that is left of `İ`.
    Cow::Owned(both.filter(|c| *c != '\u{307}').collect())
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
