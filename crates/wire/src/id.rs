//! Request ids, kept exactly as they were written.

use crate::json::{quote, text};
use bytes::Bytes;
use std::fmt;

/// The token of a request id: a string or a number, as its bytes.
///
/// Two ids are the same only if their bytes are: `1`, `1.0` and `"1"` are three ids.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Id(Bytes);

impl Id {
    /// Wraps a token that the envelope scan has already accepted as an id.
    pub(crate) fn from_token(token: Bytes) -> Self {
        Self(token)
    }

    /// A number of ours.
    pub fn number(value: u64) -> Self {
        Self(Bytes::from(value.to_string()))
    }

    /// A string id.
    pub fn string(value: &str) -> Self {
        Self(Bytes::from(quote(value)))
    }

    /// The token as it was written.
    pub fn token(&self) -> &Bytes {
        &self.0
    }

    /// The value, if this is a number exactly as we write ours: decimal digits, no sign, no leading zero.
    pub fn as_number(&self) -> Option<u64> {
        own_number(&self.0)
    }

    /// What the id says: a string's text, a number's digits.
    pub fn as_text(&self) -> String {
        text(&self.0).map_or_else(
            || String::from_utf8_lossy(&self.0).into_owned(),
            std::borrow::Cow::into_owned,
        )
    }
}

/// The value of a token that reads exactly as we write numbers.
pub fn own_number(token: &[u8]) -> Option<u64> {
    if token.is_empty() || token.len() > 20 || (token[0] == b'0' && token.len() > 1) {
        return None;
    }
    token.iter().try_fold(0u64, |sum, byte| match byte {
        b'0'..=b'9' => sum.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    })
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

#[cfg(test)]
mod tests;
